//! Channels: many senders to one receiver, and one answer to one question.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::time::Duration;

use super::backend::channel::{self as raw, RecvTimeoutError};
use super::fault;

/// The sending side. A full bounded channel holds the sender back.
#[derive(Debug)]
pub struct Outbox<T>(raw::Sender<T>);

/// The receiving side; there is one.
#[derive(Debug)]
pub struct Inbox<T>(raw::Receiver<T>);

/// A channel that holds `capacity` messages; `None` for one that never holds a sender back, which is what a
/// single thread needs that is sender and receiver in turn.
pub fn channel<T>(capacity: Option<usize>) -> (Outbox<T>, Inbox<T>) {
    let (sender, receiver) = capacity.map_or_else(raw::unbounded, raw::bounded);
    (Outbox(sender), Inbox(receiver))
}

impl<T> Clone for Outbox<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Outbox<T> {
    /// Hands `message` over, waiting while the channel is full.
    ///
    /// # Errors
    /// When the receiver is gone; the message comes back.
    pub fn send(&self, message: T) -> Result<(), T> {
        fault::step();
        self.0.send(message).map_err(|error| error.0)
    }

    /// Hands `message` over if that needs no waiting; otherwise the receiver has enough to do as it is.
    pub fn offer(&self, message: T) {
        fault::step();
        let _ = self.0.try_send(message);
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
        self.0.try_recv().ok()
    }

    /// Waits for a message, at most for `patience` if that is given.
    ///
    /// # Errors
    /// When the time is up, or nobody can send any more.
    pub fn receive(&self, patience: Option<Duration>) -> Result<T, Nothing> {
        fault::step();
        match patience {
            None => self.0.recv().map_err(|_| Nothing::Closed),
            Some(patience) => self.0.recv_timeout(patience).map_err(|error| match error {
                RecvTimeoutError::Timeout => Nothing::TimedOut,
                RecvTimeoutError::Disconnected => Nothing::Closed,
            }),
        }
    }

    /// Whether no message is waiting.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        fault::step();
        self.0.is_empty()
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

    /// The answer if it is there.
    #[must_use]
    pub fn try_take(&self) -> Option<T> {
        fault::step();
        self.0.try_recv().ok()
    }

    /// Waits for the answer; `None` if the engine was shut down without giving one. In serial mode nothing
    /// answers until the engine runs, so use [`try_take`](Self::try_take) there.
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
