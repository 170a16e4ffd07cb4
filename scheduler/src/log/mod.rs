//! The log: every change in the order applied, written to any sink and read back.
//!
//! A log is a header and frames. A frame holds the changes of one group commit and a checksum. A torn end or other
//! damage is an error with its position; the frames before it are intact. A frame that is not whole counts as torn if
//! no whole frame follows it. Then a crash has cut the log there, and a [recovery](crate::Engine::recover) goes on
//! before it.
//!
//! In place of the header, a log may begin with a snapshot. It has a header of its own, then a frame with the number of
//! the last change and the state after it. The frames of later changes follow.
//!
//! The header has eight bytes: name and version. A frame is length, CRC-32, and the changes in postcard encoding. A
//! replay checks every change again and commits with the same `accept`. The repository has a log of each version that
//! can be read, in `tests/old_logs`.

mod digest;
mod encode;
mod encoded_kind;
mod frame;
#[cfg(any(feature = "file-log", feature = "store-log"))]
mod medium;
mod reader;
mod records;
#[cfg(any(test, feature = "model"))]
mod shared;
mod sink;
#[cfg(test)]
#[cfg(any(feature = "file-log", feature = "store-log"))]
pub(crate) mod tests;
mod upgrade;

pub use digest::LogDigest;
pub(crate) use encoded_kind::EncodedKind;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use frame::frame_head;
#[cfg(feature = "store-log")]
pub(crate) use frame::is_whole_frame;
pub(crate) use frame::write_snapshot;
#[cfg(any(feature = "file-log", feature = "store-log"))]
pub(crate) use medium::take_lock;
#[cfg(any(feature = "file-log", feature = "store-log"))]
pub use medium::{Compacted, Durability};
#[cfg(feature = "store-log")]
pub(crate) use reader::reader_of;
pub use reader::{LogEnd, LogError, LogReader};
#[cfg(any(test, feature = "model"))]
pub use shared::SharedLog;
pub(crate) use sink::{LogBuffer, Logged};
pub use sink::{LogSink, LoggedGroup};

/// The first bytes of every log: a name and the version of the format.
pub(crate) const HEADER: [u8; 8] = *b"APPLOG\x00\x0b";
/// The oldest version that can be read. [`upgrade`] brings it into the present form.
pub(crate) const OLDEST_VERSION: u8 = 9;
/// The first version with [`RackNamed`](crate::Change::RackNamed). In older logs an ask may refer to a rack that the
/// log has not named.
const RACKS_NAMED_SINCE: u8 = 10;
/// The first bytes of a log that begins with a snapshot, with the version of the snapshot's format.
pub(crate) const SNAPSHOT_HEADER: [u8; 8] = *b"APPSNAP\x02";
/// The oldest version of a snapshot that can be read.
pub(crate) const OLDEST_SNAPSHOT_VERSION: u8 = 1;
/// The bytes of length and checksum in front of each frame.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;
/// The longest valid frame, far above any group commit; a longer one is damage.
pub(crate) const FRAME_BYTES_MAX: usize = 1 << 30;
