//! The committing thread's work after it drops the guard: log, events, answers, identifiers, leases.

use std::sync::Arc;

use super::refusals::RefusalList;
use super::shared::Shared;
use super::stream::StreamCore;
use super::stream_registry::StreamRegistry;
use super::trace;
use crate::commit::Effects;
use crate::event::Refused;
use crate::ids::{ApplicationId, NodeId};
use crate::log::{EncodedKind, LogBuffer, LogSink};
use crate::propose::{ProposalBatch, Work};
use crate::sync::Promise;

/// Collects a group's log records, events and answers under the guard, and publishes them afterwards.
pub(super) struct Publisher {
    shared: Arc<Shared>,
    sink: Option<Box<dyn LogSink>>,
    /// Where the events of each application go.
    pub(super) streams: StreamRegistry,
    /// Events, refusals and freed identifiers of the present group.
    pub(super) effects: Effects,
    pub(super) log: LogBuffer,
    /// The kinds of asks, by number.
    pub(super) kinds: Vec<EncodedKind>,
    log_error: Option<String>,
    refused: Vec<(Arc<RefusalList>, Refused)>,
    /// Each gives one caller its answer. Dropping it tells the caller that no answer will come.
    answers: Vec<Box<dyn FnOnce() + Send>>,
    /// Decided batches whose leases are given back.
    #[allow(clippy::vec_box, reason = "they come in boxes, and a batch is more to move than its box")]
    pub(super) decided: Vec<Box<ProposalBatch>>,
    /// Nodes that fell silent.
    pub(super) silent: Vec<NodeId>,
}

impl Publisher {
    /// A publisher for this sink, if any. `log_error` says why the log could not begin.
    pub(super) fn new(
        shared: Arc<Shared>,
        sink: Option<Box<dyn LogSink>>,
        log_error: Option<String>,
    ) -> Self {
        Self {
            shared,
            log: if sink.is_some() && log_error.is_none() { LogBuffer::default() } else { LogBuffer::off() },
            sink,
            streams: StreamRegistry::default(),
            effects: Effects::default(),
            kinds: Vec::new(),
            log_error,
            refused: Vec::new(),
            answers: Vec::new(),
            decided: Vec::new(),
            silent: Vec::new(),
        }
    }

    /// The error that stopped logging, if any.
    pub(super) fn log_error(&self) -> Option<&str> {
        self.log_error.as_deref()
    }

    /// Keeps the refusals of a message for its caller.
    pub(super) fn record_refused(&mut self, caller: &Arc<RefusalList>) {
        let Self { effects, refused, .. } = self;
        refused.extend(effects.refused.drain(..).map(|one| (Arc::clone(caller), one)));
    }

    /// Answers a caller when the group is published.
    pub(super) fn answer<T: Send + 'static>(&mut self, answer: Promise<T>, value: T) {
        self.answers.push(Box::new(move || answer.answer(value)));
    }

    /// Sends an application's events to `stream` from here on. Events of earlier changes go to the earlier stream.
    pub(super) fn attach(&mut self, application: ApplicationId, stream: Arc<StreamCore>) {
        self.streams.attach(application, stream, self.effects.events.len());
    }

    /// Publishes everything after the guard is dropped. Callers rely on the order: the log comes first.
    // Not inlined, so that a profile tells this step from the others of a group.
    #[inline(never)]
    pub(super) fn publish(&mut self) {
        self.flush_log();
        self.streams.publish(&self.effects.events);
        for (caller, refused) in self.refused.drain(..) {
            caller.add(refused);
        }
        self.shared.update_queue_names(&mut self.effects);
        self.answers.drain(..).for_each(|answer| answer());
        self.silent.drain(..).for_each(trace::node_silent);
        self.shared.vacate(&self.effects);
        self.effects.clear();
        self.give_leases_back();
    }

    /// Lets proposers take the sets of the decided batches again.
    fn give_leases_back(&mut self) {
        for mut batch in self.decided.drain(..) {
            match std::mem::take(&mut batch.work) {
                Work::Pass(set) => self.shared.leases.give_back(set),
                Work::GangSearch(search) => self.shared.leases.give_back_gang_search(search.memory),
                Work::Unleased | Work::Round(_) => {}
            }
        }
    }

    /// Writes the group to the log. After an error nothing more is logged; scheduling goes on, unless the log is
    /// required.
    fn flush_log(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        if self.log_error.is_none()
            && let Err(error) = self.log.flush(&self.kinds, sink.as_mut())
        {
            let error = error.to_string();
            trace::log_failed(&error, sink.is_required());
            self.log_error = Some(error);
            self.log = LogBuffer::off();
        }
        if self.log_error.is_some() && sink.is_required() {
            self.withhold();
        }
    }

    /// Ends the engine and drops the group's events and answers, because the required log lacks the group.
    #[cold]
    fn withhold(&mut self) {
        // The reason is reported first, because the callers that the end wakes read it.
        self.shared.report_progress(|progress| progress.log_error.clone_from(&self.log_error));
        self.shared.end();
        self.effects.events.clear();
        self.effects.queues.clear();
        self.refused.clear();
        self.answers.clear();
        self.streams.withhold_attached();
    }
}
