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
