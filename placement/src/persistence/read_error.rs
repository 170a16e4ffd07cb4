//! Errors and oddities of history files.

use thiserror::Error;

/// Why a file holds no history that can be used. Records count from 1, bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadHistoryError {
    /// There is nothing in it, or white space only.
    #[error("the file is empty: a history begins with a RoleHistoryHeader")]
    Empty,
    /// It begins with something else than a header.
    #[error("record {record} at byte {byte} is a {found}: a history begins with a RoleHistoryHeader")]
    NoHeader {
        /// The record that is not one.
        record: u64,
        /// Where it begins.
        byte: usize,
        /// Its type.
        found: String,
    },
    /// It is of a version that does not exist.
    #[error("the header, record {record} at byte {byte}, is of version {found}: only version 1 can be read")]
    Version {
        /// The header.
        record: u64,
        /// Where it begins.
        byte: usize,
        /// The version it names.
        found: i64,
    },
    /// Another history begins before the end of this one.
    #[error("record {record} at byte {byte} is a second header: the first history has no RoleHistoryFooter")]
    SecondHeader {
        /// The second header.
        record: u64,
        /// Where it begins.
        byte: usize,
    },
    /// It ends before its end.
    #[error(
        "the file ends at byte {bytes}, after {records} whole records: a history ends with a RoleHistoryFooter"
    )]
    Truncated {
        /// How many records are whole.
        records: u64,
        /// Where the file ends.
        bytes: usize,
    },
    /// A record is not JSON, or not what its type asks for.
    #[error("record {record} at byte {byte}: {reason}")]
    Malformed {
        /// The record.
        record: u64,
        /// Where it begins.
        byte: usize,
        /// What is wrong, where in lines and columns, and what would be right.
        reason: String,
    },
}

/// What is odd about a file that could be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryWarning {
    /// The footer counts other entries than there are.
    #[error("the footer announces {announced} entries, and there are {found}")]
    CountDiffers {
        /// What the footer says.
        announced: u64,
        /// How many there are; all are taken.
        found: u64,
    },
    /// There are records of types that nobody knows. They were passed over.
    #[error("{count} records of unknown types were passed over, the first a {first}")]
    UnknownRecords {
        /// How many.
        count: u64,
        /// The type of the first.
        first: String,
    },
    /// There is more than one mapping. The first counts.
    #[error("record {record} is one more RoleHistoryMapping, which was passed over: the first counts")]
    OneMoreMapping {
        /// The one passed over.
        record: u64,
    },
    /// The file holds several histories one after the other, as files do that were put together. The last counts.
    #[error("the file holds {count} whole histories: the last counts")]
    SeveralHistories {
        /// How many are whole.
        count: u64,
    },
    /// Another history begins after a whole one and cannot be used. The whole one counts.
    #[error("a later history in the file was passed over: {error}")]
    LaterHistory {
        /// What is wrong with it.
        error: ReadHistoryError,
    },
    /// Something that is no history follows the last footer.
    #[error("what follows the footer from byte {byte} on is no history and was skipped")]
    TrailingData {
        /// Where it begins.
        byte: usize,
    },
}
