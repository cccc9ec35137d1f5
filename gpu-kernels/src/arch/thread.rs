//! Special registers (PTX ISA, "Special Registers"). Executed by a thread.

use core::arch::asm;
#[cfg(target_arch = "nvptx64")]
use core::arch::nvptx;

/// `%tid.x`.
#[inline(always)]
#[must_use]
pub fn thread_idx_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { nvptx::_thread_idx_x() as u32 }
}

/// `%ctaid`: position of this block in the grid.
#[inline(always)]
#[must_use]
pub fn block_idx() -> [u32; 3] {
    // SAFETY: reading a special register has no precondition.
    unsafe { [nvptx::_block_idx_x() as u32, nvptx::_block_idx_y() as u32, nvptx::_block_idx_z() as u32] }
}

/// `%nctaid.x`: blocks of the grid in x.
#[inline(always)]
#[must_use]
pub fn grid_dim_x() -> u32 {
    // SAFETY: reading a special register has no precondition.
    unsafe { nvptx::_grid_dim_x() as u32 }
}

/// Position of this thread in its warp, for blocks of one dimension.
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    thread_idx_x() % 32
}

/// `value`, of which the compiler knows nothing from here on: a loop of that many turns stays a loop.
#[inline(always)]
#[must_use]
pub fn opaque(value: u32) -> u32 {
    let same: u32;
    // SAFETY: a move.
    unsafe { asm!("mov.u32 {0}, {1};", out(reg32) same, in(reg32) value, options(pure, nomem, nostack)) };
    same
}
