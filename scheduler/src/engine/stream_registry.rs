//! Which stream gets the events of which application.

use std::ops::RangeInclusive;
use std::sync::{Arc, Weak};

use super::stream::StreamCore;
use crate::event::Event;
use crate::ids::{ApplicationId, SlotId};

#[derive(Default)]
pub(super) struct StreamRegistry {
    /// The stream of each application slot, with the generations of the applications that the stream serves. A
    /// refusal may concern an application that has ended, so a stream stays until an application with another
    /// stream takes the slot. The reference is weak: a stream lives only as long as its readers.
    streams: Vec<Option<(RangeInclusive<u32>, Weak<StreamCore>)>>,
    /// Streams that replace others, in the order of the events.
    attached: Vec<Attached>,
}

/// A stream that replaces another.
struct Attached {
    application: ApplicationId,
    stream: Arc<StreamCore>,
    /// The number of the group's events that still go to the old stream.
    events_before: usize,
}

impl StreamRegistry {
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

    /// Sends an application's events to `stream`, except the group's first `events_before`.
    pub(super) fn attach(
        &mut self,
        application: ApplicationId,
        stream: Arc<StreamCore>,
        events_before: usize,
    ) {
        self.attached.push(Attached { application, stream, events_before });
    }

    /// Forgets the streams that were attached in this group.
    pub(super) fn withhold_attached(&mut self) {
        self.attached.clear();
    }

    /// Publishes a group's events, and switches to each new stream at its position among them.
    pub(super) fn publish(&mut self, events: &[Event]) {
        let mut published = 0;
        for attached in std::mem::take(&mut self.attached) {
            self.publish_runs(&events[published..attached.events_before]);
            self.connect(attached.application, &attached.stream);
            published = attached.events_before;
        }
        self.publish_runs(&events[published..]);
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
}

fn is_same(one: Option<&Weak<StreamCore>>, other: Option<&Weak<StreamCore>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.ptr_eq(other),
        (None, None) => true,
        _ => false,
    }
}
