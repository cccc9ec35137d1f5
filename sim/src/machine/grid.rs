//! The grid: clusters of blocks spread over host threads.

use super::cluster::{Cluster, Progress, Resources};
use super::context::LaunchState;
use crate::counters::{Count, Counters, InstructionCount};
use crate::decode::Kernel;
use crate::fault::Fault;
use crate::memory::global::View;
use crate::settings::Settings;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The clusters of a launch that have not ended; without clusters, each block is one.
struct Queue<'a> {
    kernel: &'a Kernel,
    launch: &'a LaunchState,
    settings: &'a Settings,
    next: AtomicU64,
    total: u64,
    /// Clusters that made way for others.
    paused: Mutex<VecDeque<Cluster>>,
    stop: AtomicBool,
    fault: Mutex<Option<(u64, Box<Fault>)>>,
}

impl Queue<'_> {
    fn start_next(&self) -> Option<Cluster> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.total {
            return None;
        }
        let cluster = self.launch.cluster;
        let [x, y] = [0, 1].map(|axis| u64::from(self.launch.grid[axis] / cluster[axis]));
        let index = [number % x, number / x % y, number / (x * y)];
        let first = std::array::from_fn(|axis| index[axis] as u32 * cluster[axis]);
        // Clusters of one launch get different orders, the same in every run with this seed.
        let seed = self.settings.seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Some(Cluster::new(self.kernel, self.launch, first, seed, self.settings.detect_races))
    }

    fn paused(&self) -> std::sync::MutexGuard<'_, VecDeque<Cluster>> {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next cluster to run: a new one while fewer than the multiprocessors hold have started and not ended, else
    /// the one that has paused longest.
    fn take(&self) -> Option<Cluster> {
        let mut paused = self.paused();
        if paused.len() >= (self.launch.multiprocessors / self.launch.cluster_size()).max(1) as usize {
            return paused.pop_front();
        }
        drop(paused);
        self.start_next().or_else(|| self.paused().pop_front())
    }

    /// Runs clusters until none is left; returns the counts of each step and the number of blocks that ended.
    fn work(&self, mut global: View) -> (Vec<Count>, u64) {
        let mut counts = vec![Count::default(); self.kernel.steps.len()];
        let mut ended = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let Some(mut cluster) = self.take() else { break };
            let mut resources = Resources {
                kernel: self.kernel,
                launch: self.launch,
                global: &mut global,
                counts: &mut counts,
                budget: self.settings.instruction_budget,
            };
            match cluster.run(&mut resources) {
                Ok(Progress::Finished) => ended += u64::from(self.launch.cluster_size()),
                Ok(Progress::Paused) => self.paused().push_back(cluster),
                Err(fault) => {
                    self.report(fault);
                    break;
                }
            }
        }
        (counts, ended)
    }

    /// Keeps the fault of the lowest block, so that reports differ as little as possible from run to run.
    fn report(&self, fault: Box<Fault>) {
        self.stop.store(true, Ordering::Relaxed);
        let [x, y, z] = fault.block.map(u64::from);
        let order = (z << 42) + (y << 21) + x;
        let mut kept = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(other, _)| order < *other) {
            *kept = Some((order, fault));
        }
    }
}

/// Runs a whole grid.
pub(crate) fn run(
    kernel: &Kernel,
    launch: &LaunchState,
    settings: &Settings,
    global: &View,
) -> Result<Counters, Box<Fault>> {
    let total = launch.grid.iter().map(|&extent| u64::from(extent)).product::<u64>() / u64::from(launch.cluster_size());
    let queue = Queue {
        kernel,
        launch,
        settings,
        next: AtomicU64::new(0),
        total,
        paused: Mutex::default(),
        stop: AtomicBool::new(false),
        fault: Mutex::default(),
    };
    let workers = settings.workers.clamp(1, usize::try_from(total).unwrap_or(usize::MAX).max(1));
    let results: Vec<(Vec<Count>, u64)> = if workers == 1 {
        vec![queue.work(global.clone())]
    } else {
        std::thread::scope(|scope| {
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(|| queue.work(global.clone()))).collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    };
    if let Some((_, fault)) = queue.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(fault);
    }
    Ok(merge(kernel, results))
}

fn merge(kernel: &Kernel, results: Vec<(Vec<Count>, u64)>) -> Counters {
    let mut totals = vec![Count::default(); kernel.steps.len()];
    let mut counters = Counters::default();
    for (counts, blocks) in results {
        counters.blocks += blocks;
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
    }
    for (index, (step, count)) in kernel.steps.iter().zip(totals).enumerate() {
        if count.warps > 0 {
            let counted = InstructionCount {
                instruction: step.text.clone(),
                ptx_line: step.line,
                class: step.class,
                source_location: step.source.as_ref().map(|(file, line)| (file.to_string(), *line)),
                count,
            };
            counters.add(&kernel.name, index as u32, counted);
        }
    }
    counters
}
