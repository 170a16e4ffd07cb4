//! Group commits: the work of the committing thread, alike in all modes.
//!
//! A group takes the write guard once for the messages in the inbox, until they reach the maximum of a group (G:
//! `group_requests`). Work that does not need the guard comes after it, in `publish.rs`. The drivers decide when a
//! group is committed, and what happens after its panic: `commit_loop.rs`, `serial.rs`, `background.rs`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::answered_call::ChangeResult;
use super::commit_loop::EndIfPanicking;
use super::concurrency_limit::{ConcurrencyLimit, Decided};
use super::message::{Call, Message};
use super::publish::Publisher;
use super::refusals::{admit_or_refuse, refuse};
use super::reshard::reshard;
use super::rounds::Rounds;
use super::shared::Shared;
use super::trace;
use crate::change::Change;
use crate::commit::Committer;
use crate::propose::ProposalBatch;
use crate::state::State;
use crate::stats::EngineStats;
use crate::sync::Inbox;

/// The committing half of an engine, for callers that supply the thread. An engine has exactly one.
///
/// [`run`](Self::run) commits until shutdown, [`step`](Self::step) commits one group. Dropping it ends the engine
/// and wakes all waiting callers.
pub struct GroupCommitter {
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: Inbox<Message>,
    /// Empty between groups.
    pub(super) messages: VecDeque<Message>,
    /// Log records, events and answers that are published after the guard is dropped.
    pub(super) publisher: Publisher,
    pub(super) stats: EngineStats,
    /// Processed messages, of those that the gate counts.
    pub(super) processed: u64,
    pub(super) concurrency_limit: ConcurrencyLimit,
    pub(super) rounds: Rounds,
    /// The number of changes up to the last group.
    pub(super) changes_before: u64,
    /// The time of the last group.
    pub(super) now_ms: u64,
    /// The time at which the next timer is due.
    pub(super) next_timer_ms: Option<u64>,
}

/// The most messages without weight in a group. A thread that sends them without end must not keep others waiting.
pub(super) const WEIGHTLESS_MAX: usize = 1_024;

impl GroupCommitter {
    /// Commits one group: `first`, if any, and the waiting messages.
    pub(crate) fn commit_group(&mut self, first: Option<Message>) {
        let _end = EndIfPanicking(Arc::clone(&self.shared));
        let _span = trace::group();
        let messages = self.gather(first);
        self.messages = self.decide(messages);
        self.publisher.publish();
        reshard(&self.shared);
        self.report();
    }

    /// Receives the messages of the group before the guard is taken, until their weight reaches G. As many as
    /// [`WEIGHTLESS_MAX`] without weight end it too.
    fn gather(&mut self, first: Option<Message>) -> VecDeque<Message> {
        let mut messages = std::mem::take(&mut self.messages);
        // It is empty, but `clear` also moves the ring back to its first slot. Otherwise small groups would wander
        // through all of its memory.
        messages.clear();
        let (mut weight, mut weightless, mut next) = (0, 0, first);
        while let Some(message) = next {
            let of_message = message.weight();
            (weight, weightless) = (weight + of_message, weightless + usize::from(of_message == 0));
            messages.push_back(message);
            let is_full = weight >= self.shared.config.limits.group_requests || weightless == WEIGHTLESS_MAX;
            next = if is_full { None } else { self.inbox.try_receive() };
        }
        messages
    }

    /// Does all work under the write guard. Returns the emptied list for reuse.
    fn decide(&mut self, mut messages: VecDeque<Message>) -> VecDeque<Message> {
        let shared = Arc::clone(&self.shared);
        let awaited_from_ns = shared.clock.measured_ns();
        let mut state = shared.state.write();
        let timing = self.begin_timing(awaited_from_ns);
        state.version += 1;
        self.stats.groups += 1;
        self.begin_with_configuration(&mut state);
        self.advance_time(&mut state);
        // One at a time: if a message panics, the rest must outlive the guard, because dropping a batch takes the
        // guard again.
        while let Some(message) = messages.pop_front() {
            self.deal_with(&mut state, message);
        }
        self.end_group(&mut state);
        drop(state);
        self.record_timing(timing);
        messages
    }

    fn deal_with(&mut self, state: &mut State, message: Message) {
        self.processed += u64::from(message.is_counted());
        match message {
            Message::Call { call, caller } => {
                self.call(state, call);
                self.publisher.record_refused(&caller);
            }
            Message::Answered(call) => self.answer(state, call),
            Message::AskKind(kind) => self.publisher.kinds.push(*kind),
            Message::Batch(batch) => self.batch(state, batch),
            // The driver may have moved the clock after this group began.
            Message::Tick => self.advance_time(state),
            Message::LookAgain => {}
        }
    }

    /// Carries a call out. Refusals collect for its caller.
    fn call(&mut self, state: &mut State, call: Call) {
        match call {
            Call::Change(change) => drop(self.change(state, change)),
            Call::Changes(changes) => self.changes(state, changes),
            Call::Asks(asks) => self.asks_of_kinds(state, asks),
            Call::Completions(containers) => self.committer(state).apply_completions(containers, refuse),
            Call::Application { application, spec, stream } => {
                self.application(state, application, spec, &stream);
            }
            Call::Recovery { changes, answer } => {
                let results = self.register_with_containers(state, changes);
                self.publisher.answer(answer, results);
            }
        }
    }

    /// Applies a caller's change if it is still valid.
    pub(super) fn change(&mut self, state: &mut State, change: Change) -> ChangeResult {
        let mut committer = self.committer(state);
        admit_or_refuse(&mut committer, &change).map(|()| committer.apply(change))
    }

    /// Decides a batch. It is pushed to `decided` first, so that it outlives the guard even after a panic.
    // Not inlined, so that a profile tells this step from the others of a group.
    #[inline(never)]
    fn batch(&mut self, state: &mut State, mut batch: Box<ProposalBatch>) {
        if let Some(steps) = batch.take_round() {
            return self.take_round(steps);
        }
        self.keep_turn_during_round(&mut batch);
        let pass = Decided::of_pass(&batch);
        self.publisher.decided.push(batch);
        self.gather_room_between_batches(state);
        let Publisher { effects, log, decided, .. } = &mut self.publisher;
        let mut committer = Committer { state, effects, log, stats: &mut self.stats };
        let rejected = decided.last_mut().map_or(0, |batch| committer.commit_batch(batch));
        let Some(pass) = pass else { return };
        if rejected > 0 {
            // Their units were in flight when the last round looked.
            self.rounds.record_news();
        }
        self.adapt_concurrency(state, Decided { rejected, ..pass });
    }

    /// Takes the steps that end a group; each feature's step is in the feature's own file. A step sees what the
    /// earlier ones changed. So the wanted sets are published after all steps that can make a set wanted.
    fn end_group(&mut self, state: &mut State) {
        self.gather_room(state);
        self.committer(state).place_starved();
        self.ring_timers(state);
        self.advance_round(state);
        self.gather_room(state);
        self.promote_requested(state);
        find_work_for_passes(state);
        self.shared.publish_wanted(state);
        // The round ends after its sets are published, so that a watchdog never sees an engine without work.
        self.end_round(state);
        self.set_next_timer(state);
        self.want_gangs(state);
        if state.backlog.starved.is_any_due() {
            // The committer placed as many starved asks as a group allows; the next group goes on. A full inbox
            // brings another group anyway.
            self.shared.outbox.offer(Message::LookAgain);
        }
    }

    pub(super) fn committer<'a>(&'a mut self, state: &'a mut State) -> Committer<'a> {
        let Publisher { effects, log, .. } = &mut self.publisher;
        Committer { state, effects, log, stats: &mut self.stats }
    }
}

/// Makes those sets wanted in which a pass may now place or reserve something: guarantees, headroom or reservations
/// may have changed.
pub(super) fn find_work_for_passes(state: &mut State) {
    state.recompute_limits();
    state.wake_without_headroom();
    state.seek_reservations();
}
