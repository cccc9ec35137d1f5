//! Element types: how a matrix entry is stored, and how it is named.

pub use half::{bf16, f16};

/// The element types a kernel description can name. The discriminants are part of the format of
/// [`GemmDescription`](crate::kernel::GemmDescription) and never change meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum ElementKind {
    /// IEEE 754 binary32.
    F32 = 0,
    /// IEEE 754 binary16.
    F16 = 1,
    /// The upper half of binary32: 8 exponent bits, 7 fraction bits.
    Bf16 = 2,
}

impl ElementKind {
    /// Bytes one element takes in memory.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }

    /// The name used in kernel names and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// Unit round-off u = 2^-p of the type: |fl(x) − x| ≤ u·|x| when rounding to nearest.
    #[must_use]
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Self::F32 => 1.0 / 16_777_216.0,
            Self::F16 => 1.0 / 2048.0,
            Self::Bf16 => 1.0 / 256.0,
        }
    }

    /// The kind whose discriminant is `code`.
    #[must_use]
    pub const fn from_code(code: u32) -> Option<Self> {
        match code {
            0 => Some(Self::F32),
            1 => Some(Self::F16),
            2 => Some(Self::Bf16),
            _ => None,
        }
    }
}

impl core::fmt::Display for ElementKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// A matrix element: a storage type, its name, and its exchange with the type that accumulates.
///
/// Conversions are exact upwards and round to nearest, ties to even, downwards. On the device they
/// are one `cvt` instruction; on the host the `half` crate does the same arithmetic in software.
pub trait Element: Copy + PartialEq + core::fmt::Debug + Send + Sync + 'static {
    /// The run-time name of this type.
    const KIND: ElementKind;
    /// Bytes one element takes in memory.
    const BYTES: usize = core::mem::size_of::<Self>();
    /// The additive identity.
    const ZERO: Self;
    /// Exact conversion to the accumulation type.
    fn to_f32(self) -> f32;
    /// Conversion from the accumulation type, to nearest even.
    fn from_f32(value: f32) -> Self;
    /// The bits of this element in the low end of a word.
    fn to_low_bits(self) -> u32;
    /// The element in the low end of a word; higher bits are ignored.
    fn from_low_bits(word: u32) -> Self;
}

/// An element of 16 bits, two of which fill a register.
pub trait HalfElement: Element {
    /// Two conversions from the accumulation type, `low` in the low half.
    fn pack(low: f32, high: f32) -> u32;
}

impl Element for f32 {
    const KIND: ElementKind = ElementKind::F32;
    const ZERO: Self = 0.0;
    #[inline(always)]
    fn to_f32(self) -> f32 {
        self
    }
    #[inline(always)]
    fn from_f32(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn to_low_bits(self) -> u32 {
        self.to_bits()
    }
    #[inline(always)]
    fn from_low_bits(word: u32) -> Self {
        Self::from_bits(word)
    }
}

macro_rules! sixteen_bit_float {
    ($type:ty, $kind:ident, $widen:ident, $narrow:ident, $narrow_pair:ident) => {
        impl Element for $type {
            const KIND: ElementKind = ElementKind::$kind;
            const ZERO: Self = <$type>::from_bits(0);
            #[inline(always)]
            fn to_f32(self) -> f32 {
                #[cfg(target_arch = "nvptx64")]
                return crate::arch::convert::$widen(self.to_bits());
                #[cfg(not(target_arch = "nvptx64"))]
                return <$type>::to_f32(self);
            }
            #[inline(always)]
            fn from_f32(value: f32) -> Self {
                #[cfg(target_arch = "nvptx64")]
                return <$type>::from_bits(crate::arch::convert::$narrow(value));
                #[cfg(not(target_arch = "nvptx64"))]
                return <$type>::from_f32(value);
            }
            #[inline(always)]
            fn to_low_bits(self) -> u32 {
                self.to_bits() as u32
            }
            #[inline(always)]
            fn from_low_bits(word: u32) -> Self {
                Self::from_bits(word as u16)
            }
        }

        impl HalfElement for $type {
            #[inline(always)]
            fn pack(low: f32, high: f32) -> u32 {
                #[cfg(target_arch = "nvptx64")]
                return crate::arch::convert::$narrow_pair(low, high);
                #[cfg(not(target_arch = "nvptx64"))]
                return Self::from_f32(low).to_low_bits() | Self::from_f32(high).to_low_bits() << 16;
            }
        }
    };
}
sixteen_bit_float!(f16, F16, f16_to_f32, f32_to_f16, f32x2_to_f16x2);
sixteen_bit_float!(bf16, Bf16, bf16_to_f32, f32_to_bf16, f32x2_to_bf16x2);

/// `a·b + c`, rounded once.
#[inline(always)]
#[must_use]
pub fn fma(a: f32, b: f32, c: f32) -> f32 {
    #[cfg(target_arch = "nvptx64")]
    return core::f32::math::mul_add(a, b, c);
    #[cfg(not(target_arch = "nvptx64"))]
    return num_traits::Float::mul_add(a, b, c);
}
