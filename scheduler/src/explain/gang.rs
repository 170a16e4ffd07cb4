//! Why a held ask waits for its gang.

use serde::{Deserialize, Serialize};

use super::limits::{Blocker, limit_of_gang};
use crate::facts::HeldRole;
use crate::ids::{AskId, GangId};
use crate::propose::find_nodes;
use crate::state::State;

/// A gang that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangWait {
    /// The gang.
    pub gang: GangId,
    /// The role of the ask.
    pub role: String,
    /// The members of all roles that must start together.
    pub members: u64,
    /// How many of them would find a node now; on one rack, on the best one.
    pub found: u64,
    /// Whether a limit of a queue or of the user does not admit them now. The size of the cluster is no such limit, nor
    /// is that of a queue that may use all of the cluster.
    pub is_limited: bool,
    /// That limit; the first on the path from the root.
    #[serde(default)]
    pub limit: Option<Box<Blocker>>,
    /// When its timeout passes.
    pub until_ms: Option<u64>,
    /// Whether room is held for it: it is the first gang that gathers in some partition.
    #[serde(default)]
    pub is_gathering: bool,
    /// For how many members all room is held.
    #[serde(default)]
    pub held: u64,
}

/// The gang that the ask waits for, with the result of a look at this moment.
pub(super) fn awaited_gang(state: &State, id: AskId) -> Option<Blocker> {
    let (gang, role) = state.facts.held_role(id)?;
    let waiting = state.facts.gangs.get(&gang)?;
    let found = find_nodes(state, waiting).map_or_else(|found| found, |_| waiting.minimum());
    let limit = limit_of_gang(state, gang, waiting).map(Box::new);
    let (role, members, until_ms) = (role.name.to_string(), waiting.minimum(), waiting.until_ms);
    let whole = |role: &HeldRole| u64::from(state.facts.place_count(gang, role.ask).whole);
    let (is_gathering, held) =
        (state.facts.places_of(gang).next().is_some(), waiting.roles.iter().map(whole).sum());
    let is_limited = limit.is_some();
    let wait = GangWait { gang, role, members, found, is_limited, limit, until_ms, is_gathering, held };
    Some(Blocker::Gang(wait))
}
