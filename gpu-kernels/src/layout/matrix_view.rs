//! A matrix in memory, not owned: pointer, size and stride.

use super::Layout;

/// A view of a matrix of `T`: entry (i, j) lies at `data + i·stride[0] + j·stride[1]` elements.
///
/// Like a tensor of PyTorch, a view owns nothing: sub-matrices and transposes are other views of the
/// same storage. `T` may be read or written only through the `unsafe` methods, whose callers vouch
/// for the storage.
#[derive(Clone, Copy, Debug)]
pub struct MatrixView<T> {
    data: *mut T,
    layout: Layout<2>,
}

impl<T: Copy> MatrixView<T> {
    /// The view of `data` through `layout`.
    #[inline(always)]
    #[must_use]
    pub const fn new(data: *mut T, layout: Layout<2>) -> Self {
        Self { data, layout }
    }

    /// Number of rows.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.layout.shape[0]
    }

    /// Number of columns.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.layout.shape[1]
    }

    /// The layout this view looks through.
    #[inline(always)]
    #[must_use]
    pub const fn layout(&self) -> Layout<2> {
        self.layout
    }

    /// The `rows` × `columns` sub-matrix whose first entry is (`row`, `column`).
    #[inline(always)]
    #[must_use]
    pub const fn view(&self, row: u32, column: u32, rows: u32, columns: u32) -> Self {
        let (origin, layout) = self.layout.slice([row, column], [rows, columns]);
        Self { data: self.data.wrapping_offset(origin as isize), layout }
    }

    /// The transpose.
    #[inline(always)]
    #[must_use]
    pub const fn transposed(&self) -> Self {
        Self { data: self.data, layout: self.layout.transposed() }
    }

    /// Whether entry (`row`, `column`) exists.
    #[inline(always)]
    #[must_use]
    pub const fn contains(&self, row: u32, column: u32) -> bool {
        row < self.rows() && column < self.columns()
    }

    /// Where entry (`row`, `column`) lies.
    #[inline(always)]
    #[must_use]
    pub const fn pointer(&self, row: u32, column: u32) -> *mut T {
        self.data.wrapping_offset(self.layout.offset([row, column]) as isize)
    }

    /// Reads entry (`row`, `column`).
    ///
    /// # Safety
    /// The entry exists, its storage is initialised and nobody writes it meanwhile.
    #[inline(always)]
    pub unsafe fn get(&self, row: u32, column: u32) -> T {
        // SAFETY: the caller vouches for the storage.
        unsafe { self.pointer(row, column).read() }
    }

    /// Writes entry (`row`, `column`).
    ///
    /// # Safety
    /// The entry exists and nobody else reads or writes it meanwhile.
    #[inline(always)]
    pub unsafe fn set(&self, row: u32, column: u32, value: T) {
        // SAFETY: the caller vouches for the storage.
        unsafe { self.pointer(row, column).write(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, MatrixView};

    #[test]
    fn the_ladder_s_sub_matrix_is_a_view() {
        let mut storage: [i32; 24] = core::array::from_fn(|i| i as i32);
        let a = MatrixView::new(storage.as_mut_ptr(), Layout::row_major(4, 6));
        let b = a.view(0, 2, 4, 3);
        // SAFETY: the entries lie in `storage`.
        unsafe {
            assert_eq!(b.get(1, 1), 9);
            assert_eq!(b.transposed().get(1, 1), 9);
            assert_eq!(b.transposed().get(2, 3), a.get(3, 4));
            b.set(3, 0, -1);
        }
        assert_eq!(storage[3 * 6 + 2], -1);
        assert!(b.contains(3, 2) && !b.contains(4, 0) && !b.contains(0, 3));
    }
}
