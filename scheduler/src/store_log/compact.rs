//! Compaction: a snapshot in place of old groups.

use std::sync::Weak;

use super::store::Store;
use super::{Compacted, StoreLogError};
use crate::replay::Replay;

/// Shortens a log beside its writer, in the same process. It reads the groups that the writer has finished, and never
/// the state of the engine. It does not keep the store open.
#[derive(Clone, Debug)]
pub struct StoreCompactor {
    pub(super) store: Weak<Store>,
}

impl StoreCompactor {
    /// Replaces all groups by a snapshot; `None` if there is none, or if the log was closed. Takes about as long as a
    /// recovery. The engine goes on meanwhile, and waits only for transactions of the snapshot. They write up to a
    /// mebibyte of it at a time, and the last one removes the groups. A second compaction waits for the first.
    ///
    /// # Errors
    /// If a group is damaged, or the store fails. On an error the log is unchanged.
    pub fn compact(&self) -> Result<Option<Compacted>, StoreLogError> {
        let Some(store) = self.store.upgrade() else { return Ok(None) };
        let failed = |error| StoreLogError::of(&store.path, error);
        let _turn = store.compaction.lock();
        let length = || match store.contents()? {
            Some(rows) => rows.length().map_err(redb::Error::from),
            None => Ok(0),
        };
        if !store.has_groups().map_err(failed)? {
            return Ok(None);
        }
        let bytes_before = length().map_err(failed)?;
        let Some(contents) = store.contents().map_err(failed)? else { return Ok(None) };
        let mut replay = Replay::read(contents, None)?;
        let mut snapshot = Vec::new();
        replay.write_snapshot(&mut snapshot).map_err(|error| failed(error.into()))?;
        store.replace(replay.seq(), &snapshot).map_err(failed)?;
        Ok(Some(Compacted { last: replay.seq(), bytes_before, bytes_after: length().map_err(failed)? }))
    }
}
