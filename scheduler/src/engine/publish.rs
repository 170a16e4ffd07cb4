//! The committing thread's work after it drops the guard: log, events, answers, identifiers, leases.

use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};

use super::refusals::RefusalList;
use super::shared::{AttachResult, Shared};
use super::stream::StreamCore;
use super::trace;
use crate::change::AskSpec;
use crate::commit::Effects;
use crate::event::{Event, Refused};
use crate::ids::{ApplicationId, NodeId, SlotId};
use crate::log::{LogBuffer, LogSink};
use crate::propose::{ProposalBatch, Work};
use crate::sync::Promise;

/// Collects a group's log records, events and answers under the guard, and publishes them afterwards.
pub(super) struct Publisher {
    shared: Arc<Shared>,
    sink: Option<Box<dyn LogSink>>,
    /// The stream of each application slot, with the generations of the applications that the stream serves. A
    /// refusal may concern an application that has ended, so a stream stays until an application with another
    /// stream takes the slot. The reference is weak: a stream lives only as long as its readers.
    streams: Vec<Option<(RangeInclusive<u32>, Weak<StreamCore>)>>,
    pub(super) effects: Effects,
    pub(super) log: LogBuffer,
    /// The kinds of asks, by number.
    pub(super) kinds: Vec<AskSpec>,
    log_error: Option<String>,
    refused: Vec<(Arc<RefusalList>, Refused)>,
    /// Each gives one caller its answer. Dropping it tells the caller that no answer will come.
    pub(super) answers: Vec<Box<dyn FnOnce() + Send>>,
    /// Streams that replace others, in the order of the events.
    attached: Vec<Attached>,
    /// Decided batches whose leases are given back.
    #[allow(clippy::vec_box, reason = "they come in boxes, and a batch is more to move than its box")]
    pub(super) decided: Vec<Box<ProposalBatch>>,
    /// Nodes that fell silent.
    pub(super) silent: Vec<NodeId>,
}

/// A stream that replaces another.
pub(super) struct Attached {
    application: ApplicationId,
    stream: Arc<StreamCore>,
    /// The number of the group's events that still go to the old stream.
    events_before: usize,
}

impl Publisher {
    /// Publishes to a sink, if there is one, that has begun or failed to.
    pub(super) fn new(
        shared: Arc<Shared>,
        sink: Option<Box<dyn LogSink>>,
        log_error: Option<String>,
    ) -> Self {
        Self {
            shared,
            log: if sink.is_some() && log_error.is_none() { LogBuffer::default() } else { LogBuffer::off() },
            sink,
            kinds: Vec::new(),
            streams: Vec::new(),
            effects: Effects::default(),
            log_error,
            refused: Vec::new(),
            answers: Vec::new(),
            attached: Vec::new(),
            decided: Vec::new(),
            silent: Vec::new(),
        }
    }

    /// The error that stopped logging, if any.
    pub(super) fn log_error(&self) -> Option<&str> {
        self.log_error.as_deref()
    }

    /// Sends an application's events to `stream`.
    pub(super) fn connect(&mut self, application: ApplicationId, stream: &Arc<StreamCore>) {
        if self.streams.len() <= application.index() {
            self.streams.resize_with(application.index() + 1, || None);
        }
        let (place, stream) = (&mut self.streams[application.index()], Arc::downgrade(stream));
        let (generation, known) = (application.generation(), place.as_ref());
        let same = known.filter(|(_, known)| known.ptr_eq(&stream));
        let first = same.map_or(generation, |(generations, _)| *generations.start());
        *place = Some((first..=generation, stream));
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

    /// Sends an application's events to `stream` from here on, if the application runs. Events of earlier changes
    /// go to the earlier stream.
    pub(super) fn attach(
        &mut self,
        result: AttachResult,
        stream: Arc<StreamCore>,
        answer: Promise<AttachResult>,
    ) {
        if let Ok(attachment) = &result {
            let (application, events_before) = (attachment.application, self.effects.events.len());
            self.attached.push(Attached { application, stream, events_before });
        }
        self.answer(answer, result);
    }

    /// Publishes everything after the guard is dropped. Callers rely on the order: the log comes first.
    // Not inlined, so that a profile tells this step from the others of a group.
    #[inline(never)]
    pub(super) fn publish(&mut self) {
        self.flush_log();
        self.publish_events();
        for (caller, refused) in self.refused.drain(..) {
            caller.add(refused);
        }
        for named in self.effects.queues.drain(..) {
            self.shared.names.queues.set(&named.path, named.queue);
        }
        self.answers.drain(..).for_each(|answer| answer());
        self.silent.drain(..).for_each(trace::node_silent);
        self.vacate();
        for mut batch in self.decided.drain(..) {
            match std::mem::take(&mut batch.work) {
                Work::Pass(set) => self.shared.leases.give_back(set),
                Work::GangLook(look) => self.shared.leases.give_back_gang_looks(look.looks),
                Work::Unleased | Work::Round(_) => {}
            }
        }
    }

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
        // First, so that a caller that the end wakes finds the reason.
        self.shared.report_progress(|progress| progress.log_error.clone_from(&self.log_error));
        self.shared.end();
        self.effects.events.clear();
        self.effects.queues.clear();
        self.refused.clear();
        self.answers.clear();
        self.attached.clear();
    }

    /// Publishes the events, and switches to a new stream at its position among them.
    fn publish_events(&mut self) {
        let events = std::mem::take(&mut self.effects.events);
        let mut published = 0;
        for attached in std::mem::take(&mut self.attached) {
            self.publish_runs(&events[published..attached.events_before]);
            self.connect(attached.application, &attached.stream);
            published = attached.events_before;
        }
        self.publish_runs(&events[published..]);
        self.effects.events = events;
    }

    /// Publishes each run of events for the same stream in one step.
    fn publish_runs(&self, mut rest: &[Event]) {
        while let Some(first) = rest.first() {
            let stream = self.stream_of(first.application);
            let mut known = first.application;
            let mut same = |event: &Event| {
                let is_same =
                    event.application == known || is_same(stream, self.stream_of(event.application));
                known = event.application;
                is_same
            };
            let length = rest.iter().take_while(|event| same(event)).count();
            let (run, behind) = rest.split_at(length);
            if let Some(stream) = stream.and_then(Weak::upgrade) {
                stream.publish(run);
            }
            rest = behind;
        }
    }

    fn stream_of(&self, application: ApplicationId) -> Option<&Weak<StreamCore>> {
        let (generations, stream) = self.streams.get(application.index())?.as_ref()?;
        generations.contains(&application.generation()).then_some(stream)
    }

    /// Frees the identifiers and names of removed objects.
    fn vacate(&mut self) {
        let Shared { ids, names, .. } = &*self.shared;
        if !self.effects.vacated_asks.is_empty() {
            let mut pool = ids.asks.lock();
            self.effects.vacated_asks.iter().for_each(|id| pool.give_back(*id));
        }
        for id in &self.effects.vacated_applications {
            ids.applications.lock().give_back(*id);
        }
        for (id, name) in &self.effects.vacated_nodes {
            names.nodes.remove(name, *id);
            ids.nodes.lock().give_back(*id);
        }
        self.effects.clear();
    }
}

fn is_same(one: Option<&Weak<StreamCore>>, other: Option<&Weak<StreamCore>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.ptr_eq(other),
        (None, None) => true,
        _ => false,
    }
}
