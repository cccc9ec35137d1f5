//! `wgmma` under way: what a warpgroup has issued, and what of it each of its warps still has to wait for.

use crate::fault::FaultKind;
use crate::isa::wgmma::{Operands, Product};
use std::collections::VecDeque;
use std::sync::Arc;

/// Warps of a warpgroup.
pub(crate) const WARPS: u32 = 4;
/// All warps of a warpgroup.
pub(crate) const ALL: u8 = 0xf;

/// One product of a warpgroup.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) pc: u32,
    /// Descriptors of A, unless it lies in registers, and B.
    pub(crate) descriptors: [u64; 2],
    /// Warps that have issued it.
    pub(crate) warps: u8,
    /// Warps that have taken its result.
    taken: u8,
    /// What it multiplies, once read.
    operands: Option<Arc<Operands>>,
    /// Clock of its reads.
    pub(crate) clock: u32,
}

/// The products of a warpgroup that not all its warps have finished.
#[derive(Debug, Default)]
pub(crate) struct Warpgroup {
    /// Number of the first product in the queue.
    first: u64,
    products: VecDeque<Issued>,
}

impl Warpgroup {
    /// Warp `member` issues its product number `sequence`; the product as far as it is issued.
    pub(crate) fn issue(
        &mut self,
        member: u32,
        sequence: u64,
        pc: u32,
        descriptors: [u64; 2],
    ) -> Result<&mut Issued, Box<FaultKind>> {
        let at = (sequence - self.first) as usize;
        if at == self.products.len() {
            self.products.push_back(Issued { pc, descriptors, warps: 0, taken: 0, operands: None, clock: 0 });
        }
        let product = &mut self.products[at];
        if product.pc != pc || product.descriptors != descriptors {
            let problem = "the warps of a warpgroup run different wgmma, or one with different descriptors".into();
            return Err(Box::new(FaultKind::Warpgroup { problem }));
        }
        product.warps |= 1 << member;
        Ok(product)
    }

    fn at(&self, sequence: u64) -> Option<&Issued> {
        self.products.get(sequence.checked_sub(self.first)? as usize)
    }

    /// Warps that have issued product `sequence`.
    pub(crate) fn arrived(&self, sequence: u64) -> u32 {
        self.at(sequence).map_or(WARPS, |product| product.warps.count_ones())
    }

    /// Whether all warps have issued product `sequence`.
    pub(crate) fn is_issued(&self, sequence: u64) -> bool {
        self.arrived(sequence) == WARPS
    }

    /// The operands of product `sequence`, read by `read` from its descriptors for the first warp that asks, and the clock
    /// of the reads. The product is over for `member`.
    pub(crate) fn take(
        &mut self,
        member: u32,
        sequence: u64,
        read: impl FnOnce([u64; 2]) -> Operands,
    ) -> (Arc<Operands>, u32) {
        let product = &mut self.products[(sequence - self.first) as usize];
        let descriptors = product.descriptors;
        let operands = Arc::clone(product.operands.get_or_insert_with(|| Arc::new(read(descriptors))));
        product.taken |= 1 << member;
        let clock = product.clock;
        while self.products.front().is_some_and(|product| product.taken == ALL) {
            self.products.pop_front();
            self.first += 1;
        }
        (operands, clock)
    }
}

/// A product that a warp has issued and not waited for.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) product: Arc<Product>,
    pub(crate) sequence: u64,
    pub(crate) accumulate: bool,
    group: u32,
}

/// The products of one warp, and the state of the registers that any product of the kernel uses.
#[derive(Debug)]
pub(crate) struct Products {
    pub(crate) issued: u64,
    queue: VecDeque<Due>,
    committed: u32,
    waited: u32,
    /// For each register one more than the latest group that uses it, and the instruction.
    pending: Vec<(u32, u32)>,
    /// Registers accessed since the last fence.
    touched: Vec<bool>,
}

impl Products {
    /// `registers` is the number of registers that products of the kernel use.
    pub(crate) fn new(registers: usize) -> Self {
        Self {
            issued: 0,
            queue: VecDeque::new(),
            committed: 0,
            waited: 0,
            pending: vec![(0, 0); registers],
            touched: vec![true; registers],
        }
    }

    /// An instruction other than a product accesses `registers`. Gives the instruction that still uses one.
    #[inline]
    pub(crate) fn touch(&mut self, registers: &[u32]) -> Result<(), u32> {
        for &register in registers {
            let (group, pc) = self.pending[register as usize];
            if group > self.waited {
                return Err(pc);
            }
            self.touched[register as usize] = true;
        }
        Ok(())
    }

    pub(crate) fn fence(&mut self) {
        self.touched.fill(false);
    }

    /// Whether none of `registers` was accessed since the last fence.
    pub(crate) fn are_fenced(&self, registers: &[u32]) -> bool {
        registers.iter().all(|&register| !self.touched[register as usize])
    }

    /// Issues a product on `registers`.
    pub(crate) fn issue(&mut self, product: Arc<Product>, accumulate: bool, pc: u32) {
        for &register in &product.tracked {
            self.pending[register as usize] = (self.committed + 1, pc);
        }
        self.queue.push_back(Due { product, sequence: self.issued, accumulate, group: self.committed });
        self.issued += 1;
    }

    pub(crate) fn commit(&mut self) {
        self.committed += 1;
    }

    /// The last product that waiting for all but `allowed` groups must wait for.
    pub(crate) fn last_due(&self, allowed: u32) -> Option<u64> {
        let due = self.queue.iter().rev().find(|due| due.group + allowed < self.committed);
        due.map(|due| due.sequence)
    }

    /// The oldest product of all but the latest `allowed` groups.
    pub(crate) fn next_due(&mut self, allowed: u32) -> Option<Due> {
        let due = self.queue.front()?.group + allowed < self.committed;
        if due { self.queue.pop_front() } else { None }
    }

    /// All but the latest `allowed` groups are complete.
    pub(crate) fn waited(&mut self, allowed: u32) {
        self.waited = self.waited.max(self.committed.saturating_sub(allowed));
    }
}
