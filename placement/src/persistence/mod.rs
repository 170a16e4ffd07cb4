//! Saves and loads role histories in files that Slider reads and writes (Slider role history,
//! "Persistence").
//!
//! A save is a new file, whole or absent, and the last save has the last name. A load takes the last
//! readable file. A [`HistoryStore`] decides where the files are.

mod directory;
mod disk;
mod fuzz;
mod load;
mod name;
mod purge;
mod read;
mod read_error;
mod record;
mod save;
mod saver;
mod saver_state;
mod store;
mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use directory::DirectoryStore;
pub use fuzz::fuzz_history;
pub use load::{LoadReport, LoadedHistory, SkipReason, SkippedFile, load_and_purge, load_newest};
pub use name::{history_name, history_name_ms, is_history_name};
pub use purge::{PurgeError, PurgeReport, keep_last, purge_before};
pub use read::{ReadHistory, read_history};
pub use read_error::{HistoryWarning, ReadHistoryError};
pub use save::{SaveError, SavedHistory, save_now};
pub use saver::HistorySaver;
pub use saver_state::{SaverError, SaverStats};
pub use store::{HistoryStore, StoreAction, StoreError, StoredFile};
pub use write::{WriteHistoryError, write_history};

/// The contents of a history file, not checked for sense: ids may be unknown, hosts may be gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFile {
    /// When it was saved, in milliseconds since the epoch. At most 2^63 - 1, like all times of a file.
    pub saved_ms: u64,
    /// The number of roles. In Slider's files it is the number at the start of the service, with the master.
    /// In files of this crate it is the number of components in `mapping`. No reader uses it. At most
    /// 2^31 - 1, like all ids of a file.
    pub roles: u32,
    /// The ids of the components by name. Files older than Slider 0.60 have none.
    pub mapping: BTreeMap<String, u32>,
    /// The use of hosts by components, in the file's order.
    pub entries: Vec<HistoryEntry>,
}

/// One component on one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The host's name. Entries next to each other share one text.
    pub host: Arc<str>,
    /// The component's id.
    pub role: u32,
    /// Whether an instance ran there at the time of saving, even if it was being released.
    pub is_active: bool,
    /// When an instance last ended or was adopted there, in milliseconds since the epoch; 0 if never.
    pub last_used_ms: u64,
}
