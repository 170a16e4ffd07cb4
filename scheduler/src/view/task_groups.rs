//! Views of task groups.

use serde::{Deserialize, Serialize};

use super::ApplicationView;
use crate::ids::{ContainerId, GangId};

/// A task group of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGroupView {
    /// Its name.
    pub name: String,
    /// The gang that waits with it, or whose placeholders run or are pending. `None` once none is left.
    pub gang: Option<GangId>,
    /// The placeholders that run, oldest first.
    pub placeholders: Vec<ContainerId>,
    /// The number of placeholders that are pending.
    pub pending: u32,
    /// When placeholders that were not replaced are given up.
    pub until_ms: Option<u64>,
}

impl ApplicationView<'_> {
    /// Its task groups, by name. The application keeps them after their placeholders are gone.
    #[must_use]
    pub fn task_groups(&self) -> Vec<TaskGroupView> {
        let facts = &self.state.facts;
        let known = |name: &str| {
            let found = facts.placeholders.group(self.id, name);
            let gang = found.map(|(gang, _)| gang);
            TaskGroupView {
                name: name.to_owned(),
                gang,
                placeholders: found.map_or_else(Vec::new, |(_, group)| group.running.clone()),
                pending: found
                    .and_then(|(_, group)| facts.asks.get(group.ask))
                    .map_or(0, |ask| ask.outstanding()),
                until_ms: gang.and_then(|gang| facts.placeholders.gang(gang)?.until_ms),
            }
        };
        facts.placeholders.names_of(self.id).map(known).collect()
    }
}
