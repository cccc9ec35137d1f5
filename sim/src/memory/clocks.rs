//! Vector clocks of the warps of a block.
//!
//! Happens-before as in FastTrack (Flanagan and Freund, PLDI 2009): a warp is one agent in program order;
//! an access is ordered before another if the second's warp knows the first's clock.

use std::collections::HashMap;

/// Clock of each warp as known to one agent or carried by one synchronisation object.
pub(crate) type Clock = Box<[u32]>;

/// The clocks of a block.
pub(crate) struct Clocks {
    warps: Vec<Clock>,
    /// Objects that carry clocks from one warp to another: shared words accessed by atomics and strong accesses.
    objects: HashMap<u64, Clock>,
}

fn join(into: &mut [u32], from: &[u32]) {
    for (a, &b) in into.iter_mut().zip(from) {
        *a = (*a).max(b);
    }
}

impl Clocks {
    pub(crate) fn new(warps: usize) -> Self {
        let mut clocks: Vec<Clock> = vec![vec![0; warps].into(); warps];
        for (warp, clock) in clocks.iter_mut().enumerate() {
            clock[warp] = 1;
        }
        Self { warps: clocks, objects: HashMap::new() }
    }

    /// What `warp` knows of all clocks, its own included.
    #[inline]
    pub(crate) fn of(&self, warp: u32) -> &[u32] {
        &self.warps[warp as usize]
    }

    /// Adds what `warp` did so far to `object`; what it does later is not covered.
    pub(crate) fn release_into(&mut self, warp: u32, object: &mut Clock) {
        let clock = &mut self.warps[warp as usize];
        if object.is_empty() {
            *object = clock.clone();
        } else {
            join(object, clock);
        }
        clock[warp as usize] += 1;
    }

    /// Orders everything `object` carries before what `warp` does next.
    pub(crate) fn acquire_from(&mut self, warp: u32, object: &[u32]) {
        join(&mut self.warps[warp as usize], object);
    }

    /// Acquires the object at a shared address, if anything was released there.
    pub(crate) fn acquire(&mut self, warp: u32, address: u64) {
        if let Some(object) = self.objects.get(&address) {
            join(&mut self.warps[warp as usize], object);
        }
    }

    /// Releases into the object at a shared address.
    pub(crate) fn release(&mut self, warp: u32, address: u64) {
        let mut object = self.objects.remove(&address).unwrap_or_default();
        self.release_into(warp, &mut object);
        self.objects.insert(address, object);
    }
}
