//! Special registers that keep one value a lane for the life of a warp.

use crate::machine::context::LaunchState;

/// A special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Thread(usize),
    BlockDim(usize),
    Block(usize),
    GridDim(usize),
    Lane,
    Warp,
    Warps,
    Multiprocessor,
    Multiprocessors,
    MaskEqual,
    MaskLess,
    MaskLessEqual,
    MaskGreater,
    MaskGreaterEqual,
    DynamicShared,
    TotalShared,
    Grid,
    Cluster(usize),
    ClusterCount(usize),
    ClusterBlock(usize),
    ClusterDim(usize),
    ClusterRank,
    ClusterBlocks,
    IsCluster,
}

impl Special {
    /// The register `name` names, `%tid.x`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let name = name.strip_prefix('%')?;
        if let Some((base, axis)) = name.split_once('.') {
            let axis = ["x", "y", "z"].iter().position(|&a| a == axis)?;
            return Some(match base {
                "tid" => Special::Thread(axis),
                "ntid" => Special::BlockDim(axis),
                "ctaid" => Special::Block(axis),
                "nctaid" => Special::GridDim(axis),
                "clusterid" => Special::Cluster(axis),
                "nclusterid" => Special::ClusterCount(axis),
                "cluster_ctaid" => Special::ClusterBlock(axis),
                "cluster_nctaid" => Special::ClusterDim(axis),
                _ => return None,
            });
        }
        Some(match name {
            "laneid" => Special::Lane,
            "warpid" => Special::Warp,
            "nwarpid" => Special::Warps,
            "smid" => Special::Multiprocessor,
            "nsmid" => Special::Multiprocessors,
            "lanemask_eq" => Special::MaskEqual,
            "lanemask_lt" => Special::MaskLess,
            "lanemask_le" => Special::MaskLessEqual,
            "lanemask_gt" => Special::MaskGreater,
            "lanemask_ge" => Special::MaskGreaterEqual,
            "dynamic_smem_size" => Special::DynamicShared,
            "total_smem_size" => Special::TotalShared,
            "gridid" => Special::Grid,
            "cluster_ctarank" => Special::ClusterRank,
            "cluster_nctarank" => Special::ClusterBlocks,
            "is_explicit_cluster" => Special::IsCluster,
            _ => return None,
        })
    }

    /// Its value in a lane.
    pub(crate) fn value(self, launch: &LaunchState, block: [u32; 3], warp: u32, lane: u32) -> u32 {
        let [x, y, _] = launch.block;
        let linear = warp * 32 + lane;
        let thread = [linear % x, linear / x % y, linear / (x * y)];
        let linear_block = block[0] + launch.grid[0].wrapping_mul(block[1] + launch.grid[1].wrapping_mul(block[2]));
        let in_cluster: [u32; 3] = std::array::from_fn(|axis| block[axis] % launch.cluster[axis]);
        match self {
            Special::Thread(axis) => thread[axis],
            Special::BlockDim(axis) => launch.block[axis],
            Special::Block(axis) => block[axis],
            Special::GridDim(axis) => launch.grid[axis],
            Special::Lane => lane,
            Special::Warp => warp,
            Special::Warps => launch.block.iter().product::<u32>().div_ceil(32),
            Special::Multiprocessor => linear_block % launch.multiprocessors,
            Special::Multiprocessors => launch.multiprocessors,
            Special::MaskEqual => 1 << lane,
            Special::MaskLess => (1 << lane) - 1,
            Special::MaskLessEqual => (1 << lane) | ((1 << lane) - 1),
            Special::MaskGreater => !((1 << lane) | ((1 << lane) - 1)),
            Special::MaskGreaterEqual => !((1 << lane) - 1),
            Special::DynamicShared => launch.dynamic_shared,
            Special::TotalShared => launch.total_shared,
            Special::Grid => 0,
            Special::Cluster(axis) => block[axis] / launch.cluster[axis],
            Special::ClusterCount(axis) => launch.grid[axis] / launch.cluster[axis],
            Special::ClusterBlock(axis) => in_cluster[axis],
            Special::ClusterDim(axis) => launch.cluster[axis],
            Special::ClusterRank => {
                in_cluster[0] + launch.cluster[0] * (in_cluster[1] + launch.cluster[1] * in_cluster[2])
            }
            Special::ClusterBlocks => launch.cluster_size(),
            Special::IsCluster => u32::from(launch.cluster_size() > 1),
        }
    }
}
