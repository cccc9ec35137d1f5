//! Element types and swizzles of tensor maps.

/// Elements of a tensor, as `CUtensorMapDataType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorElement {
    /// Unsigned bytes; 8-bit floats travel as these.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    S32,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits, signed.
    S64,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// tf32 in 32 bits.
    Tf32,
}

pub(super) const ELEMENTS: [(TensorElement, u32, &str); 11] = [
    (TensorElement::U8, 1, "b8"),
    (TensorElement::U16, 2, "b16"),
    (TensorElement::U32, 4, "u32"),
    (TensorElement::S32, 4, "s32"),
    (TensorElement::U64, 8, "u64"),
    (TensorElement::S64, 8, "s64"),
    (TensorElement::F16, 2, "f16"),
    (TensorElement::Bf16, 2, "bf16"),
    (TensorElement::F32, 4, "f32"),
    (TensorElement::F64, 8, "f64"),
    (TensorElement::Tf32, 4, "f32"),
];

impl TensorElement {
    pub(super) fn index(self) -> usize {
        ELEMENTS.iter().position(|(element, ..)| *element == self).unwrap_or(0)
    }

    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u32 {
        ELEMENTS[self.index()].1
    }

    /// The PTX type that reductions of these elements have.
    pub(crate) fn ptx(self) -> &'static str {
        ELEMENTS[self.index()].2
    }

    pub(super) fn is_float(self) -> bool {
        self.ptx().contains('f')
    }
}

/// How 16-byte units are permuted in shared memory: exclusive-or of their number with bits 7 and up of the address.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorSwizzle {
    /// Rows follow each other as they are.
    #[default]
    None,
    /// One bit, within 32 bytes.
    B32,
    /// Two bits, within 64 bytes.
    B64,
    /// Three bits, within 128 bytes.
    B128,
}

pub(super) const SWIZZLES: [TensorSwizzle; 4] =
    [TensorSwizzle::None, TensorSwizzle::B32, TensorSwizzle::B64, TensorSwizzle::B128];

impl TensorSwizzle {
    pub(super) fn bits(self) -> u32 {
        SWIZZLES.iter().position(|s| *s == self).unwrap_or(0) as u32
    }

    /// Bytes within which units are permuted; 16 for none.
    #[must_use]
    pub fn span(self) -> u32 {
        16 << self.bits()
    }

    /// Where the byte at shared address `address` really lies: `Swizzle<bits, 4, 3>`.
    #[must_use]
    pub fn apply(self, address: u32) -> u32 {
        address ^ (address >> 3 & ((1 << self.bits()) - 1) << 4)
    }
}
