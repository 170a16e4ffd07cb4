//! The same cycle with messages between the proposer's side and the committer's, on two threads or on one.
//!
//! The sides share nothing but messages, whose buffers go back and forth. The committer's side is the caller, too. On
//! two threads no guard keeps one side waiting for the other. So the ratio of the two rates says how much a second core
//! can help if lanes and views belong to the proposer.

use std::hint;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

use super::caller::Caller;
use super::committer::Committer;
use super::one_thread::OneThread;
use super::proposer::{Changes, Feed, Pending, Proposer, Request};
use super::queues::PARTITIONS;
use super::{CycleRate, CycleYardstick, Work};

/// The caller waits until this part of its window is free. One message asks for twice as many at most.
const CALL_DIVISOR: usize = 8;

/// After so many looks in vain the caller asks for one more container: the pending asks may find no room.
const PATIENCE_LOOKS: u32 = 1 << 20;

/// After so many looks in vain a thread lets others run.
const SPINS: u32 = 256;

/// The requests of a pass.
struct Batch {
    partition: usize,
    requests: Vec<Request>,
    /// The emptied buffer of the changes before the pass.
    emptied: Option<Changes>,
}

/// The committer and the caller.
struct CommitterSide<'a> {
    committer: &'a mut Committer,
    caller: &'a mut Caller,
    window: usize,
    changes: Sender<Changes>,
    batches: Receiver<Batch>,
    spare_lists: Sender<Vec<Request>>,
    spare_buffers: Vec<Changes>,
    /// Looks without a batch since the last one.
    idle_looks: u32,
}

struct ProposerSide<'a> {
    proposer: &'a mut Proposer,
    /// By slot.
    pending: Vec<Pending>,
    changes: Receiver<Changes>,
    batches: Sender<Batch>,
    spare_lists: Receiver<Vec<Request>>,
}

/// The outcome of one step of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Worked,
    Idle,
    /// The other side has ended.
    Ended,
}

impl CycleYardstick {
    /// Works for this long as [`run_while`](Self::run_while) does, but by messages, with a thread for each side. Their
    /// processor time is not counted: each looks for the other's messages without sleeping.
    ///
    /// # Errors
    /// The yardstick was made to fill clusters, or the committer rejected a request.
    pub fn run_on_two_threads(&mut self, duration: Duration) -> anyhow::Result<CycleRate> {
        self.run_by_messages(duration, |committer, mut proposer, end| {
            thread::scope(|scope| {
                scope.spawn(move || work_until(None, || proposer.step()));
                work_until(Some(end), || committer.step());
                committer.end()
            })
        })
    }

    /// The same on one thread, which takes a step for each side in turn.
    ///
    /// # Errors
    /// As for [`run_on_two_threads`](Self::run_on_two_threads).
    pub fn run_by_messages_on_one_thread(&mut self, duration: Duration) -> anyhow::Result<CycleRate> {
        self.run_by_messages(duration, |committer, mut proposer, end| {
            // A step of the committer sends one message at most, so none is left at the end.
            while Instant::now() < end {
                committer.step();
                proposer.step();
            }
            drop(proposer);
            committer.end()
        })
    }

    /// Lets `work` do steps of both sides until the given time, and then end them. It returns the containers placed by
    /// then, and the time.
    fn run_by_messages(
        &mut self,
        duration: Duration,
        work: impl FnOnce(&mut CommitterSide<'_>, ProposerSide<'_>, Instant) -> (u64, Instant),
    ) -> anyhow::Result<CycleRate> {
        let Work::Churn { window } = self.work else { bail!("by messages the yardstick fills no clusters") };
        let OneThread { committer, proposer, .. } = &mut self.engine;
        let (to_proposer, changes) = channel();
        let (to_committer, batches) = channel();
        let (give_back, spare_lists) = channel();
        let pending = (0..committer.asks.slots()).map(|slot| committer.pending(slot)).collect();
        let proposing = ProposerSide { proposer, pending, changes, batches: to_committer, spare_lists };
        let mut committing = CommitterSide {
            committer,
            caller: &mut self.caller,
            window,
            changes: to_proposer,
            batches,
            spare_lists: give_back,
            spare_buffers: Vec::new(),
            idle_looks: 0,
        };
        let (begun, before) = (Instant::now(), committing.caller.placed);
        let (placed, ended) = work(&mut committing, proposing, begun + duration);
        let rejected = self.engine.committer.rejected;
        ensure!(
            rejected == 0,
            "the committer rejected {rejected} requests, which the proposer counts as placed"
        );
        Ok(CycleRate { placed: placed - before, elapsed: ended - begun, cpu_ns: None })
    }
}

impl CommitterSide<'_> {
    /// Decides a batch, if there is one, and asks again, if there is room for that.
    fn step(&mut self) -> Step {
        let batch = match self.batches.try_recv() {
            Err(TryRecvError::Disconnected) => return Step::Ended,
            batch => batch.ok(),
        };
        self.idle_looks = if batch.is_some() { 0 } else { self.idle_looks + 1 };
        let has_decided = batch.map(|batch| self.commit(batch)).is_some();
        if self.replace() || has_decided { Step::Worked } else { Step::Idle }
    }

    fn commit(&mut self, batch: Batch) {
        let Batch { partition, mut requests, emptied } = batch;
        self.committer.commit(partition, &mut requests);
        self.caller.take_events(self.committer);
        self.spare_buffers.extend(emptied);
        // Fails if the proposer has ended, and then needs no lists.
        self.spare_lists.send(requests).ok();
    }

    /// Ends containers and asks for them again, if enough asks were answered. Returns whether it did.
    fn replace(&mut self) -> bool {
        let is_stuck = self.idle_looks >= PATIENCE_LOOKS;
        let room = self.window.saturating_sub(self.caller.unanswered) + usize::from(is_stuck);
        let call = if is_stuck { 1 } else { (self.window / CALL_DIVISOR).max(1) };
        if room < call {
            return false;
        }
        self.idle_looks = 0;
        let mut changes = self.spare_buffers.pop().unwrap_or_default();
        self.caller.replace(self.committer, &mut changes, room.min(2 * call));
        self.committer.log.end_group();
        self.changes.send(changes).is_ok()
    }

    /// Returns the containers placed so far and the time. Then lets the proposer end, and decides what it still
    /// proposes.
    fn end(&mut self) -> (u64, Instant) {
        let result = (self.caller.placed, Instant::now());
        // Without a sender the proposer's side ends.
        self.changes = channel().0;
        while let Ok(batch) = self.batches.recv() {
            self.commit(batch);
        }
        result
    }
}

impl ProposerSide<'_> {
    /// Takes changes in, if there are any, and proposes until no pass is full.
    fn step(&mut self) -> Step {
        let mut changes = match self.changes.try_recv() {
            Err(TryRecvError::Disconnected) => return Step::Ended,
            Err(TryRecvError::Empty) => return Step::Idle,
            Ok(changes) => changes,
        };
        self.follow(&mut changes);
        let mut emptied = Some(changes);
        for partition in 0..PARTITIONS {
            loop {
                let mut requests = self.spare_lists.try_recv().unwrap_or_default();
                let pending = |slot: u32| self.pending[slot as usize];
                let is_full = self.proposer.propose(partition, pending, &mut requests);
                if self.batches.send(Batch { partition, requests, emptied: emptied.take() }).is_err() {
                    return Step::Ended;
                }
                if !is_full {
                    break;
                }
            }
        }
        Step::Worked
    }

    fn follow(&mut self, changes: &mut Changes) {
        changes.freed.drain(..).for_each(|freed| self.proposer.freed(freed));
        for asked in changes.asked.drain(..) {
            let slot = asked.ask.id.slot as usize;
            if slot >= self.pending.len() {
                self.pending.resize(slot + 1, asked.ask);
            }
            self.pending[slot] = asked.ask;
            self.proposer.asked(asked);
        }
    }
}

/// Takes steps until this time, or until the other side has ended. Between them it mostly spins, because to sleep and
/// wake costs more than a message. On a machine with one processor the other thread gets its turn.
fn work_until(end: Option<Instant>, mut step: impl FnMut() -> Step) {
    let mut idle = 0_u32;
    while end.is_none_or(|end| Instant::now() < end) {
        match step() {
            Step::Ended => return,
            Step::Worked => idle = 0,
            Step::Idle => {
                idle = idle.wrapping_add(1);
                if idle.is_multiple_of(SPINS) { thread::yield_now() } else { hint::spin_loop() }
            }
        }
    }
}
