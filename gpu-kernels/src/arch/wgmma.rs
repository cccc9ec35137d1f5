//! `wgmma`: matrix products of a warpgroup with operands in shared memory (PTX ISA, "Asynchronous
//! Warpgroup Level Matrix Instructions"). Executed by a warpgroup. sm_90a.

use super::shared::SharedPtr;
use crate::numeric::{bf16, f16};
use core::arch::asm;

/// `wgmma.fence.sync.aligned`: orders this warpgroup's register accesses before the products that follow.
///
/// # Safety
/// Every thread of the warpgroup reaches the same call.
#[inline(always)]
pub unsafe fn fence() {
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("wgmma.fence.sync.aligned;", options(nostack)) }
}

/// `wgmma.commit_group.sync.aligned`: closes the group of products since the last.
///
/// # Safety
/// Every thread of the warpgroup reaches the same call.
#[inline(always)]
pub unsafe fn commit_group() {
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("wgmma.commit_group.sync.aligned;", options(nostack)) }
}

/// `wgmma.wait_group.sync.aligned N`: waits until at most the `N` youngest groups are pending.
///
/// # Safety
/// Every thread of the warpgroup reaches the same call.
#[inline(always)]
pub unsafe fn wait_group<const N: u32>() {
    // SAFETY: the caller vouches for convergence.
    unsafe { asm!("wgmma.wait_group.sync.aligned {0};", const N, options(nostack)) }
}

/// A matrix in shared memory as `wgmma` takes it (PTX ISA, "Matrix Descriptor Format"), swizzled by 128 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(pub u64);

impl Descriptor {
    /// The matrix at `start`, a multiple of 1,024 up to steps along K. `leading` and `stride` are the byte distances that the
    /// format calls leading-dimension and stride-dimension offset.
    #[inline(always)]
    #[must_use]
    pub const fn swizzle_128(start: SharedPtr, leading: u32, stride: u32) -> Self {
        let address = ((start.0 & 0x3_ffff) >> 4) as u64;
        Self(address | ((leading >> 4) as u64) << 16 | ((stride >> 4) as u64) << 32 | 1 << 62)
    }

    /// The same matrix `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub const fn add(self, bytes: u32) -> Self {
        // The address field is the low 14 bits and shared memory ends below its limit: no carry leaves the low word.
        let low = (self.0 as u32).wrapping_add(bytes >> 4);
        Self(self.0 >> 32 << 32 | low as u64)
    }
}

/// Which operands are MN-major in shared memory, 16-bit types only.
pub trait Transposition {
    /// A is.
    const A: bool;
    /// B is.
    const B: bool;
}

/// Element types and widths of which `wgmma` makes 64 × `N` products, 32 bytes of K at a time.
pub trait Wgmma<const N: usize>: crate::numeric::Element {
    /// Accumulators of one thread: `[j][i]` is, for lane l of warp w, with g = l / 4 and t = l % 4, entry
    /// (16·w + g + 8·(i / 2), 8·j + 2·t + i % 2).
    type Accumulators: crate::fragment::Fragment + AsRef<[[f32; 4]]>;

    /// `wgmma.mma_async`: D = A·B + D, or D = A·B when `accumulate` is false.
    ///
    /// # Safety
    /// Every thread of the warpgroup reaches the same call, after [`fence`]; the matrices are complete and visible to the
    /// asynchronous proxy; D is not touched until a wait covers the product.
    unsafe fn mma_async<T: Transposition>(d: &mut Self::Accumulators, a: Descriptor, b: Descriptor, accumulate: bool);
}

/// Gives its second argument, once for each first.
macro_rules! for_each {
    ($_:tt, $text:literal) => {
        $text
    };
}

macro_rules! wgmma_16bit {
    ($type:ty, $name:literal, $($n:literal: [$first:literal $($group:literal)*]),+ $(,)?) => {$(
        impl Wgmma<$n> for $type {
            type Accumulators = [[f32; 4]; $n / 8];

            #[inline(always)]
            unsafe fn mma_async<T: Transposition>(d: &mut Self::Accumulators, a: Descriptor, b: Descriptor, accumulate: bool) {
                // SAFETY: the caller vouches for the operands and for convergence.
                unsafe {
                    asm!(
                        "{{ .reg .pred p; setp.ne.b32 p, {accumulate}, 0;",
                        concat!(
                            "wgmma.mma_async.sync.aligned.m64n", $n, "k16.f32.", $name, ".", $name, " {{{}, {}, {}, {}",
                            $(for_each!($group, ", {}, {}, {}, {}"),)*
                            "}}, {a}, {b}, p, 1, 1, {a_mn}, {b_mn}; }}"
                        ),
                        inout(reg32) d[$first][0], inout(reg32) d[$first][1], inout(reg32) d[$first][2], inout(reg32) d[$first][3],
                        $(inout(reg32) d[$group][0], inout(reg32) d[$group][1], inout(reg32) d[$group][2], inout(reg32) d[$group][3],)*
                        a = in(reg64) a.0, b = in(reg64) b.0, accumulate = in(reg32) accumulate as u32,
                        a_mn = const T::A as i32, b_mn = const T::B as i32,
                        options(nostack)
                    );
                }
            }
        }
    )+};
}

macro_rules! widths {
    ($type:ty, $name:literal) => {
        wgmma_16bit! { $type, $name,
            64: [0 1 2 3 4 5 6 7],
            128: [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15],
            192: [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23],
            256: [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31],
        }
    };
}
widths!(f16, "f16");
widths!(bf16, "bf16");
