//! In which state each container is. The counts beside it are changed in one place, together with it, so that reviews
//! need not count.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::client::ContainerRef;

/// What a container of a component is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// It came and is being started.
    Starting,
    /// It runs.
    Live,
    /// It came to replace another one, and is started when that has ended. It counts for nothing until then.
    Reserved,
    /// It was given back and has not ended yet.
    Releasing,
    /// Nothing could be started in it; it was given back and has not ended yet.
    StartFailed,
}

const STATES: usize = 5;

impl InstanceState {
    /// Whether the component is meant to keep the container.
    #[must_use]
    pub fn is_held(self) -> bool {
        matches!(self, Self::Starting | Self::Live)
    }
}

/// Containers by state. A container is in one state, and `counts` is how many are in which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    states: BTreeMap<ContainerRef, InstanceState>,
    counts: [u32; STATES],
    /// Containers that are being released and ran before.
    stopping: BTreeSet<ContainerRef>,
}

impl Census {
    /// The container is in this state from now on, new or not. Says in which it was.
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

    /// The container is gone.
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

    /// Containers in whatever state.
    pub(crate) fn total(&self) -> u32 {
        self.counts.iter().sum()
    }

    /// Containers that are or will be where they are.
    pub(crate) fn staying(&self) -> u32 {
        self.held() + self.count(InstanceState::Reserved)
    }

    /// Containers that the component is meant to keep: starting or live.
    pub(crate) fn held(&self) -> u32 {
        self.count(InstanceState::Starting) + self.count(InstanceState::Live)
    }

    /// Whether an instance runs: it is live, or was and has not ended yet.
    pub(crate) fn runs_any(&self) -> bool {
        self.count(InstanceState::Live) > 0 || !self.stopping.is_empty()
    }

    /// Containers that are on their way out.
    pub(crate) fn leaving(&self) -> u32 {
        self.count(InstanceState::Releasing) + self.count(InstanceState::StartFailed)
    }

    /// Whether the counts are those of the containers, and those that stop are being released.
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
