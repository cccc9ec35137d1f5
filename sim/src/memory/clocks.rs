//! Vector clocks of the agents of a cluster.
//!
//! Happens-before as in FastTrack (Flanagan and Freund, PLDI 2009): an agent acts in program order;
//! an access is ordered before another if the second's agent knows the first's clock.
//!
//! Agents are the warps and, for kernels that start asynchronous operations, what acts for them: for each warpgroup one
//! that reads shared memory for its `wgmma` and one that reads it for its bulk stores, and for each mbarrier one that
//! writes what copies deliver to it. The clock of an mbarrier is the number of phases it has completed, so knowing it is having
//! waited for them.

use std::collections::HashMap;

/// Clock of each agent as known to one of them or carried by one synchronisation object; agents beyond its end are at 0.
pub(crate) type Clock = Vec<u32>;

/// Which agent of a cluster is whose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Blocks of the cluster.
    pub(crate) blocks: u32,
    /// Warps of a block.
    pub(crate) warps: u32,
    /// Warpgroups of a block with agents of their own; 0 if the kernel starts no asynchronous operations.
    pub(crate) groups: u32,
}

/// Whom an agent acts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Block and warp.
    Warp(u32, u32),
    /// Block and warpgroup: its `wgmma`.
    Products(u32, u32),
    /// Block and warpgroup: its bulk stores.
    Stores(u32, u32),
    /// Bulk copies to shared memory.
    Copies,
}

impl Layout {
    fn per_block(self) -> u32 {
        self.warps + 2 * self.groups
    }

    /// Agents before those of mbarriers.
    pub(crate) fn agents(self) -> u32 {
        self.blocks * self.per_block()
    }

    pub(crate) fn warp(self, rank: u32, warp: u32) -> u32 {
        rank * self.per_block() + warp
    }

    pub(crate) fn products(self, rank: u32, group: u32) -> u32 {
        rank * self.per_block() + self.warps + group
    }

    pub(crate) fn stores(self, rank: u32, group: u32) -> u32 {
        rank * self.per_block() + self.warps + self.groups + group
    }

    pub(crate) fn role(self, agent: u32) -> Role {
        if agent >= self.agents() {
            return Role::Copies;
        }
        let (rank, within) = (agent / self.per_block(), agent % self.per_block());
        match within.checked_sub(self.warps) {
            None => Role::Warp(rank, within),
            Some(group) if group < self.groups => Role::Products(rank, group),
            Some(group) => Role::Stores(rank, group - self.groups),
        }
    }
}

/// A `fence.proxy.async` of some lanes of a warp: what they wrote at lower clocks is visible to the asynchronous proxy.
#[derive(Debug, Clone, Copy)]
struct ProxyFence {
    clock: u32,
    lanes: u32,
}

/// The clocks of a cluster.
pub(crate) struct Clocks {
    pub(crate) layout: Layout,
    agents: Vec<Clock>,
    /// Objects that carry clocks from one warp to another: shared words accessed by atomics and strong accesses.
    objects: HashMap<u64, Clock>,
    /// Fences of each agent, in order.
    fences: Vec<Vec<ProxyFence>>,
}

/// Raises `into` to what `from` knows.
pub(crate) fn join(into: &mut Clock, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (a, &b) in into.iter_mut().zip(from) {
        *a = (*a).max(b);
    }
}

impl Clocks {
    pub(crate) fn new(layout: Layout) -> Self {
        let count = layout.agents() as usize;
        let mut agents: Vec<Clock> = vec![vec![0; count]; count];
        for (agent, clock) in agents.iter_mut().enumerate() {
            clock[agent] = 1;
        }
        Self { layout, agents, objects: HashMap::new(), fences: vec![Vec::new(); count] }
    }

    /// A further agent, for an mbarrier.
    pub(crate) fn add_barrier(&mut self) -> u32 {
        let agent = self.agents.first().map_or(0, Vec::len);
        self.agents.iter_mut().for_each(|clock| clock.push(0));
        agent as u32
    }

    /// What `agent` knows of all clocks, its own included.
    #[inline]
    pub(crate) fn of(&self, agent: u32) -> &[u32] {
        &self.agents[agent as usize]
    }

    /// The clock `agent` is at.
    pub(crate) fn now(&self, agent: u32) -> u32 {
        self.agents[agent as usize][agent as usize]
    }

    /// Ends a step of `agent`: what it does next is not covered by what others have learnt of it.
    pub(crate) fn tick(&mut self, agent: u32) {
        self.agents[agent as usize][agent as usize] += 1;
    }

    /// Adds what `agent` did so far to `object`; what it does later is not covered.
    pub(crate) fn release_into(&mut self, agent: u32, object: &mut Clock) {
        join(object, &self.agents[agent as usize]);
        self.tick(agent);
    }

    /// Orders everything `object` carries before what `agent` does next.
    pub(crate) fn acquire_from(&mut self, agent: u32, object: &[u32]) {
        join(&mut self.agents[agent as usize], object);
    }

    /// Orders what `other` did up to `clock` before what `agent` does next.
    pub(crate) fn learn(&mut self, agent: u32, other: u32, clock: u32) {
        let known = &mut self.agents[agent as usize][other as usize];
        *known = (*known).max(clock);
    }

    /// Lets `agent`, which acts for `principals`, know what each of them knows, and no more; its own clock stays.
    pub(crate) fn act_for(&mut self, agent: u32, principals: impl Iterator<Item = u32>) {
        let own = self.now(agent);
        let common = principals.map(|p| self.agents[p as usize].clone()).reduce(|mut common, clock| {
            common.iter_mut().zip(&clock).for_each(|(a, &b)| *a = (*a).min(b));
            common
        });
        if let Some(mut common) = common {
            common[agent as usize] = own;
            self.agents[agent as usize] = common;
        }
    }

    /// Acquires the object at a shared address, if anything was released there.
    pub(crate) fn acquire(&mut self, agent: u32, object: u64) {
        if let Some(object) = self.objects.get(&object) {
            join(&mut self.agents[agent as usize], object);
        }
    }

    /// Releases into the object at a shared address.
    pub(crate) fn release(&mut self, agent: u32, object: u64) {
        let mut clock = self.objects.remove(&object).unwrap_or_default();
        self.release_into(agent, &mut clock);
        self.objects.insert(object, clock);
    }

    /// `lanes` of `agent` fence their accesses against the asynchronous proxy.
    pub(crate) fn fence_proxy(&mut self, agent: u32, lanes: u32) {
        self.tick(agent);
        let clock = self.now(agent);
        self.fences[agent as usize].push(ProxyFence { clock, lanes });
    }

    /// Whether `lane` of `writer` has fenced what it wrote at `clock`, and `reader` knows of that fence.
    pub(crate) fn is_fenced(&self, reader: u32, writer: u32, lane: u32, clock: u32) -> bool {
        let Some(fences) = self.fences.get(writer as usize) else { return true };
        let first = fences.partition_point(|fence| fence.clock <= clock);
        fences[first..]
            .iter()
            .find(|fence| fence.lanes >> lane & 1 == 1)
            .is_some_and(|fence| fence.clock <= self.of(reader)[writer as usize])
    }
}
