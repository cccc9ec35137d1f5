//! Why a tensor map is refused.

use super::TensorElement;

/// Why a tensor map was refused. The same limits as those of `cuTensorMapEncodeTiled`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// A rank outside 1 to 5, or lists of other lengths than the rank asks for.
    #[error(
        "a tensor map of {sizes} sizes, {strides} strides and {boxes} box extents; rank 1 to 5 takes as many sizes and extents, and one stride less"
    )]
    Rank {
        /// Number of sizes.
        sizes: usize,
        /// Number of strides.
        strides: usize,
        /// Number of box extents.
        boxes: usize,
    },
    /// An address that is not a multiple of 16.
    #[error("the tensor's address {address:#x} is not a multiple of 16")]
    Address {
        /// The address.
        address: u64,
    },
    /// A size of 0 or above 2^32.
    #[error("size {size} of dimension {dimension}, required 1 to 2^32")]
    Size {
        /// The dimension, 0 is the contiguous one.
        dimension: usize,
        /// The size.
        size: u64,
    },
    /// A stride that is no multiple of 16 or not below 2^40.
    #[error("stride of {stride} bytes of dimension {dimension}, required a multiple of 16 below 2^40")]
    Stride {
        /// The dimension, from 1.
        dimension: usize,
        /// The stride in bytes.
        stride: u64,
    },
    /// A box extent outside 1 to 256.
    #[error("box extent {extent} of dimension {dimension}, required 1 to 256")]
    Box {
        /// The dimension.
        dimension: usize,
        /// The extent in elements.
        extent: u32,
    },
    /// An element stride outside 1 to 8.
    #[error("element stride {stride} of dimension {dimension}, required 1 to 8")]
    ElementStride {
        /// The dimension.
        dimension: usize,
        /// The stride.
        stride: u32,
    },
    /// An inner box extent that is no multiple of 16 bytes or exceeds the swizzle.
    #[error("inner box extent of {bytes} bytes, required a multiple of 16{}", limit(*.span))]
    Inner {
        /// Bytes of the inner extent.
        bytes: u32,
        /// Span of the swizzle; 16 for none.
        span: u32,
    },
    /// NaN fill of integers.
    #[error("NaN fill of a tensor of {element:?}, which has none")]
    Fill {
        /// The elements.
        element: TensorElement,
    },
}

fn limit(span: u32) -> String {
    if span == 16 { String::new() } else { format!(" and at most the swizzle's {span}") }
}
