//! One cluster of blocks, or a block alone: its warps taking turns.

use super::barriers::Barriers;
use super::bulk::Load;
use super::context::{Context, Flow, LaunchState, Peers, Trap};
use super::registers::Registers;
use super::team::{BlockState, ClusterBarrier, Random, Team};
use super::warp::{Footprint, Wait, Warp};
use super::warpgroup::{self, Warpgroup};
use crate::counters::Count;
use crate::decode::Kernel;
use crate::fault::{Awaited, Fault, FaultKind, Waiting};
use crate::memory::clocks::{Clock, Clocks, Layout, join};
use crate::memory::global::View;
use crate::memory::mbarrier::Mbarriers;
use crate::memory::shared::Shared;
use crate::memory::window::SHARED_BASE;
use std::sync::Arc;

/// Longest turn of a warp, in instructions. Turns are of random length up to this, so that the order in which warps
/// reach shared data differs from seed to seed.
const LONGEST_TURN: u64 = 256;
/// Instructions after which a cluster makes way for another one: one that waits for others must not starve them.
const SLICE: u64 = 1 << 21;
/// A copy to shared memory is delivered after a turn once in so many times: mostly it is not before somebody waits for it.
const DELIVERY: u64 = 16;
/// Times a wait for an mbarrier fails with nothing else happening before the warp counts as waiting for ever.
const TIMEOUTS: u32 = 16;

/// What a worker lends the cluster it runs.
pub(crate) struct Resources<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) launch: &'a LaunchState,
    pub(crate) global: &'a mut View,
    /// One a step of the kernel.
    pub(crate) counts: &'a mut [Count],
    pub(crate) budget: u64,
}

/// A block under way.
pub(crate) struct Block {
    pub(crate) state: BlockState,
    warps: Vec<(Warp, Registers)>,
}

/// A cluster under way.
pub(crate) struct Cluster {
    blocks: Vec<Block>,
    team: Team,
}

/// Whether a cluster has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    /// Made way for others.
    Paused,
}

enum Turn {
    Over,
    Waits,
    Ended,
}

impl Block {
    fn new(kernel: &Kernel, launch: &LaunchState, layout: Layout, rank: u32, index: [u32; 3], races: bool) -> Self {
        let threads = launch.block.iter().product::<u32>();
        let footprint = Footprint {
            local_bytes: kernel.local_bytes,
            product_registers: kernel.product_registers,
            registers: launch.registers,
        };
        let warps = (0..layout.warps)
            .map(|warp| {
                let present = (threads - warp * 32).min(32);
                let mask = u32::MAX >> (32 - present);
                let registers = kernel.registers(launch, index, warp);
                (Warp::new(warp, layout.warp(rank, warp), mask, footprint), registers)
            })
            .collect();
        let first = layout.warp(rank, 0);
        let lines = Arc::clone(&kernel.lines);
        let state = BlockState {
            index,
            rank,
            shared: Shared::new(launch.total_shared, launch.block, first, lines, races),
            barriers: Barriers::new(layout.warps, first),
            mbarriers: Mbarriers::default(),
            groups: (0..layout.groups).map(|_| Warpgroup::default()).collect(),
            free_registers: 0,
            live_warps: layout.warps,
            end: Clock::new(),
            visitors: Vec::new(),
        };
        Self { state, warps }
    }
}

impl Cluster {
    /// The cluster whose first block is `first`.
    pub(crate) fn new(kernel: &Kernel, launch: &LaunchState, first: [u32; 3], seed: u64, races: bool) -> Self {
        let warps = launch.block.iter().product::<u32>().div_ceil(32);
        let groups = if kernel.is_asynchronous { warps.div_ceil(warpgroup::WARPS) } else { 0 };
        let layout = Layout { blocks: launch.cluster_size(), warps, groups };
        let [x, y, _] = launch.cluster;
        let blocks = (0..layout.blocks)
            .map(|rank| {
                let index = [first[0] + rank % x, first[1] + rank / x % y, first[2] + rank / (x * y)];
                Block::new(kernel, launch, layout, rank, index, races)
            })
            .collect();
        let team = Team {
            clocks: Clocks::new(layout),
            random: Random(seed | 1),
            loads: Vec::new(),
            barrier: ClusterBarrier::default(),
            live_warps: warps * layout.blocks,
            ended: 0,
            progress: 0,
        };
        Self { blocks, team }
    }

    fn is_ready(&self, block: &Block, warp: &Warp) -> bool {
        match warp.waiting {
            None => true,
            Some((Wait::Barrier(_), _)) => block.state.barriers.is_released(warp.index),
            Some((Wait::Cluster(generation), _)) => self.team.barrier.generation > generation,
            Some((Wait::Mbarrier { rank, offset, phase }, _)) => {
                let barriers = &self.blocks[rank as usize].state.mbarriers;
                // A barrier that is gone faults when the warp looks.
                barriers.at(offset).map_or(true, |barrier| barrier.phase > phase)
            }
            Some((Wait::Registers(count), _)) => block.state.free_registers >= count,
            Some((Wait::Warpgroup(sequence), _)) => {
                block.state.groups[(warp.index / warpgroup::WARPS) as usize].is_issued(sequence)
            }
        }
    }

    /// Runs until the cluster ends, its slice is used up, or a fault.
    pub(crate) fn run(&mut self, resources: &mut Resources<'_>) -> Result<Progress, Box<Fault>> {
        let mut slice = SLICE;
        let mut ready: Vec<(usize, usize)> = Vec::with_capacity(32);
        loop {
            ready.clear();
            for (rank, block) in self.blocks.iter().enumerate() {
                for (index, (warp, _)) in block.warps.iter().enumerate() {
                    if warp.alive != 0 && self.is_ready(block, warp) {
                        ready.push((rank, index));
                    }
                }
            }
            if self.team.live_warps == 0 {
                return Ok(Progress::Finished);
            }
            if ready.is_empty() {
                if !self.team.loads.is_empty() {
                    self.deliver(resources)?;
                    continue;
                }
                match self.time_out() {
                    Some(warp) => ready.push(warp),
                    None => return Err(self.deadlock(resources)),
                }
            }
            let random = &mut self.team.random;
            let (rank, index) = ready[random.next() as usize % ready.len()];
            // A warp alone need not be interrupted.
            let turn = if ready.len() == 1 { LONGEST_TURN } else { 1 + random.next() % LONGEST_TURN };
            if slice < turn {
                return Ok(Progress::Paused);
            }
            slice -= turn;
            match self.turn(rank, index, turn, resources)? {
                Turn::Over | Turn::Waits => {}
                Turn::Ended => self.leave(rank, index, resources)?,
            }
            if !self.team.loads.is_empty() && self.team.random.next().is_multiple_of(DELIVERY) {
                self.deliver(resources)?;
            }
        }
    }

    /// Delivers one of the copies under way.
    fn deliver(&mut self, resources: &mut Resources<'_>) -> Result<(), Box<Fault>> {
        let at = self.team.random.next() as usize % self.team.loads.len();
        let load: Load = self.team.loads.swap_remove(at);
        let issuer = load.issuer;
        self.team.progress += 1;
        let mut states: Vec<&mut BlockState> = self.blocks.iter_mut().map(|block| &mut block.state).collect();
        load.deliver(&mut states, resources.global).map_err(|kind| {
            let trap = Trap { lane: Some(issuer.lane), kind: *kind };
            self.fault(resources, issuer.rank as usize, issuer.warp as usize, issuer.pc, trap)
        })
    }

    /// Lets the wait of a warp for an mbarrier fail, when nothing else can happen. `None`: each has failed so
    /// often that no warp will ever go on.
    fn time_out(&mut self) -> Option<(usize, usize)> {
        let progress = self.team.progress;
        let mut waits: Vec<(usize, usize)> = Vec::new();
        for (rank, block) in self.blocks.iter_mut().enumerate() {
            for (index, (warp, _)) in block.warps.iter_mut().enumerate() {
                if warp.timeouts.1 != progress {
                    warp.timeouts = (0, progress);
                }
                let waits_for_phase = matches!(warp.waiting, Some((Wait::Mbarrier { .. }, _)));
                if warp.alive != 0 && waits_for_phase && warp.timeouts.0 < TIMEOUTS {
                    waits.push((rank, index));
                }
            }
        }
        if waits.is_empty() {
            return None;
        }
        let (rank, index) = waits[self.team.random.next() as usize % waits.len()];
        let warp = &mut self.blocks[rank].warps[index].0;
        warp.timed_out = true;
        warp.timeouts.0 += 1;
        Some((rank, index))
    }

    /// All lanes of a warp have exited.
    fn leave(&mut self, rank: usize, index: usize, resources: &mut Resources<'_>) -> Result<(), Box<Fault>> {
        let team = &mut self.team;
        team.progress += 1;
        let block = &mut self.blocks[rank];
        let (warp, state) = (&mut block.warps[index].0, &mut block.state);
        state.barriers.leave(&mut team.clocks, warp.index);
        team.leave(warp.cluster_arrival.is_some_and(|generation| generation == team.barrier.generation));
        join(&mut state.end, team.clocks.of(warp.agent));
        state.live_warps -= 1;
        if state.live_warps > 0 {
            return Ok(());
        }
        team.ended |= 1 << rank;
        let rank32 = rank as u32;
        let left = |pc: u32| FaultKind::LeftCluster { rank: rank32, access_line: resources.kernel.lines[pc as usize] };
        let early = state
            .visitors
            .iter()
            .find(|&&(agent, clock, _)| state.end.get(agent as usize).is_none_or(|&known| known < clock));
        let problem = match (early, team.load_into(rank32)) {
            (Some(&(_, _, pc)), _) => Some(left(pc)),
            (None, Some(issuer)) => Some(left(issuer.pc)),
            (None, None) => None,
        };
        let pc = block.warps[index].0.last_pc;
        if let Some(kind) = problem {
            return Err(self.fault(resources, rank, index, pc, Trap { lane: None, kind }));
        }
        for at in 0..self.blocks[rank].warps.len() {
            let stores = &mut self.blocks[rank].warps[at].0.stores;
            match stores.end(resources.global) {
                Ok(None) => {}
                Ok(Some((store, lane))) => {
                    let kind = FaultKind::UnfinishedStore { store_line: resources.kernel.lines[store as usize] };
                    return Err(self.fault(resources, rank, at, store, Trap { lane: Some(lane), kind }));
                }
                Err(kind) => return Err(self.fault(resources, rank, at, pc, Trap { lane: None, kind: *kind })),
            }
        }
        Ok(())
    }

    /// Runs one warp for up to `turn` instructions.
    fn turn(
        &mut self,
        rank: usize,
        index: usize,
        turn: u64,
        resources: &mut Resources<'_>,
    ) -> Result<Turn, Box<Fault>> {
        let (before, rest) = self.blocks.split_at_mut(rank);
        let [own, after @ ..] = rest else { return Ok(Turn::Over) };
        let mut peers = Peers { before, after };
        let (warp, registers) = &mut own.warps[index];
        for _ in 0..turn {
            let Some((pc, group)) = warp.current() else { return Ok(Turn::Ended) };
            let Some(step) = resources.kernel.steps.get(pc as usize) else {
                // Falling off the end is returning.
                warp.exit(group);
                continue;
            };
            let count = &mut resources.counts[pc as usize];
            let mut context = Context {
                registers,
                warp,
                block: &mut own.state,
                peers: &mut peers,
                team: &mut self.team,
                global: resources.global,
                launch: resources.launch,
                count,
                active: group,
                group,
                pc,
            };
            if let Some(guard) = step.guard {
                context.active = group & guard.lanes(&context);
            }
            if context.warp.waiting.is_none() {
                context.warp.issued += 1;
                context.count.warps += 1;
                context.count.threads += u64::from(context.active.count_ones());
                if context.warp.issued > resources.budget {
                    let kind = FaultKind::Livelock { instructions: resources.budget };
                    let trap = Trap { lane: None, kind };
                    return Err(self.fault(resources, rank, index, pc, trap));
                }
            }
            context.warp.jump(pc + 1);
            if context.active == 0 {
                continue;
            }
            if let Some(tracked) = &step.product_registers
                && let Err(product) = context.warp.products.touch(tracked)
            {
                let kind = FaultKind::PendingRegister { product_line: resources.kernel.lines[product as usize] };
                return Err(self.fault(resources, rank, index, pc, Trap { lane: None, kind }));
            }
            match (step.operation)(&mut context) {
                Ok(Flow::Next) => {}
                Ok(Flow::Yield) => return Ok(Turn::Over),
                Ok(Flow::Wait) => {
                    context.warp.jump(pc);
                    return Ok(Turn::Waits);
                }
                Err(trap) => return Err(self.fault(resources, rank, index, pc, *trap)),
            }
        }
        // The turn may have been just long enough to end the warp.
        Ok(if warp.alive == 0 { Turn::Ended } else { Turn::Over })
    }

    fn fault(&self, resources: &Resources<'_>, rank: usize, warp: usize, pc: u32, trap: Trap) -> Box<Fault> {
        let step = &resources.kernel.steps[pc as usize];
        let [x, y, _] = resources.launch.block;
        let thread = trap.lane.map(|lane| {
            let linear = warp as u32 * 32 + lane;
            [linear % x, linear / x % y, linear / (x * y)]
        });
        Box::new(Fault {
            kernel: resources.kernel.name.clone(),
            block: self.blocks[rank].state.index,
            thread,
            ptx_line: step.line,
            instruction: step.text.clone(),
            source_location: step.source.as_ref().map(|(file, line)| (file.to_string(), *line)),
            kind: trap.kind,
        })
    }

    /// What a warp waits for, what has arrived and what must.
    fn describe(&self, block: &Block, warp: &Warp, wait: Wait) -> (Awaited, u32, u32) {
        match wait {
            Wait::Barrier(barrier) => {
                let (arrived, expected) = block.state.barriers.progress(barrier);
                (Awaited::Barrier(barrier), arrived, expected)
            }
            Wait::Cluster(_) => (Awaited::Cluster, self.team.barrier.arrived, self.team.live_warps),
            Wait::Mbarrier { rank, offset, .. } => {
                let address = u64::from(offset + SHARED_BASE);
                match self.blocks[rank as usize].state.mbarriers.at(offset) {
                    Ok(barrier) => (
                        Awaited::Mbarrier { address, rank, transactions: barrier.transactions },
                        barrier.expected - barrier.pending,
                        barrier.expected,
                    ),
                    Err(_) => (Awaited::Mbarrier { address, rank, transactions: 0 }, 0, 0),
                }
            }
            Wait::Registers(count) => (Awaited::Registers, block.state.free_registers, count),
            Wait::Warpgroup(sequence) => {
                let group = &block.state.groups[(warp.index / warpgroup::WARPS) as usize];
                (Awaited::Warpgroup, group.arrived(sequence), warpgroup::WARPS)
            }
        }
    }

    fn deadlock(&self, resources: &Resources<'_>) -> Box<Fault> {
        let mut first = None;
        let mut waiting = Vec::new();
        for (rank, block) in self.blocks.iter().enumerate() {
            for (index, (warp, _)) in block.warps.iter().enumerate() {
                if let (Some((wait, pc)), true) = (warp.waiting, warp.alive != 0) {
                    let (at, arrived, expected) = self.describe(block, warp, wait);
                    let ptx_line = resources.kernel.lines[pc as usize];
                    first = first.or(Some((rank, index, pc)));
                    waiting.push(Waiting { rank: rank as u32, warp: index as u32, at, ptx_line, arrived, expected });
                }
            }
        }
        let (rank, index, pc) = first.unwrap_or_default();
        let trap = Trap { lane: None, kind: FaultKind::Deadlock { waiting } };
        self.fault(resources, rank, index, pc, trap)
    }
}
