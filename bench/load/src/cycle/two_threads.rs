//! The same cycle on two threads: one has the proposer's side, the other the committer's and the caller's.
//!
//! They share no memory but messages, whose buffers go back and forth. Lanes and views belong to the proposer, and no
//! guard keeps one thread waiting for the other. So this says how much a second core can help.

use std::hint;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::caller::Caller;
use super::committer::Committer;
use super::engine::Engine;
use super::proposer::{Asked, Changes, Feed, Pending, Proposer, Request};
use super::queues::PARTITIONS;
use super::{CycleRate, CycleYardstick, Work};

/// The least part of the unanswered asks for which the caller waits before it asks again. It asks for at most twice as
/// many in one message.
const CALL_PART: usize = 8;

/// After so many looks in vain a thread lets others run.
const LOOKS: u32 = 256;

/// The requests of a pass.
struct Batch {
    partition: usize,
    requests: Vec<Request>,
    /// An emptied buffer.
    taken: Option<Changes>,
}

/// The thread of the committer and the caller.
struct CommitterThread<'a> {
    committer: &'a mut Committer,
    caller: &'a mut Caller,
    window: usize,
    changes: Sender<Changes>,
    batches: Receiver<Batch>,
    /// Sends emptied lists back.
    decided: Sender<Vec<Request>>,
    /// Emptied buffers.
    buffers: Vec<Changes>,
}

/// The thread of the proposer.
struct ProposerThread<'a> {
    proposer: &'a mut Proposer,
    /// By slot.
    pending: Vec<Pending>,
    inbox: Receiver<Changes>,
    batches: Sender<Batch>,
    spare_lists: Receiver<Vec<Request>>,
}

impl CycleYardstick {
    /// Works for this long as [`run_while`](Self::run_while) does, on two threads. Their processor time is not counted:
    /// each looks for the other's messages without sleeping.
    ///
    /// # Errors
    /// The yardstick was made to fill clusters.
    pub fn run_on_two_threads(&mut self, duration: Duration) -> anyhow::Result<CycleRate> {
        let Work::Churn { window } = self.work else {
            bail!("on two threads the yardstick fills no clusters")
        };
        let Engine { committer, proposer, .. } = &mut self.engine;
        let (changes, inbox) = channel();
        let (proposed, batches) = channel();
        let (decided, spare_lists) = channel();
        let pending = (0..committer.asks.slots()).map(|slot| committer.pending(slot)).collect();
        let proposing = ProposerThread { proposer, pending, inbox, batches: proposed, spare_lists };
        let (caller, buffers) = (&mut self.caller, Vec::new());
        let mut thread = CommitterThread { committer, caller, window, changes, batches, decided, buffers };
        Ok(thread::scope(|scope| {
            scope.spawn(move || proposing.propose_all());
            let (begun, before) = (Instant::now(), thread.caller.placed);
            thread.work_until(begun + duration);
            let placed = thread.caller.placed - before;
            let rate = CycleRate { placed, elapsed: begun.elapsed(), cpu_ns: None };
            thread.end();
            rate
        }))
    }
}

impl CommitterThread<'_> {
    fn work_until(&mut self, end: Instant) {
        let mut looks = 0;
        while Instant::now() < end {
            let batch = self.batches.try_recv();
            let was_idle = batch.is_err();
            batch.into_iter().for_each(|batch| self.commit(batch));
            if !self.replace() && was_idle {
                pause(&mut looks);
            }
        }
    }

    fn commit(&mut self, batch: Batch) {
        let Batch { partition, mut requests, taken } = batch;
        self.committer.commit(partition, &mut requests);
        self.caller.take_events(self.committer);
        self.buffers.extend(taken);
        // Fails if the proposer has ended, and then needs no lists.
        self.decided.send(requests).ok();
    }

    /// Ends containers and asks for them again, if enough asks were answered. Returns whether it did.
    fn replace(&mut self) -> bool {
        let room = self.window.saturating_sub(self.caller.unanswered);
        let call = (self.window / CALL_PART).max(1);
        if room < call {
            return false;
        }
        let mut changes = self.buffers.pop().unwrap_or_default();
        self.caller.replace(self.committer, &mut changes, room.min(2 * call));
        self.committer.log.end_group();
        self.changes.send(changes).is_ok()
    }

    /// Lets the proposer end, and decides what it still proposes.
    fn end(mut self) {
        self.changes = channel().0;
        while let Ok(batch) = self.batches.recv() {
            self.commit(batch);
        }
    }
}

impl ProposerThread<'_> {
    /// Takes changes in and proposes, until no more can come.
    fn propose_all(mut self) {
        let mut looks = 0;
        loop {
            match self.inbox.try_recv() {
                Ok(changes) => self.follow(changes),
                Err(TryRecvError::Empty) => pause(&mut looks),
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn follow(&mut self, mut changes: Changes) {
        changes.freed.drain(..).for_each(|freed| self.proposer.freed(freed));
        for asked in changes.asked.drain(..) {
            let Asked { id, kind, user, lane, .. } = asked;
            let (slot, pending) = (id.slot as usize, Pending { id, kind, user, lane });
            if slot >= self.pending.len() {
                self.pending.resize(slot + 1, pending);
            }
            self.pending[slot] = pending;
            self.proposer.asked(asked);
        }
        let mut taken = Some(changes);
        for partition in 0..PARTITIONS {
            loop {
                let mut requests = self.spare_lists.try_recv().unwrap_or_default();
                let pending = |slot: u32| self.pending[slot as usize];
                let is_full = self.proposer.propose(partition, pending, &mut requests);
                let batch = Batch { partition, requests, taken: taken.take() };
                self.batches.send(batch).expect("the committer outlives the proposer");
                if !is_full {
                    break;
                }
            }
        }
    }
}

/// Waits for a moment. Mostly it spins, because to sleep and wake costs more than a message; on a machine with one
/// processor the other thread gets its turn.
fn pause(looks: &mut u32) {
    *looks = looks.wrapping_add(1);
    if looks.is_multiple_of(LOOKS) { thread::yield_now() } else { hint::spin_loop() }
}
