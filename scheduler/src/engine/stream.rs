//! Event streams: the engine tells applications of events without ever waiting for them.

use std::collections::VecDeque;
use std::sync::Arc;

use thiserror::Error;

use crate::event::Event;
use crate::request::CommitSeq;
use crate::sync::{Condvar, Mutex};

/// The reader was too slow and events were left out. It resynchronises with
/// [`Handle::resync`](crate::Handle::resync).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the event stream is lagging; resynchronise to go on")]
pub struct Lagging;

/// Receives the events of the applications that were submitted with it.
///
/// A stream holds a fixed number of events. When it is full the committer does not wait: it marks the stream
/// as lagging and leaves events out until the reader resynchronises.
#[derive(Clone, Debug)]
pub struct EventStream(Arc<StreamCore>);

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
    /// Events up to here are part of the answer to the last resynchronisation.
    known: CommitSeq,
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

    /// The next event if there is one. That none is there does not say whether more will come: see
    /// [`Engine::is_running`](crate::Engine::is_running).
    ///
    /// # Errors
    /// When events were left out after those already read.
    pub fn try_next(&self) -> Result<Option<Event>, Lagging> {
        let mut queue = self.0.queue.lock();
        match queue.events.pop_front() {
            None if queue.lagging => Err(Lagging),
            event => Ok(event),
        }
    }

    /// Waits for the next event; `None` once the engine is shut down. The thread that does a serial engine's work, or
    /// steps its parts, waits for itself: it has to work first and then take what is there.
    ///
    /// # Errors
    /// When events were left out after those already read.
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

    /// Moves all events that are there to the end of `events`; returns how many.
    ///
    /// # Errors
    /// When events were left out after those already read; nothing is moved then.
    pub fn drain_into(&self, events: &mut Vec<Event>) -> Result<usize, Lagging> {
        let mut queue = self.0.queue.lock();
        if queue.events.is_empty() && queue.lagging {
            return Err(Lagging);
        }
        let count = queue.events.len();
        events.extend(queue.events.drain(..));
        Ok(count)
    }

    /// Starts over: events up to `known` will not come any more.
    pub(crate) fn restart(&self, known: CommitSeq) {
        let mut queue = self.0.queue.lock();
        queue.events.retain(|event| event.is_news(known));
        queue.lagging = false;
        queue.known = known;
    }
}

impl StreamCore {
    /// Adds events, or marks the stream as lagging if they do not all find room.
    pub(crate) fn publish(&self, events: &[Event]) {
        let mut queue = self.queue.lock();
        if queue.lagging {
            return;
        }
        let known = queue.known;
        let news = events.iter().filter(|event| event.is_news(known));
        if queue.events.len() + news.clone().count() > self.capacity {
            queue.lagging = true;
        } else {
            queue.events.extend(news);
        }
        self.arrived.notify_all();
    }

    /// No more events will come.
    pub(crate) fn close(&self) {
        self.queue.lock().closed = true;
        self.arrived.notify_all();
    }
}
