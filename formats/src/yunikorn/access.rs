//! Access lists of queues (`peers.md` 1.1).

use apportion::config::{AccessList, QueueConfig};

use super::tree::Queue;
use crate::ConfigFileError;

/// Reads the lists of the tree. In YuniKorn a root without a list permits no user. A file without any list, with
/// which YuniKorn could place nothing, permits every user here.
pub(super) fn read(root: &Queue<'_>, config: &mut QueueConfig) -> Result<(), ConfigFileError> {
    if queue(root, config)? {
        config.submitters.get_or_insert(AccessList::NOBODY);
        config.administrators.get_or_insert(AccessList::NOBODY);
    }
    Ok(())
}

/// Reads the lists of one queue and the queues below it; returns whether there are any.
fn queue(queue: &Queue<'_>, config: &mut QueueConfig) -> Result<bool, ConfigFileError> {
    let mut is_any = false;
    for (key, list) in [("submitacl", &mut config.submitters), ("adminacl", &mut config.administrators)] {
        let Some(entry) = queue.entry.get(key) else { continue };
        let parsed = entry.untrimmed()?.parse::<AccessList>();
        *list = Some(parsed.map_err(|error| entry.error(error.to_string()))?);
        is_any = true;
    }
    for (below, child) in queue.children.iter().zip(&mut config.children) {
        is_any |= self::queue(below, child)?;
    }
    Ok(is_any)
}
