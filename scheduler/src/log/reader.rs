//! The reading half: one change after another, or the position of the damage.

use std::io::{self, Read};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::frame::parse_head;
use super::upgrade;
use super::{
    FRAME_BYTES_MAX, FRAME_HEADER_BYTES, HEADER, OLDEST_SNAPSHOT_VERSION, OLDEST_VERSION, RACKS_NAMED_SINCE,
    SNAPSHOT_HEADER,
};
use crate::change::Change;

/// Why a log could not be read or replayed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The medium failed.
    #[error("reading the log: {0}")]
    Io(#[from] io::Error),
    /// The source does not start like a log.
    #[error("not an Apportion log: it does not begin with the log header")]
    NotALog,
    /// The log was written in another version of the format.
    #[error("log format version {found} is not readable; {}", reader_of(*.found, OLDEST_VERSION, HEADER[7]))]
    Version {
        /// The version found.
        found: u8,
    },
    /// The snapshot was written in another version of the format.
    #[error("snapshot format version {found} is not readable; {}", reader_of(*.found, OLDEST_SNAPSHOT_VERSION, SNAPSHOT_HEADER[7]))]
    SnapshotVersion {
        /// The version found.
        found: u8,
    },
    /// The snapshot at the beginning does not match its checksum, does not decode, or contradicts itself.
    #[error("the snapshot at the beginning of the log is damaged")]
    Snapshot,
    /// The last frame of the log is not whole: the writer was interrupted.
    #[error("the last group of the log, at byte {at}, is not whole; {}", last_whole(*.last))]
    Torn {
        /// The position of the incomplete frame.
        at: u64,
        /// The number of the last change before it; 0 if there is none.
        last: u64,
    },
    /// A frame does not match its checksum although whole frames follow, or it does not decode.
    #[error("the log is damaged at byte {at}; {}", last_whole(*.last))]
    Damaged {
        /// The position of the damaged frame.
        at: u64,
        /// The number of the last change before the damage; 0 if there is none.
        last: u64,
    },
    /// A change does not fit the state before it.
    #[error("change {seq} does not fit the state before it: {problem}")]
    Inconsistent {
        /// The number of the change.
        seq: u64,
        /// The problem.
        problem: String,
    },
    /// The log ends before the requested change.
    #[error("change {wanted} was asked for, and the last change of the log is {held}")]
    TooShort {
        /// The number of changes in the log.
        held: u64,
        /// The requested change.
        wanted: u64,
    },
    /// The requested change is older than the snapshot or the configuration with which the log begins.
    #[error("change {wanted} was asked for, and the log begins with the state after change {begin}")]
    BeginsLater {
        /// The last change in the snapshot; 1 without one.
        begin: u64,
        /// The requested change.
        wanted: u64,
    },
}

/// The end of the whole frames of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEnd {
    /// The position behind the last whole frame.
    pub at: u64,
    /// The number of changes before it.
    pub last: u64,
}

/// Reads the changes of a log one after another.
#[derive(Debug)]
pub struct LogReader<R> {
    source: R,
    /// The version of the log's format; the present one behind a snapshot.
    version: u8,
    /// The position of the next frame.
    at: u64,
    frame_at: u64,
    frame: Vec<u8>,
    used: usize,
    /// The number of the last change read.
    changes: u64,
    /// The state with which the log begins.
    snapshot: Option<Vec<u8>>,
}

/// Which program reads a format that this one does not.
pub(crate) fn reader_of(found: u8, oldest: u8, newest: u8) -> String {
    let other = if found > newest { "a newer one reads it" } else { "the one that wrote it reads it" };
    match oldest == newest {
        true => format!("this program reads version {newest}, {other}"),
        false => format!("this program reads versions {oldest} to {newest}, {other}"),
    }
}

fn last_whole(last: u64) -> String {
    match last {
        0 => "no whole change stands before that".to_owned(),
        _ => format!("the last whole change is number {last}"),
    }
}

impl<R: Read> LogReader<R> {
    /// Reads the header, and the snapshot if the log begins with one.
    ///
    /// # Errors
    /// If the source does not begin like a log of a readable version, or its snapshot is damaged.
    pub fn new(mut source: R) -> Result<Self, LogError> {
        let mut header = [0; HEADER.len()];
        let length = read_up_to(&mut source, &mut header)?;
        let mut reader = Self::behind_header(source);
        let (name, version) = header.split_at(HEADER.len() - 1);
        match (length == header.len(), HEADER.starts_with(name), SNAPSHOT_HEADER.starts_with(name)) {
            (true, true, _) if (OLDEST_VERSION..=HEADER[7]).contains(&version[0]) => {
                reader.version = version[0];
            }
            (true, true, _) => return Err(LogError::Version { found: version[0] }),
            (true, _, true) if (OLDEST_SNAPSHOT_VERSION..=SNAPSHOT_HEADER[7]).contains(&version[0]) => {
                reader.read_snapshot(version[0])?;
            }
            (true, _, true) => return Err(LogError::SnapshotVersion { found: version[0] }),
            _ => return Err(LogError::NotALog),
        }
        Ok(reader)
    }

    /// Reads a log of this version whose header was read.
    pub(crate) fn behind_header(source: R) -> Self {
        let at = HEADER.len() as u64;
        let version = HEADER[HEADER.len() - 1];
        Self { source, version, at, frame_at: at, frame: Vec::new(), used: 0, changes: 0, snapshot: None }
    }

    fn read_snapshot(&mut self, version: u8) -> Result<(), LogError> {
        match self.next_frame() {
            Ok(true) => {}
            Err(LogError::Io(error)) => return Err(error.into()),
            _ => return Err(LogError::Snapshot),
        }
        let frame = std::mem::take(&mut self.frame);
        let (last, state) = frame.split_first_chunk().ok_or(LogError::Snapshot)?;
        self.changes = u64::from_le_bytes(*last);
        self.snapshot = Some(match version {
            1 => upgrade::snapshot_of_version_1(state).map_err(|_| LogError::Snapshot)?,
            _ => state.to_vec(),
        });
        Ok(())
    }

    /// The state with which the log begins, if it is a snapshot and this is the first call.
    pub(crate) fn take_snapshot(&mut self) -> Option<Vec<u8>> {
        self.snapshot.take()
    }

    /// Whether the log names each rack before any ask refers to it.
    pub(crate) fn names_racks(&self) -> bool {
        self.version >= RACKS_NAMED_SINCE
    }

    /// Reads the next change; `None` at the end.
    ///
    /// # Errors
    /// If the log is torn or damaged; the error has the position.
    pub fn next_change(&mut self) -> Result<Option<Change>, LogError> {
        while self.used == self.frame.len() {
            if !self.next_frame()? {
                return Ok(None);
            }
        }
        let rest = &self.frame[self.used..];
        let last = self.changes;
        let of_old_format = if last == 0 { upgrade::first_change(self.version, rest) } else { None };
        let (change, left) = of_old_format
            .unwrap_or_else(|| postcard::take_from_bytes(rest))
            .map_err(|_| LogError::Damaged { at: self.frame_at, last })?;
        self.used = self.frame.len() - left.len();
        self.changes += 1;
        Ok(Some(change))
    }

    /// The end of the frames read so far.
    pub(crate) fn end(&self) -> LogEnd {
        LogEnd { at: self.at, last: self.changes }
    }

    fn next_frame(&mut self) -> Result<bool, LogError> {
        let mut head = [0; FRAME_HEADER_BYTES];
        (self.frame_at, self.used) = (self.at, 0);
        self.frame.clear();
        match read_up_to(&mut self.source, &mut head)? {
            0 => return Ok(false),
            length if length < head.len() => return Err(LogError::Torn { at: self.at, last: self.changes }),
            _ => {}
        }
        let (length, checksum) = parse_head(head);
        if length <= FRAME_BYTES_MAX {
            (&mut self.source).take(length as u64).read_to_end(&mut self.frame)?;
        }
        if self.frame.len() < length || crc32fast::hash(&self.frame) != checksum {
            return Err(self.broken(length)?);
        }
        self.at += (FRAME_HEADER_BYTES + length) as u64;
        Ok(true)
    }

    /// Tells a torn log from a damaged one if the next frame, of this length, is broken. The log is torn if no whole
    /// frame follows. The length may be wrong, so the search covers all bytes.
    fn broken(&mut self, length: usize) -> Result<LogError, LogError> {
        let Self { source, frame, at, changes, .. } = self;
        source.take(SEARCHED_BYTES_MAX as u64).read_to_end(frame)?;
        let next = frame.get(length..).and_then(|rest| rest.first_chunk());
        let next_length = next.map_or(0, |head| parse_head(*head).0);
        source.take(next_length.min(FRAME_BYTES_MAX) as u64).read_to_end(frame)?;
        let near = frame.len().min(SEARCHED_BYTES_MAX);
        let mut is_followed = frame.get(length..).is_some_and(|rest| begins_whole(rest, FRAME_BYTES_MAX))
            || has_whole(frame, 0..near, SEARCHED_BYTES_MAX);
        if !is_followed {
            source.take(FRAME_BYTES_MAX as u64).read_to_end(frame)?;
            is_followed = has_whole(frame, near..frame.len(), FAR_FRAME_BYTES_MAX);
        }
        frame.clear();
        let (at, last) = (*at, *changes);
        Ok(if is_followed { LogError::Damaged { at, last } } else { LogError::Torn { at, last } })
    }
}

/// The search for whole frames of up to this size ends this far behind a broken frame. The length of the broken frame
/// may lead further.
const SEARCHED_BYTES_MAX: usize = 4 << 20;
/// The longest frame in the search beyond that distance. Each byte may seem to begin a frame, and the checksum of a
/// long one takes long.
const FAR_FRAME_BYTES_MAX: usize = 64 << 10;

/// Whether a whole frame that is at most this long begins at one of these bytes.
fn has_whole(bytes: &[u8], mut starts: Range<usize>, length_max: usize) -> bool {
    starts.any(|start| begins_whole(&bytes[start..], length_max))
}

/// Whether the bytes begin with a whole frame that is not empty and at most this long.
fn begins_whole(bytes: &[u8], length_max: usize) -> bool {
    let Some((head, rest)) = bytes.split_first_chunk() else { return false };
    let (length, checksum) = parse_head(*head);
    let payload = rest.get(..length).filter(|payload| !payload.is_empty() && length <= length_max);
    payload.is_some_and(|payload| crc32fast::hash(payload) == checksum)
}

/// Fills as much of `buffer` as the source has.
fn read_up_to(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(length) => filled += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::frame_head;

    /// Gives one byte at a time, and is interrupted before each. Fails when it has no more bytes.
    struct Halting {
        bytes: &'static [u8],
        is_interrupted: bool,
    }

    impl Read for Halting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let (first, rest) = self.bytes.split_first().ok_or(io::ErrorKind::BrokenPipe)?;
            (buffer[0], self.bytes) = (*first, rest);
            Ok(1)
        }
    }

    #[test]
    fn a_source_that_is_interrupted_is_read_on_and_no_further_than_needed() {
        let (mut source, mut buffer) = (Halting { bytes: b"abcd", is_interrupted: false }, [0; 4]);
        assert_eq!(read_up_to(&mut source, &mut buffer).unwrap(), 4);
        assert_eq!(&buffer, b"abcd");
    }

    /// Two empty groups are in front of the incomplete frame.
    #[test]
    fn an_incomplete_frame_is_told_with_its_position() {
        let empty = [0; FRAME_HEADER_BYTES];
        let log = [&HEADER[..], &empty, &empty, &[1]].concat();
        let torn = LogReader::new(&log[..]).unwrap().next_change().unwrap_err();
        assert!(matches!(torn, LogError::Torn { at: 24, last: 0 }), "{torn}");
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        [&frame_head(payload).unwrap(), payload].concat()
    }

    /// A frame that is not whole is torn at the end of a log and damage before whole frames, whichever byte is wrong.
    #[test]
    fn damage_in_the_middle_is_told_from_a_torn_end() {
        let last = frame(b"the last one");
        for at in 0..last.len() {
            let mut broken = last.clone();
            broken[at] ^= 0x40;
            let read = |behind: &[u8]| {
                let log = [&HEADER[..], &broken, behind].concat();
                LogReader::new(&log[..]).unwrap().next_change().unwrap_err()
            };
            let (torn, damaged) = (read(&[]), read(&frame(b"another")));
            assert!(matches!(torn, LogError::Torn { at: 8, last: 0 }), "byte {at}: {torn}");
            assert!(matches!(damaged, LogError::Damaged { at: 8, last: 0 }), "byte {at}: {damaged}");
            let torn = read(&frame(b"cut off, too")[..10]);
            assert!(matches!(torn, LogError::Torn { at: 8, last: 0 }), "byte {at}: {torn}");
        }
    }

    /// The search for whole frames does not reach behind a long one, but its length leads there.
    #[test]
    fn damage_in_a_long_frame_is_told_from_a_torn_end() {
        let mut long = frame(&vec![7; SEARCHED_BYTES_MAX + 1]);
        *long.last_mut().unwrap() ^= 1;
        let read = |log: &[u8]| LogReader::new(log).unwrap().next_change().unwrap_err();
        let torn = read(&[&HEADER[..], &long].concat());
        assert!(matches!(torn, LogError::Torn { at: 8, last: 0 }), "{torn}");
        let damaged = read(&[&HEADER[..], &long, &frame(b"another")].concat());
        assert!(matches!(damaged, LogError::Damaged { at: 8, last: 0 }), "{damaged}");
        // The frame behind may be even longer.
        let longer = frame(&vec![7; 2 * SEARCHED_BYTES_MAX]);
        for mut first in [frame(b"short"), frame(&vec![7; SEARCHED_BYTES_MAX + 1])] {
            *first.last_mut().unwrap() ^= 1;
            let damaged = read(&[&HEADER[..], &first, &longer].concat());
            assert!(matches!(damaged, LogError::Damaged { at: 8, last: 0 }), "{damaged}");
            let torn = read(&[&HEADER[..], &first, &longer[..SEARCHED_BYTES_MAX]].concat());
            assert!(matches!(torn, LogError::Torn { at: 8, last: 0 }), "{torn}");
        }
    }

    /// The length leads nowhere, or to the middle of the frame.
    #[test]
    fn damage_in_the_length_of_a_long_frame_is_told_from_a_torn_end() {
        let payload: Vec<u8> = (0..=2 * SEARCHED_BYTES_MAX).map(|at| (at >> 7) as u8 | 0x80).collect();
        for wrong in [0, 100, 1 << 20, 3 << 20, 1 << 28, u32::MAX] {
            let mut long = frame(&payload);
            long[..4].copy_from_slice(&u32::to_le_bytes(wrong));
            let read = |behind: &[u8]| {
                let log = [&HEADER[..], &long, behind].concat();
                LogReader::new(&log[..]).unwrap().next_change().unwrap_err()
            };
            let (torn, damaged) = (read(&[]), read(&frame(b"another")));
            assert!(matches!(torn, LogError::Torn { at: 8, last: 0 }), "length {wrong}: {torn}");
            assert!(matches!(damaged, LogError::Damaged { at: 8, last: 0 }), "length {wrong}: {damaged}");
        }
    }

    #[test]
    fn only_versions_that_are_known_are_read() {
        let read = |version| {
            let mut log = HEADER;
            log[7] = version;
            LogReader::new(&log[..]).map(drop)
        };
        (OLDEST_VERSION..=HEADER[7]).for_each(|version| read(version).unwrap());
        let older = read(OLDEST_VERSION - 1).unwrap_err().to_string();
        assert!(older.ends_with("versions 9 to 11, the one that wrote it reads it"), "{older}");
        let newer = read(HEADER[7] + 1).unwrap_err().to_string();
        assert!(newer.ends_with("versions 9 to 11, a newer one reads it"), "{newer}");
    }

    #[test]
    fn the_failure_of_a_source_is_told() {
        let mut reader = LogReader::new(Halting { bytes: &HEADER, is_interrupted: false }).unwrap();
        let failure = reader.next_change().unwrap_err();
        assert!(
            matches!(&failure, LogError::Io(error) if error.kind() == io::ErrorKind::BrokenPipe),
            "{failure}"
        );
    }
}
