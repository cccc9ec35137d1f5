//! Warp-specialised configurations with every part chosen but the few that usually vary.

use super::{Orders, Sharing, SpecializedConfig};
use crate::arch::wgmma::Wgmma;
use crate::epilogue::LinearCombination;
use crate::numeric::HalfElement;
use crate::schedule::Rasterised;
use crate::warp::{Warpgroup, WarpgroupMma};
use core::marker::PhantomData;

/// D = α·A·B + β·C on the block tile `T`, operands stored as `O`.
#[derive(Debug)]
pub struct DefaultSpecialized<T, O>(PhantomData<(T, O)>);

/// The block tile of a [`DefaultSpecialized`].
pub trait SpecializedTile: 'static {
    /// What a warpgroup multiplies.
    type Mma: WarpgroupMma<Element: HalfElement>;
    /// Consumer warpgroups.
    const CONSUMERS: u32;
    /// How they share the work.
    const SHARING: Sharing;
    /// Tiles of A and B in shared memory.
    const STAGES: u32;
    /// Blocks of a cluster, along M.
    const CLUSTER: u32;
}

impl<T: SpecializedTile, O: Orders> SpecializedConfig for DefaultSpecialized<T, O> {
    type Mma = T::Mma;
    type OrderA = O::A;
    type OrderB = O::B;
    const CONSUMERS: u32 = T::CONSUMERS;
    const SHARING: Sharing = T::SHARING;
    const STAGES: u32 = T::STAGES;
    const CLUSTER: u32 = T::CLUSTER;
    type OutputOp = LinearCombination<<T::Mma as WarpgroupMma>::Element>;
    type Scheduler = Rasterised;
}

/// 128 × 256 × 64 in pairs of blocks that share B: the fewest bytes a product.
#[derive(Debug)]
pub struct Wgmma128x256<E>(PhantomData<E>);

impl<E: HalfElement + Wgmma<256>> SpecializedTile for Wgmma128x256<E> {
    type Mma = Warpgroup<E, 1, 256>;
    const CONSUMERS: u32 = 2;
    const SHARING: Sharing = Sharing::Cooperative;
    const STAGES: u32 = 3;
    const CLUSTER: u32 = 2;
}

/// 128 × 192 × 64 in pairs of blocks that share B, which must be column-major: between the two others, for problems of which
/// their waves leave the device half empty.
#[derive(Debug)]
pub struct Wgmma128x192<E>(PhantomData<E>);

impl<E: HalfElement + Wgmma<192>> SpecializedTile for Wgmma128x192<E> {
    type Mma = Warpgroup<E, 1, 192>;
    const CONSUMERS: u32 = 2;
    const SHARING: Sharing = Sharing::Cooperative;
    const STAGES: u32 = 4;
    const CLUSTER: u32 = 2;
}

/// 128 × 128 × 64 in pairs of blocks that share B.
#[derive(Debug)]
pub struct Wgmma128x128<E>(PhantomData<E>);

impl<E: HalfElement + Wgmma<128>> SpecializedTile for Wgmma128x128<E> {
    type Mma = Warpgroup<E, 1, 128>;
    const CONSUMERS: u32 = 2;
    const SHARING: Sharing = Sharing::Cooperative;
    const STAGES: u32 = 6;
    const CLUSTER: u32 = 2;
}

/// 64 × 128 × 64: many tiles for small problems.
#[derive(Debug)]
pub struct Wgmma64x128<E>(PhantomData<E>);

impl<E: HalfElement + Wgmma<128>> SpecializedTile for Wgmma64x128<E> {
    type Mma = Warpgroup<E, 1, 128>;
    const CONSUMERS: u32 = 1;
    const SHARING: Sharing = Sharing::Cooperative;
    const STAGES: u32 = 8;
    const CLUSTER: u32 = 1;
}

/// 128 × 128 × 64 a warpgroup, in turn, in pairs of blocks that share B: no epilogue stands between products.
#[derive(Debug)]
pub struct WgmmaPingpong128x128<E>(PhantomData<E>);

impl<E: HalfElement + Wgmma<128>> SpecializedTile for WgmmaPingpong128x128<E> {
    type Mma = Warpgroup<E, 2, 128>;
    const CONSUMERS: u32 = 2;
    const SHARING: Sharing = Sharing::Pingpong;
    const STAGES: u32 = 5;
    const CLUSTER: u32 = 2;
}
