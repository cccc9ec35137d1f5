//! One block: its warps taking turns.

use super::barriers::Barriers;
use super::context::{BlockState, Context, Flow, LaunchState, Trap};
use super::registers::Registers;
use super::warp::Warp;
use crate::counters::Count;
use crate::decode::Kernel;
use crate::fault::{Fault, FaultKind, Waiting};
use crate::memory::global::View;
use crate::memory::shared::Shared;
use std::sync::Arc;

/// Longest turn of a warp, in instructions. Turns are of random length up to this, so that the order in which warps
/// reach shared data differs from seed to seed.
const LONGEST_TURN: u64 = 256;
/// Instructions after which a block makes way for another one: a block that waits for others must not starve them.
const SLICE: u64 = 1 << 21;

/// xorshift64*: enough for the order of turns.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
    }
}

/// What a worker lends the block it runs.
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
    state: BlockState,
    warps: Vec<(Warp, Registers)>,
    random: Random,
}

/// Whether a block has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Finished,
    /// Made way for other blocks.
    Paused,
}

enum Turn {
    Over,
    Waits,
    Ended,
}

impl Block {
    pub(crate) fn new(kernel: &Kernel, launch: &LaunchState, index: [u32; 3], seed: u64, detect_races: bool) -> Self {
        let threads = launch.block.iter().product::<u32>();
        let count = threads.div_ceil(32);
        let warps = (0..count)
            .map(|warp| {
                let present = (threads - warp * 32).min(32);
                let mask = u32::MAX >> (32 - present);
                let registers = kernel.registers(launch, index, warp);
                (Warp::new(warp, mask, kernel.local_bytes), registers)
            })
            .collect();
        let lines = Arc::clone(&kernel.lines);
        Self {
            state: BlockState {
                index,
                shared: Shared::new(launch.total_shared, launch.block, lines, detect_races),
                barriers: Barriers::new(count),
            },
            warps,
            random: Random(seed | 1),
        }
    }

    /// Runs until the block ends, its slice is used up, or a fault.
    pub(crate) fn run(&mut self, resources: &mut Resources<'_>) -> Result<Progress, Box<Fault>> {
        let mut slice = SLICE;
        let mut ready: Vec<usize> = Vec::with_capacity(self.warps.len());
        loop {
            ready.clear();
            let barriers = &self.state.barriers;
            let mut ended = 0;
            for (index, (warp, _)) in self.warps.iter().enumerate() {
                if warp.alive == 0 {
                    ended += 1;
                } else if warp.waiting.is_none() || barriers.is_released(warp.index) {
                    ready.push(index);
                }
            }
            if ended == self.warps.len() {
                return Ok(Progress::Finished);
            }
            if ready.is_empty() {
                return Err(self.deadlock(resources));
            }
            let chosen = ready[self.random.next() as usize % ready.len()];
            // A warp alone need not be interrupted.
            let turn = if ready.len() == 1 { LONGEST_TURN } else { 1 + self.random.next() % LONGEST_TURN };
            if slice < turn {
                return Ok(Progress::Paused);
            }
            slice -= turn;
            match self.turn(chosen, turn, resources)? {
                Turn::Over | Turn::Waits => {}
                Turn::Ended => {
                    let warp = self.warps[chosen].0.index;
                    self.state.barriers.leave(&mut self.state.shared.clocks, warp);
                }
            }
        }
    }

    /// Runs one warp for up to `turn` instructions.
    fn turn(&mut self, index: usize, turn: u64, resources: &mut Resources<'_>) -> Result<Turn, Box<Fault>> {
        let (warp, registers) = &mut self.warps[index];
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
                block: &mut self.state,
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
                    return Err(self.fault(resources, index, pc, trap));
                }
            }
            context.warp.jump(pc + 1);
            if context.active == 0 {
                continue;
            }
            match (step.operation)(&mut context) {
                Ok(Flow::Next) => {}
                Ok(Flow::Yield) => return Ok(Turn::Over),
                Ok(Flow::Wait) => {
                    context.warp.jump(pc);
                    return Ok(Turn::Waits);
                }
                Err(trap) => return Err(self.fault(resources, index, pc, *trap)),
            }
        }
        Ok(Turn::Over)
    }

    fn fault(&self, resources: &Resources<'_>, warp: usize, pc: u32, trap: Trap) -> Box<Fault> {
        let step = &resources.kernel.steps[pc as usize];
        let [x, y, _] = resources.launch.block;
        let thread = trap.lane.map(|lane| {
            let linear = warp as u32 * 32 + lane;
            [linear % x, linear / x % y, linear / (x * y)]
        });
        Box::new(Fault {
            kernel: resources.kernel.name.clone(),
            block: self.state.index,
            thread,
            ptx_line: step.line,
            instruction: step.text.clone(),
            source_location: step.source.as_ref().map(|(file, line)| (file.to_string(), *line)),
            kind: trap.kind,
        })
    }

    fn deadlock(&self, resources: &Resources<'_>) -> Box<Fault> {
        let mut first = (0, 0);
        let mut waiting = Vec::new();
        for (index, (warp, _)) in self.warps.iter().enumerate() {
            if let (Some((barrier, pc)), true) = (warp.waiting, warp.alive != 0) {
                let (arrived, expected) = self.state.barriers.progress(barrier);
                let ptx_line = resources.kernel.lines[pc as usize];
                if waiting.is_empty() {
                    first = (index, pc);
                }
                waiting.push(Waiting { warp: index as u32, barrier, ptx_line, arrived, expected });
            }
        }
        let trap = Trap { lane: None, kind: FaultKind::Deadlock { waiting } };
        self.fault(resources, first.0, first.1, trap)
    }
}
