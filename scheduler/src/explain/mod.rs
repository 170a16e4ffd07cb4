//! Explanations: why an ask is pending, as a value for people and programs.
//!
//! An explanation is computed on demand from the state, by the functions that passes and commits decide with. The
//! engine stores only counts of rejections and cancelled asks for it, and writes those only when one happens.
//!
//! These functions are `QueueTree::queue_admits`, `exhausted_limit_usage` and `user_may_grow` with the amounts used and
//! in flight, `Node::is_candidate`, `LocalityPreference::will_do`, `Facts::breach`, `LocalityWaits::allowed`,
//! `fits` and `Nodes::room_left`. An explanation takes one read guard. It looks at the nodes that the ask may use.
//! Rejections and cancelled asks are recorded in `backlog/notes.rs`, for a thousand asks each. Whenever tests find
//! an engine quiet, each pending ask has a limit in its way or no node left.
//!
//! Of several limits in the way an explanation names the highest queue first, as people read a path. A pass looks from
//! the leaf up, and parks the lane at the lowest.

mod gang;
mod headroom;
mod limits;
mod nodes;
mod opportunistic;
mod preemption;
mod reason;
mod setting;
mod shortage;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use gang::GangWait;
pub use limits::{ActivationLimit, Blocker, LimitHolder, LimitReached};
pub use nodes::{Funnel, Stage};
pub use opportunistic::WhyOpportunistic;
pub(crate) use opportunistic::why_opportunistic;
pub use preemption::{PreemptionOutlook, UnhelpedReason};
pub use reason::PendingReason;
pub(crate) use reason::pending_reason;
pub use shortage::{DeviceShortage, Shortage};

use crate::backlog::{Ending, LocalityWaits};
use crate::config::Setting;
use crate::facts::{Ask, AttributeRule, Locality};
use crate::ids::{ApplicationId, AskId, NodeId};
use crate::request::{CommitSeq, RejectReason};
use crate::resource::{Amounts, DeviceNeed, missing};
use crate::state::State;
pub(crate) use nodes::NodeFilter;
use nodes::survey;

/// The explanation of an ask at one moment. [`Display`](std::fmt::Display) writes it as sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The ask.
    pub ask: AskId,
    /// The last change applied at that moment.
    pub seq: CommitSeq,
    /// The engine's time at that moment.
    pub now_ms: u64,
    /// The standing of the ask.
    #[serde(flatten)]
    pub standing: Standing,
}

/// The standing of an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// The ask has outstanding containers.
    Pending(Box<WhyPending>),
    /// The ask is opportunistic, and some of its containers wait in no queue of a node.
    Opportunistic(Box<WhyOpportunistic>),
    /// All of its containers were placed.
    Placed,
    /// The ask is over, and some of its containers were never placed.
    Cancelled {
        /// Containers that were not placed.
        units: u32,
        /// Containers that were placed.
        placed: u32,
    },
    /// The ask was placed or cancelled too long ago to say which.
    Over,
    /// The engine has not seen the ask.
    Unknown,
}

/// Why an ask is pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyPending {
    /// The application that asks.
    pub application: ApplicationId,
    /// The application's name.
    pub application_name: String,
    /// The path of its leaf.
    pub queue: String,
    /// The user that is charged.
    pub user: String,
    /// The partition of the ask; empty for the default one.
    pub partition: String,
    /// The size of one container.
    pub size: Amounts,
    /// The devices of one container, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceNeed>,
    /// The conditions on the node's attributes, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<AttributeRule>,
    /// Containers that the ask wanted in total.
    pub asked: u32,
    /// Containers neither placed nor cancelled.
    pub outstanding: u32,
    /// Outstanding containers that are proposed and not decided.
    pub in_flight: u32,
    /// The time of submission.
    pub since_ms: u64,
    /// The reason as one word.
    pub reason: PendingReason,
    /// The first obstacle that is not a node, on the way from the root queue to the ask.
    pub blocker: Option<Blocker>,
    /// The configuration key that sets the blocker's limit, if a key does.
    pub setting: Option<Setting>,
    /// The stages at which the cluster's nodes drop out.
    pub funnel: Funnel,
    /// The shortage of the node that lacks least, if any node lacks room.
    pub shortage: Option<Shortage>,
    /// Nodes short of room or devices, or at a tag limit, on which containers are being stopped.
    pub stopping: usize,
    /// The first node with room that is reserved for another ask.
    pub node_of_other_ask: Option<NodeOfOtherAsk>,
    /// Nodes reserved for the ask, oldest reservation first.
    pub reservations: Vec<ReservedNode>,
    /// The locality delay of the ask, while it lasts.
    pub locality: Option<LocalityWait>,
    /// What rounds of preemption do for it, if the engine makes rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<PreemptionOutlook>,
    /// Rejected requests of the ask by reason, latest first. `None` if they were not counted: a log holds only
    /// accepted requests, and the engine counts for a thousand asks at a time.
    pub rejections: Option<Vec<Rejection>>,
}

/// A node with room that is reserved for an earlier ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeOfOtherAsk {
    /// The node's identifier.
    pub node: NodeId,
    /// Its host name.
    pub name: String,
    /// The ask that holds the reservation.
    pub reserved_for: AskId,
}

/// A node reserved for the ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservedNode {
    /// The node's identifier.
    pub node: NodeId,
    /// Its host name.
    pub name: String,
    /// The time at which the reservation was made.
    pub since_ms: u64,
    /// The amount that must become free on the node.
    pub missing: Amounts,
}

/// The locality delay of an ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalityWait {
    /// How far from its named hosts and racks the ask may be placed now.
    pub allowed: Locality,
    /// When the ask accepts nodes further away; `None` if that depends on the nodes offered.
    pub until_ms: Option<u64>,
    /// Distinct nodes with room offered so far, if the delay counts nodes.
    pub offered: usize,
}

/// Rejected requests for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The reason.
    pub reason: RejectReason,
    /// The number of rejections.
    pub count: u64,
    /// The time of the last rejection.
    pub last_ms: u64,
}

impl Explanation {
    /// The pending ask's reasons; `None` for any other standing.
    #[must_use]
    pub fn pending(&self) -> Option<&WhyPending> {
        if let Standing::Pending(why) = &self.standing { Some(why) } else { None }
    }
}

/// Explains an ask from the state. Looks at the nodes that it may use. The caller must have recomputed the limits.
pub(crate) fn explain(state: &State, id: AskId) -> Explanation {
    let facts = &state.facts;
    let standing = match facts.asks.get(id) {
        Some(ask) => Standing::Pending(Box::new(explain_pending(state, id, ask))),
        None if let Some(ask) = facts.node_queues.asks.get(&id) => {
            Standing::Opportunistic(Box::new(why_opportunistic(state, ask)))
        }
        None if !facts.asks.was_removed(id) => Standing::Unknown,
        None => match state.backlog.notes.ending(id) {
            Ending::Placed => Standing::Placed,
            Ending::Cancelled { units, placed } => Standing::Cancelled { units, placed },
            Ending::Forgotten => Standing::Over,
        },
    };
    Explanation { ask: id, seq: CommitSeq(facts.changes), now_ms: facts.now_ms, standing }
}

fn explain_pending(state: &State, id: AskId, ask: &Ask) -> WhyPending {
    let facts = &state.facts;
    let (shape, application) = (facts.shapes.at(ask.shape), facts.applications.at(ask.application));
    let filter = NodeFilter::new(state, id, ask);
    let survey = survey(&filter);
    let blocker = limits::first_blocker(&filter, id);
    let partition = shape.partition.index().checked_sub(1).map(|place| &facts.config.partitions[place]);
    WhyPending {
        application: ask.application,
        application_name: application.name.to_string(),
        queue: facts.queue(application.leaf).path.to_string(),
        user: facts.user(application.user).name.to_string(),
        partition: partition.cloned().unwrap_or_default(),
        size: facts.config.resources.amounts(&shape.need.resources),
        devices: shape.need.devices,
        rule: shape.rule.as_ref().and_then(|rule| rule.attributes.as_deref().cloned()),
        asked: ask.asked.get(),
        outstanding: ask.outstanding(),
        in_flight: state.in_flight.of_ask(id).load(),
        since_ms: ask.pending_since_ms,
        reason: pending_reason(state, id, ask),
        setting: blocker.as_ref().and_then(|blocker| setting::deciding_setting(state, ask, blocker)),
        blocker,
        funnel: survey.funnel,
        shortage: survey.shortage,
        stopping: survey.stopping,
        node_of_other_ask: survey.node_of_other_ask,
        reservations: reservations(state, ask),
        locality: locality_wait(state, id, ask),
        preemption: preemption::outlook(facts, id),
        rejections: rejections(state, id),
    }
}

fn reservations(state: &State, ask: &Ask) -> Vec<ReservedNode> {
    let facts = &state.facts;
    let need = &facts.shapes.at(ask.shape).need.resources;
    let reserved = ask.reservations().iter().map(|reservation| {
        let reservation = facts.reservations.at(*reservation);
        let node = facts.nodes.at(reservation.node);
        ReservedNode {
            node: reservation.node,
            name: node.name.to_string(),
            since_ms: reservation.created_ms,
            missing: facts.config.resources.amounts(&missing(need, &node.room.free)),
        }
    });
    reserved.collect()
}

fn locality_wait(state: &State, id: AskId, ask: &Ask) -> Option<LocalityWait> {
    let waiting = &state.backlog.locality;
    let allowed = waiting.allowed(&state.facts, id, ask);
    if ask.preference().is_empty() || allowed == ask.preference().loosest() {
        return None;
    }
    let until_ms = LocalityWaits::looks_further_ms(&state.facts, ask);
    Some(LocalityWait { allowed, until_ms, offered: waiting.offered_count(&state.facts, id, ask) })
}

fn rejections(state: &State, id: AskId) -> Option<Vec<Rejection>> {
    let notes = state.backlog.notes.rejections(id)?;
    let mut rejections: Vec<_> = notes
        .iter()
        .map(|note| Rejection { reason: note.reason, count: note.count, last_ms: note.last_ms })
        .collect();
    rejections.sort_by_key(|rejection| std::cmp::Reverse(rejection.last_ms));
    Some(rejections)
}

/// The number of nodes short of each type.
type ShortOf = BTreeMap<String, usize>;
