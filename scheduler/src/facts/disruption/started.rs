//! Gangs that have started: their running members. Fewer than the minimum make no sense.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Disruption, RoleOf};
use crate::facts::{FactsImage, RoleKind, WaitingGang};
use crate::ids::{AskId, ContainerId, GangId};

/// A gang that has started and has running members. Members come from its asks only: a container of a later ask is not
/// a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartedGang {
    pub(crate) roles: Vec<StartedRole>,
}

/// One role of a gang that has started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartedRole {
    pub(crate) ask: AskId,
    /// The number of members with which the gang started at least.
    pub(crate) minimum: u32,
    /// Its containers, in any state.
    pub(crate) members: BTreeSet<ContainerId>,
}

impl StartedGang {
    /// All of its containers.
    pub(crate) fn members(&self) -> impl Iterator<Item = ContainerId> {
        self.roles.iter().flat_map(|role| role.members.iter().copied())
    }

    pub(super) fn is_coherent(&self, image: &FactsImage) -> bool {
        self.members().next().is_some() && self.members().all(|id| image.has_container(id))
    }
}

impl Disruption {
    /// Computes the roles of members and asks.
    pub(in crate::facts) fn restore(&mut self) {
        let Self { started, members, asks, .. } = self;
        for (id, gang) in started {
            for (place, role) in gang.roles.iter().enumerate() {
                members.extend(role.members.iter().map(|member| (*member, (*id, place))));
                asks.insert(role.ask, (*id, place));
            }
        }
    }

    /// The role of a member.
    pub(super) fn role_of(&self, container: ContainerId) -> Option<RoleOf> {
        self.members.get(&container).copied()
    }

    /// Lists a container of a role's ask as a member.
    #[cold]
    pub(in crate::facts) fn add_member(&mut self, ask: AskId, container: ContainerId) {
        let Some((gang, place)) = self.asks.get(&ask).copied() else { return };
        if let Some(known) = self.started.get_mut(&gang) {
            known.roles[place].members.insert(container);
            self.members.insert(container, (gang, place));
        }
    }

    /// Takes out a member. Without members the gang is over, and later containers of its asks are ordinary ones.
    pub(super) fn remove_member(&mut self, container: ContainerId) {
        let Some((id, place)) = self.members.remove(&container) else { return };
        let Some(gang) = self.started.get_mut(&id) else { return };
        gang.roles[place].members.remove(&container);
        if gang.members().next().is_none() {
            for role in &gang.roles {
                self.asks.remove(&role.ask);
            }
            self.started.remove(&id);
        }
    }

    /// The gangs that have started, and all of their containers.
    pub(crate) fn started_gangs(&self) -> impl Iterator<Item = (GangId, &StartedGang)> {
        self.started.iter().map(|(id, gang)| (*id, gang))
    }

    pub(crate) fn started_gang(&self, id: GangId) -> Option<&StartedGang> {
        self.started.get(&id)
    }

    /// A gang starts: the containers of its asks are members from now on. Placeholders and real containers of task
    /// groups are not members.
    #[cold]
    pub(crate) fn transition_begin_gang(&mut self, id: GangId, waiting: &WaitingGang) {
        let role = |(ask, minimum)| StartedRole { ask, minimum, members: BTreeSet::new() };
        let of_members = waiting.roles.iter().filter(|held| held.kind == RoleKind::Members);
        let gang = StartedGang { roles: of_members.map(|held| role((held.ask, held.minimum))).collect() };
        // Nothing has to stay together, and maybe nothing starts.
        if gang.roles.iter().all(|role| role.minimum == 0) {
            return;
        }
        for (place, role) in gang.roles.iter().enumerate() {
            self.asks.insert(role.ask, (id, place));
        }
        self.started.insert(id, gang);
    }
}
