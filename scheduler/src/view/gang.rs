//! Views of gangs that wait.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{NodeView, View};
use crate::facts::{GangStyle, GangTopology, RoleKind};
use crate::ids::{ApplicationId, AskId, GangId};
use crate::label::{counted, seconds};
use crate::resource::Resources;

/// A gang that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangView {
    /// Its identifier.
    pub id: GangId,
    /// The application it belongs to.
    pub application: ApplicationId,
    /// Its roles.
    pub roles: Vec<GangRoleView>,
    /// When it was submitted.
    pub since_ms: u64,
    /// When its timeout passes; `None`: never.
    pub until_ms: Option<u64>,
    /// The effect of the timeout.
    pub style: GangStyle,
    /// Where its minimum may start.
    pub topology: GangTopology,
    /// Whether room [may be held](crate::gang::GangSpec::gathers) for it.
    pub gathers: bool,
    /// Whether room is held for it, or will be on the nodes that were chosen: it is the first gang in some partition.
    pub is_gathering: bool,
    /// When it gives the room back, if that does not grow and another gang or other nodes can be tried. `None`: it
    /// holds none, or there is no [limit](crate::config::EngineConfig::gather_limit_ms).
    #[serde(default)]
    pub turn_until_ms: Option<u64>,
    /// The number of times that it gave room back so. It waits behind the gangs that waited at the last time.
    #[serde(default)]
    pub turns: u32,
}

/// One role of a gang that has not started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangRoleView {
    /// Its name.
    pub name: String,
    /// Its ask.
    pub ask: AskId,
    /// The number of its members that must start together.
    pub minimum: u32,
    /// The number of these members whose whole room is held.
    pub held: u32,
    /// The number of other members for which a node is chosen that holds a part of their room, or none yet.
    pub held_in_part: u32,
}

impl GangView {
    /// The number of members of all roles that must start together.
    #[must_use]
    pub fn minimum(&self) -> u64 {
        self.roles.iter().map(|role| u64::from(role.minimum)).sum()
    }

    /// The number of these members whose whole room is held.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.roles.iter().map(|role| u64::from(role.held)).sum()
    }
}

/// `gang-3 of app-0: room held for 2 of 8 members, waits since 12.000 s`.
impl Display for GangView {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (id, application, since) = (self.id, self.application, seconds(self.since_ms));
        let members = counted(self.minimum(), "member");
        write!(f, "{id} of {application}: room held for {} of {members}, waits since {since}", self.held())
    }
}

impl<'a> View<'a> {
    /// The gangs that have not started, in the order in which they are tried.
    pub fn gangs(&self) -> impl Iterator<Item = GangView> + use<'a> {
        let view = *self;
        view.state.facts.gangs_in_order().into_iter().filter_map(move |id| view.gang(id))
    }

    /// A gang that has not started.
    #[must_use]
    pub fn gang(&self, id: GangId) -> Option<GangView> {
        let facts = &self.state.facts;
        let gang = facts.gangs.get(&id)?;
        let roles: Vec<_> = gang
            .roles
            .iter()
            .map(|role| {
                let count = facts.place_count(id, role.ask);
                GangRoleView {
                    name: role.name.to_string(),
                    ask: role.ask,
                    minimum: role.minimum,
                    held: count.whole,
                    held_in_part: count.parts,
                }
            })
            .collect();
        Some(GangView {
            id,
            application: gang.application,
            since_ms: roles.first().map_or(0, |role| facts.asks.at(role.ask).pending_since_ms),
            roles,
            until_ms: gang.until_ms,
            style: gang.style,
            topology: gang.topology,
            gathers: gang.gathers,
            is_gathering: facts.holds_room(id),
            turn_until_ms: facts.turn_until_ms(id),
            turns: gang.turns.ended,
        })
    }
}

/// A gang that waits or has running members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GangAsks {
    /// Its identifier.
    pub gang: GangId,
    /// The application it belongs to.
    pub application: ApplicationId,
    /// The asks of its members, in the order of the roles.
    pub asks: Vec<AskId>,
}

impl View<'_> {
    /// The gangs that wait or have running members: those that wait first, each part in the order of identifiers. Only
    /// for those that wait, [`gang`](Self::gang) has a view. The asks of a gang that has started may be over. A gang
    /// that has started is left out if all of its members were placeholders, and so are the asks of its placeholders.
    #[must_use]
    pub fn gang_asks(&self) -> Vec<GangAsks> {
        let facts = &self.state.facts;
        let waiting = facts.gangs.iter().map(|(id, gang)| {
            let asks = gang.roles.iter().filter(|role| role.kind != RoleKind::Real).map(|role| role.ask);
            GangAsks { gang: *id, application: gang.application, asks: asks.collect() }
        });
        let started = facts.disruption.started_gangs().filter_map(|(id, gang)| {
            let member = facts.containers.get(gang.members().next()?)?;
            let asks = gang.roles.iter().map(|role| role.ask).collect();
            Some(GangAsks { gang: id, application: member.application, asks })
        });
        waiting.chain(started).collect()
    }
}

impl NodeView<'_> {
    /// The amount that is held for members of a gang that has not started.
    #[must_use]
    pub fn held(&self) -> Resources {
        self.state.facts.held_on(self.node)
    }
}
