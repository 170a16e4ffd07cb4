//! Group commits: what the committing thread does, in serial and in parallel mode alike.
//!
//! One group takes the write guard once, for what is waiting in the inbox up to G requests. Everything that
//! does not need the guard is done after it is dropped: log, events, answers, leases, wake-ups.

use std::sync::Arc;
use std::time::Duration;

use super::shared::{Message, Progress, Shared};
use super::stream::StreamCore;
use crate::change::Change;
use crate::clock::Clock;
use crate::commit::{CommitOutcome, CommitSeq, Committer, Effects, ResourceAllocationCommitter};
use crate::config::ConfigError;
use crate::event::{Event, EventKind, Refusal};
use crate::ids::{ApplicationId, NodeId, SlotId};
use crate::log::{LogBuffer, LogSink, header};
use crate::propose::ProposalBatch;
use crate::state::State;
use crate::stats::EngineStats;
use crate::sync::{Inbox, Promise};
use crate::timers::Timer;

/// The committing side of an engine.
pub(crate) struct GroupCommitter {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    inbox: Inbox<Message>,
    sink: Option<Box<dyn LogSink>>,
    /// Where events go, by application slot.
    streams: Vec<Option<Arc<StreamCore>>>,
    effects: Effects,
    log: LogBuffer,
    stats: EngineStats,
    log_error: Option<String>,
    answers: Answers,
    /// Decided batches, whose leases are brought home after the guard is dropped.
    decided: Vec<ProposalBatch>,
    processed: u64,
    /// Once told to stop: how many messages there will ever have been.
    last: Option<u64>,
    /// When the next timer is due.
    next_timer_ms: Option<u64>,
}

/// Whether a queue's new limits were valid, and with which change they hold.
pub(crate) type UpdateResult = Result<CommitSeq, ConfigError>;

/// Answers to give after the guard is dropped.
#[derive(Default)]
struct Answers {
    outcomes: Vec<(Promise<CommitOutcome>, CommitOutcome)>,
    updates: Vec<(Promise<UpdateResult>, UpdateResult)>,
}

impl GroupCommitter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        clock: Arc<dyn Clock>,
        inbox: Inbox<Message>,
        sink: Option<Box<dyn LogSink>>,
    ) -> Self {
        let log = if sink.is_some() { LogBuffer::default() } else { LogBuffer::off() };
        let mut committer = Self {
            shared,
            clock,
            inbox,
            sink,
            streams: Vec::new(),
            effects: Effects::default(),
            log,
            stats: EngineStats::default(),
            log_error: None,
            answers: Answers::default(),
            decided: Vec::new(),
            processed: 0,
            last: None,
            next_timer_ms: None,
        };
        if let Some(sink) = &mut committer.sink {
            committer.log_error = sink.start(header()).err().map(|error| error.to_string());
        }
        committer
    }

    pub(crate) fn inbox(&self) -> &Inbox<Message> {
        &self.inbox
    }

    /// Whether it was told to stop and has dealt with everything that was sent before.
    pub(crate) fn is_done(&self) -> bool {
        self.last.is_some_and(|last| self.processed >= last)
    }

    /// How long the inbox may stay empty until a timer is due; `None` if none is set, or only the driver can
    /// move the clock. It may have moved a clock since the last group began, with nobody left to say so.
    pub(crate) fn patience(&self) -> Option<Duration> {
        if self.is_due() { Some(Duration::ZERO) } else { self.clock.until(self.next_timer_ms?) }
    }

    /// Whether a timer is due that no message will bring up.
    pub(crate) fn is_due(&self) -> bool {
        self.next_timer_ms.is_some_and(|next_ms| next_ms <= self.clock.now_ms())
    }

    /// Commits one group: `first`, if any, and what else is waiting.
    pub(crate) fn commit_group(&mut self, first: Option<Message>) {
        self.decide(first);
        self.publish();
        self.reshard();
        self.report();
    }

    /// Everything under the write guard.
    fn decide(&mut self, first: Option<Message>) {
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state.write();
        state.version += 1;
        self.stats.groups += 1;
        if state.facts.changes == 0 {
            let config = Arc::clone(&state.facts.config);
            self.committer(&mut state).apply(&Change::Configured { config });
        }
        self.advance_time(&mut state);
        let mut weight = 0;
        let mut next = first;
        while let Some(message) = next {
            weight += self.deal_with(&mut state, message);
            let is_full = weight >= shared.config.limits.group_requests;
            next = if is_full { None } else { self.inbox.try_receive() };
        }
        self.ring_timers(&mut state);
        self.next_timer_ms = state.timers.next_ms();
        state.settle_limits();
        shared.publish_wanted(&state);
    }

    fn committer<'a>(&'a mut self, state: &'a mut State) -> Committer<'a> {
        Committer { state, effects: &mut self.effects, log: &mut self.log, stats: &mut self.stats }
    }

    fn advance_time(&mut self, state: &mut State) {
        let now_ms = self.clock.now_ms();
        if now_ms > state.facts.now_ms {
            self.committer(state).apply(&Change::TimeAdvanced { now_ms });
        }
    }

    /// Deals with one message; returns how much it counts towards G.
    fn deal_with(&mut self, state: &mut State, message: Message) -> usize {
        if !matches!(message, Message::Batch(_) | Message::LookAgain | Message::Stop { .. }) {
            self.processed += 1;
        }
        match message {
            Message::Change(change) => self.change(state, &change),
            Message::Application { change, stream } => {
                if let Change::ApplicationSubmitted { application, .. } = &change {
                    self.connect(*application, stream);
                }
                self.change(state, &change);
            }
            Message::Request { request, answer } => {
                let outcome = self.committer(state).commit(request);
                self.answers.outcomes.push((answer, outcome));
            }
            Message::QueueUpdate { queue, update, answer } => {
                let result = state
                    .check_queue_update(queue, &update)
                    .map(|()| self.committer(state).apply(&Change::QueueUpdated { queue, update }));
                self.answers.updates.push((answer, result));
            }
            Message::Batch(mut batch) => {
                let weight = batch.proposals.requests.len();
                self.committer(state).commit_batch(&mut batch);
                self.decided.push(*batch);
                return weight.max(1);
            }
            // The clock may have been moved after this group began.
            Message::Tick => self.advance_time(state),
            Message::LookAgain => {}
            Message::Stop { last } => self.last = Some(last),
        }
        1
    }

    fn change(&mut self, state: &mut State, change: &Change) {
        let Err(refusal) = self.committer(state).change(change) else { return };
        self.stats.refused += 1;
        self.refuse(state, change, refusal);
    }

    /// Says no to whoever waits for an answer, and takes back what the change was given.
    fn refuse(&mut self, state: &State, change: &Change, refusal: Refusal) {
        match change {
            Change::AskSubmitted { ask, application, .. } => {
                let seq = CommitSeq(state.facts.changes);
                let kind = EventKind::AskRefused { ask: *ask, refusal };
                self.effects.events.push(Event { seq, application: *application, kind });
                self.effects.vacated_asks.push(*ask);
            }
            Change::NodeAdded { node, spec, .. } => {
                self.effects.vacated_nodes.push((*node, spec.name.as_str().into()));
            }
            _ => {}
        }
    }

    fn connect(&mut self, application: ApplicationId, stream: Arc<StreamCore>) {
        if self.streams.len() <= application.index() {
            self.streams.resize_with(application.index() + 1, || None);
        }
        self.streams[application.index()] = Some(stream);
    }

    fn ring_timers(&mut self, state: &mut State) {
        while let Some(timer) = state.timers.take_due(state.facts.now_ms) {
            match timer {
                Timer::Silence(node) => self.check_silence(state, node),
                Timer::ReservationAge(reservation) => {
                    if state.facts.reservations.get(reservation).is_some() {
                        self.committer(state).apply(&Change::ReservationExpired { reservation });
                    }
                }
                Timer::Reserve(_) | Timer::Locality(_) => state.ring(&timer),
            }
        }
    }

    fn check_silence(&mut self, state: &mut State, node: NodeId) {
        let (Some(policy), Some(facts)) = (state.facts.config.heartbeat, state.facts.nodes.get(node)) else {
            return;
        };
        let silent_from_ms = policy.silent_from_ms(facts.last_heartbeat_ms);
        if facts.stale {
            return;
        }
        if silent_from_ms <= state.facts.now_ms {
            self.committer(state).apply(&Change::NodeSilenceSet { node, stale: true });
        } else {
            state.timers.add(silent_from_ms, Timer::Silence(node));
        }
    }

    /// Everything after the guard is dropped, in the order in which outsiders may rely on it: what is
    /// published is logged before.
    fn publish(&mut self) {
        self.flush_log();
        self.publish_events();
        for (answer, outcome) in self.answers.outcomes.drain(..) {
            answer.answer(outcome);
        }
        for (answer, result) in self.answers.updates.drain(..) {
            answer.answer(result);
        }
        self.vacate();
        for mut batch in self.decided.drain(..) {
            if let Some(set) = batch.set.take() {
                self.shared.leases.give_back(set);
            }
        }
    }

    fn flush_log(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        if self.log_error.is_none()
            && let Err(error) = self.log.flush(sink.as_mut())
        {
            self.log_error = Some(error.to_string());
            self.log = LogBuffer::off();
        }
    }

    /// Hands runs of events for the same stream over together.
    fn publish_events(&mut self) {
        let events = std::mem::take(&mut self.effects.events);
        let mut rest = events.as_slice();
        while let Some(first) = rest.first() {
            let stream = self.stream_of(first.application).cloned();
            let same = |event: &Event| match (&stream, self.stream_of(event.application)) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (None, None) => true,
                _ => false,
            };
            let length = rest.iter().take_while(|event| same(event)).count();
            let (run, behind) = rest.split_at(length);
            if let Some(stream) = stream {
                stream.publish(run);
            }
            rest = behind;
        }
        self.effects.events = events;
    }

    fn stream_of(&self, application: ApplicationId) -> Option<&Arc<StreamCore>> {
        self.streams.get(application.index())?.as_ref()
    }

    /// Gives identifiers and names of what is gone free for successors.
    fn vacate(&mut self) {
        let Shared { ids, names, .. } = &*self.shared;
        if !self.effects.vacated_asks.is_empty() {
            let mut pool = ids.asks.lock();
            self.effects.vacated_asks.iter().for_each(|id| pool.give_back(*id));
        }
        for id in &self.effects.vacated_applications {
            self.streams[id.index()] = None;
            ids.applications.lock().give_back(*id);
        }
        for (id, name) in &self.effects.vacated_nodes {
            names.nodes.remove(name, *id);
            ids.nodes.lock().give_back(*id);
        }
        self.effects.clear();
    }

    /// Cuts partitions anew whose size has changed a lot. That needs all of their leases at home, so
    /// proposers are told that nothing is wanted there until it is done.
    fn reshard(&mut self) {
        let shared = Arc::clone(&self.shared);
        let limits = &shared.config.limits;
        let is_stale = |state: &State| {
            state.partitions().any(|p| state.roster.sets_wanted(p, limits) != state.roster.sets(p))
        };
        if !is_stale(&shared.state.read()) {
            return;
        }
        let mut state = shared.state.write();
        for partition in state.partitions() {
            let sets = state.roster.sets_wanted(partition, limits);
            if sets != state.roster.sets(partition) {
                if shared.leases.all_home_of(partition) {
                    state.reshard(partition, sets);
                } else {
                    shared.leases.publish_wanted(partition, 0);
                    return;
                }
            }
        }
        shared.publish_wanted(&state);
    }

    /// Says what has been reached and wakes whoever can go on.
    fn report(&mut self) {
        let is_wanted = self.shared.leases.any_wanted();
        let quiet = !is_wanted && self.shared.leases.all_home() && self.inbox.is_empty() && !self.is_due();
        if is_wanted {
            self.shared.work.raise();
        }
        let (processed, stats) = (self.processed, self.stats.clone());
        let log_error = self.log_error.clone();
        self.shared.report_progress(|progress| {
            *progress = Progress { processed, quiet, ended: false, stats, log_error };
        });
    }

    /// Tells everybody that nothing more will come.
    pub(crate) fn end(&mut self) {
        for stream in self.streams.drain(..).flatten() {
            stream.close();
        }
        self.shared.report_progress(|progress| progress.ended = true);
    }
}
