//! The state that the threads of one engine share.

use std::sync::{Arc, Weak};

use super::ask_kinds::AskKinds;
use super::directory::{Ids, Names};
use super::message::Message;
use super::progress::Progress;
use super::rounds::Round;
use super::stream::StreamCore;
use super::timing::EngineTiming;
use super::trace;
use crate::clock::Clock;
use crate::config::EngineConfig;
use crate::ids::PartitionId;
use crate::place::Leases;
use crate::propose::{PassLimits, PassScope};
use crate::replay::Identifiers;
use crate::state::State;
use crate::sync::{AtomicU64, Condvar, Counter, Figures, Mutex, Ordering, Outbox, RwLock, Signal};

/// State, lease pool and wake-ups. The state's lock comes first, then at most one of the others, which are leaf
/// locks.
pub(crate) struct Shared {
    pub(crate) config: Arc<EngineConfig>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) pass_limits: PassLimits,
    pub(crate) state: RwLock<State>,
    pub(crate) leases: Leases,
    /// Raised when proposers may have work: a wanted set, gang or round of preemption, or a set back in the pool.
    pub(crate) work: Signal,
    pub(crate) outbox: Outbox<Message>,
    gate: AtomicU64,
    /// The number of messages after which the committer ends; `u64::MAX` until shutdown.
    ends_after: AtomicU64,
    /// The number of panics of proposing threads.
    pub(crate) proposer_panics: Counter,
    /// Proposers that panicked too often to be restarted.
    pub(crate) proposers_given_up: Counter,
    pub(crate) timing: Figures<EngineTiming>,
    pub(super) round: Round,
    pub(super) progress: Mutex<Progress>,
    pub(super) progressed: Condvar,
    /// All streams with a reader, so that the end of the engine can close them.
    streams: Mutex<Vec<Weak<StreamCore>>>,
    pub(crate) names: Names,
    pub(crate) ids: Ids,
    pub(crate) ask_kinds: Mutex<AskKinds>,
}

/// The engine takes no more messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// The closed bit of the gate. The other bits count the messages sent.
const CLOSED: u64 = 1 << 63;

impl Shared {
    pub(crate) fn new(
        config: Arc<EngineConfig>,
        clock: Arc<dyn Clock>,
        state: State,
        identifiers: Identifiers,
        outbox: Outbox<Message>,
    ) -> Self {
        let leases = Leases::new(state.facts.tree.partitions.len(), config.node_order);
        if !state.facts.gangs.is_empty() {
            leases.want_gangs();
        }
        Self {
            pass_limits: PassLimits {
                requests: config.limits.batch_requests,
                visits: config.limits.pass_visits,
                scope: PassScope::default(),
                is_single_step: false,
            },
            leases,
            work: Signal::default(),
            outbox,
            gate: AtomicU64::new(0),
            ends_after: AtomicU64::new(u64::MAX),
            proposer_panics: Counter::default(),
            proposers_given_up: Counter::default(),
            timing: Figures::default(),
            round: Round::default(),
            progress: Mutex::new(Progress::default()),
            progressed: Condvar::default(),
            streams: Mutex::new(Vec::new()),
            names: Names::of(&state.facts),
            ids: Ids::after(identifiers, &state.facts),
            ask_kinds: Mutex::new(AskKinds::default()),
            state: RwLock::new(state),
            clock,
            config,
        }
    }

    /// Sends a message to the committer, which processes it even if the engine is shut down right afterwards. The
    /// gate's word counts the message and tests for closure in one step. So the committer knows exactly how many
    /// messages to wait for.
    pub(crate) fn send(&self, message: Message) -> Result<(), Closed> {
        if self.gate.fetch_add(1, Ordering::AcqRel) & CLOSED != 0 {
            self.gate.fetch_sub(1, Ordering::AcqRel);
            return Err(Closed);
        }
        // Fails only if the committer ended without a shutdown; `end` then wakes waiting callers.
        self.outbox.send(message).map_err(|_| Closed)
    }

    /// Closes the gate and returns how many messages passed it before. A second call returns `None`.
    pub(crate) fn close_gate(&self) -> Option<u64> {
        let before = self.gate.fetch_or(CLOSED, Ordering::AcqRel);
        (before & CLOSED == 0).then_some(before)
    }

    /// Lets the committer end once it has processed this many messages and every waiting batch.
    pub(crate) fn stop_after(&self, messages: u64) {
        self.ends_after.store(messages, Ordering::Release);
        // If the inbox is full, the committer looks anyway.
        self.outbox.offer(Message::LookAgain);
    }

    /// The number of messages after which the committer ends.
    pub(crate) fn ends_after(&self) -> u64 {
        self.ends_after.load(Ordering::Acquire)
    }

    /// Keeps a stream until its last reader is gone.
    pub(crate) fn add_stream(&self, stream: &Arc<StreamCore>) {
        let mut streams = self.streams.lock();
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        streams.push(Arc::downgrade(stream));
        drop(streams);
        // Read after the push: if the engine ended before the push, this thread closes the stream.
        if self.has_ended() {
            stream.close();
        }
    }

    /// Ends the engine and wakes all waiting threads.
    pub(crate) fn end(&self) {
        self.close_gate();
        self.work.close();
        let mut had_ended = true;
        self.report_progress(|progress| had_ended = std::mem::replace(&mut progress.ended, true));
        let streams = std::mem::take(&mut *self.streams.lock());
        streams.iter().filter_map(Weak::upgrade).for_each(|stream| stream.close());
        if !had_ended {
            trace::engine_ended();
        }
    }

    /// Whether the committer has ended, so that the state no longer changes.
    pub(crate) fn has_ended(&self) -> bool {
        self.progress.lock().ended
    }

    /// Whether the gate is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.gate.load(Ordering::Acquire) & CLOSED != 0
    }

    /// The number of messages that passed the gate.
    pub(crate) fn sent(&self) -> u64 {
        self.gate.load(Ordering::Acquire) & !CLOSED
    }

    /// The number of proposers that would have work.
    pub(crate) fn workers_wanted(&self) -> usize {
        self.leases.takeable() + usize::from(self.round.is_wanted())
    }

    /// Whether a set is worth a pass, or a round of preemption is wanted.
    pub(crate) fn has_work_for_proposers(&self) -> bool {
        self.leases.any_wanted() || self.round.is_wanted()
    }

    /// Publishes the sets that are worth a pass. The caller holds the write guard, so the state is the newest. A
    /// partition that is due for resharding publishes none until all of its leases are in the pool.
    pub(crate) fn publish_wanted(&self, state: &State) {
        for partition in state.partitions() {
            let sets = if self.is_cut_right(state, partition) { state.wanted_sets(partition) } else { 0 };
            self.leases.publish_wanted(partition, sets);
        }
    }

    /// Whether the partition has the number of sets that its size calls for.
    pub(crate) fn is_cut_right(&self, state: &State, partition: PartitionId) -> bool {
        state.node_shards.sets_wanted(partition, &self.config.limits) == state.node_shards.sets(partition)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("progress", &self.progress).finish_non_exhaustive()
    }
}
