//! The instructions. Each file decodes and executes one class, so that a new instruction is one place to add:
//! its modifiers and operands are read once, into a closure over register slots that runs it.

mod arithmetic;
mod async_copy;
mod atomic;
mod barrier;
mod bits;
mod bulk_copy;
mod carry;
mod cluster;
mod compare;
mod control;
mod convert;
mod data;
mod float;
mod half_float;
mod integer;
mod lane;
mod matrix;
mod mbarrier;
mod memory;
mod mma;
mod shuffle;
mod vote;
pub(crate) mod wgmma;

use crate::counters::Class;
use crate::decode::Inst;
use crate::error::ParseError;
use crate::machine::context::{Context, Operation, Outcome};

/// What decoding an instruction yields.
pub(crate) struct Decoded {
    pub(crate) operation: Operation,
    pub(crate) class: Class,
}

impl Decoded {
    pub(crate) fn new(
        class: Class,
        operation: impl Fn(&mut Context<'_, '_>) -> Outcome + Send + Sync + 'static,
    ) -> Self {
        Self { operation: Box::new(operation), class }
    }
}

/// Result of decoding one instruction.
pub(crate) type Decoding = Result<Decoded, ParseError>;

/// Decodes an instruction by its mnemonic.
pub(crate) fn decode(i: &mut Inst<'_, '_>) -> Decoding {
    match i.mnemonic() {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "min" | "max" | "abs" | "neg" => arithmetic::decode(i),
        "mul24" | "mad24" | "rem" | "sad" | "dp4a" | "dp2a" => integer::decode(i),
        "addc" | "subc" | "madc" => carry::decode(i),
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "prmt" | "bfe" | "bfi" | "bfind" | "clz"
        | "popc" | "brev" | "lop3" | "bmsk" | "szext" => bits::decode(i),
        "setp" | "set" | "slct" => compare::decode(i),
        "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign" | "testp" => float::decode(i),
        "cvt" => convert::decode(i),
        "mov" | "selp" | "cvta" | "isspacep" => data::decode(i),
        "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "discard" | "applypriority" | "createpolicy" => {
            memory::decode(i)
        }
        "atom" | "red" => atomic::decode(i),
        "bar" | "barrier" | "membar" | "fence" => barrier::decode(i),
        "shfl" => shuffle::decode(i),
        "vote" | "match" | "activemask" | "elect" | "redux" => vote::decode(i),
        "ldmatrix" | "stmatrix" | "movmatrix" => matrix::decode(i),
        "mma" => mma::decode(i),
        "cp" => async_copy::decode(i),
        "mbarrier" => mbarrier::decode(i),
        "wgmma" => wgmma::decode(i),
        "mapa" | "getctarank" | "setmaxnreg" | "griddepcontrol" => cluster::decode(i),
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" | "nanosleep" | "pmevent" => control::decode(i),
        _ => Err(i.unknown()),
    }
}
