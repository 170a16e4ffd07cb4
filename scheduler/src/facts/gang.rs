//! Gangs that wait, and the asks that they hold.
//!
//! While a gang waits, its asks are *held*: they are pending, but no pass sees them. [`held_room`](super::held_room)
//! has the room that is kept for them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{Facts, Turns};
use crate::ids::{ApplicationId, AskId, GangId};

/// What becomes of a gang whose timeout passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GangStyle {
    /// The gang fails: all of its asks are cancelled.
    #[default]
    Hard,
    /// Its asks become ordinary asks, which get their containers one by one. Asks for placeholders are cancelled.
    Soft,
}

/// Where the members of a gang may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GangTopology {
    /// On any nodes.
    #[default]
    Anywhere,
    /// The members that start together are on the nodes of one rack. Later members may be anywhere.
    SameRack,
    /// On the nodes of one rack if a rack has room for all members that start together. Otherwise on few racks: first
    /// the rack that takes most members, then the rack that takes most of the rest. The gang never waits for a better
    /// place.
    NearestRacks,
}

/// How a gang ended that did not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GangEnd {
    /// Its timeout passed. [`GangStyle`] says what became of its asks.
    TimedOut,
    /// Its application cancelled it, or so many of its units that a minimum cannot be reached any more. All of its asks
    /// are cancelled.
    Cancelled,
    /// Its application ended.
    ApplicationEnded,
}

/// A gang that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingGang {
    pub(crate) application: ApplicationId,
    /// The number of its first ask: the order of submission.
    pub(crate) number: u64,
    pub(crate) roles: Vec<HeldRole>,
    pub(crate) style: GangStyle,
    pub(crate) topology: GangTopology,
    /// When its timeout passes.
    pub(crate) until_ms: Option<u64>,
    /// Whether it may hold room while it waits.
    pub(crate) gathers: bool,
    pub(crate) turns: Turns,
}

/// One role of a gang that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeldRole {
    pub(crate) name: Box<str>,
    pub(crate) ask: AskId,
    /// The number of members that start together.
    pub(crate) minimum: u32,
    pub(crate) kind: RoleKind,
}

/// What the containers of a held role are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RoleKind {
    Members,
    Placeholders,
    /// Real containers that take the places of the task group with the role's name. The ask was submitted before the
    /// start, and none of its units has to start with the gang.
    Real,
}

impl WaitingGang {
    /// The number of members that start together, over all roles.
    pub(crate) fn minimum(&self) -> u64 {
        self.roles.iter().map(|role| u64::from(role.minimum)).sum()
    }
}

/// The gangs that wait.
pub(crate) type WaitingGangs = BTreeMap<GangId, WaitingGang>;

/// The gang of each held ask.
pub(crate) type HeldAsks = FxHashMap<AskId, GangId>;

impl Facts {
    /// The gang that holds the ask, if one does.
    #[inline]
    pub(crate) fn gang_of(&self, ask: AskId) -> Option<GangId> {
        if self.held_asks.is_empty() { None } else { self.held_asks.get(&ask).copied() }
    }

    /// The ask by which plans of preemption and their announcements name the ask: for a gang, that of its first role.
    pub(crate) fn beneficiary(&self, ask: AskId) -> AskId {
        let gang = self.gang_of(ask).and_then(|gang| self.gangs.get(&gang));
        gang.and_then(|gang| gang.roles.first()).map_or(ask, |role| role.ask)
    }

    /// The role of a gang that holds the ask.
    pub(crate) fn held_role(&self, ask: AskId) -> Option<(GangId, &HeldRole)> {
        let gang = self.gang_of(ask)?;
        let role = self.gangs.get(&gang)?.roles.iter().find(|role| role.ask == ask)?;
        Some((gang, role))
    }

    /// The waiting gangs in the order in which they are tried.
    pub(crate) fn gangs_in_order(&self) -> Vec<GangId> {
        let mut gangs: Vec<_> = self.gangs.iter().map(|(id, gang)| (self.gang_key(gang), *id)).collect();
        gangs.sort_unstable();
        gangs.into_iter().map(|(_, id)| id).collect()
    }

    /// The waiting gangs of an application.
    pub(crate) fn gangs_of(&self, application: ApplicationId) -> Vec<GangId> {
        let its = self.gangs.iter().filter(|(_, gang)| gang.application == application);
        its.map(|(id, _)| *id).collect()
    }

    /// A gang begins to wait and holds its asks, which are submitted next.
    pub(crate) fn transition_hold(&mut self, id: GangId, gang: WaitingGang) {
        self.held_asks.extend(gang.roles.iter().map(|role| (role.ask, id)));
        self.gangs.insert(id, gang);
    }

    /// A waiting gang holds an ask more, which is submitted next.
    pub(crate) fn transition_hold_more(&mut self, id: GangId, role: HeldRole) {
        if let Some(gang) = self.gangs.get_mut(&id) {
            self.held_asks.insert(role.ask, id);
            gang.roles.push(role);
        }
    }

    /// A gang waits no longer. Its asks are not held any more.
    pub(crate) fn transition_free(&mut self, id: GangId) -> Option<WaitingGang> {
        let gang = self.gangs.remove(&id)?;
        for role in &gang.roles {
            self.held_asks.remove(&role.ask);
        }
        Some(gang)
    }

    /// A waiting gang loses the role whose ask is gone: cancelled, or satisfied by the gang's start.
    #[cold]
    pub(crate) fn transition_drop_role(&mut self, ask: AskId) {
        if let Some(id) = self.held_asks.remove(&ask)
            && let Some(gang) = self.gangs.get_mut(&id)
        {
            gang.roles.retain(|role| role.ask != ask);
        }
    }
}

/// The held asks that follow from the waiting gangs.
pub(super) fn held_asks(gangs: &WaitingGangs) -> HeldAsks {
    gangs.iter().flat_map(|(id, gang)| gang.roles.iter().map(|role| (role.ask, *id))).collect()
}
