//! Tensor maps: what the copy engine knows about a matrix.

/// An encoded tensor map: 128 opaque bytes that the device's driver writes and its copy engine reads.
///
/// The engine wants them at a multiple of 64, in the kernel's parameter block. The type says 16,
/// the most rustc takes for a by-value kernel parameter; the build raises the block's alignment.
#[derive(Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub struct TensorMap(pub [u64; 16]);

impl core::fmt::Debug for TensorMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("TensorMap")
    }
}
