//! A ring of stages in shared memory filled by the copy engine, with tokens for its states.

use crate::arch::mbarrier;
use crate::arch::shared::SharedPtr;

/// Position in a ring: which stage, and the parity of the turn.
#[derive(Clone, Copy)]
struct Turn {
    stages: u32,
    stage: u32,
    parity: u32,
}

impl Turn {
    #[inline(always)]
    fn advance(&mut self) {
        self.stage += 1;
        if self.stage == self.stages {
            self.stage = 0;
            self.parity ^= 1;
        }
    }
}

/// The barriers of a ring: one `full` and one `empty` a stage. A stage goes around
///
/// empty → [`Producer::acquire`] → `Filling` → (copies arrive) → full → [`Consumer::wait`] →
/// `Ready` → [`Consumer::release`] → empty.
#[derive(Clone, Copy)]
pub struct TmaPipeline {
    barriers: SharedPtr,
    stages: u32,
}

impl TmaPipeline {
    /// Shared memory that the barriers of one stage take.
    pub const BARRIER_BYTES: u32 = 16;

    /// The ring of `stages` stages whose barriers lie at `barriers`.
    #[inline(always)]
    #[must_use]
    pub fn new(barriers: SharedPtr, stages: u32) -> Self {
        Self { barriers, stages }
    }

    #[inline(always)]
    fn full(self, stage: u32) -> SharedPtr {
        self.barriers.add(8 * stage)
    }

    #[inline(always)]
    fn empty(self, stage: u32) -> SharedPtr {
        self.barriers.add(8 * (self.stages + stage))
    }

    /// Initialises the barriers; `releases` is how many consumers release each stage.
    ///
    /// # Safety
    /// One thread of the block, once, followed by [`mbarrier::fence_init`] and a barrier of the whole cluster.
    #[inline(always)]
    pub unsafe fn initialise(self, releases: u32) {
        for stage in 0..self.stages {
            // SAFETY: the caller is the only thread at it.
            unsafe {
                mbarrier::init(self.full(stage), 1);
                mbarrier::init(self.empty(stage), releases);
            }
        }
    }

    /// The side that fills. The ring starts empty.
    #[inline(always)]
    #[must_use]
    pub fn producer(self) -> Producer {
        // A barrier's phase before the first has odd parity: waiting for it returns at once.
        Producer { ring: self, turn: Turn { stages: self.stages, stage: 0, parity: 1 } }
    }

    /// The side that reads.
    #[inline(always)]
    #[must_use]
    pub fn consumer(self) -> Consumer {
        Consumer { ring: self, turn: Turn { stages: self.stages, stage: 0, parity: 0 } }
    }
}

/// The side of a ring that fills: one thread.
pub struct Producer {
    ring: TmaPipeline,
    turn: Turn,
}

/// A stage that the copy engine may fill; dropping the token leaves it to the engine.
pub struct Filling {
    /// Which stage.
    pub stage: u32,
    /// The barrier that counts its bytes.
    pub full: SharedPtr,
}

impl Producer {
    /// Waits for the next stage to be empty in every block that is copied to, and announces `bytes` copies into it.
    ///
    /// # Safety
    /// One thread; consumers release what was filled before.
    #[inline(always)]
    #[must_use]
    pub unsafe fn acquire(&mut self, bytes: u32) -> Filling {
        let stage = self.turn.stage;
        let full = self.ring.full(stage);
        // SAFETY: the barriers are initialised.
        unsafe {
            mbarrier::wait_parity(self.ring.empty(stage), self.turn.parity);
            mbarrier::arrive_expect_tx(full, bytes);
        }
        self.turn.advance();
        Filling { stage, full }
    }

    /// Waits until every stage that was filled is released, by all blocks: none will arrive at the barriers any more.
    ///
    /// # Safety
    /// One thread; consumers release what was filled before.
    #[inline(always)]
    pub unsafe fn drain(&mut self) {
        for _ in 0..self.turn.stages {
            // SAFETY: the barriers are initialised.
            unsafe { mbarrier::wait_parity(self.ring.empty(self.turn.stage), self.turn.parity) };
            self.turn.advance();
        }
    }
}

/// The side of a ring that reads, as one thread sees it.
pub struct Consumer {
    ring: TmaPipeline,
    turn: Turn,
}

/// A stage whose copies have arrived.
pub struct Ready {
    /// Which stage.
    pub stage: u32,
}

impl Consumer {
    /// Waits for the next stage to be full.
    ///
    /// # Safety
    /// The producer fills it.
    #[inline(always)]
    #[must_use]
    pub unsafe fn wait(&mut self) -> Ready {
        let stage = self.turn.stage;
        // SAFETY: the barriers are initialised.
        unsafe { mbarrier::wait_parity(self.ring.full(stage), self.turn.parity) };
        self.turn.advance();
        Ready { stage }
    }

    /// Passes over `turns` stages that another consumer reads.
    #[inline(always)]
    pub fn skip(&mut self, turns: u32) {
        let stage = self.turn.stage + turns;
        self.turn.parity ^= stage / self.turn.stages & 1;
        self.turn.stage = stage % self.turn.stages;
    }

    /// Gives a stage up; a thread that is told a block's `rank` also tells that block's producer.
    ///
    /// # Safety
    /// Nothing reads the stage any more on behalf of the thread that tells; the cluster's blocks are alive.
    #[inline(always)]
    pub unsafe fn release(&self, ready: Ready, rank: Option<u32>) {
        if let Some(rank) = rank {
            // SAFETY: the caller vouches for the rest.
            unsafe { mbarrier::arrive_at(self.ring.empty(ready.stage), rank) };
        }
    }
}
