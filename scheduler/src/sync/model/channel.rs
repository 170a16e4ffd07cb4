//! A channel as a queue under a lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::{Condvar, Mutex};

/// Why nothing was received.
#[derive(Debug)]
pub(in crate::sync) enum RecvTimeoutError {
    Timeout,
    Disconnected,
}

/// The receiver is gone; the value comes back.
#[derive(Debug)]
pub(in crate::sync) struct SendError<T>(pub(in crate::sync) T);

#[derive(Debug)]
struct Core<T> {
    queue: Mutex<Queue<T>>,
    /// Notified when a value comes, a place becomes free, or a side ends.
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct Queue<T> {
    values: VecDeque<T>,
    senders: usize,
    receivers: usize,
}

#[derive(Debug)]
pub(in crate::sync) struct Sender<T>(Arc<Core<T>>);

#[derive(Debug)]
pub(in crate::sync) struct Receiver<T>(Arc<Core<T>>);

pub(in crate::sync) fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    bounded(usize::MAX)
}

pub(in crate::sync) fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let queue = Queue { values: VecDeque::new(), senders: 1, receivers: 1 };
    let core = Arc::new(Core { queue: Mutex::new(queue), changed: Condvar::default(), capacity });
    (Sender(Arc::clone(&core)), Receiver(core))
}

impl<T> Sender<T> {
    pub(in crate::sync) fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut queue = self.0.queue.lock();
        while queue.receivers > 0 && queue.values.len() >= self.0.capacity {
            queue = self.0.changed.wait(queue);
        }
        if queue.receivers == 0 {
            drop(queue);
            return Err(SendError(value));
        }
        queue.values.push_back(value);
        drop(queue);
        self.0.changed.notify_all();
        Ok(())
    }

    pub(in crate::sync) fn try_send(&self, value: T) -> Result<(), T> {
        let mut queue = self.0.queue.lock();
        if queue.receivers == 0 || queue.values.len() >= self.0.capacity {
            drop(queue);
            return Err(value);
        }
        queue.values.push_back(value);
        drop(queue);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl<T> Receiver<T> {
    pub(in crate::sync) fn try_recv(&self) -> Result<T, RecvTimeoutError> {
        let mut queue = self.0.queue.lock();
        let value = queue.values.pop_front().ok_or(RecvTimeoutError::Timeout)?;
        drop(queue);
        self.0.changed.notify_all();
        Ok(value)
    }

    pub(in crate::sync) fn recv(&self) -> Result<T, RecvTimeoutError> {
        let mut queue = self.0.queue.lock();
        loop {
            if let Some(value) = queue.values.pop_front() {
                drop(queue);
                self.0.changed.notify_all();
                return Ok(value);
            }
            if queue.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            queue = self.0.changed.wait(queue);
        }
    }

    /// A wait with zero patience returns at once; any other never times out.
    pub(in crate::sync) fn recv_timeout(&self, patience: Duration) -> Result<T, RecvTimeoutError> {
        if patience.is_zero() { self.try_recv() } else { self.recv() }
    }

    pub(in crate::sync) fn is_empty(&self) -> bool {
        self.0.queue.lock().values.is_empty()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.queue.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.queue.lock().senders -= 1;
        self.0.changed.notify_all();
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.0.queue.lock().receivers += 1;
        Self(Arc::clone(&self.0))
    }
}

/// Values that will not be received stay until the last sender ends, as in crossbeam's bounded channels.
impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.0.queue.lock().receivers -= 1;
        self.0.changed.notify_all();
    }
}
