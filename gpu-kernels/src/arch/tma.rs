//! The tensor memory accelerator: bulk copies of boxes of a tensor (PTX ISA, "Data Movement and
//! Conversion Instructions: Tensor copy"). Executed by one thread. sm_90.

use super::shared::SharedPtr;
use core::arch::asm;

/// `prefetch.tensormap`.
///
/// # Safety
/// `map` is the generic address of a tensor map.
#[inline(always)]
pub unsafe fn prefetch(map: u64) {
    // SAFETY: the caller vouches for the map.
    unsafe { asm!("prefetch.tensormap [{0}];", in(reg64) map, options(nostack)) }
}

/// `cp.async.bulk.tensor.2d…mbarrier::complete_tx::bytes`: copies the box at (`x`, `y`), x the contiguous coordinate,
/// to `to`, and counts its bytes at `barrier`. Entries outside the tensor become zero, and count.
///
/// # Safety
/// `map` is a tensor map of rank 2 whose box fits at `to`, at an address that its swizzle allows;
/// the box is not accessed until a wait on `barrier` covers it.
#[inline(always)]
pub unsafe fn load_2d(to: SharedPtr, map: u64, barrier: SharedPtr, x: u32, y: u32) {
    // SAFETY: the caller vouches for the box.
    unsafe {
        asm!("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [{1}, {{{3}, {4}}}], [{2}];",
            in(reg32) to.0, in(reg64) map, in(reg32) barrier.0, in(reg32) x, in(reg32) y, options(nostack));
    }
}

/// [`load_2d`] to the same address in every block of the cluster whose bit in `blocks` is set; bytes count
/// at each one's own barrier at the same address.
///
/// # Safety
/// As [`load_2d`], in each of these blocks.
#[inline(always)]
pub unsafe fn load_2d_multicast(to: SharedPtr, map: u64, barrier: SharedPtr, x: u32, y: u32, blocks: u16) {
    // SAFETY: the caller vouches for the boxes.
    unsafe {
        asm!("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{0}], [{1}, {{{3}, {4}}}], [{2}], {5};",
            in(reg32) to.0, in(reg64) map, in(reg32) barrier.0, in(reg32) x, in(reg32) y, in(reg16) blocks, options(nostack));
    }
}

/// `cp.async.bulk.tensor.2d.global.shared::cta.bulk_group`: stores the box at `from` to (`x`, `y`); entries outside
/// the tensor are dropped.
///
/// # Safety
/// `map` is a tensor map of rank 2 whose box lies at `from`, visible to the copy engine
/// ([`fence_async_shared`]) and not written until a wait covers the store.
#[inline(always)]
pub unsafe fn store_2d(map: u64, from: SharedPtr, x: u32, y: u32) {
    // SAFETY: the caller vouches for the box.
    unsafe {
        asm!("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [{0}, {{{2}, {3}}}], [{1}];",
            in(reg64) map, in(reg32) from.0, in(reg32) x, in(reg32) y, options(nostack));
    }
}

/// `cp.async.bulk.commit_group`: closes the group of this thread's stores since the last.
#[inline(always)]
pub fn commit_group() {
    // SAFETY: no precondition.
    unsafe { asm!("cp.async.bulk.commit_group;", options(nostack)) }
}

/// `cp.async.bulk.wait_group.read N`: waits until at most the `N` youngest groups still read shared memory.
#[inline(always)]
pub fn wait_group_read<const N: u32>() {
    // SAFETY: no precondition.
    unsafe { asm!("cp.async.bulk.wait_group.read {0};", const N, options(nostack)) }
}

/// `fence.proxy.async.shared::cta`: makes this thread's stores to shared memory visible to the copy engine and the
/// tensor cores.
#[inline(always)]
pub fn fence_async_shared() {
    // SAFETY: no precondition.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}
