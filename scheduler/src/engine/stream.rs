//! Event streams: the engine sends events to applications without ever waiting for them.

mod tasks;

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::event::Event;
use crate::request::CommitSeq;
use crate::sync::{Condvar, Mutex, MutexGuard};

/// The error of a reader that was too slow, so that events were left out. The reader goes on with
/// [`Handle::resync`](crate::Handle::resync).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("the event stream is lagging; `Handle::resync` lets it go on")]
pub struct Lagging;

/// Receives the events of the applications submitted with it.
///
/// A stream holds a fixed number of events. When it is full, the committer does not wait: it marks the stream as
/// lagging and leaves events out until the reader [resynchronises](crate::Handle::resync). That tells the reader what
/// runs, but not what has ended or was refused meanwhile.
#[doc = include_str!("../../doc/event_stream.md")]
#[derive(Clone, Debug)]
pub struct EventStream(Arc<StreamCore>);

/// A stream has room for so many events before its list has to move. A page of it takes memory once it is used.
const FIRST_BURST_EVENTS: usize = 1 << 14;

#[derive(Debug)]
pub(crate) struct StreamCore {
    queue: Mutex<Queue>,
    arrived: Condvar,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    lagging: bool,
    closed: bool,
    /// The last resynchronisation covered events up to here.
    known: CommitSeq,
    /// The tasks that wait for an event.
    wakers: Vec<Waker>,
}

impl EventStream {
    pub(crate) fn new(capacity: usize) -> Self {
        let core = StreamCore {
            queue: Mutex::new(Queue::default()),
            arrived: Condvar::default(),
            capacity: capacity.max(1),
        };
        Self(Arc::new(core))
    }

    pub(crate) fn core(&self) -> &Arc<StreamCore> {
        &self.0
    }

    /// Takes the next event if there is one. `None` does not mean that the stream has ended; see
    /// [`Engine::is_running`](crate::Engine::is_running).
    ///
    /// # Errors
    /// If events were left out after those already read.
    pub fn try_next(&self) -> Result<Option<Event>, Lagging> {
        let mut queue = self.0.queue.lock();
        match queue.events.pop_front() {
            None if queue.lagging => Err(Lagging),
            event => Ok(event),
        }
    }

    /// Waits for the next event; `None` once the engine is shut down. The thread that drives a serial engine, or
    /// steps its parts, must not call this: it would wait for itself. It does its work first and then calls
    /// [`try_next`](Self::try_next).
    ///
    /// # Errors
    /// If events were left out after those already read.
    pub fn wait_next(&self) -> Result<Option<Event>, Lagging> {
        let mut queue = self.0.queue.lock();
        loop {
            if let Some(event) = queue.events.pop_front() {
                return Ok(Some(event));
            }
            if queue.lagging {
                return Err(Lagging);
            }
            if queue.closed {
                return Ok(None);
            }
            queue = self.0.arrived.wait(queue);
        }
    }

    /// Moves all present events to the end of `events` and returns their number.
    ///
    /// # Errors
    /// If events were left out after those already read; nothing is moved then.
    pub fn drain_into(&self, events: &mut Vec<Event>) -> Result<usize, Lagging> {
        let mut queue = self.0.queue.lock();
        if queue.events.is_empty() && queue.lagging {
            return Err(Lagging);
        }
        let (older, newer) = queue.events.as_slices();
        events.extend_from_slice(older);
        events.extend_from_slice(newer);
        let count = queue.events.len();
        queue.events.clear();
        Ok(count)
    }

    /// Restarts the stream: events up to `known` are dropped.
    pub(crate) fn restart(&self, known: CommitSeq) {
        let mut queue = self.0.queue.lock();
        queue.events.retain(|event| event.is_news(known));
        queue.lagging = false;
        queue.known = known;
    }
}

impl StreamCore {
    /// Adds events, or marks the stream as lagging if they do not all fit.
    pub(crate) fn publish(&self, events: &[Event]) {
        let mut queue = self.queue.lock();
        if queue.lagging {
            return;
        }
        if queue.events.is_empty() {
            // Back to the first slot of the ring: a stream with few waiting events stays within a few cache lines.
            queue.events.clear();
            queue.events.reserve(self.capacity.min(FIRST_BURST_EVENTS));
        }
        debug_assert!(
            events.is_sorted_by_key(|event| event.seq),
            "events come in the order of their changes"
        );
        let known = queue.known;
        let (old, new) = events.split_at(events.partition_point(|event| event.seq <= known));
        let news = old.iter().filter(|event| event.is_news(known));
        if queue.events.len() + news.clone().count() + new.len() > self.capacity {
            queue.lagging = true;
        } else {
            queue.events.extend(news);
            queue.events.extend(new);
        }
        self.wake(queue);
    }

    /// Closes the stream: no more events will come.
    pub(crate) fn close(&self) {
        let mut queue = self.queue.lock();
        queue.closed = true;
        self.wake(queue);
    }

    /// Wakes all that wait, without the lock: a waker may run its task at once.
    fn wake(&self, mut queue: MutexGuard<'_, Queue>) {
        let wakers = std::mem::take(&mut queue.wakers);
        drop(queue);
        self.arrived.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::event::{EventKind, Refusal};
    use crate::facts::ApplicationEnd;
    use crate::ids::{ApplicationId, AskId, SlotId};

    /// Events as one group has them: a refusal has the number of the change before it.
    fn run(before: &mut u64, refusals: &[bool]) -> Vec<Event> {
        let event = |is_refusal: &bool| {
            *before += u64::from(!is_refusal);
            let ask = AskId::new(0, 0);
            let kind = if *is_refusal {
                EventKind::AskRefused { ask, refusal: Refusal::UnknownAsk }
            } else {
                EventKind::ApplicationEnded { end: ApplicationEnd::Finished }
            };
            Event { seq: CommitSeq(*before), application: ApplicationId::new(0, 0), kind }
        };
        refusals.iter().map(event).collect()
    }

    #[derive(Clone, Debug)]
    enum Step {
        Publish(Vec<bool>),
        TakeOne,
        Drain,
        /// Covers events up to so many changes before or behind the last one.
        Restart(i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => prop::collection::vec(any::<bool>(), 0..5).prop_map(Step::Publish),
            4 => Just(Step::TakeOne),
            1 => Just(Step::Drain),
            1 => (-3..3i64).prop_map(Step::Restart),
        ]
    }

    proptest! {
        /// A stream equals a plain list, whether events come in runs or wrap around.
        #[test]
        fn a_stream_equals_a_list(steps in prop::collection::vec(step(), 0..60)) {
            const CAPACITY: usize = 8;
            let stream = EventStream::new(CAPACITY);
            let (mut list, mut is_lagging, mut known, mut last) = (Vec::new(), false, CommitSeq(0), 0);
            for step in steps {
                match step {
                    Step::Publish(refusals) => {
                        let events = run(&mut last, &refusals);
                        stream.core().publish(&events);
                        let news: Vec<Event> = events.into_iter().filter(|event| event.is_news(known)).collect();
                        is_lagging |= list.len() + news.len() > CAPACITY;
                        if !is_lagging {
                            list.extend(news);
                        }
                    }
                    Step::TakeOne => {
                        let expected = if list.is_empty() { None } else { Some(list.remove(0)) };
                        let told = if expected.is_none() && is_lagging { Err(Lagging) } else { Ok(expected) };
                        prop_assert_eq!(stream.try_next(), told);
                    }
                    Step::Drain => {
                        let mut told = Vec::new();
                        let count = if list.is_empty() && is_lagging { Err(Lagging) } else { Ok(list.len()) };
                        prop_assert_eq!(stream.drain_into(&mut told), count);
                        prop_assert_eq!(told, std::mem::take(&mut list));
                    }
                    Step::Restart(behind) => {
                        known = CommitSeq(last.saturating_add_signed(behind));
                        stream.restart(known);
                        list.retain(|event| event.is_news(known));
                        is_lagging = false;
                    }
                }
            }
        }
    }
}
