//! Why a held ask waits for its gang.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::limits::{Blocker, limit_of_gang};
use crate::facts::HeldRole;
use crate::ids::{AskId, GangId};
use crate::label::{counted, seconds};
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
    /// The number of members for which all room is held.
    #[serde(default)]
    pub held: u64,
    /// When it gives the room back, if the room does not grow and another gang or other nodes can be tried.
    #[serde(default)]
    pub turn_until_ms: Option<u64>,
    /// How often it gave room back because the room did not grow.
    #[serde(default)]
    pub turns: u32,
    /// A gang that holds room in a partition in which this one needs it, too.
    #[serde(default)]
    pub behind: Option<GangId>,
}

impl Display for GangWait {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { gang, role, members, found, held, .. } = self;
        let together = counted(*members, "member");
        write!(f, "It is role {role} of {gang}, which starts with {together} at once; ")?;
        write!(f, "{found} of {members} would find a node now.")?;
        if let Some(limit) = &self.limit {
            write!(f, " {limit}")?;
        }
        if self.is_gathering {
            write!(f, " The gang gathers: room is held for {held} of {members} members.")?;
        }
        if let Some(until_ms) = self.turn_until_ms {
            let until = seconds(until_ms);
            write!(f, " Unless that grows before {until}, another gang or other nodes may be tried.")?;
        }
        if let Some(behind) = self.behind {
            write!(f, " Room is held for {behind}.")?;
        }
        match self.turns {
            0 => Ok(()),
            1 => f.write_str(" It gave room back once, because the room did not grow."),
            turns => write!(f, " It gave room back {turns} times, because the room did not grow."),
        }
    }
}

/// The gang that the ask waits for, with the result of a look at this moment.
pub(super) fn awaited_gang(state: &State, id: AskId) -> Option<Blocker> {
    let (gang, role) = state.facts.held_role(id)?;
    let waiting = state.facts.gangs.get(&gang)?;
    let found = find_nodes(state, waiting).map_or_else(|found| found, |_| waiting.minimum());
    let limit = limit_of_gang(state, gang, waiting).map(Box::new);
    let (role, members, until_ms) = (role.name.to_string(), waiting.minimum(), waiting.until_ms);
    let whole = |role: &HeldRole| u64::from(state.facts.place_count(gang, role.ask).whole);
    let (is_gathering, held) = (state.facts.holds_room(gang), waiting.roles.iter().map(whole).sum());
    let (turn_until_ms, turns) = (state.facts.turn_until_ms(gang), waiting.turns.ended);
    let wanted = state.facts.partitions_wanted(waiting);
    let held_rooms = wanted.iter().filter_map(|partition| state.facts.held_rooms.get(partition));
    let behind = held_rooms.map(|held| held.gang).find(|other| *other != gang);
    let is_limited = limit.is_some();
    let wait = GangWait {
        gang,
        role,
        members,
        found,
        is_limited,
        limit,
        until_ms,
        is_gathering,
        held,
        turn_until_ms,
        turns,
        behind: behind.filter(|_| waiting.gathers),
    };
    Some(Blocker::Gang(wait))
}
