//! Channels: many senders to one receiver, and one answer to one question.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::sync::Arc;
use std::time::Duration;

use super::backend::atomic::{AtomicU64, Ordering};
use super::backend::channel::{self as raw, RecvTimeoutError};
use super::fault;

/// The sending side. A full bounded channel holds the sender back.
#[derive(Debug)]
pub struct Outbox<T> {
    sender: raw::Sender<T>,
    /// For what was sent while the receiving side closed, which nobody else would ever drop.
    rest: raw::Receiver<T>,
    closed: Arc<AtomicU64>,
}

/// The receiving side; there is one. When it is closed or dropped, everything that is waiting is dropped, and so is
/// what arrives later.
#[derive(Debug)]
pub struct Inbox<T> {
    receiver: raw::Receiver<T>,
    closed: Arc<AtomicU64>,
}

/// A channel that holds `capacity` messages; `None` for one that never holds a sender back, which is what a
/// single thread needs that is sender and receiver in turn.
pub fn channel<T>(capacity: Option<usize>) -> (Outbox<T>, Inbox<T>) {
    let (sender, receiver) = capacity.map_or_else(raw::unbounded, raw::bounded);
    let closed = Arc::new(AtomicU64::new(0));
    let outbox = Outbox { sender, rest: receiver.clone(), closed: Arc::clone(&closed) };
    (outbox, Inbox { receiver, closed })
}

impl<T> Clone for Outbox<T> {
    fn clone(&self) -> Self {
        Self { sender: self.sender.clone(), rest: self.rest.clone(), closed: Arc::clone(&self.closed) }
    }
}

impl<T> Outbox<T> {
    /// Hands `message` over, waiting while the channel is full.
    ///
    /// # Errors
    /// When the receiver is gone; the message comes back, unless the receiver went in the same moment: then it was
    /// dropped as if it had been waiting.
    pub fn send(&self, message: T) -> Result<(), T> {
        fault::step();
        if self.is_closed() {
            return Err(message);
        }
        let sent = self.sender.send(message).map_err(|error| error.0);
        self.drop_rest();
        sent
    }

    /// Hands `message` over if that needs no waiting; otherwise the receiver has enough to do as it is.
    pub fn offer(&self, message: T) {
        fault::step();
        if !self.is_closed() {
            let _ = self.sender.try_send(message);
            self.drop_rest();
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst) != 0
    }

    /// A message that came too late for the receiver to drop it is dropped here: either the receiver's last look
    /// found it, or the word that it wrote before that look is seen after the message was sent.
    fn drop_rest(&self) {
        if self.is_closed() {
            drop_all(&self.rest);
        }
    }
}

/// Outside of every lock of the channel: a message's drop may send.
fn drop_all<T>(receiver: &raw::Receiver<T>) {
    while let Ok(message) = receiver.try_recv() {
        drop(message);
    }
}

impl<T> Inbox<T> {
    /// Receives nothing more. Senders are no longer held back; what they send comes back or is dropped.
    pub fn close(&self) {
        self.closed.store(1, Ordering::SeqCst);
        drop_all(&self.receiver);
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Why nothing was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// The time is up.
    TimedOut,
    /// All senders are gone and everything sent was received.
    Closed,
}

impl<T> Inbox<T> {
    /// A message if one is waiting.
    #[must_use]
    pub fn try_receive(&self) -> Option<T> {
        fault::step();
        self.receiver.try_recv().ok()
    }

    /// Waits for a message, at most for `patience` if that is given.
    ///
    /// # Errors
    /// When the time is up, or nobody can send any more.
    pub fn receive(&self, patience: Option<Duration>) -> Result<T, Nothing> {
        fault::step();
        match patience {
            None => self.receiver.recv().map_err(|_| Nothing::Closed),
            Some(patience) => self.receiver.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Timeout => Nothing::TimedOut,
                RecvTimeoutError::Disconnected => Nothing::Closed,
            }),
        }
    }

    /// Whether no message is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        fault::step();
        self.receiver.is_empty()
    }
}

/// The place where one answer will be. Dropping the other side without an answer counts as none.
#[derive(Debug)]
pub struct Ticket<T>(raw::Receiver<T>);

/// The right to answer once.
#[derive(Debug)]
pub struct Promise<T>(raw::Sender<T>);

impl<T> Ticket<T> {
    /// Both sides of one answer.
    #[must_use]
    pub fn new() -> (Promise<T>, Self) {
        let (sender, receiver) = raw::bounded(1);
        (Promise(sender), Self(receiver))
    }

    /// The answer if it is there. `None` also if there will never be one; [`wait`](Self::wait) tells these apart.
    #[must_use]
    pub fn try_take(&self) -> Option<T> {
        fault::step();
        self.0.try_recv().ok()
    }

    /// Waits for the answer; `None` if the engine was shut down without giving one. In serial mode, and where one
    /// thread steps the parts of an engine, nothing answers until that goes on, so use [`try_take`](Self::try_take)
    /// there.
    #[must_use]
    pub fn wait(self) -> Option<T> {
        fault::step();
        self.0.recv().ok()
    }
}

impl<T> Promise<T> {
    /// Answers.
    pub fn answer(self, value: T) {
        fault::step();
        // Nobody waits for the answer any more: that is their right.
        let _ = self.0.send(value);
    }
}
