//! Frames, and the snapshot at the beginning of a log.

use std::io;

use super::{FRAME_BYTES_MAX, FRAME_HEADER_BYTES, SNAPSHOT_HEADER};
use crate::request::CommitSeq;

/// Writes a log that begins with this state after change number `last`.
pub(crate) fn write_snapshot(last: CommitSeq, state: &[u8], mut sink: impl io::Write) -> io::Result<()> {
    let payload = [&last.0.to_le_bytes(), state].concat();
    sink.write_all(&SNAPSHOT_HEADER)?;
    sink.write_all(&frame_head(&payload)?)?;
    sink.write_all(&payload)?;
    sink.flush()
}

/// The bytes in front of a payload.
pub(crate) fn frame_head(payload: &[u8]) -> io::Result<[u8; FRAME_HEADER_BYTES]> {
    let length = u32::try_from(payload.len()).ok().filter(|length| *length as usize <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("a frame of more than 1 GiB"))?;
    let mut head = [0; FRAME_HEADER_BYTES];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    Ok(head)
}

/// Whether the bytes are one frame with its checksum.
#[cfg(feature = "store-log")]
pub(crate) fn is_whole_frame(bytes: &[u8]) -> bool {
    let Some((head, payload)) = bytes.split_first_chunk() else { return false };
    parse_head(*head) == (payload.len(), crc32fast::hash(payload))
}

/// The length and the checksum that a frame's first bytes give.
pub(super) fn parse_head(head: [u8; FRAME_HEADER_BYTES]) -> (usize, u32) {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = head;
    (u32::from_le_bytes([l0, l1, l2, l3]) as usize, u32::from_le_bytes([c0, c1, c2, c3]))
}
