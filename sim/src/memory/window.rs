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

const SIZE: u64 = 1 << 32;

/// The space a generic address lies in, and the address within it.
pub(crate) fn resolve(address: u64) -> (Space, u64) {
    let within = |start: u64| (start..start + SIZE).contains(&address);
    if within(SHARED) {
        (Space::Shared, address - SHARED)
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
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Parameter => PARAMETER,
        Space::Global => 0,
    }
}
