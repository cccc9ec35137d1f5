//! How a simulator behaves and how a kernel is launched.

/// Settings of a [`Simulator`](crate::Simulator).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Bytes of device memory; allocations beyond are refused. Default 8 GiB.
    pub memory_bytes: u64,
    /// Multiprocessors the device claims to have; `%nsmid`, and the number of blocks that may be resident. Default 132.
    pub multiprocessors: u32,
    /// Host threads that run blocks. Default: all cores.
    pub workers: usize,
    /// Seed of the order in which the warps of a block take turns.
    pub seed: u64,
    /// Whether races in shared memory are looked for. Default on.
    pub detect_races: bool,
    /// Instructions a warp may run before it counts as livelocked. Default 2^28.
    pub instruction_budget: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            memory_bytes: 8 << 30,
            multiprocessors: 132,
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            seed: 0x9e37_79b9_7f4a_7c15,
            detect_races: true,
            instruction_budget: 1 << 28,
        }
    }
}

/// Shape of a launch.
///
/// ```
/// use falchion_sim::Launch;
/// let launch = Launch::new([64, 1, 1], [128, 1, 1]).dynamic_shared(16384);
/// assert_eq!(launch.block, [128, 1, 1]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Launch {
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

impl Launch {
    /// `grid` blocks of `block` threads, no dynamic shared memory.
    #[must_use]
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block, dynamic_shared: 0 }
    }

    /// The same with `bytes` of dynamic shared memory.
    #[must_use]
    pub fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = bytes;
        self
    }
}
