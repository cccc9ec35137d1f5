//! Where the state spaces lie among generic addresses.
//!
//! Each window is aligned to 4 GiB, so that the low half of a generic address is the address within the space,
//! and far from the range global allocations come from.

use crate::fault::Space;

/// First generic address of shared memory.
pub(crate) const SHARED: u64 = 0x0a00_0000_0000;
/// First generic address of local memory.
pub(crate) const LOCAL: u64 = 0x0b00_0000_0000;
/// First generic address of kernel parameters.
pub(crate) const PARAMETER: u64 = 0x0c00_0000_0000;
/// First address of global memory.
pub(crate) const GLOBAL: u64 = 0x7000_0000_0000;

/// First address of shared memory within its space. Hopper reserves the first KiB too; here it makes
/// a null pointer into shared memory an error. Keeps the 1024-byte alignment that swizzles need.
pub(crate) const SHARED_BASE: u32 = 1024;
/// First address of local memory within its space.
pub(crate) const LOCAL_BASE: u32 = 1024;

/// Bits of a shared address below the block's: blocks of a cluster have windows of 16 MiB.
pub(crate) const RANK_SHIFT: u32 = 24;

/// The address in the shared window of the cluster of `address` in the block of `rank`. Addresses below the first
/// such window are the executing block's own.
pub(crate) fn map_rank(address: u64, rank: u32) -> u64 {
    let local = address & ((1 << RANK_SHIFT) - 1);
    local | u64::from(rank + 1) << RANK_SHIFT
}

/// The block a shared address names (`None`: the executing one) and the address within it.
pub(crate) fn split_rank(address: u64) -> (Option<u32>, u64) {
    let local = address & ((1 << RANK_SHIFT) - 1);
    let rank = (address >> RANK_SHIFT).checked_sub(1);
    (rank.map(|rank| u32::try_from(rank).unwrap_or(u32::MAX)), local)
}

const SIZE: u64 = 1 << 32;

/// The space a generic address lies in, and the address within it.
pub(crate) fn resolve(address: u64) -> (Space, u64) {
    let within = |start: u64| (start..start + SIZE).contains(&address);
    if within(SHARED) {
        let address = address - SHARED;
        (if address >> RANK_SHIFT == 0 { Space::Shared } else { Space::SharedCluster }, address)
    } else if within(LOCAL) {
        (Space::Local, address - LOCAL)
    } else if within(PARAMETER) {
        (Space::Parameter, address - PARAMETER)
    } else {
        (Space::Global, address)
    }
}

/// The generic address of address 0 of `space`.
pub(crate) fn start(space: Space) -> u64 {
    match space {
        Space::Shared | Space::SharedCluster => SHARED,
        Space::Local => LOCAL,
        Space::Parameter => PARAMETER,
        Space::Global => 0,
    }
}
