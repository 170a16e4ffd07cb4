//! Explain: why an ask is pending, as a value that people and programs can read.
//!
//! Computed from the state when somebody asks, by the functions that passes and commits decide by. Nothing is kept for
//! it but counts of rejections and cancelled asks, and those are written only where one happens.
//!
//! These functions are `Facts::queue_admits`, `exhausted_limit_usage` and `user_may_grow` with the amounts used and in
//! flight, `Node::is_candidate`, `LocalityPreference::will_do`, `Facts::breach`, `LocalityWaits::allowed`, `fits` and
//! `Nodes::room_left`. Explain looks under one read guard, at the ask's partition only. Rejections and cancelled
//! asks are noted when they happen (`backlog/notes.rs`), for a thousand asks each. Wherever tests find an engine
//! quiet, every pending ask has a limit in its way or no node left.

mod headroom;
mod limits;
mod nodes;
mod reason;
mod setting;
mod shortage;
mod text;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

pub use limits::{ActivationLimit, Blocker, LimitHolder, LimitReached};
pub use nodes::{Funnel, Stage};
pub use reason::PendingReason;
pub(crate) use reason::pending_reason;
pub use shortage::{DeviceShortage, Shortage};

use crate::backlog::{Ending, LocalityWaits};
use crate::config::Setting;
use crate::facts::{Ask, AttributeRule, Locality};
use crate::ids::{ApplicationId, AskId, NodeId};
use crate::request::{CommitSeq, RejectReason};
use crate::resource::{DeviceNeed, ResourceTypes, Resources};
use crate::state::State;
use nodes::{Judge, survey};

/// The explanation of an ask at one moment. [`Display`](std::fmt::Display) writes it in sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Which ask.
    #[serde(serialize_with = "as_text")]
    pub ask: AskId,
    /// The last change applied by then.
    pub seq: CommitSeq,
    /// The engine's time then.
    pub now_ms: u64,
    /// How the ask stands.
    #[serde(flatten)]
    pub standing: Standing,
}

/// How an ask stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// Something of it is outstanding.
    Pending(Box<WhyPending>),
    /// All of its containers were placed.
    Placed,
    /// It is over, and some of its containers were never placed.
    Cancelled {
        /// How many were not.
        units: u32,
        /// How many were.
        placed: u32,
    },
    /// It is over: placed or cancelled, but too long ago to say which.
    Over,
    /// The engine has not seen it.
    Unknown,
}

/// Why an ask is pending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WhyPending {
    /// Whose it is.
    #[serde(serialize_with = "as_text")]
    pub application: ApplicationId,
    /// The application's name.
    pub application_name: String,
    /// The path of its leaf.
    pub queue: String,
    /// Who is charged.
    pub user: String,
    /// The partition it asks for; empty for the default one.
    pub partition: String,
    /// The size of one container.
    pub size: Amounts,
    /// Devices of one container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<DeviceNeed>,
    /// The conditions on the node's attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<AttributeRule>,
    /// Containers it asked for.
    pub asked: u32,
    /// Containers neither placed nor cancelled.
    pub outstanding: u32,
    /// Of these, how many are proposed and not decided.
    pub in_flight: u32,
    /// When it was submitted.
    pub since_ms: u64,
    /// The reason in one word.
    pub reason: PendingReason,
    /// What stands in the way before any node is looked at: the first on the way from the root queue to the ask.
    pub blocker: Option<Blocker>,
    /// The key of the configuration that decides the blocker's limit, where a key does.
    pub setting: Option<Setting>,
    /// Where the cluster's nodes drop out.
    pub funnel: Funnel,
    /// The shortage of the node that lacks least, if any node lacks room.
    pub shortage: Option<Shortage>,
    /// Nodes short of room or devices, or at a tag limit, on which containers are being stopped.
    pub stopping: usize,
    /// The first node with room for it that is kept for another ask.
    pub kept_node: Option<KeptNode>,
    /// Nodes that are kept for it, oldest reservation first.
    pub reservations: Vec<ReservedNode>,
    /// How it waits for the hosts or racks that it names, while it does.
    pub locality: Option<LocalityWait>,
    /// Rejected requests for it by reason, the latest first. `None` if nobody counted: a log holds only what was
    /// accepted, and the engine counts for a thousand asks at a time.
    pub rejections: Option<Vec<Rejection>>,
}

/// A node with room, kept for an ask that came before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptNode {
    /// Which node.
    #[serde(serialize_with = "as_text")]
    pub node: NodeId,
    /// Its host name.
    pub name: String,
    /// For whom.
    #[serde(serialize_with = "as_text")]
    pub kept_for: AskId,
}

/// A node that is kept for the ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReservedNode {
    /// Which node.
    #[serde(serialize_with = "as_text")]
    pub node: NodeId,
    /// Its host name.
    pub name: String,
    /// Since when.
    pub since_ms: u64,
    /// The amount that has to become free on it.
    pub missing: Amounts,
}

/// An ask that may look further later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LocalityWait {
    /// How far from its named hosts and racks it may be placed now.
    #[serde(serialize_with = "as_label")]
    pub allowed: Locality,
    /// When it may look further; `None` if that depends on the nodes offered.
    pub until_ms: Option<u64>,
    /// Distinct nodes with room that were offered to it so far, where these count.
    pub offered: usize,
}

/// Rejected requests for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rejection {
    /// Why.
    #[serde(serialize_with = "as_text")]
    pub reason: RejectReason,
    /// How many.
    pub count: u64,
    /// When the last one was.
    pub last_ms: u64,
}

/// Amounts by the names of their types, in the engine's order; types with nothing are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(Vec<(String, i64)>);

impl Amounts {
    pub(crate) fn new(types: &ResourceTypes, resources: &Resources) -> Self {
        let named = types.names().iter().cloned().zip(resources.amounts().iter().copied());
        Self(named.filter(|(_, amount)| *amount != 0).collect())
    }

    /// The amount of one type, 0 if it is not there.
    #[must_use]
    pub fn get(&self, name: &str) -> i64 {
        self.iter().find(|(known, _)| *known == name).map_or(0, |(_, amount)| amount)
    }

    /// Whether there is nothing of any type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and amounts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Explanation {
    /// Why it is pending, if it is.
    #[must_use]
    pub fn pending(&self) -> Option<&WhyPending> {
        if let Standing::Pending(why) = &self.standing { Some(why) } else { None }
    }
}

/// Explains an ask by the state. Looks at the nodes of its partition. Limits must be computed.
pub(crate) fn explain(state: &State, id: AskId) -> Explanation {
    let facts = &state.facts;
    let standing = match facts.asks.get(id) {
        Some(ask) => Standing::Pending(Box::new(explain_pending(state, id, ask))),
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
    let judge = Judge::new(state, id, ask);
    let survey = survey(&judge);
    let blocker = limits::first_blocker(state, id, ask);
    let partition = shape.partition.index().checked_sub(1).map(|place| &facts.config.partitions[place]);
    WhyPending {
        application: ask.application,
        application_name: application.name.to_string(),
        queue: facts.queue(application.leaf).path.to_string(),
        user: facts.user(application.user).name.to_string(),
        partition: partition.cloned().unwrap_or_default(),
        size: Amounts::new(&facts.config.resources, &shape.need.resources),
        devices: shape.need.devices,
        rule: shape.rule.as_ref().and_then(|rule| rule.attributes.as_deref().cloned()),
        asked: ask.asked,
        outstanding: ask.outstanding(),
        in_flight: state.in_flight.of_ask(id).load(),
        since_ms: ask.pending_since_ms,
        reason: pending_reason(state, id, ask),
        setting: blocker.as_ref().and_then(|blocker| setting::deciding_setting(state, ask, blocker)),
        blocker,
        funnel: survey.funnel,
        shortage: survey.shortage,
        stopping: survey.stopping,
        kept_node: survey.kept_node,
        reservations: reservations(state, ask),
        locality: locality_wait(state, id, ask),
        rejections: rejections(state, id),
    }
}

fn reservations(state: &State, ask: &Ask) -> Vec<ReservedNode> {
    let facts = &state.facts;
    let need = &facts.shapes.at(ask.shape).need.resources;
    let reserved = ask.reservations.iter().map(|reservation| {
        let reservation = facts.reservations.at(*reservation);
        let node = facts.nodes.at(reservation.node);
        ReservedNode {
            node: reservation.node,
            name: node.name.to_string(),
            since_ms: reservation.created_ms,
            missing: Amounts::new(&facts.config.resources, &shortage::missing(need, &node.room.free)),
        }
    });
    reserved.collect()
}

fn locality_wait(state: &State, id: AskId, ask: &Ask) -> Option<LocalityWait> {
    let waiting = &state.backlog.locality;
    let allowed = waiting.allowed(&state.facts, id, ask);
    if ask.preference.is_empty() || allowed == ask.preference.loosest() {
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

/// As the text that people give to commands.
fn as_text<S: Serializer>(value: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&value.to_string())
}

fn as_label<S: Serializer>(locality: &Locality, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match locality {
        Locality::NodeLocal => "node_local",
        Locality::RackLocal => "rack_local",
        Locality::OffSwitch => "off_switch",
    })
}

/// How many nodes are short of each type.
type ShortOf = BTreeMap<String, usize>;
