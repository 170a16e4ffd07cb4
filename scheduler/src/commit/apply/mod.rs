//! Apply: carries a change out. It was admitted or accepted before, so it cannot fail.
//!
//! The same code runs live and in a replay. Each function moves the facts through the ledger, then tells the
//! derived state whom that may help.

mod applications;
mod nodes;
mod placements;

use std::sync::Arc;

use crate::change::{AskSpec, Change};
use crate::commit::CommitSeq;
use crate::event::{Event, EventKind, Refusal};
use crate::facts::{Charged, Queue};
use crate::ids::{ApplicationId, AskId, NodeId};
use crate::resource::DEVICES_MAX;
use crate::state::State;

/// What has to be done outside the state because of the changes applied, after the guard is dropped.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) events: Vec<Event>,
    /// Slots that may be given out again.
    pub(crate) vacated_nodes: Vec<(NodeId, Arc<str>)>,
    pub(crate) vacated_applications: Vec<ApplicationId>,
    pub(crate) vacated_asks: Vec<AskId>,
}

impl Effects {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.vacated_nodes.clear();
        self.vacated_applications.clear();
        self.vacated_asks.clear();
    }
}

/// With at most this many nodes of at most [`AMOUNT_MAX`](crate::AMOUNT_MAX) no sum overflows.
const NODES_MAX: usize = 1 << 20;
/// What one leaf may have pending of one type; sums over thousands of leaves stay countable.
const PENDING_MAX: i64 = 1 << 50;
/// Racks are numbered where they are first named, so a few numbers may arrive ahead of their turn.
const RACKS_AHEAD_MAX: usize = 1 << 16;

/// Applies changes to a state, one after another.
pub(crate) struct Applier<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) effects: &'a mut Effects,
}

impl Applier<'_> {
    /// Whether the change makes sense in the present state. Commit requests are judged by
    /// [`accept`](super::accept) instead.
    pub(crate) fn admit(&self, change: &Change) -> Result<(), Refusal> {
        let facts = &self.state.facts;
        let ok = |condition: bool, refusal: Refusal| if condition { Ok(()) } else { Err(refusal) };
        match change {
            Change::Configured { .. } | Change::Committed { .. } | Change::Heartbeats { .. } => Ok(()),
            Change::TimeAdvanced { now_ms } => ok(*now_ms >= facts.now_ms, Refusal::TimeBackwards),
            Change::NodeAdded { node, rack, spec } => {
                let is_near = rack.index() < facts.racks.len() + RACKS_AHEAD_MAX;
                ok(is_near && spec.partition.index() < facts.partitions.len(), Refusal::OutOfRange)?;
                let is_counted = facts.config.resources.is_counted(&spec.capacity, spec.devices_milli());
                ok(is_counted && usize::from(spec.devices) <= DEVICES_MAX, Refusal::OutOfRange)?;
                ok(facts.nodes.len() < NODES_MAX, Refusal::OutOfRange)?;
                ok(facts.nodes.is_vacant(*node), Refusal::IdentifierTaken)
            }
            Change::NodeUpdated { node, capacity, .. } => {
                ok(facts.config.resources.check(capacity).is_ok(), Refusal::OutOfRange)?;
                ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode)
            }
            Change::NodeStateSet { node, .. }
            | Change::NodeSilenceSet { node, .. }
            | Change::NodeRemoved { node } => ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode),
            Change::ApplicationSubmitted { application, leaf, .. } => {
                ok(facts.queues.get(leaf.index()).is_some_and(Queue::is_leaf), Refusal::NotALeaf)?;
                ok(facts.applications.is_vacant(*application), Refusal::IdentifierTaken)
            }
            Change::ApplicationEnded { application, .. } => {
                ok(facts.applications.get(*application).is_some(), Refusal::ApplicationEnded)
            }
            Change::AskSubmitted { application, ask, spec } => {
                let is_valid = spec.count > 0
                    && self.pending_stays_countable(*application, spec)
                    && spec.partition.index() < facts.partitions.len()
                    && spec.devices.is_none_or(|need| need.is_valid())
                    && facts.config.resources.is_counted(&spec.size, spec.devices_milli());
                ok(is_valid, Refusal::OutOfRange)?;
                ok(facts.applications.get(*application).is_some(), Refusal::ApplicationEnded)?;
                ok(facts.asks.is_vacant(*ask), Refusal::IdentifierTaken)
            }
            Change::AskCancelled { ask, .. } => ok(facts.asks.get(*ask).is_some(), Refusal::UnknownAsk),
            Change::ContainerEnded { container, .. } => {
                ok(facts.containers.get(*container).is_some(), Refusal::UnknownContainer)
            }
            Change::QueueUpdated { queue, update } => {
                ok(self.state.check_queue_update(*queue, update).is_ok(), Refusal::InvalidLimits)
            }
            Change::ReservationExpired { reservation } => {
                ok(facts.reservations.get(*reservation).is_some(), Refusal::UnknownReservation)
            }
        }
    }

    /// Carries an admitted change out and counts it.
    pub(crate) fn apply(&mut self, change: &Change) -> CommitSeq {
        self.state.facts.changes += 1;
        let seq = self.seq();
        match change {
            Change::Configured { .. } => {
                debug_assert_eq!(seq.0, 1, "the state is made from its configuration");
            }
            Change::TimeAdvanced { now_ms } => self.state.facts.now_ms = *now_ms,
            Change::NodeAdded { node, rack, spec } => self.add_node(*node, *rack, spec),
            Change::NodeUpdated { node, capacity, attributes } => {
                self.update_node(*node, *capacity, attributes);
            }
            Change::NodeStateSet { node, state } => self.set_node_state(*node, *state),
            Change::NodeSilenceSet { node, stale } => self.set_node_silence(*node, *stale),
            Change::NodeRemoved { node } => self.remove_node(*node),
            Change::Heartbeats { nodes } => self.hear_from(nodes),
            Change::ApplicationSubmitted { application, leaf, spec } => {
                self.submit_application(*application, *leaf, spec);
            }
            Change::ApplicationEnded { application, end } => self.end_application(*application, *end),
            Change::AskSubmitted { ask, application, spec } => self.submit_ask(*ask, *application, spec),
            Change::AskCancelled { ask, units } => self.cancel(*ask, *units),
            Change::ContainerEnded { container, cause } => self.end_container(*container, *cause),
            Change::QueueUpdated { queue, update } => self.update_queue(*queue, update),
            Change::ReservationExpired { reservation } => self.drop_claim(*reservation),
            Change::Committed { request } => self.carry_out(request),
        }
        seq
    }

    /// Whether what the leaf has pending can still be added up with this ask.
    fn pending_stays_countable(&self, application: ApplicationId, spec: &AskSpec) -> bool {
        let facts = &self.state.facts;
        let (Some(application), true) =
            (facts.applications.get(application), spec.partition.index() < facts.partitions.len())
        else {
            return true;
        };
        let pending = facts.queue(application.leaf).quota(spec.partition).pending;
        pending.amounts().iter().zip(spec.size.amounts()).all(|(pending, size)| {
            i128::from(*size) * i128::from(spec.count) + i128::from(*pending) <= i128::from(PENDING_MAX)
        })
    }

    fn seq(&self) -> CommitSeq {
        CommitSeq(self.state.facts.changes)
    }

    fn tell(&mut self, application: ApplicationId, kind: EventKind) {
        let seq = self.seq();
        self.effects.events.push(Event { seq, application, kind });
    }

    /// Use went down: whoever was blocked by the limits it counted against may go on.
    fn relieve(&mut self, charged: &Charged) {
        let State { facts, backlog, version, .. } = &mut *self.state;
        backlog.relieve(charged.leaf, charged.user, *version);
        backlog.rekey(facts, charged.application);
    }
}
