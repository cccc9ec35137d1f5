//! Control state of a warp: which lanes are where.
//!
//! Divergence is a stack of lane groups. A branch whose lanes disagree splits the top group in two; each runs until
//! the branch's immediate post-dominator, where the group below, which holds all of them, goes on.

use super::copies::Copies;
use crate::memory::local::Local;

/// The program counter that no instruction has: groups that meet only at the exit.
pub(crate) const NEVER: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group {
    pc: u32,
    reconverge: u32,
    mask: u32,
}

/// Everything of a warp but its registers.
pub(crate) struct Warp {
    /// Index in the block.
    pub(crate) index: u32,
    /// Lanes that have not exited.
    pub(crate) alive: u32,
    groups: Vec<Group>,
    pub(crate) local: Local,
    pub(crate) copies: Copies,
    /// `CC.CF` of each lane.
    pub(crate) carry: u32,
    /// Instructions issued.
    pub(crate) issued: u64,
    /// Waits at this barrier since the instruction at this program counter.
    pub(crate) waiting: Option<(u32, u32)>,
}

impl Warp {
    pub(crate) fn new(index: u32, lanes: u32, local_bytes: u32) -> Self {
        let group = Group { pc: 0, reconverge: NEVER, mask: lanes };
        Self {
            index,
            alive: lanes,
            groups: vec![group],
            local: Local::new(local_bytes),
            copies: Copies::default(),
            carry: 0,
            issued: 0,
            waiting: None,
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
        let mut warp = Warp::new(0, 0xf, 0);
        warp.split(&[(0x3, 10), (0xc, 5)], 20);
        assert_eq!(warp.current(), Some((5, 0xc)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((10, 0x3)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((20, 0xf)));
    }

    #[test]
    fn lanes_that_leave_a_loop_wait_without_stacking_up() {
        let mut warp = Warp::new(0, 0xffff_ffff, 0);
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
        let mut warp = Warp::new(0, 0xf, 0);
        warp.split(&[(0x3, 10), (0xc, 5)], 20);
        warp.exit(0xc);
        assert_eq!(warp.current(), Some((10, 0x3)));
        warp.jump(20);
        assert_eq!(warp.current(), Some((20, 0x3)));
        warp.exit(0x3);
        assert_eq!(warp.current(), None);
    }
}
