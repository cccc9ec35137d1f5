//! What the copy engine of sm_90 is told about a tensor.

use crate::{Device, ElementKind, Result};
use falchion_device::kernel::TensorMap;

/// Dimensions of a tensor at most.
const MAX_RANK: usize = 5;
/// What addresses, strides and rows of a box are multiples of, in bytes.
const UNIT_BYTES: u64 = 16;
/// The largest extent of a tensor.
const MAX_EXTENT: u64 = 1 << 32;
/// Strides are below this, in bytes.
const STRIDE_LIMIT: u64 = 1 << 40;
/// The largest extent of a box.
const MAX_BOX_EXTENT: u32 = 256;
/// The first compute capability with a copy engine.
const COMPUTE_CAPABILITY: u32 = 90;

/// How the 16-byte units of a box are permuted in shared memory: unit `u` of a span of `s` units that lies in the `l`-th
/// 128 bytes of shared memory goes to unit `u ^ (l % s)` of that span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TensorMapSwizzle {
    /// Not at all.
    #[default]
    None,
    /// Within 32 bytes; the pattern repeats every 256 bytes.
    Bytes32,
    /// Within 64 bytes; the pattern repeats every 512 bytes.
    Bytes64,
    /// Within 128 bytes; the pattern repeats every 1,024 bytes.
    Bytes128,
}

impl TensorMapSwizzle {
    /// Bytes that a row of a box may have; `None` is no limit.
    #[must_use]
    pub const fn span_bytes(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }
}

/// How much the level-2 cache fetches when the copy engine reads a piece that is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum L2Promotion {
    /// What is read.
    #[default]
    None,
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
    /// 256 bytes.
    Bytes256,
}

/// A tensor in device memory and the box of it that one copy moves: what [`Device::tensor_map`] encodes.
///
/// All extents are in elements, the contiguous dimension first. What a box reads outside the tensor is zero. What it writes
/// there is dropped, but for the rest of the 16 bytes in which a row ends: the copy engine writes whole units of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorMapRequest<'a> {
    /// Element type.
    pub element: ElementKind,
    /// Device address of the first element, a multiple of 16.
    pub address: u64,
    /// Extents, 1 to 5 of them, each 1 to 2³².
    pub extents: &'a [u64],
    /// Bytes between neighbours in each dimension but the first: multiples of 16, below 2⁴⁰.
    pub strides: &'a [u64],
    /// Extents of the box, each 1 to 256. The first is a multiple of 16 bytes, and no wider than the swizzle's span.
    pub box_extents: &'a [u32],
    /// How the box lies in shared memory.
    pub swizzle: TensorMapSwizzle,
    /// What the level-2 cache fetches.
    pub promotion: L2Promotion,
}

/// Why a tensor map is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The device has no copy engine that reads tensor maps.
    #[error("the device is {device}, required is compute capability 9.0 or higher")]
    Device {
        /// The device.
        device: String,
    },
    /// The numbers of extents, strides and box extents do not fit together.
    #[error(
        "{extents} extents, {strides} strides and {box_extents} box extents, required are 1 to 5 extents, one stride less and \
         as many box extents"
    )]
    Rank {
        /// Extents given.
        extents: usize,
        /// Strides given.
        strides: usize,
        /// Box extents given.
        box_extents: usize,
    },
    /// The element type is none that the copy engine knows.
    #[error("element type {element} is none that tensor maps have")]
    Element {
        /// The type.
        element: ElementKind,
    },
    /// The address is no multiple of 16.
    #[error("address {address:#x} is not a multiple of {required}")]
    Address {
        /// The address.
        address: u64,
        /// What it must be a multiple of, in bytes.
        required: u64,
    },
    /// An extent of the tensor is out of range.
    #[error("extent {dimension} is {actual}, required is 1 to {maximum}")]
    Extent {
        /// Which, from 0, the contiguous one.
        dimension: usize,
        /// The extent.
        actual: u64,
        /// The largest possible.
        maximum: u64,
    },
    /// A stride is no multiple of 16 bytes, or too long.
    #[error(
        "the stride of dimension {dimension} is {actual} bytes, required is a multiple of {multiple} below {limit}"
    )]
    Stride {
        /// Which, from 1.
        dimension: usize,
        /// The stride in bytes.
        actual: u64,
        /// What it must be a multiple of, in bytes.
        multiple: u64,
        /// What it must be below, in bytes.
        limit: u64,
    },
    /// An extent of the box is out of range.
    #[error("box extent {dimension} is {actual}, required is 1 to {maximum}")]
    BoxExtent {
        /// Which, from 0, the contiguous one.
        dimension: usize,
        /// The extent.
        actual: u32,
        /// The largest possible.
        maximum: u32,
    },
    /// A row of the box is no multiple of 16 bytes, or wider than the swizzle.
    #[error("a row of the box has {actual} bytes, required is a multiple of {multiple} up to {maximum}")]
    BoxRow {
        /// Bytes of a row.
        actual: u64,
        /// What it must be a multiple of, in bytes.
        multiple: u64,
        /// The most the swizzle allows.
        maximum: u64,
    },
    /// The device refuses for a reason of its own.
    #[error("{reason}")]
    Refused {
        /// The reason.
        reason: String,
    },
}

impl TensorMapRequest<'_> {
    /// Everything that can be told without a device.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.extents.len();
        if !(1..=MAX_RANK).contains(&rank) || self.strides.len() + 1 != rank || self.box_extents.len() != rank {
            let (strides, box_extents) = (self.strides.len(), self.box_extents.len());
            return Err(TensorMapError::Rank { extents: rank, strides, box_extents });
        }
        if !self.address.is_multiple_of(UNIT_BYTES) {
            return Err(TensorMapError::Address { address: self.address, required: UNIT_BYTES });
        }
        for (dimension, &actual) in self.extents.iter().enumerate() {
            if !(1..=MAX_EXTENT).contains(&actual) {
                return Err(TensorMapError::Extent { dimension, actual, maximum: MAX_EXTENT });
            }
        }
        for (before, &actual) in self.strides.iter().enumerate() {
            if !actual.is_multiple_of(UNIT_BYTES) || actual >= STRIDE_LIMIT {
                let (dimension, multiple, limit) = (before + 1, UNIT_BYTES, STRIDE_LIMIT);
                return Err(TensorMapError::Stride { dimension, actual, multiple, limit });
            }
        }
        for (dimension, &actual) in self.box_extents.iter().enumerate() {
            if !(1..=MAX_BOX_EXTENT).contains(&actual) {
                return Err(TensorMapError::BoxExtent { dimension, actual, maximum: MAX_BOX_EXTENT });
            }
        }
        let bytes = self.element.bytes() as u64;
        let actual = u64::from(self.box_extents[0]) * bytes;
        let maximum = self.swizzle.span_bytes().unwrap_or(u64::from(MAX_BOX_EXTENT) * bytes);
        if !actual.is_multiple_of(UNIT_BYTES) || actual > maximum {
            return Err(TensorMapError::BoxRow { actual, multiple: UNIT_BYTES, maximum });
        }
        Ok(())
    }

    /// Bytes from the first element of the tensor to the last, both included; 0 when an extent is.
    #[must_use]
    pub fn extent_bytes(&self) -> u64 {
        let Some((first, others)) = self.extents.split_first() else { return 0 };
        if self.extents.contains(&0) {
            return 0;
        }
        let row = first.saturating_mul(self.element.bytes() as u64);
        let runs = others.iter().zip(self.strides).map(|(extent, stride)| (extent - 1).saturating_mul(*stride));
        runs.fold(row, u64::saturating_add)
    }
}

impl Device {
    /// Encodes a tensor map, a parameter for kernels that use the copy engine: part of a by-value parameter block,
    /// at a multiple of 64 bytes of it.
    ///
    /// ```
    /// # use falchion::{Backend, Device, ElementKind, L2Promotion, TensorMapError, TensorMapRequest, TensorMapSwizzle, f16};
    /// # let device = Device::open(Backend::Sim)?;
    /// let (rows, columns) = (1000, 512);
    /// let matrix = device.zeros::<f16>(rows * columns)?;
    /// let request = TensorMapRequest {
    ///     element: ElementKind::F16,
    ///     address: matrix.address(),
    ///     extents: &[columns as u64, rows as u64],
    ///     strides: &[2 * columns as u64],
    ///     box_extents: &[64, 128],
    ///     swizzle: TensorMapSwizzle::Bytes128,
    ///     promotion: L2Promotion::Bytes128,
    /// };
    /// let map = device.tensor_map(&request)?;
    /// let wide = TensorMapRequest { box_extents: &[128, 64], ..request };
    /// assert!(matches!(wide.check(), Err(TensorMapError::BoxRow { actual: 256, maximum: 128, .. })));
    /// # Ok::<(), falchion::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TensorMap`](crate::Error::TensorMap), [`Error::Driver`](crate::Error::Driver).
    pub fn tensor_map(&self, request: &TensorMapRequest<'_>) -> Result<TensorMap> {
        if self.info().compute_capability < COMPUTE_CAPABILITY {
            return Err(TensorMapError::Device { device: self.info().architecture() }.into());
        }
        request.check()?;
        self.engine().encode_tensor_map(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TensorMapSwizzle::{Bytes32, Bytes64, Bytes128};

    const GOOD: TensorMapRequest<'_> = TensorMapRequest {
        element: ElementKind::F16,
        address: 4096,
        extents: &[100, 7],
        strides: &[208],
        box_extents: &[64, 256],
        swizzle: Bytes128,
        promotion: L2Promotion::Bytes128,
    };

    #[test]
    fn each_limit_is_refused_one_past_it_and_not_at_it() {
        assert_eq!(GOOD.check(), Ok(()));
        let f32 = ElementKind::F32;
        for allowed in [
            TensorMapRequest { extents: &[1 << 32, 1], ..GOOD },
            TensorMapRequest { strides: &[(1 << 40) - 16], ..GOOD },
            TensorMapRequest { swizzle: TensorMapSwizzle::None, box_extents: &[256, 1], ..GOOD },
            TensorMapRequest { swizzle: Bytes64, box_extents: &[32, 1], ..GOOD },
            TensorMapRequest { element: f32, box_extents: &[32, 1], ..GOOD },
            TensorMapRequest { extents: &[8; 5], strides: &[16; 4], box_extents: &[8; 5], ..GOOD },
            TensorMapRequest { extents: &[8], strides: &[], box_extents: &[8], ..GOOD },
        ] {
            assert_eq!(allowed.check(), Ok(()), "{allowed:?}");
        }
        for (refused, expected) in [
            (TensorMapRequest { address: 4104, ..GOOD }, "address 0x1008 is not a multiple of 16"),
            (TensorMapRequest { extents: &[0, 7], ..GOOD }, "extent 0 is 0, required is 1 to 4294967296"),
            (
                TensorMapRequest { extents: &[7, (1 << 32) + 1], ..GOOD },
                "extent 1 is 4294967297, required is 1 to 4294967296",
            ),
            (
                TensorMapRequest { strides: &[200], ..GOOD },
                "the stride of dimension 1 is 200 bytes, required is a multiple of 16 below 1099511627776",
            ),
            (
                TensorMapRequest { strides: &[1 << 40], ..GOOD },
                "the stride of dimension 1 is 1099511627776 bytes, required is a multiple of 16 below 1099511627776",
            ),
            (TensorMapRequest { box_extents: &[64, 257], ..GOOD }, "box extent 1 is 257, required is 1 to 256"),
            (TensorMapRequest { box_extents: &[0, 1], ..GOOD }, "box extent 0 is 0, required is 1 to 256"),
            (
                TensorMapRequest { box_extents: &[72, 1], ..GOOD },
                "a row of the box has 144 bytes, required is a multiple of 16 up to 128",
            ),
            (
                TensorMapRequest { box_extents: &[63, 1], ..GOOD },
                "a row of the box has 126 bytes, required is a multiple of 16 up to 128",
            ),
            (
                TensorMapRequest { swizzle: Bytes32, element: f32, box_extents: &[12, 1], ..GOOD },
                "a row of the box has 48 bytes, required is a multiple of 16 up to 32",
            ),
        ] {
            assert_eq!(refused.check().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn extents_strides_and_box_have_one_rank() {
        for refused in [
            TensorMapRequest { extents: &[], strides: &[], box_extents: &[], ..GOOD },
            TensorMapRequest { extents: &[8; 6], strides: &[16; 5], box_extents: &[8; 6], ..GOOD },
            TensorMapRequest { strides: &[208, 208], ..GOOD },
            TensorMapRequest { box_extents: &[64], ..GOOD },
        ] {
            assert!(matches!(refused.check(), Err(TensorMapError::Rank { .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_tensor_reaches_from_its_first_element_to_its_last() {
        assert_eq!(GOOD.extent_bytes(), 6 * 208 + 200);
        assert_eq!(TensorMapRequest { extents: &[100, 1], ..GOOD }.extent_bytes(), 200);
        let deep = TensorMapRequest { extents: &[8, 2, 3], strides: &[16, 64], ..GOOD };
        assert_eq!(deep.extent_bytes(), 16 + 16 + 2 * 64);
        assert_eq!(TensorMapRequest { extents: &[100, 0], ..GOOD }.extent_bytes(), 0);
    }
}
