//! The state of each container, and the number of containers per state. Both change together in one place,
//! so reviews need not count.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::client::ContainerRef;

/// The state of a component's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// It was allocated and is being started.
    Starting,
    /// It runs.
    Live,
    /// It starts when the container that it replaces has ended. Until then it counts for nothing.
    Reserved,
    /// It was released and has not ended yet.
    Releasing,
    /// Its start failed; it was released and has not ended yet.
    StartFailed,
}

const STATES: usize = 5;

impl InstanceState {
    /// Returns whether the component keeps the container.
    #[must_use]
    pub fn is_held(self) -> bool {
        matches!(self, Self::Starting | Self::Live)
    }
}

/// The containers of a component by state. `counts` has the number of containers in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    states: BTreeMap<ContainerRef, InstanceState>,
    counts: [u32; STATES],
    /// Containers that are being released and were live before.
    stopping: BTreeSet<ContainerRef>,
}

impl Census {
    /// Sets the state of a container, new or known. Returns its previous state.
    pub(crate) fn put(&mut self, container: ContainerRef, state: InstanceState) -> Option<InstanceState> {
        let before = self.states.insert(container, state);
        self.leave(before);
        let has_run = before == Some(InstanceState::Live) || self.stopping.contains(&container);
        if has_run && state == InstanceState::Releasing {
            self.stopping.insert(container);
        } else {
            self.stopping.remove(&container);
        }
        self.counts[state as usize] += 1;
        before
    }

    /// Removes a container. Returns its previous state.
    pub(crate) fn remove(&mut self, container: ContainerRef) -> Option<InstanceState> {
        let before = self.states.remove(&container);
        self.leave(before);
        self.stopping.remove(&container);
        before
    }

    fn leave(&mut self, before: Option<InstanceState>) {
        if let Some(before) = before {
            self.counts[before as usize] -= 1;
        }
    }

    pub(crate) fn state(&self, container: ContainerRef) -> Option<InstanceState> {
        self.states.get(&container).copied()
    }

    pub(crate) fn count(&self, state: InstanceState) -> u32 {
        self.counts[state as usize]
    }

    /// Counts the containers in all states.
    pub(crate) fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Counts the containers that are, or will be, in use on their hosts.
    pub(crate) fn staying(&self) -> u32 {
        self.held() + self.count(InstanceState::Reserved)
    }

    /// Counts the containers that the component keeps: starting or live.
    pub(crate) fn held(&self) -> u32 {
        self.count(InstanceState::Starting) + self.count(InstanceState::Live)
    }

    /// Returns whether an instance runs: it is live, or was live and has not ended.
    pub(crate) fn runs_any(&self) -> bool {
        self.count(InstanceState::Live) > 0 || !self.stopping.is_empty()
    }

    /// Counts the containers that were released and have not ended.
    pub(crate) fn leaving(&self) -> u32 {
        self.count(InstanceState::Releasing) + self.count(InstanceState::StartFailed)
    }

    /// Returns whether the counts match the states, and every container in `stopping` is being released.
    pub(crate) fn is_consistent(&self) -> bool {
        let mut counts = [0; STATES];
        for state in self.states.values() {
            counts[*state as usize] += 1;
        }
        let is_releasing = |container| self.state(container) == Some(InstanceState::Releasing);
        counts == self.counts && self.stopping.iter().copied().all(is_releasing)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ContainerRef, InstanceState)> + '_ {
        self.states.iter().map(|(container, state)| (*container, *state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inconsistency_is_found() {
        let [live, leaving, never_ran] = [1, 2, 3].map(ContainerRef);
        let mut census = Census::default();
        census.put(live, InstanceState::Live);
        census.put(leaving, InstanceState::Live);
        census.put(leaving, InstanceState::Releasing);
        census.put(never_ran, InstanceState::StartFailed);
        assert!(census.is_consistent());
        let changed = |change: fn(&mut Census)| {
            let mut census = census.clone();
            change(&mut census);
            census.is_consistent()
        };
        assert!(!changed(|census| census.counts[InstanceState::Live as usize] += 1));
        assert!(!changed(|census| census.counts.swap(0, InstanceState::Live as usize)));
        assert!(!changed(|census| _ = census.states.remove(&ContainerRef(3))));
        assert!(!changed(|census| _ = census.stopping.insert(ContainerRef(1))), "it is live");
        assert!(!changed(|census| _ = census.stopping.insert(ContainerRef(9))), "it is unknown");
    }
}
