//! The states of one node's containers, by what the node has been told and has confirmed.
//!
//! | state | meaning | confirmed | node reports the end | engine ends it |
//! |---|---|---|---|---|
//! | starting | to be started | running | done | ended |
//! | running | runs, as far as is known | - | done | ended |
//! | stopping | to be stopped; the engine waits for the end | stopping | done | ended, or forgotten if confirmed |
//! | ended | to be stopped; the engine has ended it | forgotten | forgotten | - |
//! | done | the node has ended it; the engine may not know yet | - | - | forgotten |
//!
//! When the engine ends a container that the node has not been told of, the table forgets it.

use std::collections::{BTreeMap, BTreeSet};

use super::directives::{ContainerStart, NodeDirectives};
use crate::ids::{AskId, ContainerId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Starting(AskId),
    Running,
    Stopping,
    Ended,
    Done,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) progress: Progress,
    /// The version of the start or stop.
    version: u64,
    /// Whether the node may know the container: it was told to start or stop it, or it reported it.
    is_told: bool,
}

#[derive(Debug)]
pub(super) struct NodeTable {
    pub(super) entries: BTreeMap<ContainerId, Entry>,
    /// The containers that the last registration adopted, until the node confirms that.
    adopted: BTreeMap<ContainerId, ContainerId>,
    adopted_version: u64,
    /// The version of the last change.
    version: u64,
    /// The version that the node has confirmed. Confirmed ends are forgotten.
    confirmed: u64,
    /// Whether the node has asked for directives. If not, the tracker forgets its table once that is empty.
    pub(super) has_asked: bool,
}

impl NodeTable {
    /// A node without containers at this version.
    pub(super) fn new(version: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            adopted: BTreeMap::new(),
            adopted_version: version,
            version,
            confirmed: version,
            has_asked: false,
        }
    }

    /// Adds a container, or changes the state of one.
    pub(super) fn set(&mut self, container: ContainerId, progress: Progress, is_told: bool, version: u64) {
        self.version = version;
        let is_told = is_told || self.entries.get(&container).is_some_and(|entry| entry.is_told);
        self.entries.insert(container, Entry { progress, version, is_told });
    }

    /// Records that the engine stops a container.
    pub(super) fn stop(&mut self, container: ContainerId, version: u64) {
        let progress = self.entries.get(&container).map(|entry| entry.progress);
        if matches!(progress, None | Some(Progress::Starting(_) | Progress::Running)) {
            self.set(container, Progress::Stopping, false, version);
        }
    }

    /// Records that the engine has ended a container. The node stops it, unless it has done so or does not know it.
    pub(super) fn end(&mut self, container: ContainerId, version: u64) {
        let confirmed = self.confirmed;
        let Some(entry) = self.entries.get_mut(&container) else { return };
        let has_confirmed = entry.version <= confirmed;
        match entry.progress {
            Progress::Starting(_) | Progress::Running if entry.is_told => {
                self.set(container, Progress::Ended, true, version);
            }
            Progress::Stopping if entry.is_told && !has_confirmed => entry.progress = Progress::Ended,
            Progress::Ended => {}
            _ => drop(self.entries.remove(&container)),
        }
    }

    /// Records that the node has ended a container. Returns whether the engine may not know that yet.
    pub(super) fn complete(&mut self, container: ContainerId) -> bool {
        let Some(entry) = self.entries.get_mut(&container) else { return false };
        match entry.progress {
            Progress::Ended => {
                self.entries.remove(&container);
                false
            }
            Progress::Done => false,
            _ => {
                (entry.progress, entry.is_told) = (Progress::Done, true);
                true
            }
        }
    }

    /// Records that a new incarnation of the node runs these containers. Returns the containers that the node has been
    /// told of. No entry may have the version before this one.
    pub(super) fn report(&mut self, running: &BTreeSet<ContainerId>, version: u64) -> BTreeSet<ContainerId> {
        let told = self.entries.iter().filter(|(_, entry)| entry.is_told).map(|(id, _)| *id).collect();
        for (container, entry) in &mut self.entries {
            let is_reported = running.contains(container);
            if is_reported {
                entry.is_told = true;
            }
            entry.progress = match entry.progress {
                Progress::Starting(_) if is_reported => Progress::Running,
                Progress::Starting(_) | Progress::Running | Progress::Stopping
                    if !is_reported && entry.is_told =>
                {
                    Progress::Done
                }
                progress => progress,
            };
        }
        self.entries.retain(|id, entry| entry.progress != Progress::Ended || running.contains(id));
        self.adopted.clear();
        // The new incarnation has confirmed nothing, and no version of an earlier one is known any more.
        (self.confirmed, self.version) = (version - 1, version);
        self.entries.values_mut().for_each(|entry| entry.version = version);
        told
    }

    /// Records that the engine has adopted containers, under new identifiers.
    pub(super) fn adopt(&mut self, adopted: BTreeMap<ContainerId, ContainerId>, version: u64) {
        (self.version, self.adopted_version) = (version, version);
        self.adopted = adopted;
    }

    /// Records that the node has reached a version.
    fn confirm(&mut self, version: u64) {
        self.confirmed = version;
        for entry in self.entries.values_mut() {
            if matches!(entry.progress, Progress::Starting(_)) && entry.is_told && entry.version <= version {
                entry.progress = Progress::Running;
            }
        }
        self.entries.retain(|_, entry| entry.progress != Progress::Ended || entry.version > version);
        if self.adopted_version <= version {
            self.adopted.clear();
        }
    }

    /// Confirms a version, 0 if the node knows nothing. Returns the containers that the node has to start.
    pub(super) fn starts_since(&mut self, version: u64) -> Vec<(ContainerId, AskId)> {
        self.has_asked = true;
        if self.is_known(version) && version > self.confirmed {
            self.confirm(version);
        }
        let after = self.after(version);
        let to_start = self.entries.iter().filter(|(_, entry)| entry.version > after);
        let ask = |(id, entry): (&ContainerId, &Entry)| match entry.progress {
            Progress::Starting(ask) => Some((*id, ask)),
            _ => None,
        };
        to_start.filter_map(ask).collect()
    }

    /// The directives since a version, with these starts. They count as told from here on.
    pub(super) fn directives(&mut self, version: u64, start: Vec<ContainerStart>) -> NodeDirectives {
        let after = self.after(version);
        let mut directives =
            NodeDirectives { version: self.version, is_complete: after == 0, start, ..Default::default() };
        for one in &directives.start {
            if let Some(entry) = self.entries.get_mut(&one.container) {
                entry.is_told = true;
            }
        }
        for (container, entry) in &mut self.entries {
            match entry.progress {
                Progress::Stopping | Progress::Ended if entry.version > after => {
                    entry.is_told = true;
                    directives.stop.push(*container);
                }
                Progress::Running if after == 0 => drop(directives.keep.insert(*container)),
                _ => {}
            }
        }
        if self.adopted_version > after {
            directives.adopted.clone_from(&self.adopted);
        }
        directives
    }

    /// The last version that a node at `version` knows: 0 if it needs the full picture.
    fn after(&self, version: u64) -> u64 {
        if self.is_known(version) { version } else { 0 }
    }

    /// Whether everything since this version is here. A version of another tracker can be greater than the last one.
    fn is_known(&self, version: u64) -> bool {
        (self.confirmed..=self.version).contains(&version) && version > 0
    }
}
