//! Event streams: the committer publishes without waiting; readers lag, resynchronise and learn of the end.

use std::sync::Arc;

use loom::thread;

use super::{Bound, Cluster, model};
use crate::change::ApplicationSpec;
use crate::engine::stream::{EventStream, Lagging};
use crate::event::{Event, EventKind};
use crate::facts::ApplicationEnd;
use crate::ids::{ApplicationId, SlotId};
use crate::request::CommitSeq;

fn event(seq: u64) -> Event {
    let kind = EventKind::ApplicationEnded { end: ApplicationEnd::Finished };
    Event { seq: CommitSeq(seq), application: ApplicationId::new(0, 0), kind }
}

/// Reads the present events and returns the number of allocated containers.
fn told(events: &EventStream) -> usize {
    let mut told = 0;
    while let Ok(Some(event)) = events.try_next() {
        told += usize::from(matches!(event.kind, EventKind::Allocated { .. }));
    }
    told
}

/// I10. A reader resynchronises while the committer publishes. The bug: a container reported twice, or never.
#[test]
fn a_resynchronisation_against_publication() {
    model(Bound::None, || {
        let cluster = Cluster::serial(1);
        cluster.ask(1);
        cluster.commit();
        let engine = Arc::clone(&cluster.engine);
        let other = thread::spawn(move || engine.run_until_quiet());
        let (_, running) = cluster.handle.resync(&cluster.events, &[cluster.application]);
        let found: usize = running.iter().map(|(_, containers)| containers.len()).sum();
        other.join().unwrap();
        let told = told(&cluster.events);
        assert_eq!(found + told, 1, "found {found}, told {told}");
    });
}

/// I10. A reader lags, learns it and resynchronises while the committer goes on. The bug: events left out without a
/// mark, or a mark cleared together with events that the resynchronisation did not return.
#[test]
fn a_lagging_reader_misses_nothing() {
    model(Bound::None, || {
        let cluster = Cluster::serial(2);
        let events = cluster.handle.event_stream(1);
        let spec = ApplicationSpec::new("reader", "root.default", "user");
        let application = cluster.handle.submit_application(spec, &events).unwrap();
        // Two containers in one group: one event more than the stream holds.
        cluster.ask_of(application, 2);
        let engine = Arc::clone(&cluster.engine);
        let other = thread::spawn(move || engine.run_until_quiet());
        let mut known = told(&events);
        let resync = || cluster.handle.resync(&events, &[application]).1;
        if events.try_next() == Err(Lagging) {
            known = resync().iter().map(|(_, containers)| containers.len()).sum();
        }
        other.join().unwrap();
        known += told(&events);
        if events.try_next() == Err(Lagging) {
            known = resync().iter().map(|(_, containers)| containers.len()).sum();
        }
        assert_eq!((known, events.try_next()), (2, Ok(None)));
    });
}

/// A reader resynchronises between a group's decision and its publication. The bug: events that the reader already
/// knows count towards the capacity, so that the stream lags again although nothing was missed.
#[test]
fn a_stream_does_not_lag_by_what_its_reader_knows() {
    model(Bound::None, || {
        let events = EventStream::new(1);
        let core = Arc::clone(events.core());
        events.restart(CommitSeq(2));
        let other = thread::spawn(move || {
            core.publish(&[event(1), event(2)]);
            core.publish(&[event(3)]);
        });
        let early = events.try_next().expect("nothing was left out");
        other.join().unwrap();
        let late = events.try_next().expect("nothing was left out");
        assert_eq!(early.or(late).map(|event| event.seq), Some(CommitSeq(3)));
    });
}

/// I14. A reader waits while an event is published and the stream is closed. The bug: a reader that sleeps through
/// the end, or learns of it before it has read every event.
#[test]
fn a_reader_has_everything_before_it_is_told_of_the_end() {
    model(Bound::None, || {
        let events = EventStream::new(1);
        let reader = events.clone();
        let other = thread::spawn(move || (reader.wait_next(), reader.wait_next()));
        events.core().publish(&[event(1)]);
        events.core().close();
        assert_eq!(other.join().unwrap(), (Ok(Some(event(1))), Ok(None)));
    });
}

/// I10, I14. A reader waits while more events are published than the stream holds. The bug: a reader that sleeps on
/// although events were left out.
#[test]
fn a_waiting_reader_is_told_that_it_lags() {
    model(Bound::None, || {
        let events = EventStream::new(1);
        let reader = events.clone();
        let other = thread::spawn(move || reader.wait_next());
        events.core().publish(&[event(1), event(2)]);
        assert_eq!(other.join().unwrap(), Err(Lagging));
    });
}
