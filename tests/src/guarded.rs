//! Matrices in device memory that are surrounded, and where they have gaps filled, by a pattern.

use falchion::bytemuck::Pod;
use falchion::reference::MatrixRef;
use falchion::{Buffer, Device, Element, ElementKind, Order, Slice};

/// Elements before and after the matrix.
const MARGIN: usize = 64;

/// A rows × columns matrix whose every other element is a NaN of a certain pattern: an input that is read where it
/// must not be spoils the result, an output that is written where it must not be is seen.
pub struct Guarded<T> {
    buffer: Buffer<T>,
    content: Vec<T>,
    rows: usize,
    columns: usize,
    order: Order,
    leading_dimension: usize,
    start: usize,
}

impl<T: Element + Pod> Guarded<T> {
    /// The matrix whose entries `entry` gives, `padding` elements between rows (or columns), its first element
    /// `offset` elements after a 256-byte boundary.
    ///
    /// # Panics
    /// When the device refuses.
    pub fn new(
        device: &Device,
        [rows, columns]: [u32; 2],
        order: Order,
        padding: u32,
        offset: u32,
        mut entry: impl FnMut() -> T,
    ) -> Self {
        let (rows, columns) = (rows as usize, columns as usize);
        let (runs, contiguous) = match order {
            Order::RowMajor => (rows, columns),
            Order::ColumnMajor => (columns, rows),
        };
        let leading_dimension = (contiguous + padding as usize).max(1);
        // 256 bytes are a whole number of elements of any type, and so is the margin of them.
        let start = MARGIN.next_multiple_of(256 / T::BYTES) + offset as usize;
        let mut content = vec![Self::poison(); start + runs * leading_dimension + MARGIN];
        for run in 0..runs {
            for at in 0..contiguous {
                content[start + run * leading_dimension + at] = entry();
            }
        }
        let buffer = device.upload(&content).unwrap_or_else(|error| panic!("{error}"));
        Self { buffer, content, rows, columns, order, leading_dimension, start }
    }

    /// A quiet NaN with a payload that arithmetic does not make.
    #[must_use]
    pub fn poison() -> T {
        T::from_low_bits(match T::KIND {
            ElementKind::F16 => 0x7E5A,
            ElementKind::Bf16 => 0x7FDA,
            _ => 0x7FDA_5A5A,
        })
    }

    /// The matrix on the device, from its first element to the end of the allocation.
    #[must_use]
    pub fn slice(&self) -> Slice<'_, T> {
        self.buffer.slice(self.start..).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Distance between rows (or columns), in elements.
    #[must_use]
    pub fn leading_dimension(&self) -> u64 {
        self.leading_dimension as u64
    }

    /// The content as uploaded.
    #[must_use]
    pub fn uploaded(&self) -> MatrixRef<'_, T> {
        self.view(&self.content)
    }

    /// `content`, a copy of the whole allocation, as the matrix in it.
    #[must_use]
    pub fn view<'a>(&self, content: &'a [T]) -> MatrixRef<'a, T> {
        MatrixRef::packed(&content[self.start..], self.rows, self.columns, self.order)
            .leading_dimension(self.leading_dimension)
    }

    /// Downloads the allocation.
    ///
    /// # Errors
    /// The first element outside the matrix that is no longer as it was uploaded.
    pub fn download(&self) -> Result<Vec<T>, String> {
        let content = self.buffer.download().map_err(|error| error.to_string())?;
        let (runs, contiguous) = match self.order {
            Order::RowMajor => (self.rows, self.columns),
            Order::ColumnMajor => (self.columns, self.rows),
        };
        for (at, (now, before)) in content.iter().zip(&self.content).enumerate() {
            let inside = at.checked_sub(self.start).is_some_and(|offset| {
                offset / self.leading_dimension < runs && offset % self.leading_dimension < contiguous
            });
            if !inside && now.to_low_bits() != before.to_low_bits() {
                return Err(format!(
                    "element {} outside the matrix (counted from its first) was overwritten with {now:?}",
                    at as i64 - self.start as i64
                ));
            }
        }
        Ok(content)
    }
}
