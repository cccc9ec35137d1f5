//! The GEMM kernel: D = op(A·B, C), one tile a block.

use super::description::{GemmDescription, Header, KIND_GEMM};
use super::{GemmConfig, GemmParams, Kernel, KernelName};
use crate::arch::shared::SharedPtr;
use crate::arch::thread;
use crate::epilogue::{Epilogue, OutputOp};
use crate::fragment::Fragment;
use crate::iterator::TileIterator;
use crate::layout::StorageOrder;
use crate::numeric::{Element, ElementKind};
use crate::schedule::TileScheduler;
use crate::threadblock::{Mainloop, ThreadPosition};
use crate::warp::WarpMma;
use core::marker::PhantomData;

/// The GEMM made of the parts of `C`.
#[derive(Debug)]
pub struct Gemm<C>(PhantomData<C>);

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

impl<C: GemmConfig> Kernel for Gemm<C> {
    type Params = GemmParams<<C::OutputOp as OutputOp>::Params>;
    type Description = GemmDescription;

    const DESCRIPTION: GemmDescription = {
        let () = Self::Params::IS_DENSE;
        assert!(C::THREADS <= 1024, "a block has at most 1,024 threads");
        let shared_bytes = max(<C::Mainloop as Mainloop<C>>::SHARED_BYTES, <C::Epilogue as Epilogue<C>>::SHARED_BYTES);
        assert!(shared_bytes <= 232_448, "a block has at most 227 KiB of shared memory");
        let element = <C::Mma as WarpMma>::Element::KIND as u32;
        GemmDescription {
            header: Header {
                words: GemmDescription::WORDS as u32,
                arch: C::Mma::ARCH,
                blocks_per_multiprocessor: C::BLOCKS_PER_MULTIPROCESSOR,
                kind: KIND_GEMM,
                ..Header::new(C::THREADS, shared_bytes)
            },
            tile: [C::TILE_M, C::TILE_N, C::K],
            stages: <C::Mainloop as Mainloop<C>>::STAGES,
            elements: [element, element, <C::OutputOp as OutputOp>::Output::KIND as u32, ElementKind::F32 as u32],
            orders: [C::OrderA::ORDER as u32, C::OrderB::ORDER as u32],
            alignment: C::ALIGNMENT,
            op_class: C::Mma::OP_CLASS as u32,
            warps: C::WARPS,
            params_bytes: size_of::<Self::Params>() as u32,
        }
    };

    /// `falchion_<class>_<instruction><op>_<type>_<M>x<N>_<K>x<stages>_<orders of A and B>_align<elements>`,
    /// CUTLASS's scheme.
    const NAME: KernelName = {
        let name = KernelName::new("falchion_").text(C::Mma::OP_CLASS.name()).text("_").text(C::Mma::NAME).text("_");
        let name = name.text(<C::Mma as WarpMma>::Element::KIND.name()).text("_");
        let name = name.number(C::TILE_M).text("x").number(C::TILE_N).text("_");
        let name = name.number(C::K).text("x").number(<C::Mainloop as Mainloop<C>>::STAGES).text("_");
        let name = name.letter(C::OrderA::ORDER.letter()).letter(C::OrderB::ORDER.letter());
        let name = name.text("_align").number(C::ALIGNMENT[0]);
        if C::ALIGNMENT[1] == C::ALIGNMENT[0] { name } else { name.text("x").number(C::ALIGNMENT[1]) }
    };

    #[inline(always)]
    unsafe fn run(params: &Self::Params, _: u64) {
        let shared = SharedPtr::dynamic();
        // SAFETY: the whole block runs the same path; the host vouches for the operands.
        unsafe {
            let position = ThreadPosition::current(C::WARPS[0]);
            let tile = C::Scheduler::tile(&params.raster, thread::block_idx());
            let shape = params.shape;
            let a = C::IteratorA::new(&params.a, shape.m, shape.k, tile.m, position.thread);
            let b = C::IteratorB::new(&params.b, shape.n, shape.k, tile.n, position.thread);
            let mut accumulators = <C::Mma as WarpMma>::Accumulators::ZERO;
            C::Mainloop::run(&mut accumulators, a, b, shape.k.div_ceil(C::K), shared, position);
            C::Epilogue::run(params, &accumulators, tile, shared, position);
        }
    }
}
