//! Views of applications.

use crate::facts::{Application, ApplicationEnd, ContainerOnNode};
use crate::ids::{ApplicationId, PartitionId};
use crate::resource::Resources;
use crate::state::State;

/// An application.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationView<'a> {
    pub(super) id: ApplicationId,
    pub(super) application: &'a Application,
    pub(super) state: &'a State,
}

impl<'a> ApplicationView<'a> {
    /// The time at which its lifetime ends, if it has one.
    #[must_use]
    pub fn expires_ms(&self) -> Option<u64> {
        self.application.expires_ms
    }

    /// Its priority; higher is served first within its leaf.
    #[must_use]
    pub fn priority(&self) -> u32 {
        self.application.priority
    }

    /// Whether its asks may be served. An inactive application waits for a limit on active applications.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.application.is_active
    }

    /// How it was ended, while its last containers are being stopped; `None` otherwise.
    #[must_use]
    pub fn ending(&self) -> Option<ApplicationEnd> {
        self.application.ending
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.application.name
    }

    /// The path of its leaf.
    #[must_use]
    pub fn queue(&self) -> &'a str {
        &self.state.facts.queue(self.application.leaf).path
    }

    /// Its user.
    #[must_use]
    pub fn user(&self) -> &'a str {
        &self.state.facts.user(self.application.user).name
    }

    /// The time of submission.
    #[must_use]
    pub fn submitted_ms(&self) -> u64 {
        self.application.submitted_ms
    }

    /// The use by its containers and reservations.
    #[must_use]
    pub fn used(&self) -> Resources {
        self.application.used
    }

    /// The number of its asks with outstanding units, without opportunistic ones.
    #[must_use]
    pub fn pending_asks(&self) -> u32 {
        self.application.asks
    }

    /// Its containers, in no particular order.
    pub fn containers(&self) -> impl Iterator<Item = ContainerOnNode> + use<'a> {
        let state = self.state;
        self.application.containers.iter(&state.facts.containers).map(move |id| {
            let container = state.facts.containers.at(id);
            ContainerOnNode {
                container: id,
                ask: container.ask,
                node: container.node,
                priority: container.priority,
                is_recovered: container.is_recovered,
                allocation_request_id: container.allocation_request_id,
                stopping: state.facts.stopping.get(&id).copied(),
                is_waiting: state.facts.is_waiting(id),
            }
        })
    }

    /// The amount that it may still get in the partition before a limit of its user or a queue blocks it. Rounded
    /// down to whole steps if containers come in steps. It says nothing about room on nodes.
    #[must_use]
    pub fn headroom(&self, partition: PartitionId) -> Resources {
        self.state.facts.tree.headroom(self.application, partition)
    }
}
