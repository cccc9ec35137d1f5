//! The register file of a warp: one row of 32 lanes a register, so that an instruction is a loop over a row.

use std::marker::PhantomData;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// A register of all lanes.
pub(crate) type Row<T> = [T; LANES];

/// Index of a register that holds `T`. Registers of 8 and 16 bits live, zero-extended, in those of 32.
#[derive(Debug)]
pub(crate) struct Slot<T>(pub(crate) u32, PhantomData<fn() -> T>);

impl<T> Slot<T> {
    pub(crate) fn new(index: u32) -> Self {
        Self(index, PhantomData)
    }
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

/// Index of a predicate register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Predicate(pub(crate) u32);

/// What a register holds: 32, 64 or 128 bits.
pub(crate) trait Word: Copy + Default + Send + Sync + 'static {
    /// Bytes of the word.
    const BYTES: u32;
    fn row(registers: &Registers, slot: Slot<Self>) -> &Row<Self>;
    fn row_mut(registers: &mut Registers, slot: Slot<Self>) -> &mut Row<Self>;
    fn from_bits(bits: u128) -> Self;
    fn to_bits(self) -> u128;
}

/// The registers of a warp.
#[derive(Default)]
pub(crate) struct Registers {
    pub(crate) words32: Vec<Row<u32>>,
    pub(crate) words64: Vec<Row<u64>>,
    pub(crate) words128: Vec<Row<u128>>,
    /// One bit a lane.
    pub(crate) predicates: Vec<u32>,
}

macro_rules! word {
    ($type:ty, $file:ident, $bytes:literal) => {
        impl Word for $type {
            const BYTES: u32 = $bytes;
            #[inline]
            fn row(registers: &Registers, slot: Slot<Self>) -> &Row<Self> {
                &registers.$file[slot.0 as usize]
            }
            #[inline]
            fn row_mut(registers: &mut Registers, slot: Slot<Self>) -> &mut Row<Self> {
                &mut registers.$file[slot.0 as usize]
            }
            fn from_bits(bits: u128) -> Self {
                bits as Self
            }
            fn to_bits(self) -> u128 {
                u128::from(self)
            }
        }
    };
}

word!(u32, words32, 4);
word!(u64, words64, 8);
word!(u128, words128, 16);

impl Registers {
    #[inline]
    pub(crate) fn row<T: Word>(&self, slot: Slot<T>) -> &Row<T> {
        T::row(self, slot)
    }

    /// Writes the lanes of `mask`.
    #[inline]
    pub(crate) fn put<T: Word>(&mut self, slot: Slot<T>, mask: u32, values: &Row<T>) {
        let row = T::row_mut(self, slot);
        if mask == u32::MAX {
            *row = *values;
        } else {
            for lane in 0..LANES {
                if mask >> lane & 1 == 1 {
                    row[lane] = values[lane];
                }
            }
        }
    }

    #[inline]
    pub(crate) fn predicate(&self, predicate: Predicate) -> u32 {
        self.predicates[predicate.0 as usize]
    }

    /// Writes the lanes of `mask`.
    #[inline]
    pub(crate) fn put_predicate(&mut self, predicate: Predicate, mask: u32, bits: u32) {
        let old = &mut self.predicates[predicate.0 as usize];
        *old = *old & !mask | bits & mask;
    }
}
