//! Writes history files, byte for byte like Slider's Avro encoder.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use super::HistoryFile;
use super::record::{INT_MAX, LONG_MAX};

/// The number of bytes gathered per write.
const CHUNK_BYTES: usize = 64 * 1024;

/// Why a history was not written.
#[derive(Debug, Error)]
pub enum WriteHistoryError {
    /// A number does not fit the format's signed integers. Nothing was written.
    #[error("{field} is {found}; the largest value is {max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The number found.
        found: u64,
        /// The largest number allowed.
        max: u64,
    },
    /// Writing failed; a part may be written.
    #[error("writing the history failed: {0}")]
    Io(#[from] io::Error),
}

/// Writes the history as Slider does: one record per line, no line end after the last (Slider role history,
/// "Persistence"). Neither syncs nor flushes `out`.
///
/// # Errors
/// If a number does not fit the format, or writing fails.
pub fn write_history(history: &HistoryFile, out: impl Write) -> Result<(), WriteHistoryError> {
    check(history)?;
    let mut lines = Lines { out, buffer: Vec::with_capacity(CHUNK_BYTES + 1024) };
    lines.push(&Branch::Header {
        version: 1,
        saved: history.saved_ms,
        savedx: format!("{:x}", history.saved_ms),
        savedate: date(history.saved_ms),
        roles: history.roles,
    })?;
    lines.push(&Branch::Mapping { rolemap: &history.mapping })?;
    for entry in &history.entries {
        lines.push(&Branch::Node {
            host: &entry.host,
            role: entry.role,
            active: entry.is_active,
            last_used: entry.last_used_ms,
        })?;
    }
    lines.push(&Branch::Footer { count: history.entries.len() as u64 })?;
    Ok(lines.finish()?)
}

/// A record; variant names and the order of fields are those of the schema.
#[derive(Serialize)]
struct Record<'a> {
    entry: &'a Branch<'a>,
}

#[derive(Serialize)]
enum Branch<'a> {
    #[serde(rename = "org.apache.slider.server.avro.RoleHistoryHeader")]
    Header { version: u32, saved: u64, savedx: String, savedate: String, roles: u32 },
    #[serde(rename = "org.apache.slider.server.avro.RoleHistoryMapping")]
    Mapping { rolemap: &'a BTreeMap<String, u32> },
    #[serde(rename = "org.apache.slider.server.avro.NodeEntryRecord")]
    Node { host: &'a str, role: u32, active: bool, last_used: u64 },
    #[serde(rename = "org.apache.slider.server.avro.RoleHistoryFooter")]
    Footer { count: u64 },
}

struct Lines<W> {
    out: W,
    buffer: Vec<u8>,
}

impl<W: Write> Lines<W> {
    fn push(&mut self, entry: &Branch<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, &Record { entry })?;
        // The footer is the last record.
        if matches!(entry, Branch::Footer { .. }) {
            return Ok(());
        }
        self.buffer.push(b'\n');
        if self.buffer.len() >= CHUNK_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)
    }
}

/// Checks all numbers first, so that an error leaves no partial file. Slider could not read larger numbers.
fn check(history: &HistoryFile) -> Result<(), WriteHistoryError> {
    within("the time of saving", history.saved_ms, LONG_MAX)?;
    within("the number of roles", history.roles.into(), INT_MAX.into())?;
    for role in history.mapping.values() {
        within("a role id of the mapping", (*role).into(), INT_MAX.into())?;
    }
    for entry in &history.entries {
        within("the role id of an entry", entry.role.into(), INT_MAX.into())?;
        within("the last use of an entry", entry.last_used_ms, LONG_MAX)?;
    }
    Ok(())
}

fn within(field: &'static str, found: u64, max: u64) -> Result<(), WriteHistoryError> {
    if found > max {
        return Err(WriteHistoryError::OutOfRange { field, found, max });
    }
    Ok(())
}

/// Formats the time for people as Java does; empty, the schema's default, after the year 9999.
fn date(saved_ms: u64) -> String {
    let timestamp = i64::try_from(saved_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    timestamp.map(|timestamp| timestamp.strftime("%-d %b %Y %H:%M:%S GMT").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_in_greenwich_time_with_an_unpadded_day() {
        assert_eq!(date(1_450_435_691_617), "18 Dec 2015 10:48:11 GMT");
        assert_eq!(date(0), "1 Jan 1970 00:00:00 GMT");
        assert_eq!(date(u64::MAX), "");
    }

    #[test]
    fn a_number_that_slider_could_not_read_is_refused_before_anything_is_out() {
        let history = HistoryFile { roles: INT_MAX + 1, ..HistoryFile::default() };
        let mut out = Vec::new();
        let refused = write_history(&history, &mut out);
        assert!(matches!(refused, Err(WriteHistoryError::OutOfRange { max: 2_147_483_647, .. })));
        assert!(out.is_empty());
    }
}
