//! Control state of a warp: which lanes are where.
//!
//! Divergence is a stack of lane groups. A branch whose lanes disagree splits the top group in two; each runs until
//! the branch's immediate post-dominator, where the group below, which holds all of them, goes on.

use super::bulk::Stores;
use super::copies::Copies;
use super::warpgroup::Products;
use crate::memory::local::Local;

/// The program counter that no instruction has: groups that meet only at the exit.
pub(crate) const NEVER: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    pc: u32,
    reconverge: u32,
    mask: u32,
}

/// What a warp waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A barrier of the block.
    Barrier(u32),
    /// The cluster's barrier to have completed more than this many times.
    Cluster(u32),
    /// The mbarrier at an offset in the shared memory of a block to complete the phase of this number.
    Mbarrier { rank: u32, offset: u32, phase: u32 },
    /// This many registers.
    Registers(u32),
    /// All warps of its warpgroup to issue a product.
    Warpgroup(u64),
}

/// Everything of a warp but its registers.
pub(crate) struct Warp {
    /// Index in the block.
    pub(crate) index: u32,
    /// Agent of the vector clocks.
    pub(crate) agent: u32,
    /// Lanes that have not exited.
    pub(crate) alive: u32,
    groups: Vec<Group>,
    pub(crate) local: Local,
    pub(crate) copies: Copies,
    /// `CC.CF` of each lane.
    pub(crate) carry: u32,
    /// The instruction that ended lanes last.
    pub(crate) last_pc: u32,
    /// Instructions issued.
    pub(crate) issued: u64,
    /// What it waits for, and the instruction it waits in.
    pub(crate) waiting: Option<(Wait, u32)>,
    /// Its wait for an mbarrier is to fail.
    pub(crate) timed_out: bool,
    /// How often that has happened since the progress of this number.
    pub(crate) timeouts: (u32, u64),
    pub(crate) stores: Stores,
    pub(crate) products: Products,
    /// Generation of the cluster's barrier at which it arrived and has not waited.
    pub(crate) cluster_arrival: Option<u32>,
    /// Registers of each thread.
    pub(crate) register_count: u32,
}

/// What a kernel needs for each warp.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Footprint {
    pub(crate) local_bytes: u32,
    /// Registers that `wgmma` uses.
    pub(crate) product_registers: usize,
    /// Registers of each thread that `setmaxnreg` counts.
    pub(crate) registers: u32,
}

impl Warp {
    pub(crate) fn new(index: u32, agent: u32, lanes: u32, kernel: Footprint) -> Self {
        let group = Group { pc: 0, reconverge: NEVER, mask: lanes };
        Self {
            index,
            agent,
            alive: lanes,
            groups: vec![group],
            local: Local::new(kernel.local_bytes),
            copies: Copies::default(),
            carry: 0,
            last_pc: 0,
            issued: 0,
            waiting: None,
            timed_out: false,
            timeouts: (0, 0),
            stores: Stores::default(),
            products: Products::new(kernel.product_registers),
            cluster_arrival: None,
            register_count: kernel.registers,
        }
    }

    /// Program counter and lanes of the group that runs next; `None` when all lanes have exited.
    #[inline]
    pub(crate) fn current(&mut self) -> Option<(u32, u32)> {
        loop {
            let group = self.groups.last()?;
            if group.mask != 0 && group.pc != group.reconverge {
                return Some((group.pc, group.mask));
            }
            self.groups.pop();
        }
    }

    /// Sends the whole running group to `pc`.
    #[inline]
    pub(crate) fn jump(&mut self, pc: u32) {
        if let Some(group) = self.groups.last_mut() {
            group.pc = pc;
        }
    }

    /// Sends each of `paths` (lanes, program counter) its way, to meet again at `reconverge`.
    /// Together the lanes are those of the running group.
    pub(crate) fn split(&mut self, paths: &[(u32, u32)], reconverge: u32) {
        if let Some(&(_, pc)) = paths.iter().find(|(mask, _)| self.is_whole(*mask)) {
            self.jump(pc);
            return;
        }
        match self.groups.last_mut() {
            // The group below waits there already.
            Some(group) if group.reconverge == reconverge => {
                self.groups.pop();
            }
            Some(group) => group.pc = reconverge,
            None => {}
        }
        for &(mask, pc) in paths {
            if mask != 0 && pc != reconverge {
                self.groups.push(Group { pc, reconverge, mask });
            }
        }
    }

    fn is_whole(&self, mask: u32) -> bool {
        self.groups.last().is_some_and(|group| group.mask == mask)
    }

    /// Ends the lanes of `mask`.
    pub(crate) fn exit(&mut self, mask: u32) {
        self.alive &= !mask;
        for group in &mut self.groups {
            group.mask &= !mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_branch_meet_at_the_post_dominator() {
        let mut warp = Warp::new(0, 0, 0xf, Footprint::default());
        warp.split(&[(0x3, 10), (0xc, 5)], 20);
        assert_eq!(warp.current(), Some((5, 0xc)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((10, 0x3)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((20, 0xf)));
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_without_stacking_up() {
        let mut warp = Warp::new(0, 0, 0xffff_ffff, Footprint::default());
        for lane in 0..31 {
            let (_, mask) = warp.current().unwrap();
            warp.split(&[(1 << lane, 9), (mask & !(1 << lane), 2)], 9);
            assert!(warp.groups.len() <= 2);
        }
        assert_eq!(warp.current(), Some((2, 1 << 31)));
        warp.jump(9);
        assert_eq!(warp.current(), Some((9, u32::MAX)));
    }

    #[test]
    fn exited_lanes_do_not_come_back_at_the_reconvergence_point() {
        let mut warp = Warp::new(0, 0, 0xf, Footprint::default());
        warp.split(&[(0x3, 10), (0xc, 5)], 20);
        warp.exit(0xc);
        assert_eq!(warp.current(), Some((10, 0x3)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((20, 0x3)));
        warp.exit(0x3);
        assert_eq!(warp.current(), None);
    }
}
