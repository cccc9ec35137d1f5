//! Which kernels serve a problem, and which of them first.
//!
//! The model, in the order it decides:
//! 1. **Access width.** Among kernels that may access the operands (pointer, leading dimension and, for some, contiguous
//!    extent multiples of their alignment) the widest accesses win: a 2-byte load moves an eighth of what a 16-byte load
//!    moves, and tensor-core mainloops need `cp.async`, which moves no less than 4 bytes.
//! 2. **Unit.** `wgmma` before `mma.sync` before fused multiply-adds ([`unit_rank`]).
//! 3. **Tile.** The least [`cost`] in time: whole waves of tiles over the multiprocessors, times the time of one tile.
//!    So a large tile wins while tiles fill the multiprocessors, and a small one when the last wave would be empty.

use super::candidate::Candidate;
use super::problem::Oriented;
use crate::DeviceInfo;
use falchion_device::kernel::OpClass;
use std::cmp::Reverse;

/// Cost of fetching one operand element, in multiply-adds: a tile fetches tile m + tile n elements for every
/// tile m · tile n multiply-adds. The faster the unit, the more of its time a fetch costs, unless the copy engine fetches.
///
/// Fitted to times on an H200 (driver 580, 2026-11-21, caches warm), which the tests list. By `mma.sync` the 64×64 tile
/// takes 1.67 times the time of 128×128 for a multiply-add, on CUDA cores 1.33 times: of 24 pairs the model then picks
/// the faster in 23, and loses 3 % in the other. By `wgmma` tiles take time nearly as their areas: of 25 triples any weight
/// from 4 to 12 picks the fastest or its equal in 24, and loses 8 % in the other.
const fn traffic_weight(op_class: u32) -> u64 {
    const SIMT: u32 = OpClass::Simt as u32;
    const TENSOR_OP: u32 = OpClass::TensorOp as u32;
    match op_class {
        SIMT => 32,
        TENSOR_OP => 128,
        _ => 8,
    }
}

/// The faster the unit, the higher: `wgmma` has less time to lose than `mma.sync` whatever the tiles. On the H200 its best
/// tile took 0.38 to 0.92 of the time of the best other one in all problems measured, from 128³ to 8192³.
const fn unit_rank(op_class: u32) -> u32 {
    op_class
}

/// Time of `candidate` for the problem, in units of one multiply-add a k, comparable within a unit:
/// waves · (tile m · tile n + weight · (tile m + tile n)).
fn cost(candidate: &Candidate, problem: &Oriented, device: &DeviceInfo) -> u64 {
    let [rows, columns] = candidate.tiles(problem);
    let [m, n] = [0, 1].map(|i| u64::from(candidate.gemm.tile[i]));
    // A multiprocessor shares its units among its blocks, so waves count multiprocessors, not blocks.
    let waves = (u64::from(rows) * u64::from(columns)).div_ceil(candidate.clusters(device, 1).into());
    waves * (m * n + traffic_weight(candidate.gemm.op_class) * (m + n))
}

/// The kernels that serve `problem`, best first.
pub(super) fn ranked(candidates: &[Candidate], problem: &Oriented, device: &DeviceInfo) -> Vec<Candidate> {
    let mut serving: Vec<Candidate> =
        candidates.iter().filter(|candidate| candidate.serves(problem, device).is_ok()).copied().collect();
    serving.sort_by_key(|candidate| {
        let [a, b] = candidate.gemm.alignment;
        let width = (Reverse(a.min(b)), Reverse(a.max(b)));
        (width, Reverse(unit_rank(candidate.gemm.op_class)), cost(candidate, problem, device), candidate.name)
    });
    serving
}

/// The best kernel for every requirement on addresses, in the order of `ranked`. A run takes the first whose requirement
/// its pointers meet.
pub(super) fn best_of_each_alignment(ranked: &[Candidate], problem: &Oriented) -> Vec<Candidate> {
    let mut best: Vec<Candidate> = Vec::new();
    for candidate in ranked {
        let alignment = candidate.alignment(problem.element);
        if best.iter().all(|better| better.alignment(problem.element) != alignment) {
            best.push(*candidate);
        }
    }
    best
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
