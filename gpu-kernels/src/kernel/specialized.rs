//! The warp-specialised persistent GEMM. sm_90a.

use super::description::{GemmDescription, Header, KIND_GEMM, OpClass};
use super::{Kernel, KernelName, Sharing, SpecializedConfig, SpecializedParams};
use crate::arch::shared::SharedPtr;
use crate::arch::{cluster, mbarrier, thread, tma, warp};
use crate::epilogue::{OutputOp, TmaStore};
use crate::fragment::Fragment;
use crate::layout::StorageOrder;
use crate::numeric::{Element, ElementKind};
use crate::schedule::TileScheduler;
use crate::threadblock::{Specialized, TmaPipeline, Turns};
use crate::warp::WarpgroupMma;
use core::marker::PhantomData;
use core::mem::offset_of;

/// The persistent GEMM made of the parts of `C`.
#[derive(Debug)]
pub struct SpecializedGemm<C>(PhantomData<C>);

impl<C: SpecializedConfig> SpecializedGemm<C> {
    const TILES_BYTES: u32 = C::STAGES * Specialized::<C>::STAGE_BYTES;
    const BUFFER_BYTES: u32 = TmaStore::<C::OutputOp>::buffer_bytes(C::Mma::M, C::TILE_N);
    const BUFFERS_BYTES: u32 = C::CONSUMERS * Self::BUFFER_BYTES;
    const BARRIERS_BYTES: u32 = C::STAGES * TmaPipeline::BARRIER_BYTES
        + C::CONSUMERS * (TmaStore::<C::OutputOp>::BARRIER_BYTES + Turns::BARRIER_BYTES);
}

impl<C: SpecializedConfig> Kernel for SpecializedGemm<C> {
    type Params = SpecializedParams<<C::OutputOp as OutputOp>::Params>;
    type Description = GemmDescription;

    const DESCRIPTION: GemmDescription = {
        let () = Self::Params::IS_DENSE;
        assert!(
            C::CONSUMERS == 1 || C::CONSUMERS == 2,
            "the register pool is divided for one or two consumer warpgroups"
        );
        let shared_bytes = Self::TILES_BYTES + Self::BUFFERS_BYTES + Self::BARRIERS_BYTES;
        assert!(shared_bytes <= 232_448, "a block has at most 227 KiB of shared memory");
        let element = <C::Mma as WarpgroupMma>::Element::KIND as u32;
        let alignment = 16 / <C::Mma as WarpgroupMma>::Element::BYTES as u32;
        GemmDescription {
            header: Header {
                words: GemmDescription::WORDS as u32,
                arch: 90,
                arch_specific: 1,
                cluster: [C::CLUSTER, 1, 1],
                kind: KIND_GEMM,
                ..Header::new(C::THREADS, shared_bytes)
            },
            tile: [C::TILE_M, C::TILE_N, C::K],
            stages: C::STAGES,
            elements: [element, element, <C::OutputOp as OutputOp>::Output::KIND as u32, ElementKind::F32 as u32],
            orders: [C::OrderA::ORDER as u32, C::OrderB::ORDER as u32],
            alignment: [alignment; 2],
            op_class: OpClass::Wgmma as u32,
            warps: [4 * C::CONSUMERS, 1],
            params_bytes: size_of::<Self::Params>() as u32,
        }
    };

    /// `falchion_wgmma_<instruction><op>_<type>_<M>x<N>x<K>_<cluster>x1x1_<stages>_<orders of A and B>_<sharing>`.
    const NAME: KernelName = {
        let name = KernelName::new("falchion_wgmma_").text(C::Mma::NAME).text("_");
        let name = name.text(<C::Mma as WarpgroupMma>::Element::KIND.name()).text("_");
        let name = name.number(C::TILE_M).text("x").number(C::TILE_N).text("x").number(C::K).text("_");
        let name = name.number(C::CLUSTER).text("x1x1_").number(C::STAGES).text("_");
        name.letter(C::OrderA::ORDER.letter()).letter(C::OrderB::ORDER.letter()).text("_").text(C::SHARING.name())
    };

    #[inline(always)]
    unsafe fn run(params: &Self::Params, address: u64) {
        let tiles = SharedPtr::dynamic();
        let buffers = tiles.add(Self::TILES_BYTES);
        let map_a = address + offset_of!(Self::Params, a) as u64;
        let map_b = address + offset_of!(Self::Params, b) as u64;
        let map_c = address + offset_of!(Self::Params, c) as u64;
        let map_d = address + offset_of!(Self::Params, d) as u64;
        let thread = thread::thread_idx_x();
        let shape = params.shape;
        let k_tiles = shape.k.div_ceil(C::K);
        let count = params.raster.tiles_m.get() * params.raster.tiles_n.get();
        let step = thread::grid_dim_x() / C::CLUSTER;
        let first = thread::block_idx()[0] / C::CLUSTER;
        // SAFETY: roles diverge by warpgroup and meet again at the cluster's barrier; the host vouches for the operands.
        unsafe {
            let warpgroup = warp::broadcast_first(thread / 128);
            let rank = if C::CLUSTER == 1 { 0 } else { cluster::block_rank() };
            let ring = TmaPipeline::new(buffers.add(Self::BUFFERS_BYTES), C::STAGES);
            let arrived = buffers.add(Self::BUFFERS_BYTES + C::STAGES * TmaPipeline::BARRIER_BYTES);
            let turns = arrived.add(C::CONSUMERS * TmaStore::<C::OutputOp>::BARRIER_BYTES);
            if thread == 0 {
                ring.initialise(Specialized::<C>::RELEASES);
                for consumer in 0..C::CONSUMERS {
                    TmaStore::<C::OutputOp>::initialise(arrived.add(consumer * TmaStore::<C::OutputOp>::BARRIER_BYTES));
                }
                Turns::initialise(turns, C::CONSUMERS);
                mbarrier::fence_init();
                tma::prefetch(map_a);
                tma::prefetch(map_b);
                tma::prefetch(map_d);
            }
            cluster::sync_cluster();
            let origin = |index: u32| {
                let tile = C::Scheduler::tile(&params.raster, [index, 0, 0]);
                [(tile.m * C::CLUSTER + rank) * C::TILE_M, tile.n * C::TILE_N]
            };
            // 384 threads begin with 168 registers each; the pool balances at 24 and 2 × 240. 40 instead of 24 hangs.
            // 256 threads begin with 255.
            if warpgroup == 0 {
                if C::CONSUMERS == 2 {
                    cluster::release_registers::<24>();
                }
                if thread == 0 {
                    let mut producer = ring.producer();
                    let mut index = first;
                    while index < count {
                        Specialized::<C>::produce(&mut producer, tiles, [map_a, map_b], origin(index), k_tiles, rank);
                        index += step;
                    }
                    // Until every stage is released, another block may arrive at this block's barriers.
                    producer.drain();
                }
            } else {
                if C::CONSUMERS == 2 {
                    cluster::acquire_registers::<240>();
                }
                let which = warpgroup - 1;
                let mut consumer = ring.consumer();
                let mut turns = Turns::new(turns, which, C::CONSUMERS);
                let mut epilogue = TmaStore::<C::OutputOp>::new(
                    params.op,
                    [map_c, map_d],
                    buffers.add(which * Self::BUFFER_BYTES),
                    arrived.add(which * TmaStore::<C::OutputOp>::BARRIER_BYTES),
                    1 + which,
                );
                let (row, mut index, index_step) = match C::SHARING {
                    Sharing::Cooperative => (which * C::Mma::M, first, step),
                    Sharing::Pingpong => {
                        consumer.skip(which * k_tiles);
                        (0, first + which * step, C::CONSUMERS * step)
                    }
                };
                while index < count {
                    let [m, n] = origin(index);
                    let own = [m + row, n];
                    epilogue.begin(own, [C::Mma::M, C::TILE_N]);
                    let mut d = <C::Mma as WarpgroupMma>::Accumulators::ZERO;
                    match C::SHARING {
                        Sharing::Cooperative => {
                            Specialized::<C>::consume(&mut consumer, tiles, &mut d, row, k_tiles, || ());
                        }
                        Sharing::Pingpong => {
                            turns.begin();
                            Specialized::<C>::consume(&mut consumer, tiles, &mut d, row, k_tiles, || turns.end());
                            consumer.skip((C::CONSUMERS - 1) * k_tiles);
                        }
                    }
                    epilogue.finish(d.as_ref(), own);
                    index += index_step;
                }
                epilogue.end();
            }
        }
    }
}
