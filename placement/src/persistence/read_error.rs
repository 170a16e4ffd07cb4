//! Errors and oddities of history files.

use thiserror::Error;

/// Why a file contains no usable history. Records count from 1, bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadHistoryError {
    /// The file is empty or only white space.
    #[error("the file is empty: a history begins with a RoleHistoryHeader")]
    Empty,
    /// The first record is not a header.
    #[error("record {record} at byte {byte} is a {found}: a history begins with a RoleHistoryHeader")]
    NoHeader {
        /// The first record.
        record: u64,
        /// Its offset.
        byte: usize,
        /// Its type.
        found: String,
    },
    /// The header has an unknown version.
    #[error("the header, record {record} at byte {byte}, is of version {found}: only version 1 can be read")]
    Version {
        /// The header.
        record: u64,
        /// Its offset.
        byte: usize,
        /// The version found.
        found: i64,
    },
    /// Another history begins before the end of this one.
    #[error("record {record} at byte {byte} is a second header: the first history has no RoleHistoryFooter")]
    SecondHeader {
        /// The second header.
        record: u64,
        /// Its offset.
        byte: usize,
    },
    /// The file is truncated.
    #[error(
        "the file ends at byte {bytes}, after {records} whole records: a history ends with a RoleHistoryFooter"
    )]
    Truncated {
        /// The number of whole records.
        records: u64,
        /// The length of the file.
        bytes: usize,
    },
    /// A record is not JSON, or does not match its type.
    #[error("record {record} at byte {byte}: {reason}")]
    Malformed {
        /// The record.
        record: u64,
        /// Its offset.
        byte: usize,
        /// The problem, its line and column, and the form expected.
        reason: String,
    },
}

/// An oddity of a readable file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryWarning {
    /// The footer announces another number of entries than there are.
    #[error("the footer announces {announced} entries, and there are {found}")]
    CountDiffers {
        /// The number in the footer.
        announced: u64,
        /// The number found; all entries are used.
        found: u64,
    },
    /// Records of unknown types, which were skipped.
    #[error("{count} records of unknown types were passed over, the first a {first}")]
    UnknownRecords {
        /// Their number.
        count: u64,
        /// The type of the first.
        first: String,
    },
    /// A second mapping, which was skipped: the first counts.
    #[error("record {record} is one more RoleHistoryMapping, which was passed over: the first counts")]
    OneMoreMapping {
        /// The skipped record.
        record: u64,
    },
    /// The file holds several histories one after the other, for instance because files were joined. The
    /// last counts.
    #[error("the file holds {count} whole histories: the last counts")]
    SeveralHistories {
        /// The number of whole histories.
        count: u64,
    },
    /// A later history in the file is unusable. The whole one before it counts.
    #[error("a later history in the file was passed over: {error}")]
    LaterHistory {
        /// The problem.
        error: ReadHistoryError,
    },
    /// Bytes after the last footer are not history.
    #[error("what follows the footer from byte {byte} on is not part of the history and was skipped")]
    TrailingData {
        /// Their offset.
        byte: usize,
    },
}
