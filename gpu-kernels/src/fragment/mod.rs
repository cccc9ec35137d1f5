//! Register arrays.

/// The registers of one thread that hold its part of a tile: an array, possibly nested, whose
/// length is part of its type. A fragment is indexed by constants only (in loops the compiler
/// unrolls); an index known at run time would move it to local memory, which the build refuses.
pub trait Fragment: Copy {
    /// Scalars in it.
    const LENGTH: usize;
    /// All scalars zero.
    const ZERO: Self;
}

impl Fragment for f32 {
    const LENGTH: usize = 1;
    const ZERO: Self = 0.0;
}

impl Fragment for u32 {
    const LENGTH: usize = 1;
    const ZERO: Self = 0;
}

impl<T: Fragment, const N: usize> Fragment for [T; N] {
    const LENGTH: usize = N * T::LENGTH;
    const ZERO: Self = [T::ZERO; N];
}

#[cfg(test)]
mod tests {
    use super::Fragment;

    #[test]
    fn a_nested_fragment_counts_its_scalars() {
        assert_eq!(<[[[f32; 4]; 2]; 8] as Fragment>::LENGTH, 64);
        assert_eq!(<[[f32; 2]; 3] as Fragment>::ZERO, [[0.0; 2]; 3]);
    }
}
