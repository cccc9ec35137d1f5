//! Tensor maps: the 128 opaque bytes that describe a tensor in global memory to the copy engine.

mod element;
mod error;

use element::{ELEMENTS, SWIZZLES};
pub use element::{TensorElement, TensorSwizzle};
pub use error::TensorMapError;

/// What the copy engine must know of a tensor in global memory and of the boxes it is copied in.
///
/// Lists run from the contiguous dimension outwards.
///
/// ```
/// use falchion_sim::{TensorElement, TensorMap, TensorSwizzle};
///
/// let mut map = TensorMap::new(TensorElement::Bf16, 0x7000_0000_0000, &[1024, 512], &[2048], &[64, 128]);
/// map.swizzle = TensorSwizzle::B128;
/// let words = map.encode()?;
/// assert_eq!(std::mem::size_of_val(&words), 128);
/// # Ok::<(), falchion_sim::TensorMapError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorMap {
    /// Elements.
    pub element: TensorElement,
    /// Address of the first element, a multiple of 16.
    pub address: u64,
    /// Elements along each dimension.
    pub sizes: Vec<u64>,
    /// Bytes between neighbours along each dimension but the contiguous one.
    pub strides: Vec<u64>,
    /// Elements of a box along each dimension.
    pub box_size: Vec<u32>,
    /// Steps between the elements of a box that are copied; that of the contiguous dimension is ignored.
    pub element_strides: Vec<u32>,
    /// How boxes lie in shared memory.
    pub swizzle: TensorSwizzle,
    /// Fills what lies outside the tensor with NaN instead of zero.
    pub nan_fill: bool,
}

/// First word of an encoded map.
const MAGIC: u64 = 0x7061_4d72_6f73_6e54;

fn checksum(words: &[u64]) -> u64 {
    words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &word| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29))
}

impl TensorMap {
    /// A map without swizzle and with zero fill.
    #[must_use]
    pub fn new(element: TensorElement, address: u64, sizes: &[u64], strides: &[u64], box_size: &[u32]) -> Self {
        Self {
            element,
            address,
            sizes: sizes.to_vec(),
            strides: strides.to_vec(),
            box_size: box_size.to_vec(),
            element_strides: vec![1; sizes.len()],
            swizzle: TensorSwizzle::None,
            nan_fill: false,
        }
    }

    fn check(&self) -> Result<(), TensorMapError> {
        let rank = self.sizes.len();
        let lists = [self.strides.len() + 1, self.box_size.len(), self.element_strides.len()];
        if !(1..=5).contains(&rank) || lists.iter().any(|&length| length != rank) {
            let (strides, boxes) = (self.strides.len(), self.box_size.len());
            return Err(TensorMapError::Rank { sizes: rank, strides, boxes });
        }
        if !self.address.is_multiple_of(16) {
            return Err(TensorMapError::Address { address: self.address });
        }
        for (dimension, &size) in self.sizes.iter().enumerate() {
            if size == 0 || size > 1 << 32 {
                return Err(TensorMapError::Size { dimension, size });
            }
        }
        for (index, &stride) in self.strides.iter().enumerate() {
            if !stride.is_multiple_of(16) || stride >= 1 << 40 {
                return Err(TensorMapError::Stride { dimension: index + 1, stride });
            }
        }
        for (dimension, &extent) in self.box_size.iter().enumerate() {
            if extent == 0 || extent > 256 {
                return Err(TensorMapError::Box { dimension, extent });
            }
        }
        for (dimension, &stride) in self.element_strides.iter().enumerate() {
            if stride == 0 || stride > 8 {
                return Err(TensorMapError::ElementStride { dimension, stride });
            }
        }
        let (bytes, span) = (self.box_size[0] * self.element.bytes(), self.swizzle.span());
        if !bytes.is_multiple_of(16) || (span > 16 && bytes > span) {
            return Err(TensorMapError::Inner { bytes, span });
        }
        if self.nan_fill && !self.element.is_float() {
            return Err(TensorMapError::Fill { element: self.element });
        }
        Ok(())
    }

    /// The map as 128 bytes, for kernels of this simulator only. They must lie at a multiple of 64.
    ///
    /// # Errors
    /// [`TensorMapError`]: what `cuTensorMapEncodeTiled` refuses too.
    pub fn encode(&self) -> Result<[u64; 16], TensorMapError> {
        self.check()?;
        let mut words = [0; 16];
        words[0] = MAGIC;
        words[1] = self.address;
        words[2..2 + self.sizes.len()].copy_from_slice(&self.sizes);
        words[7..7 + self.strides.len()].copy_from_slice(&self.strides);
        for (at, (&extent, &stride)) in self.box_size.iter().zip(&self.element_strides).enumerate() {
            words[11 + at / 4] |= u64::from(extent) << (16 * (at % 4));
            words[13] |= u64::from(stride) << (8 * at);
        }
        words[14] = self.sizes.len() as u64
            | (self.element.index() as u64) << 8
            | u64::from(self.swizzle.bits()) << 16
            | u64::from(self.nan_fill) << 24;
        words[15] = checksum(&words[..15]);
        Ok(words)
    }

    /// The map that 128 bytes are.
    pub(crate) fn decode(bytes: &[u8; 128]) -> Option<Self> {
        let (chunks, _) = bytes.as_chunks::<8>();
        let words: Vec<u64> = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        if words[0] != MAGIC || words[15] != checksum(&words[..15]) {
            return None;
        }
        let rank = (words[14] & 0xff) as usize;
        let map = Self {
            element: ELEMENTS.get((words[14] >> 8 & 0xff) as usize)?.0,
            address: words[1],
            sizes: words[2..7].get(..rank)?.to_vec(),
            strides: words[7..11].get(..rank.checked_sub(1)?)?.to_vec(),
            box_size: (0..rank).map(|at| (words[11 + at / 4] >> (16 * (at % 4))) as u32 & 0xffff).collect(),
            element_strides: (0..rank).map(|at| (words[13] >> (8 * at)) as u32 & 0xff).collect(),
            swizzle: *SWIZZLES.get((words[14] >> 16 & 0xff) as usize)?,
            nan_fill: words[14] >> 24 & 1 == 1,
        };
        map.check().is_ok().then_some(map)
    }

    /// Elements of a box that are copied along `dimension`.
    fn copied(&self, dimension: usize) -> u32 {
        if dimension == 0 {
            return self.box_size[0];
        }
        self.box_size[dimension].div_ceil(self.element_strides[dimension])
    }

    /// Bytes of a row of a box in shared memory.
    pub(crate) fn row_bytes(&self) -> u32 {
        self.box_size[0] * self.element.bytes()
    }

    /// Bytes of a box in shared memory.
    pub(crate) fn box_bytes(&self) -> u32 {
        (1..self.sizes.len()).map(|dimension| self.copied(dimension)).product::<u32>() * self.row_bytes()
    }

    /// Calls `f(position in the box, address, bytes)` for the part of each row of the box at `coordinates` that lies
    /// inside the tensor.
    pub(crate) fn rows<E>(
        &self,
        coordinates: &[i32],
        mut f: impl FnMut(usize, u64, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let rank = self.sizes.len();
        let element = i64::from(self.element.bytes());
        let inner = i64::from(coordinates[0]);
        let first = inner.max(0);
        let last = (inner + i64::from(self.box_size[0])).min(self.sizes[0] as i64);
        if first >= last {
            return Ok(());
        }
        let rows: u32 = (1..rank).map(|dimension| self.copied(dimension)).product();
        for row in 0..rows {
            let mut rest = row;
            let mut address = self.address.wrapping_add_signed(first * element);
            let mut inside = true;
            for (dimension, &coordinate) in coordinates.iter().enumerate().take(rank).skip(1) {
                let count = self.copied(dimension);
                let step = i64::from(rest % count * self.element_strides[dimension]);
                rest /= count;
                let at = i64::from(coordinate) + step;
                inside &= at >= 0 && (at as u64) < self.sizes[dimension];
                address = address.wrapping_add_signed(at.wrapping_mul(self.strides[dimension - 1] as i64));
            }
            if inside {
                let position = i64::from(row * self.row_bytes()) + (first - inner) * element;
                f(position as usize, address, ((last - first) * element) as usize)?;
            }
        }
        Ok(())
    }

    /// The contents of a box before the tensor's are copied in.
    pub(crate) fn blank(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.box_bytes() as usize];
        if self.nan_fill {
            let width = self.element.bytes() as usize;
            for element in bytes.chunks_exact_mut(width) {
                element.fill(0xff);
                element[width - 1] = 0x7f;
            }
        }
        bytes
    }

    /// Permutes `bytes`, in shared memory at `address`, from rows to where they lie there, or back: it is its own inverse.
    pub(crate) fn permute(&self, address: u32, bytes: &[u8]) -> Vec<u8> {
        if self.swizzle == TensorSwizzle::None {
            return bytes.to_vec();
        }
        let mut out = vec![0; bytes.len()];
        for (unit, chunk) in bytes.chunks(16).enumerate() {
            let to = (self.swizzle.apply(address + unit as u32 * 16) - address) as usize;
            out[to..to + chunk.len()].copy_from_slice(chunk);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        let mut map = TensorMap::new(TensorElement::Bf16, 0x1000, &[100, 50, 3], &[208, 10400], &[64, 8, 2]);
        map.swizzle = TensorSwizzle::B128;
        map.element_strides = vec![1, 2, 1];
        map
    }

    fn bytes(words: [u64; 16]) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(chunk, word)| chunk.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    #[test]
    fn encoding_loses_nothing_and_a_changed_byte_shows() {
        let encoded = bytes(map().encode().unwrap());
        assert_eq!(TensorMap::decode(&encoded), Some(map()));
        for at in 0..128 {
            let mut broken = encoded;
            broken[at] ^= 4;
            assert_eq!(TensorMap::decode(&broken), None, "byte {at}");
        }
    }

    #[test]
    fn what_the_driver_refuses_is_refused() {
        let refused = |change: fn(&mut TensorMap)| {
            let mut map = map();
            change(&mut map);
            map.encode().unwrap_err()
        };
        assert_eq!(refused(|m| m.address = 8), TensorMapError::Address { address: 8 });
        assert_eq!(refused(|m| m.sizes[1] = 0), TensorMapError::Size { dimension: 1, size: 0 });
        assert_eq!(refused(|m| m.strides[0] = 200), TensorMapError::Stride { dimension: 1, stride: 200 });
        assert_eq!(refused(|m| m.box_size[1] = 257), TensorMapError::Box { dimension: 1, extent: 257 });
        assert_eq!(refused(|m| m.box_size[0] = 72), TensorMapError::Inner { bytes: 144, span: 128 });
        assert_eq!(refused(|m| m.box_size[0] = 7), TensorMapError::Inner { bytes: 14, span: 128 });
        assert_eq!(refused(|m| m.element_strides[2] = 9), TensorMapError::ElementStride { dimension: 2, stride: 9 });
        assert!(matches!(refused(|m| m.sizes.truncate(2)), TensorMapError::Rank { .. }));
        let filled = refused(|m| {
            m.element = TensorElement::U16;
            m.nan_fill = true;
        });
        assert_eq!(filled, TensorMapError::Fill { element: TensorElement::U16 });
    }

    #[test]
    fn rows_are_clipped_to_the_tensor() {
        let mut found = Vec::new();
        map()
            .rows(&[-4, 46, 2], |at, address, bytes| {
                found.push((at, address, bytes));
                Ok::<(), ()>(())
            })
            .unwrap();
        // Rows 46 and 48 of four, the first of two planes; four elements short on the left.
        let base = 0x1000 + 2 * 10400;
        assert_eq!(found, [(8, base + 46 * 208, 120), (136, base + 48 * 208, 120)]);
    }

    #[test]
    fn a_swizzle_is_its_own_inverse() {
        let data: Vec<u8> = (0..=255).cycle().take(2048).collect();
        let there = map().permute(1024, &data);
        assert_eq!(there[128 + 16..128 + 32], data[128..144]);
        assert_eq!(map().permute(1024, &there), data);
    }
}
