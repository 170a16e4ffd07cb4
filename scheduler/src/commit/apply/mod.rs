//! Apply: carries out a change. The change was admitted or accepted before, so this cannot fail.
//!
//! The same code runs live and in a replay, except for requests (`requests.rs`). Each function moves the facts through
//! the ledger, then wakes the lanes and asks that the change may help.

mod applications;
mod asks;
mod blacklist;
mod containers;
mod gangs;
mod held_room;
mod many;
mod moving;
mod nodes;
mod opportunistic;
mod placeholders;
mod placements;
mod preemption;
mod queues;
mod requests;
mod reservations;
mod shapes;

use std::sync::Arc;

pub(super) use shapes::shape_for;

use crate::change::Change;
use crate::event::{Event, EventKind, Refused};
use crate::facts::{Charged, QueueRole};
use crate::ids::{ApplicationId, AskId, LeafUserId, NodeId, QueueId, SetId};
use crate::request::{AllocationProposal, CommitSeq, ResourceAllocationCommitRequest};
use crate::state::State;

/// The effects of applied changes outside the state. The engine carries them out after it drops the guard.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) events: Vec<Event>,
    /// Refusals for the caller of the present message.
    pub(crate) refused: Vec<Refused>,
    /// Slots that may be reused.
    pub(crate) vacated_nodes: Vec<(NodeId, Arc<str>)>,
    pub(crate) vacated_applications: Vec<ApplicationId>,
    pub(crate) vacated_asks: Vec<AskId>,
    /// Queues that were added, changed or removed; after a reconfiguration all queues.
    pub(crate) queues: Vec<NamedQueue>,
}

/// The present meaning of a queue's path.
#[derive(Debug)]
pub(crate) struct NamedQueue {
    pub(crate) path: Arc<str>,
    /// The queue and its role; `None` if it is gone.
    pub(crate) queue: Option<(QueueId, QueueRole)>,
}

impl Effects {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.refused.clear();
        self.vacated_nodes.clear();
        self.vacated_applications.clear();
        self.vacated_asks.clear();
        self.queues.clear();
    }
}

/// Applies changes to a state, one after another.
pub(crate) struct Applier<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) effects: &'a mut Effects,
}

impl Applier<'_> {
    /// Carries out an accepted request and counts it as a change.
    pub(crate) fn apply_request(
        &mut self,
        request: &ResourceAllocationCommitRequest,
        debited_in: Option<SetId>,
    ) -> CommitSeq {
        self.state.facts.changes += 1;
        self.carry_out(request, debited_in);
        self.activate_if_due();
        self.seq()
    }

    /// Carries out an accepted request for the only container of a plain ask, and counts it as a change.
    #[inline]
    pub(crate) fn apply_plain(&mut self, proposal: &AllocationProposal, debited_in: Option<SetId>) {
        self.state.facts.changes += 1;
        self.place_plain(proposal, debited_in);
        self.activate_if_due();
    }

    /// Carries out an admitted change and counts it.
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
            Change::NodePartitionSet { node, partition } => self.set_node_partition(*node, *partition),
            Change::NodeStateSet { node, state } => self.set_node_state(*node, *state),
            Change::NodeSilenceSet { node, stale } => self.set_node_silence(*node, *stale),
            Change::NodeRemoved { node } => self.remove_node(*node),
            Change::Heartbeats { nodes } => self.record_heartbeats(nodes),
            Change::ApplicationSubmitted { application, spec } => self.submit_application(*application, spec),
            Change::ApplicationEnded { application, end } => self.end_application(*application, *end),
            Change::BlacklistUpdated { application, update } => self.update_blacklist(*application, update),
            Change::ApplicationMoved { application, queue } => self.move_application(*application, *queue),
            Change::ApplicationPrioritySet { application, priority } => {
                self.set_priority(*application, *priority);
            }
            Change::AskSubmitted { ask, application, spec } => {
                self.submit_ask(*ask, *application, spec, None, spec.count, spec.allocation_request_id);
            }
            Change::AskCancelled { ask, units } => self.cancel(*ask, *units),
            Change::ContainerRecovered { ask, node, container } => {
                self.recover_container(*ask, *node, container);
            }
            Change::ContainerResized { container, size } => self.resize_container(*container, *size),
            Change::ExecutionTypeSet { container, execution_type } => {
                self.set_execution_type(*container, *execution_type);
            }
            Change::OpportunitiesMissed { ask, count } => self.state.facts.miss_opportunities(*ask, *count),
            Change::ReservedAgain { ask, .. } => self.reserve_again(*ask),
            Change::ContainerStopping { container, cause } => self.stop_container(*container, *cause),
            Change::ContainerEnded { container, cause } => {
                let cause = self.confirmed_cause(*container, *cause);
                self.end_container(*container, cause);
            }
            Change::QueueUpdated { queue, update } => self.update_queue(*queue, update),
            Change::Reconfigured { configuration } => self.reconfigure(configuration),
            Change::QueueExpired { queue } => self.expire_queue(*queue),
            Change::ReservationExpired { reservation } => self.drop_reservation(*reservation),
            Change::Committed { request } => self.carry_out(request, None),
            Change::RackNamed { rack, name } => self.state.facts.name_rack(*rack, name),
            Change::PreemptionAnnounced { container, notice } => {
                self.announce_preemption(*container, *notice);
            }
            Change::PreemptionWithdrawn { container } => self.withdraw_preemption(*container),
            Change::GangSubmitted { asks, spec } => self.submit_gang(asks, spec),
            Change::GangEnded { gang, end } => self.end_gang(*gang, *end),
            Change::PreemptionCostSet { container, cost } => self.set_preemption_cost(*container, *cost),
            Change::PreemptionConfirmed { container } => self.confirm_preemption(*container),
            Change::DisruptionBudgetsSet { application, budgets } => {
                self.state.facts.disruption.transition_set_budgets(*application, budgets);
            }
            Change::TaskGroupAskSubmitted { ask, application, group, spec } => {
                self.submit_ask_of_group(*ask, *application, group, spec);
            }
            Change::PlaceholdersTimedOut { gang } => self.give_up_placeholders(*gang),
            Change::PromotionRequested { container } => self.request_promotion(*container),
            Change::RoomHeld { ask, node } => self.hold_room(*ask, *node),
            Change::RoomGivenBack { gang, partition } => self.give_room_back(*gang, *partition),
            Change::GangTurnEnded { gang } => self.end_turn(*gang),
        }
        self.activate_if_due();
        seq
    }

    /// Activates applications, and starts and ends opportunistic containers, where a change made that due.
    fn activate_if_due(&mut self) {
        if self.state.facts.tree.inactive.is_due() {
            self.activate_applications(None);
        }
        while self.state.facts.node_loads.is_due() {
            self.look_at_nodes();
            if !self.state.facts.tree.inactive.is_due() {
                return;
            }
            self.activate_applications(None);
        }
    }

    /// Returns the user of the leaf, and updates its groups.
    fn user_in(&mut self, leaf: QueueId, name: &str, groups: &[String]) -> LeafUserId {
        let facts = &mut self.state.facts;
        let user = facts.tree.intern_user(leaf, name, groups);
        if facts.user(user).groups != groups && facts.tree.transition_regroup(user, groups) {
            // Its amounts in flight count for the former limit usages, and other limits block its asks now.
            self.state.record_move();
            self.state.mark_limits_stale();
        }
        let State { facts, in_flight, .. } = &mut *self.state;
        in_flight.add_users(facts.tree.users.len(), facts.tree.limit_usages().len());
        user
    }

    fn seq(&self) -> CommitSeq {
        CommitSeq(self.state.facts.changes)
    }

    fn tell(&mut self, application: ApplicationId, kind: EventKind) {
        let seq = self.seq();
        self.effects.events.push(Event { seq, application, kind });
    }

    /// Wakes the lanes blocked by the limits that the ended use counted against.
    fn use_fell(&mut self, charged: &Charged) {
        let State { facts, backlog, version, .. } = &mut *self.state;
        backlog.use_fell(charged.leaf, charged.user, &facts.user(charged.user).limit_usages, *version);
        backlog.rekey(facts, charged.leaf, charged.application);
    }
}
