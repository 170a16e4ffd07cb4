//! Looking at applications.

use crate::facts::{Application, ApplicationEnd, ContainerOnNode};
use crate::ids::PartitionId;
use crate::resource::Resources;
use crate::state::State;

/// An application.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationView<'a> {
    pub(super) application: &'a Application,
    pub(super) state: &'a State,
}

impl<'a> ApplicationView<'a> {
    /// When it is ended if it is still there.
    #[must_use]
    pub fn expires_ms(&self) -> Option<u64> {
        self.application.expires_ms
    }

    /// Its priority; higher is served first within its leaf.
    #[must_use]
    pub fn priority(&self) -> u32 {
        self.application.priority
    }

    /// Whether its asks may be served, or wait until a limit on active applications gives way.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.application.is_active
    }

    /// How it was ended, if its last containers are being stopped; `None` if it goes on.
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

    /// When it was submitted.
    #[must_use]
    pub fn submitted_ms(&self) -> u64 {
        self.application.submitted_ms
    }

    /// Use by its containers and reservations.
    #[must_use]
    pub fn used(&self) -> Resources {
        self.application.used
    }

    /// How many asks it has outstanding.
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
                stopping: state.facts.stopping.get(&id).copied(),
            }
        })
    }

    /// What more it may have in the partition before a limit is in the way: its user's, or that of a queue on the path;
    /// in whole steps where containers come in steps (`capacity-scheduler.md` 2.8). Whether a node has room is another
    /// question.
    #[must_use]
    pub fn headroom(&self, partition: PartitionId) -> Resources {
        self.state.facts.headroom(self.application, partition)
    }
}
