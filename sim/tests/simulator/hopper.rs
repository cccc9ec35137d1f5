//! The warp-specialised GEMM as the compiler makes it: two consumer warpgroups, a producer thread, clusters of two. Sound, and
//! with one line changed.

use falchion_sim::{
    Awaited, Class, Counters, Fault, FaultKind, Launch, LaunchError, MbarrierProblem, Module, Settings, Simulator,
    TensorElement, TensorMap, TensorSwizzle,
};
use half::{bf16, f16};

const F16_TN: &str = include_str!("../ptx/hopper_f16_tn.ptx");
const BF16_NT: &str = include_str!("../ptx/hopper_bf16_nt.ptx");

/// D = alpha A B + beta C, all row-major as seen here, on integers.
#[derive(Clone, Copy)]
struct Problem {
    shape: [usize; 3],
    alpha: f32,
    beta: f32,
    /// Blocks along x; 0 for two a tile.
    grid: u32,
    seed: u64,
}

/// One of the two kernels.
#[derive(Clone, Copy)]
struct Kernel {
    text: &'static str,
    element: TensorElement,
    tile_n: u32,
    /// Operands contiguous along K, or along M and N.
    k_major: bool,
}

const F16: Kernel = Kernel { text: F16_TN, element: TensorElement::F16, tile_n: 128, k_major: true };
const BF16: Kernel = Kernel { text: BF16_NT, element: TensorElement::Bf16, tile_n: 256, k_major: false };
const STAGES: u32 = 4;

fn problem(m: usize, n: usize, k: usize) -> Problem {
    Problem { shape: [m, n, k], alpha: 1.0, beta: 0.0, grid: 0, seed: 1 }
}

impl Kernel {
    fn encode(self, value: f32) -> [u8; 2] {
        match self.element {
            TensorElement::F16 => f16::from_f32(value).to_le_bytes(),
            _ => bf16::from_f32(value).to_le_bytes(),
        }
    }

    fn decode(self, bytes: [u8; 2]) -> f32 {
        match self.element {
            TensorElement::F16 => f16::from_le_bytes(bytes).to_f32(),
            _ => bf16::from_le_bytes(bytes).to_f32(),
        }
    }

    /// A row-major matrix with eight or more guard elements behind each row: its address and elements from row to row.
    fn upload(self, device: &Simulator, [rows, columns]: [usize; 2], f: impl Fn(usize, usize) -> f32) -> (u64, usize) {
        let step = columns.next_multiple_of(8) + 8;
        let value = |row, column| if column < columns { f(row, column) } else { GUARD };
        let bytes: Vec<u8> = (0..rows * step).flat_map(|at| self.encode(value(at / step, at % step))).collect();
        let at = device.alloc(bytes.len()).unwrap();
        device.write(at, &bytes).unwrap();
        (at, step)
    }

    fn map(self, (at, step): (u64, usize), [rows, columns]: [usize; 2], box_size: [u32; 2]) -> [u64; 16] {
        let sizes = [columns as u64, rows as u64];
        let mut map = TensorMap::new(self.element, at, &sizes, &[step as u64 * 2], &box_size);
        map.swizzle = TensorSwizzle::B128;
        map.encode().unwrap()
    }

    /// Runs the kernel with its text changed by `edit` and compares every element and guard of D.
    fn run(self, problem: Problem, edit: impl Fn(&str) -> String) -> Result<Counters, LaunchError> {
        let [m, n, k] = problem.shape;
        let mut settings = Settings::default();
        settings.seed = problem.seed;
        let device = Simulator::new(settings);
        let (a, b) = (|i, p| small(i, p, 1), |p, j| small(p, j, 2));
        let [map_a, map_b] = if self.k_major {
            [
                self.map(self.upload(&device, [m, k], a), [m, k], [64, 128]),
                self.map(self.upload(&device, [n, k], |j, p| b(p, j)), [n, k], [64, self.tile_n / 2]),
            ]
        } else {
            [
                self.map(self.upload(&device, [k, m], |p, i| a(i, p)), [k, m], [64, 64]),
                self.map(self.upload(&device, [k, n], b), [k, n], [64, 64]),
            ]
        };
        let c = self.upload(&device, [m, n], |i, j| small(i, j, 3));
        let d = self.upload(&device, [m, n], |_, _| f32::NAN);
        let tiles = [(m as u32).div_ceil(256), (n as u32).div_ceil(self.tile_n)];
        let mut parameters: Vec<u8> = Vec::new();
        for word in [map_a, map_b, self.map(d, [m, n], [64, 64])].into_iter().flatten().chain([c.0, c.1 as u64]) {
            parameters.extend(word.to_le_bytes());
        }
        let words = [m as u32, n as u32, k as u32, tiles[0], tiles[1], 8];
        for word in words.into_iter().chain([problem.alpha.to_bits(), problem.beta.to_bits()]) {
            parameters.extend(word.to_le_bytes());
        }
        let module = Module::parse(&edit(self.text)).unwrap();
        let shared = STAGES * (128 + self.tile_n) * 128 + 2 * 16384 + 16 * STAGES;
        let grid = if problem.grid > 0 { problem.grid } else { tiles[0] * tiles[1] * 2 };
        let launch = Launch::new([grid, 1, 1], [384, 1, 1]).dynamic_shared(shared);
        let counters = device.launch(&module, "gemm", &launch, &[&parameters])?;
        let mut found = vec![0; 2 * m * d.1];
        device.read(d.0, &mut found).unwrap();
        for (at, bytes) in found.chunks_exact(2).enumerate() {
            let (i, j) = (at / d.1, at % d.1);
            let sum: f32 = (0..k).map(|p| a(i, p) * b(p, j)).sum();
            let expected = if j < n { problem.alpha * sum + problem.beta * small(i, j, 3) } else { GUARD };
            let rounded = self.decode(self.encode(expected));
            assert_eq!(self.decode([bytes[0], bytes[1]]), rounded, "({i}, {j}) of {:?}", problem.shape);
        }
        Ok(counters)
    }

    /// The fault after replacing `from`, which must occur, by `to`.
    fn fault(self, problem: Problem, from: &str, to: &str) -> Fault {
        assert!(self.text.contains(from), "{from}");
        match self.run(problem, |text| text.replace(from, to)) {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("a fault was planted, the launch gave {other:?}"),
        }
    }

    /// [`fault`](Self::fault) of several orders of warps.
    fn faults(self, problem: Problem, from: &str, to: &str) -> Vec<FaultKind> {
        (1..=8).map(|seed| self.fault(Problem { seed, ..problem }, from, to).kind).collect()
    }
}

const GUARD: f32 = 77.0;

/// Integers from −4 to 4.
fn small(i: usize, j: usize, salt: usize) -> f32 {
    ((i * 7 + j * 13 + salt * 5 + i * j % 11) % 9) as f32 - 4.0
}

fn sound(text: &str) -> String {
    text.to_owned()
}

#[test]
fn k_major_operands_multiply_exactly_in_every_order() {
    for seed in 1..=4 {
        F16.run(Problem { seed, ..problem(256, 256, 192) }, sound).unwrap();
    }
}

#[test]
fn mn_major_operands_multiply_exactly_in_every_order() {
    for seed in 1..=4 {
        BF16.run(Problem { seed, ..problem(256, 256, 192) }, sound).unwrap();
    }
}

#[test]
fn ragged_edges_are_filled_with_zeros_and_never_stored() {
    let ragged = Problem { alpha: 2.0, beta: -1.0, ..problem(200, 264, 72) };
    F16.run(ragged, sound).unwrap();
    BF16.run(ragged, sound).unwrap();
}

#[test]
fn persistent_blocks_take_tile_after_tile() {
    F16.run(Problem { grid: 2, ..problem(256, 384, 640) }, sound).unwrap();
}

#[test]
fn products_copies_and_sectors_are_counted() {
    let counters = F16.run(problem(256, 128, 128), sound).unwrap();
    // Two blocks of two consumer warpgroups: 2 tiles of K, 4 products each, in 4 warps.
    assert_eq!(counters.opcode("wgmma.mma_async").warps, 2 * 2 * 2 * 4 * 4);
    assert!(counters.class(Class::MatrixMultiply).warps > counters.opcode("wgmma.mma_async").warps);
    // A: 128 rows of 128 bytes for each block and tile of K; half as much of B. Rows are 272 bytes apart, so that they
    // touch 4 and 5 sectors in turn.
    let loads = counters.opcode("cp.async.bulk.tensor.2d.shared::cluster");
    assert_eq!((loads.global_requests, loads.sectors), (8, 2 * 2 * (128 + 64) * 9 / 2));
    assert_eq!(counters.opcode("stmatrix").conflicts, 0);
}

#[test]
fn a_consumer_that_does_not_wait_for_its_stage_is_caught() {
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 p, [%r86], %r726; selp.u32 %r85, 1, 0, p;";
    for kind in F16.faults(problem(256, 128, 256), wait, "mov.b32 %r85, 1;") {
        let found =
            matches!(kind, FaultKind::Pending { .. } | FaultKind::Uninitialised { .. } | FaultKind::Race { .. });
        assert!(found, "{kind}");
    }
}

#[test]
fn a_producer_that_does_not_wait_for_an_empty_stage_is_caught() {
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 p, [%r577], %r656; selp.u32 %r576, 1, 0, p;";
    for kind in F16.faults(problem(256, 128, 640), wait, "mov.b32 %r576, 1;") {
        let overrun = MbarrierProblem::Arrivals { pending: 0, arriving: 1 };
        let found = match &kind {
            FaultKind::Pending { .. } | FaultKind::Race { .. } => true,
            FaultKind::Mbarrier { problem, .. } => *problem == overrun,
            _ => false,
        };
        assert!(found, "{kind}");
    }
}

#[test]
fn a_release_before_the_products_are_over_is_a_race() {
    // The stage just issued is released, not the one before it.
    let wait = "wgmma.wait_group.sync.aligned 1;";
    for kind in F16.faults(problem(256, 128, 640), wait, "wgmma.wait_group.sync.aligned 2;") {
        assert!(matches!(kind, FaultKind::Race { .. }), "{kind}");
    }
}

#[test]
fn a_store_without_a_proxy_fence_is_caught() {
    for kind in F16.faults(problem(256, 128, 64), "fence.proxy.async.shared::cta;", "") {
        assert!(matches!(kind, FaultKind::MissingProxyFence { .. }), "{kind}");
    }
}

#[test]
fn a_cluster_left_early_is_caught() {
    let last = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nret;";
    for kind in F16.faults(problem(256, 128, 256), last, "ret;") {
        assert!(matches!(kind, FaultKind::LeftCluster { .. }), "{kind}");
    }
}

#[test]
fn accumulators_read_before_the_wait_are_caught() {
    let fault = F16.fault(problem(256, 128, 64), "wgmma.wait_group.sync.aligned 0;", "");
    assert!(matches!(fault.kind, FaultKind::PendingRegister { .. }), "{fault}");
}

#[test]
fn products_without_a_register_fence_are_caught() {
    let fault = F16.fault(problem(256, 128, 64), "wgmma.fence.sync.aligned;", "");
    assert_eq!(fault.kind, FaultKind::MissingProductFence);
}

#[test]
fn a_pool_of_registers_that_does_not_balance_is_a_deadlock() {
    let fault =
        F16.fault(problem(256, 128, 64), "setmaxnreg.dec.sync.aligned.u32 24", "setmaxnreg.dec.sync.aligned.u32 40");
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
    assert!(waiting.iter().any(|w| w.at == Awaited::Registers && w.arrived < w.expected), "{fault}");
}

#[test]
fn too_few_announced_bytes_complete_the_phase_early_or_never() {
    for kind in F16.faults(problem(256, 128, 256), "%r579, 32768;", "%r579, 16384;") {
        let found = match &kind {
            FaultKind::Pending { .. } | FaultKind::Race { .. } | FaultKind::Mbarrier { .. } => true,
            FaultKind::Deadlock { waiting } => {
                waiting.iter().any(|w| matches!(w.at, Awaited::Mbarrier { transactions, .. } if transactions < 0))
            }
            _ => false,
        };
        assert!(found, "{kind}");
    }
}

#[test]
fn too_many_announced_bytes_deadlock_and_the_report_names_the_barrier() {
    let fault = F16.fault(problem(256, 128, 64), "%r579, 32768;", "%r579, 32784;");
    let FaultKind::Deadlock { waiting } = &fault.kind else { panic!("{fault}") };
    let stuck = waiting.iter().find(|w| matches!(w.at, Awaited::Mbarrier { transactions: 16, .. }));
    // The producer has arrived; bytes are missing.
    assert_eq!(stuck.map(|w| (w.arrived, w.expected)), Some((1, 1)), "{fault}");
}

#[test]
fn a_buffer_refilled_while_it_is_stored_is_a_race() {
    let tiles = Problem { grid: 2, ..problem(256, 256, 64) };
    let fault = F16.fault(tiles, "cp.async.bulk.wait_group.read 1;", "");
    assert!(matches!(fault.kind, FaultKind::Race { .. }), "{fault}");
}

#[test]
fn a_block_that_ends_before_its_stores_have_read_is_caught() {
    let fault = F16.fault(problem(256, 128, 64), "cp.async.bulk.wait_group 0;", "");
    assert!(matches!(fault.kind, FaultKind::UnfinishedStore { .. }), "{fault}");
}

#[test]
fn bytes_that_are_no_tensor_map_are_refused() {
    // The map of D is looked for 64 bytes off.
    let from = "add.s64 \t%rd3, %rd6, 256;";
    let fault = F16.fault(problem(256, 128, 64), from, "add.s64 %rd3, %rd6, 192;");
    assert!(matches!(fault.kind, FaultKind::TensorMap { .. }), "{fault}");
}

#[test]
fn a_grid_that_splits_a_cluster_is_refused() {
    let result = F16.run(Problem { grid: 3, ..problem(256, 128, 64) }, sound);
    assert!(matches!(result, Err(LaunchError::Cluster { cluster: [2, 1, 1], .. })), "{result:?}");
}
