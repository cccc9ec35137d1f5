//! Typed views of a lane's register, and the loops over 32 lanes that most instructions are.

use super::Decoded;
use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::machine::context::Flow;
use crate::machine::registers::{LANES, Row, Word};

/// A PTX type: how its value lies in a register.
pub(crate) trait Lane: Copy + Send + Sync + 'static {
    /// The register that holds it.
    type Storage: Word;
    fn read(storage: Self::Storage) -> Self;
    fn write(self) -> Self::Storage;
}

macro_rules! integer_lane {
    ($($type:ty, $unsigned:ty, $storage:ty;)*) => {$(
        impl Lane for $type {
            type Storage = $storage;
            #[inline]
            fn read(storage: $storage) -> Self {
                storage as $type
            }
            #[inline]
            fn write(self) -> $storage {
                <$storage>::from(self as $unsigned)
            }
        }
    )*};
}

integer_lane! {
    u8, u8, u32;
    i8, u8, u32;
    u16, u16, u32;
    i16, u16, u32;
    u32, u32, u32;
    i32, u32, u32;
    u64, u64, u64;
    i64, u64, u64;
}

impl Lane for f32 {
    type Storage = u32;
    #[inline]
    fn read(storage: u32) -> Self {
        f32::from_bits(storage)
    }
    #[inline]
    fn write(self) -> u32 {
        self.to_bits()
    }
}

impl Lane for f64 {
    type Storage = u64;
    #[inline]
    fn read(storage: u64) -> Self {
        f64::from_bits(storage)
    }
    #[inline]
    fn write(self) -> u64 {
        self.to_bits()
    }
}

/// Expands `$body` once for each integer type with `$t` as the type `$name` spells (`"s32"` is `i32`);
/// for another name the value is `$otherwise`:
/// `match name { "u16" | "b16" => { type T = u16; body } "s16" => { type T = i16; body } … _ => otherwise }`.
macro_rules! by_integer {
    ($name:expr, $t:ident => $body:expr, else $otherwise:expr) => {
        match $name {
            "u8" | "b8" => {
                type $t = u8;
                $body
            }
            "s8" => {
                type $t = i8;
                $body
            }
            "u16" | "b16" => {
                type $t = u16;
                $body
            }
            "s16" => {
                type $t = i16;
                $body
            }
            "u32" | "b32" => {
                type $t = u32;
                $body
            }
            "s32" => {
                type $t = i32;
                $body
            }
            "u64" | "b64" => {
                type $t = u64;
                $body
            }
            "s64" => {
                type $t = i64;
                $body
            }
            _ => $otherwise,
        }
    };
}
pub(crate) use by_integer;

/// `d = f(a)`
pub(crate) fn unary<A: Lane, D: Lane>(
    i: &mut Inst<'_, '_>,
    class: Class,
    f: impl Fn(A) -> D + Send + Sync + 'static,
) -> Result<Decoded, ParseError> {
    let (d, a) = (i.dest::<D::Storage>(0)?, i.source::<A::Storage>(1)?);
    Ok(Decoded::new(class, move |c| {
        let mut out: Row<D::Storage> = [Default::default(); LANES];
        let a = c.row(a);
        for lane in 0..LANES {
            out[lane] = f(A::read(a[lane])).write();
        }
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// `d = f(a, b)`
pub(crate) fn binary<A: Lane, B: Lane, D: Lane>(
    i: &mut Inst<'_, '_>,
    class: Class,
    f: impl Fn(A, B) -> D + Send + Sync + 'static,
) -> Result<Decoded, ParseError> {
    let d = i.dest::<D::Storage>(0)?;
    let (a, b) = (i.source::<A::Storage>(1)?, i.source::<B::Storage>(2)?);
    Ok(Decoded::new(class, move |c| {
        let mut out: Row<D::Storage> = [Default::default(); LANES];
        let (a, b) = (c.row(a), c.row(b));
        for lane in 0..LANES {
            out[lane] = f(A::read(a[lane]), B::read(b[lane])).write();
        }
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}

/// `d = f(a, b, c)`
pub(crate) fn ternary<A: Lane, B: Lane, C: Lane, D: Lane>(
    i: &mut Inst<'_, '_>,
    class: Class,
    f: impl Fn(A, B, C) -> D + Send + Sync + 'static,
) -> Result<Decoded, ParseError> {
    let d = i.dest::<D::Storage>(0)?;
    let (a, b) = (i.source::<A::Storage>(1)?, i.source::<B::Storage>(2)?);
    let third = i.source::<C::Storage>(3)?;
    Ok(Decoded::new(class, move |c| {
        let mut out: Row<D::Storage> = [Default::default(); LANES];
        let (a, b, third) = (c.row(a), c.row(b), c.row(third));
        for lane in 0..LANES {
            out[lane] = f(A::read(a[lane]), B::read(b[lane]), C::read(third[lane])).write();
        }
        c.put(d, &out);
        Ok(Flow::Next)
    }))
}
