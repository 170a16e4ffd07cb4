//! Channels: many senders to one receiver.
#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::sync::Arc;
use std::time::Duration;

use super::backend::atomic::{AtomicU64, Ordering};
use super::backend::channel::{self as raw, RecvTimeoutError};
use super::fault;

/// The sending side. A full bounded channel blocks the sender.
#[derive(Debug)]
pub struct Outbox<T> {
    sender: raw::Sender<T>,
    /// Drops messages sent while the receiving side closes; the receiver would miss them.
    rest: raw::Receiver<T>,
    closed: Arc<AtomicU64>,
}

/// The receiving side; there is exactly one. When it is closed or dropped, all waiting messages are dropped, and so
/// are later ones.
#[derive(Debug)]
pub struct Inbox<T> {
    receiver: raw::Receiver<T>,
    closed: Arc<AtomicU64>,
}

/// Makes a channel that holds `capacity` messages. `None` makes one that never blocks a sender, for a single thread
/// that both sends and receives.
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
    /// Sends `message`; blocks while the channel is full.
    ///
    /// # Errors
    /// If the receiver is gone, the message comes back. If the receiver closes at the same moment, the message may
    /// be dropped as if it had been waiting.
    pub fn send(&self, message: T) -> Result<(), T> {
        fault::step();
        if self.is_closed() {
            return Err(message);
        }
        let sent = self.sender.send(message).map_err(|error| error.0);
        self.drop_rest();
        sent
    }

    /// Sends `message` if that does not block. A full channel drops it: the receiver has enough to do.
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

    /// Drops messages that came too late for the receiver. Either the receiver's last look finds a message, or the
    /// sender sees `closed`, which is written before that look.
    fn drop_rest(&self) {
        if self.is_closed() {
            drop_all(&self.rest);
        }
    }
}

/// Called outside every lock of the channel, because the drop of a message may send.
fn drop_all<T>(receiver: &raw::Receiver<T>) {
    while let Ok(message) = receiver.try_recv() {
        drop(message);
    }
}

impl<T> Inbox<T> {
    /// Closes the channel. Senders no longer block; their messages come back or are dropped.
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
    /// The time limit has passed.
    TimedOut,
    /// All senders are gone and every message was received.
    Closed,
}

impl<T> Inbox<T> {
    /// Takes a waiting message, if any.
    #[must_use]
    pub fn try_receive(&self) -> Option<T> {
        fault::step();
        self.receiver.try_recv().ok()
    }

    /// Waits for a message, at most for `patience` if given.
    ///
    /// # Errors
    /// If the time limit has passed, or all senders are gone.
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
