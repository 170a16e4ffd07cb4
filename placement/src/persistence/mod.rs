//! Stub.
use std::collections::BTreeMap;
use std::sync::Arc;
/// File.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFile {
    /// .
    pub saved_ms: u64,
    /// .
    pub roles: u32,
    /// .
    pub mapping: BTreeMap<String, u32>,
    /// .
    pub entries: Vec<HistoryEntry>,
}
/// Entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// .
    pub host: Arc<str>,
    /// .
    pub role: u32,
    /// .
    pub is_active: bool,
    /// .
    pub last_used_ms: u64,
}
