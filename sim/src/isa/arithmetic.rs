//! Mnemonics that integers and floating-point numbers share.

use super::{Decoding, carry, float, half_float, integer};
use crate::decode::Inst;

/// `add`, `sub`, `mul`, `mad`, `fma`, `div`, `min`, `max`, `abs`, `neg`, by type.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.peek_type() {
        "f32" | "f64" => float::decode(i),
        "f16" | "f16x2" | "bf16" | "bf16x2" => half_float::decode(i),
        _ if i.flag("cc") => carry::decode_setting(i),
        _ => integer::decode(i),
    }
}
