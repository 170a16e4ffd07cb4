//! Waiting for events for a limited time, and as a task of an executor.

#[cfg(feature = "async")]
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{EventStream, Lagging, Queue};
use crate::event::Event;

/// The most wakers that a stream keeps. Tasks that are gone leave their wakers behind. So one waker more wakes all
/// tasks, and those that still wait poll again.
const WAKERS_MAX: usize = 256;

impl EventStream {
    /// Waits for the next event, but not longer than `patience`. `None` if no event came, or the engine is shut down.
    ///
    /// # Errors
    /// If events were left out after those already read.
    pub fn wait_timeout(&self, patience: Duration) -> Result<Option<Event>, Lagging> {
        let is_awaited = |queue: &mut Queue| queue.events.is_empty() && !queue.lagging && !queue.closed;
        drop(self.0.arrived.wait_while_for(self.0.queue.lock(), patience, is_awaited));
        self.try_next()
    }

    /// The next event, for a task that an executor polls: `None` once the engine is shut down. When an event comes,
    /// the committing thread wakes the task, outside the engine's locks. With the feature `async`, the stream is a
    /// `futures::Stream`. Several tasks may share a stream; each event goes to one of them.
    ///
    /// # Errors
    /// If events were left out after those already read.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Result<Option<Event>, Lagging>> {
        let mut queue = self.0.queue.lock();
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Ok(Some(event)));
        }
        if queue.lagging {
            return Poll::Ready(Err(Lagging));
        }
        if queue.closed {
            return Poll::Ready(Ok(None));
        }
        // Under the lock that the engine takes, so it sees the waker or the task sees the event.
        if queue.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            return Poll::Pending;
        }
        let too_many =
            if queue.wakers.len() < WAKERS_MAX { Vec::new() } else { std::mem::take(&mut queue.wakers) };
        queue.wakers.push(context.waker().clone());
        drop(queue);
        too_many.into_iter().for_each(Waker::wake);
        Poll::Pending
    }
}

#[cfg(feature = "async")]
impl futures_core::Stream for EventStream {
    type Item = Result<Event, Lagging>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Self::poll_next(&self, context).map(Result::transpose)
    }
}
