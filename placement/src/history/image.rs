//! Saves the role history to a file image and thaws it (seed, "Thaw"; spec 1.7).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RoleHistory;
use crate::component::ComponentId;
use crate::persistence::{HistoryEntry, HistoryFile};

/// The numbers of records that a thaw restored and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThawReport {
    /// Restored records.
    pub restored: usize,
    /// Restored records whose component has another id now.
    pub remapped: usize,
    /// Dropped records of unknown components.
    pub discarded: usize,
    /// Dropped records of hosts that were last used too long before the save.
    pub too_old: usize,
}

impl RoleHistory {
    /// Restores the history from a file. `names` are the service's components. Drops entries last used more
    /// than `age_max_ms` before the save. No instance runs afterwards: hosts that were active count as used
    /// until the save.
    pub(crate) fn thaw(
        &mut self,
        file: &HistoryFile,
        names: &BTreeMap<String, ComponentId>,
        age_max_ms: Option<u64>,
    ) -> ThawReport {
        let mut report = ThawReport::default();
        let oldest_ms = age_max_ms.map_or(0, |age_max_ms| file.saved_ms.saturating_sub(age_max_ms));
        let renumbered: BTreeMap<u32, ComponentId> =
            file.mapping.iter().filter_map(|(name, role)| Some((*role, *names.get(name)?))).collect();
        for entry in &file.entries {
            let component = match renumbered.get(&entry.role) {
                Some(component) => Some(*component),
                None if file.mapping.is_empty() => Some(ComponentId(entry.role)),
                None => None,
            };
            let Some(component) = component.filter(|component| self.rules.contains_key(component)) else {
                report.discarded += 1;
                continue;
            };
            let last_used_ms = if entry.is_active { file.saved_ms } else { entry.last_used_ms };
            if last_used_ms < oldest_ms {
                report.too_old += 1;
                continue;
            }
            report.restored += 1;
            report.remapped += usize::from(component.0 != entry.role);
            self.change(&entry.host, component, |known| known.last_used_ms = last_used_ms);
        }
        report
    }

    /// Returns the history to save. A host is active until its last instance has ended (table 1.18, D28).
    /// Hosts that never ran a component are omitted, because a thaw would make them candidates (table 1.18,
    /// D19).
    pub(crate) fn image(&self, saved_ms: u64, names: &BTreeMap<String, ComponentId>) -> HistoryFile {
        let entries_of = |(host, node): (&Arc<str>, &super::NodeInstance)| {
            let host = host.clone();
            let records = node.entries.iter().filter_map(move |(component, entry)| {
                let is_active = entry.instances.runs_any();
                (is_active || entry.last_used_ms > 0).then(|| HistoryEntry {
                    host: host.clone(),
                    role: component.0,
                    is_active,
                    last_used_ms: entry.last_used_ms,
                })
            });
            records.collect::<Vec<_>>()
        };
        HistoryFile {
            saved_ms,
            roles: u32::try_from(names.len()).unwrap_or(u32::MAX),
            mapping: names.iter().map(|(name, id)| (name.clone(), id.0)).collect(),
            entries: self.nodes.iter().flat_map(entries_of).collect(),
        }
    }
}
