//! Copying an operand tile into shared memory.

use super::{OperandTile, SharedLayout, TileIterator};
use crate::arch::shared::SharedPtr;
use crate::arch::{async_copy, global, shared};
use crate::layout::Major;
use crate::numeric::Element;
use core::marker::PhantomData;

/// Accesses a thread may hold in registers.
pub const MAX_ACCESSES: usize = 16;

/// The vectors of one tile that a thread holds in registers on their way to shared memory. Only
/// the first [`OperandTile::ACCESSES`] are ever touched; the rest never become registers.
pub struct Staged([[u32; 4]; MAX_ACCESSES]);

/// The shared-memory side of a tile copy, as one thread sees it.
pub struct SharedTile<S> {
    thread: u32,
    layout: PhantomData<S>,
}

impl<S: SharedLayout> SharedTile<S> {
    /// Whether a vector of global memory stays a vector in shared memory.
    const KEEPS_VECTORS: bool = matches!((S::MAJOR, S::Tile::MAJOR), (Major::K, Major::K) | (Major::Mn, Major::Mn));

    /// The part of thread `thread`.
    #[inline(always)]
    #[must_use]
    pub fn new(thread: u32) -> Self {
        Self { thread, layout: PhantomData }
    }

    #[inline(always)]
    fn destination(&self, stage: SharedPtr, access: u32) -> SharedPtr {
        let (mn, k) = S::Tile::coordinate(self.thread, access);
        stage.add(S::offset(mn, k))
    }

    /// Issues the asynchronous copies of the iterator's current tile into `stage`.
    ///
    /// # Safety
    /// The iterator's valid accesses are readable; `stage` is [`SharedLayout::BYTES`] of this
    /// block's shared memory, not accessed until a wait covers the copies.
    #[inline(always)]
    pub unsafe fn copy_async<I: TileIterator<Tile = S::Tile>>(&self, stage: SharedPtr, from: &I) {
        const {
            assert!(
                Self::KEEPS_VECTORS || S::Tile::VECTOR == 1,
                "an asynchronous copy cannot transpose: the shared layout must keep vectors together"
            );
        }
        for access in 0..S::Tile::ACCESSES {
            let (to, address, valid) = (self.destination(stage, access), from.get(access), from.valid(access));
            // SAFETY: the caller vouches for both sides.
            unsafe {
                match S::Tile::ACCESS_BYTES {
                    4 => async_copy::copy_zfill::<4>(to, address, valid),
                    8 => async_copy::copy_zfill::<8>(to, address, valid),
                    _ => {
                        const { assert!(matches!(S::Tile::ACCESS_BYTES, 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
                        async_copy::copy_zfill::<16>(to, address, valid);
                    }
                }
            }
        }
    }

    /// Loads the iterator's current tile into registers; what is not valid becomes zero.
    ///
    /// # Safety
    /// The iterator's valid accesses are readable.
    #[inline(always)]
    #[must_use]
    pub unsafe fn load<I: TileIterator<Tile = S::Tile>>(&self, from: &I) -> Staged {
        const { assert!(S::Tile::ACCESSES as usize <= MAX_ACCESSES, "a staged tile takes too many registers of a thread") };
        let mut staged = Staged([[0; 4]; MAX_ACCESSES]);
        for access in 0..S::Tile::ACCESSES {
            let (address, valid) = (from.get(access), from.valid(access));
            // SAFETY: the caller vouches for the addresses.
            staged.0[access as usize] = unsafe {
                match S::Tile::ACCESS_BYTES {
                    2 => global::load::<2>(address, valid),
                    4 => global::load::<4>(address, valid),
                    8 => global::load::<8>(address, valid),
                    _ => global::load::<16>(address, valid),
                }
            };
        }
        staged
    }

    /// Writes a staged tile to `stage`, transposing it where the shared layout does.
    ///
    /// # Safety
    /// `stage` is [`SharedLayout::BYTES`] of this block's shared memory that no other thread accesses meanwhile.
    #[inline(always)]
    pub unsafe fn store(&self, stage: SharedPtr, staged: &Staged) {
        for access in 0..S::Tile::ACCESSES {
            let words = staged.0[access as usize];
            // SAFETY: the caller vouches for the stage.
            unsafe {
                if Self::KEEPS_VECTORS {
                    let to = self.destination(stage, access);
                    match S::Tile::ACCESS_BYTES {
                        2 => shared::store::<2>(to, words),
                        4 => shared::store::<4>(to, words),
                        8 => shared::store::<8>(to, words),
                        _ => shared::store::<16>(to, words),
                    }
                } else {
                    self.store_elements(stage, access, words);
                }
            }
        }
    }

    /// Writes the elements of one vector each to its own place.
    ///
    /// # Safety
    /// As for [`store`](Self::store).
    #[inline(always)]
    unsafe fn store_elements(&self, stage: SharedPtr, access: u32, words: [u32; 4]) {
        let (mn, k) = S::Tile::coordinate(self.thread, access);
        let bytes = <S::Tile as OperandTile>::Element::BYTES as u32;
        for element in 0..S::Tile::VECTOR {
            let to = stage.add(match S::Tile::MAJOR {
                Major::K => S::offset(mn, k + element),
                Major::Mn => S::offset(mn + element, k),
            });
            let bits = words[(element * bytes / 4) as usize] >> (element * bytes % 4 * 8);
            // SAFETY: the caller vouches for the stage.
            unsafe {
                if bytes == 2 {
                    shared::store::<2>(to, [bits, 0, 0, 0]);
                } else {
                    shared::store::<4>(to, [bits, 0, 0, 0]);
                }
            }
        }
    }
}
