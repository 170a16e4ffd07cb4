//! Group commits: the work of the committing thread, alike in all modes.
//!
//! A group takes the write guard once for the messages in the inbox, up to G requests. Work that does not need the
//! guard comes after it, in `publish.rs`.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::attach::attachment;
use super::concurrency_limit::{ConcurrencyLimit, Decided};
use super::publish::Publisher;
use super::refusals::{admit_or_refuse, refuse};
use super::reshard::reshard;
use super::rounds::Rounds;
use super::shared::{ChangeResult, Message, Shared};
use super::stream::StreamCore;
use super::trace;
use crate::change::Change;
use crate::commit::{Committer, check_configuration};
use crate::event::Refusal;
use crate::propose::{ProposalBatch, Work};
use crate::state::State;
use crate::stats::EngineStats;
use crate::sync::{Inbox, Nothing};

/// The outcome of one step of the committer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The committer committed a group.
    Worked,
    /// The inbox was empty and no timer is due.
    Idle,
    /// The engine is shut down and everything sent before is processed.
    Ended,
}

/// The committing half of an engine, for callers that supply the thread. An engine has exactly one.
///
/// [`run`](Self::run) commits until shutdown, [`step`](Self::step) commits one group. Dropping it ends the engine
/// and wakes all waiting callers.
pub struct GroupCommitter {
    pub(super) shared: Arc<Shared>,
    inbox: Inbox<Message>,
    /// Empty between groups.
    messages: VecDeque<Message>,
    /// Log records, events and answers that are published after the guard is dropped.
    pub(super) publisher: Publisher,
    pub(super) stats: EngineStats,
    processed: u64,
    concurrency_limit: ConcurrencyLimit,
    pub(super) rounds: Rounds,
    /// The time of the last group.
    now_ms: u64,
    /// The time at which the next timer is due.
    next_timer_ms: Option<u64>,
}

impl GroupCommitter {
    pub(super) fn new(shared: Arc<Shared>, inbox: Inbox<Message>, publisher: Publisher) -> Self {
        // The configured partitions do not include the default one.
        let concurrency_limit = ConcurrencyLimit::new(shared.config.partitions.len() + 1);
        let stats = EngineStats {
            sets_checked_out_max: concurrency_limit.sets_checked_out_max(),
            ..EngineStats::default()
        };
        Self {
            shared,
            inbox,
            messages: VecDeque::new(),
            publisher,
            stats,
            processed: 0,
            concurrency_limit,
            rounds: Rounds::default(),
            now_ms: 0,
            next_timer_ms: None,
        }
    }

    /// Commits until the engine is shut down and everything sent before is processed.
    pub fn run(mut self) {
        while !self.is_over() && self.wait_and_commit() {}
    }

    /// Waits for a message or a due timer, and commits a group. Returns false if no message can come any more.
    pub(super) fn wait_and_commit(&mut self) -> bool {
        match self.inbox.receive(self.patience()) {
            Ok(message) => self.commit_group(Some(message)),
            Err(Nothing::TimedOut) => self.commit_group(None),
            Err(Nothing::Closed) => return false,
        }
        true
    }

    /// Commits one group of waiting messages; never blocks. A thread that both steps and submits must step before
    /// the inbox is full, or it waits for itself.
    ///
    /// # Panics
    /// If the embedder's clock, log sink or waker panics. The engine has then ended.
    pub fn step(&mut self) -> Step {
        if self.is_over() {
            self.end();
            return Step::Ended;
        }
        match self.inbox.try_receive() {
            None if !self.is_due() => return Step::Idle,
            message => self.commit_group(message),
        }
        Step::Worked
    }

    pub(crate) fn inbox(&self) -> &Inbox<Message> {
        &self.inbox
    }

    /// The number of processed messages, of those that the gate counts.
    pub(crate) fn processed(&self) -> u64 {
        self.processed
    }

    /// Changes with each message that is processed and each timer that rings.
    pub(super) fn done(&self) -> (u64, Option<u64>) {
        (self.processed, self.next_timer_ms)
    }

    /// Whether the committer was told to stop and has processed everything sent before, or a group ended in a
    /// panic.
    pub(super) fn is_over(&self) -> bool {
        (self.processed >= self.shared.ends_after() && self.inbox.is_empty()) || self.shared.has_ended()
    }

    /// How long to wait for a message before a timer is due. `None`: no timer is set, or only the driver moves the
    /// clock. The driver may move the clock after its tick was processed, so this checks for due timers first.
    fn patience(&self) -> Option<Duration> {
        if self.is_due() { Some(Duration::ZERO) } else { self.shared.clock.until(self.next_timer_ms?) }
    }

    /// As [`patience`](Self::patience), but until a deadline at the latest.
    pub(super) fn patience_until(&self, deadline_ms: u64) -> Option<Duration> {
        let next_ms = self.next_timer_ms.map_or(deadline_ms, |next_ms| next_ms.min(deadline_ms));
        if self.is_due() { Some(Duration::ZERO) } else { self.shared.clock.until(next_ms) }
    }

    /// Whether a timer is due now.
    pub(super) fn is_due(&self) -> bool {
        self.next_timer_ms.is_some_and(|next_ms| next_ms <= self.shared.clock.now_ms())
    }

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

    /// Receives the messages of the group, up to G requests, before the guard is taken.
    fn gather(&mut self, first: Option<Message>) -> VecDeque<Message> {
        let mut messages = std::mem::take(&mut self.messages);
        let (mut weight, mut next) = (0, first);
        while let Some(message) = next {
            weight += message.weight();
            messages.push_back(message);
            let is_full = weight >= self.shared.config.limits.group_requests;
            next = if is_full { None } else { self.inbox.try_receive() };
        }
        messages
    }

    /// Does all work under the write guard. Returns the emptied list for reuse.
    fn decide(&mut self, mut messages: VecDeque<Message>) -> VecDeque<Message> {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.write();
        let (locked_ns, allocated_before) = (shared.clock.measured_ns(), self.stats.allocated);
        state.version += 1;
        self.stats.groups += 1;
        let changes_before = state.facts.changes;
        if state.facts.changes == 0 {
            // The log begins with the configuration.
            let config = Arc::clone(&state.facts.config);
            self.committer(&mut state).apply(Change::Configured { config });
        }
        self.advance_time(&mut state);
        // One at a time: if a message panics, the rest must outlive the guard, because dropping a batch takes the
        // guard again.
        while let Some(message) = messages.pop_front() {
            self.deal_with(&mut state, message);
        }
        self.gather_room(&mut state);
        self.committer(&mut state).place_starved();
        self.ring_timers(&mut state);
        self.advance_round(&mut state);
        self.gather_room(&mut state);
        self.promote_requested(&mut state);
        state.recompute_limits();
        state.wake_without_headroom();
        state.seek_reservations();
        shared.publish_wanted(&state);
        self.end_round(&state);
        let round_ms = self.rounds.next_ms(state.facts.now_ms);
        self.next_timer_ms = state.timers.next_ms().into_iter().chain(round_ms).min();
        self.now_ms = state.facts.now_ms;
        let has_changed = state.facts.changes > changes_before;
        if !state.facts.gangs.is_empty() && (has_changed || !state.gang_waits.overdue_turns.is_empty()) {
            shared.leases.want_gangs();
        }
        if state.backlog.starved.is_any_due() {
            // The committer placed as many starved asks as a group allows; the next group goes on. A full inbox
            // brings another group anyway.
            shared.outbox.offer(Message::LookAgain);
        }
        drop(state);
        self.record_timing(locked_ns, self.stats.allocated - allocated_before);
        messages
    }

    /// Adds room that the group freed to the held room of gangs, before any pass sees it.
    fn gather_room(&mut self, state: &mut State) {
        if !state.facts.held_rooms.is_empty() {
            self.committer(state).gather();
        }
    }

    /// Records how long the guard was held since `locked_ns`, and the ages of the group's batches.
    fn record_timing(&self, locked_ns: u64, allocated: u64) {
        let now_ns = self.shared.clock.measured_ns();
        if now_ns == 0 {
            return;
        }
        self.shared.timing.record(|timing| {
            timing.record_group(now_ns.saturating_sub(locked_ns), allocated);
            for batch in &self.publisher.decided {
                timing.record_batch(batch.proposing_ns, now_ns.saturating_sub(batch.begun_ns));
            }
        });
    }

    pub(super) fn committer<'a>(&'a mut self, state: &'a mut State) -> Committer<'a> {
        let Publisher { effects, log, .. } = &mut self.publisher;
        Committer { state, effects, log, stats: &mut self.stats }
    }

    fn advance_time(&mut self, state: &mut State) {
        let now_ms = self.shared.clock.now_ms();
        if now_ms > state.facts.now_ms {
            self.committer(state).apply(Change::TimeAdvanced { now_ms });
            self.rounds.count_clock_change();
        }
    }

    fn deal_with(&mut self, state: &mut State, message: Message) {
        if !matches!(message, Message::Batch(_) | Message::LookAgain) {
            self.processed += 1;
        }
        match message {
            Message::Change { change, caller } => {
                let _ = self.change(state, change);
                self.publisher.record_refused(&caller);
            }
            Message::Changes { changes, caller } => {
                self.changes(state, changes);
                self.publisher.record_refused(&caller);
            }
            Message::AskKind(spec) => self.publisher.kinds.push(*spec),
            Message::Asks { asks, caller } => {
                let Publisher { effects, log, kinds, .. } = &mut self.publisher;
                let mut committer = Committer { state, effects, log, stats: &mut self.stats };
                committer.apply_asks(kinds, asks, refuse);
                self.publisher.record_refused(&caller);
            }
            Message::Completions { containers, caller } => {
                self.committer(state).apply_completions(containers, refuse);
                self.publisher.record_refused(&caller);
            }
            Message::Application { change, stream, caller } => {
                self.application(state, change, &stream);
                self.publisher.record_refused(&caller);
            }
            Message::Request { request, answer } => {
                let outcome = self.committer(state).commit(request);
                self.publisher.answer(answer, outcome);
            }
            Message::Configure { change, answer } => {
                let result = check_configuration(&state.facts, &change)
                    .inspect_err(|_| self.stats.count_refused(Refusal::InvalidConfiguration))
                    .map(|()| self.committer(state).apply(change));
                self.publisher.answer(answer, result);
            }
            Message::Recovery { changes, answer, caller } => {
                let results = self.register_with_containers(state, changes);
                self.publisher.record_refused(&caller);
                self.publisher.answer(answer, results);
            }
            Message::Reconcile { node, report, answer } => {
                let result = self.reconcile(state, node, *report);
                self.publisher.answer(answer, result);
            }
            Message::Answered { change, answer } => {
                let result = self.change(state, change);
                self.publisher.answer(answer, result);
            }
            Message::Gang { asks, spec, answer } => {
                let result = self.gang(state, asks, spec);
                self.publisher.answer(answer, result);
            }
            Message::TaskGroupAsk { change, answer } => {
                let result = self.ask_of_group(state, change);
                self.publisher.answer(answer, result);
            }
            Message::Attach { application, stream, answer } => {
                let found = attachment(state, application);
                let found = found.inspect_err(|refusal| self.stats.count_refused(*refusal));
                self.publisher.attach(found, stream, answer);
            }
            Message::Batch(batch) => self.batch(state, batch),
            // The driver may have moved the clock after this group began.
            Message::Tick => self.advance_time(state),
            Message::LookAgain => {}
        }
    }

    /// Decides a batch. It is pushed to `decided` first, so that it outlives the guard even after a panic.
    // Not inlined, so that a profile tells this step from the others of a group.
    #[inline(never)]
    fn batch(&mut self, state: &mut State, mut batch: Box<ProposalBatch>) {
        if let Some(steps) = batch.take_round() {
            return self.take_round(steps);
        }
        let (requests, is_for_gangs) =
            (batch.proposals.requests.len(), matches!(batch.work, Work::GangLook(_)));
        let (visits, lost_race) = (batch.proposals.visits, batch.proposals.lost_race);
        let Publisher { effects, log, decided, .. } = &mut self.publisher;
        let mut committer = Committer { state, effects, log, stats: &mut self.stats };
        decided.push(batch);
        if !committer.state.gang_waits.gained_nodes.is_empty() {
            committer.gather();
        }
        let rejected = decided.last_mut().map_or(0, |batch| committer.commit_batch(batch));
        if is_for_gangs {
            return;
        }
        if rejected > 0 {
            // Their units were in flight when the last round looked.
            self.rounds.record_news();
        }
        self.adapt(state, Decided { requests, rejected, visits, lost_race });
    }

    /// Adapts the number of sets checked out to the rate of collisions between proposers.
    fn adapt(&mut self, state: &State, decided: Decided) {
        let sets = || state.partitions().map(|partition| u64::from(state.node_shards.sets(partition))).sum();
        if let Some(sets_checked_out_max) = self.concurrency_limit.record(decided, sets) {
            self.stats.sets_checked_out_max = sets_checked_out_max;
            self.shared.leases.set_checked_out_max(sets_checked_out_max);
        }
    }

    /// Applies a caller's change if it is still valid.
    pub(super) fn change(&mut self, state: &mut State, change: Change) -> ChangeResult {
        let mut committer = self.committer(state);
        admit_or_refuse(&mut committer, &change).map(|()| committer.apply(change))
    }

    /// Applies a submission. Its stream also gets a refusal, but no events of another application that owns the
    /// identifier.
    fn application(&mut self, state: &mut State, change: Change, stream: &Arc<StreamCore>) {
        let Change::ApplicationSubmitted { application, .. } = change else { return };
        if self.change(state, change) != Err(Refusal::IdentifierTaken) {
            self.publisher.connect(application, stream);
        }
    }

    /// Applies several changes, each as if sent alone.
    fn changes(&mut self, state: &mut State, changes: Vec<Change>) {
        self.committer(state)
            .apply_all(changes, |committer, change| admit_or_refuse(committer, change).is_ok());
    }

    fn ring_timers(&mut self, state: &mut State) {
        while let Some((at_ms, timer)) = state.timers.take_due(state.facts.now_ms) {
            self.ring(state, at_ms, &timer);
        }
    }

    /// Reports progress and wakes the threads that wait for it.
    fn report(&mut self) {
        let quiet = self.shared.leases.is_idle()
            && self.shared.round.is_idle()
            && self.inbox.is_empty()
            && !self.is_due();
        if self.shared.has_work_for_proposers() {
            self.shared.work.raise(self.shared.workers_wanted());
        }
        trace::group_committed(self.processed, &self.stats);
        let (processed, stats, now_ms) = (self.processed, self.stats.clone(), self.now_ms);
        let log_error = self.publisher.log_error().map(str::to_owned);
        self.shared.report_progress(|progress| {
            if stats.committed > progress.stats.committed {
                progress.last_commit_ms = now_ms;
            }
            (progress.processed, progress.quiet, progress.last_group_ms) = (processed, quiet, now_ms);
            (progress.stats, progress.log_error) = (stats, log_error);
        });
    }

    /// Ends the engine, wakes all waiting callers and closes the inbox.
    pub(crate) fn end(&mut self) {
        self.shared.end();
        self.inbox.close();
    }
}

/// Ends the engine if a group panics: the group is half done, so no other may follow, even if a caller catches the
/// panic.
struct EndIfPanicking(Arc<Shared>);

impl Drop for EndIfPanicking {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Ends the engine with the committer, also after a panic in the embedder's clock or log sink. So callers do not
/// wait for answers that will not come.
impl Drop for GroupCommitter {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for GroupCommitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommitter").field("processed", &self.processed).finish_non_exhaustive()
    }
}
