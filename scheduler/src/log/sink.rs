//! The writing half: collects the changes of a group and passes them to a sink.

use std::io;

use super::encode::Encoder;
use super::encoded_kind::EncodedKind;
use super::frame::frame_head;
use super::{FRAME_HEADER_BYTES, LogEnd};
use crate::change::{Change, SubmittedAsk};
use crate::ids::ContainerId;
use crate::request::{CommitSeq, ResourceAllocationCommitRequest};

/// Receives the log of an engine, one group at a time, on the committing thread after the guard is dropped.
#[doc = include_str!("../../doc/log_sink.md")]
pub trait LogSink: Send {
    /// Receives the header, before the first group.
    ///
    /// # Errors
    /// If the medium fails. The engine then goes on without a log, or ends if it [is required](Self::is_required).
    /// [`Engine::log_error`](crate::Engine::log_error) has the error.
    fn start(&mut self, header: &[u8]) -> io::Result<()>;

    /// Prepares to continue a log, in place of [`start`](Self::start): everything behind `end` is to be cut off.
    ///
    /// # Errors
    /// As for [`start`](Self::start), or if the sink only begins new logs. [`Engine::recover`](crate::Engine::recover)
    /// then fails.
    fn resume(&mut self, end: LogEnd) -> io::Result<()> {
        Err(io::Error::other(format!("this sink only begins new logs; change {} is the last", end.last)))
    }

    /// Receives one group of changes.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()>;

    /// Whether the engine ends if the sink fails, without announcing the group. Otherwise it goes on without a log.
    fn is_required(&self) -> bool {
        false
    }
}

/// The changes of one group commit.
#[derive(Clone, Copy, Debug)]
pub struct LoggedGroup<'a> {
    frame: &'a [u8],
    last: CommitSeq,
}

impl<'a> LoggedGroup<'a> {
    /// The bytes to append to a log.
    #[must_use]
    pub fn frame(&self) -> &'a [u8] {
        self.frame
    }

    /// The encoded changes without the frame around them.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.frame[FRAME_HEADER_BYTES..]
    }

    /// The last change in the group.
    #[must_use]
    pub fn last(&self) -> CommitSeq {
        self.last
    }
}

/// Changes that were applied in this order.
#[derive(Debug)]
pub(crate) enum Logged {
    Change(Change),
    Changes(Vec<Change>),
    /// Each is a [`Change::AskSubmitted`].
    Asks(Vec<SubmittedAsk>),
    /// Each is a [`Change::ContainerEnded`] of a container that has finished.
    Completions(Vec<ContainerId>),
    /// Each is a [`Change::Committed`].
    Requests(Vec<ResourceAllocationCommitRequest>),
}

impl Logged {
    fn is_empty(&self) -> bool {
        match self {
            Self::Change(_) => false,
            Self::Changes(changes) => changes.is_empty(),
            Self::Asks(asks) => asks.is_empty(),
            Self::Completions(containers) => containers.is_empty(),
            Self::Requests(requests) => requests.is_empty(),
        }
    }
}

/// Collects the changes of one group, and encodes them after the write guard is dropped.
#[derive(Debug, Default)]
pub(crate) struct LogBuffer {
    logged: Vec<Logged>,
    last: CommitSeq,
    frame: Vec<u8>,
    is_off: bool,
}

impl LogBuffer {
    /// A buffer for an engine without a sink: it keeps nothing.
    pub(crate) fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Adds applied changes; the last of them is change number `last`.
    pub(crate) fn append(&mut self, last: CommitSeq, logged: Logged) {
        if !self.is_off && !logged.is_empty() {
            self.last = last;
            self.logged.push(logged);
        }
    }

    /// Passes the collected changes to the sink as one frame and clears the buffer. The asks are of these kinds.
    pub(crate) fn flush(&mut self, kinds: &[EncodedKind], sink: &mut dyn LogSink) -> io::Result<()> {
        if self.logged.is_empty() {
            return Ok(());
        }
        self.encode(kinds);
        let (head, payload) = self.frame.split_at_mut(FRAME_HEADER_BYTES);
        head.copy_from_slice(&frame_head(payload)?);
        sink.append(&LoggedGroup { frame: &self.frame, last: self.last })
    }

    fn encode(&mut self, kinds: &[EncodedKind]) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame.resize(FRAME_HEADER_BYTES, 0);
        let mut encoder = Encoder::new(frame);
        for logged in self.logged.drain(..) {
            match logged {
                Logged::Change(change) => encoder.add(&change),
                Logged::Changes(changes) => changes.iter().for_each(|change| encoder.add(change)),
                Logged::Asks(asks) => {
                    asks.iter().for_each(|ask| encoder.add_ask(ask, &kinds[ask.of.kind.index()]));
                }
                Logged::Completions(containers) => {
                    containers.iter().for_each(|container| encoder.add_completion(*container));
                }
                Logged::Requests(requests) => {
                    requests.into_iter().for_each(|request| encoder.add_request(request));
                }
            }
        }
        self.frame = encoder.into_frame();
    }
}
