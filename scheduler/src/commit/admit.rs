//! Admit: decides whether a change from a caller or a log is valid in the present state.

use super::admit_ask::{admit_described_ask, check_partition, ok, unended};
use super::configure::check_configuration;
use super::destination::destination;
use super::gangs::admit_change_of_gang;
use super::moving::may_move;
use super::resizing::{may_promote, may_resize, resized};
use crate::change::{Change, NodeSpec, RunningContainer};
use crate::config::QueueState;
use crate::event::Refusal;
use crate::facts::{Destination, DisruptionBudget, ExecutionType, Facts, Master};
use crate::ids::{ApplicationId, ContainerId, NodeId, QueueId, RackId};
use crate::resource::{DEVICES_MAX, Resources};
use crate::state::State;

/// With at most this many nodes of at most [`AMOUNT_MAX`](crate::resource::AMOUNT_MAX), no sum overflows.
const NODES_MAX: usize = 1 << 20;
/// A rack gets its number where it is first named, so a few numbers may arrive out of order.
const RACKS_AHEAD_MAX: usize = 1 << 20;

/// Whether the change is valid in the present state. Commit requests are validated by [`accept`](super::accept::accept)
/// instead. A taken identifier is reported before any other mistake: a change that is refused for another reason gives
/// its identifier back.
pub(crate) fn admit(state: &State, change: &Change) -> Result<(), Refusal> {
    let facts = &state.facts;
    match change {
        Change::Configured { .. } | Change::Committed { .. } | Change::Heartbeats { .. } => Ok(()),
        Change::TimeAdvanced { now_ms } => ok(*now_ms >= facts.now_ms, Refusal::TimeBackwards),
        Change::NodeAdded { node, rack, spec } => admit_node(facts, *node, *rack, spec),
        Change::NodeUpdated { node, capacity, .. } => {
            ok(facts.config.resources.check(capacity).is_ok(), Refusal::OutOfRange)?;
            ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode)
        }
        Change::NodePartitionSet { node, partition } => {
            check_partition(facts, *partition)?;
            ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode)
        }
        Change::NodeStateSet { node, .. }
        | Change::NodeSilenceSet { node, .. }
        | Change::NodeRemoved { node } => ok(facts.nodes.get(*node).is_some(), Refusal::UnknownNode),
        Change::ApplicationSubmitted { application, spec } => {
            ok(facts.applications.is_vacant(*application), Refusal::IdentifierTaken)?;
            spec.master.map_or(Ok(()), |master| check_master(facts, &master))?;
            let to = destination(facts, spec)?;
            ok(facts.tree.may_submit(to.lowest(), &spec.user, &spec.groups), Refusal::NotPermitted)?;
            takes_application(facts, &to, &spec.user, None)
        }
        Change::ApplicationMoved { application, queue } => {
            unended(facts, *application)?;
            may_move(state, *application, *queue)
        }
        Change::ApplicationEnded { application, .. }
        | Change::ApplicationPrioritySet { application, .. }
        | Change::BlacklistUpdated { application, .. } => unended(facts, *application).map(|_| ()),
        Change::DisruptionBudgetsSet { application, budgets } => admit_budgets(facts, *application, budgets),
        Change::AskSubmitted { application, ask, spec } => {
            admit_described_ask(facts, *ask, *application, spec)
        }
        Change::AskCancelled { ask, .. } | Change::OpportunitiesMissed { ask, .. } => {
            let is_opportunistic =
                || matches!(change, Change::AskCancelled { .. }) && facts.node_queues.asks.contains_key(ask);
            ok(facts.asks.get(*ask).is_some() || is_opportunistic(), Refusal::UnknownAsk)
        }
        Change::ReservedAgain { ask, node } => {
            ok(state.is_reserved_in_vain(*ask, *node), Refusal::UnknownReservation)
        }
        Change::ContainerRecovered { .. }
        | Change::ContainerResized { .. }
        | Change::ExecutionTypeSet { .. }
        | Change::ContainerStopping { .. }
        | Change::ContainerEnded { .. }
        | Change::PreemptionAnnounced { .. }
        | Change::PreemptionWithdrawn { .. }
        | Change::PreemptionCostSet { .. }
        | Change::PreemptionConfirmed { .. }
        | Change::PromotionRequested { .. } => admit_container(facts, change),
        Change::QueueUpdated { .. } | Change::Reconfigured { .. } => {
            check_configuration(facts, change).map_err(|_| Refusal::InvalidConfiguration)
        }
        Change::QueueExpired { queue } => ok(may_expire(facts, *queue), Refusal::QueueInUse),
        Change::ReservationExpired { reservation } => {
            ok(facts.reservations.get(*reservation).is_some(), Refusal::UnknownReservation)
        }
        Change::RackNamed { rack, .. } => ok(is_near(facts, *rack), Refusal::UnknownRack),
        Change::GangSubmitted { .. }
        | Change::GangEnded { .. }
        | Change::TaskGroupAskSubmitted { .. }
        | Change::PlaceholdersTimedOut { .. }
        | Change::RoomHeld { .. }
        | Change::RoomGivenBack { .. }
        | Change::GangTurnEnded { .. } => admit_change_of_gang(state, change),
    }
}

fn admit_node(facts: &Facts, node: NodeId, rack: RackId, spec: &NodeSpec) -> Result<(), Refusal> {
    ok(facts.nodes.is_vacant(node), Refusal::IdentifierTaken)?;
    ok(is_near(facts, rack), Refusal::UnknownRack)?;
    check_partition(facts, spec.partition)?;
    let is_counted = facts.config.resources.is_counted(&spec.capacity, spec.devices_milli());
    ok(is_counted && usize::from(spec.devices) <= DEVICES_MAX, Refusal::OutOfRange)?;
    ok(facts.nodes.len() < NODES_MAX, Refusal::TooManyNodes)
}

fn admit_budgets(
    facts: &Facts,
    application: ApplicationId,
    budgets: &[DisruptionBudget],
) -> Result<(), Refusal> {
    DisruptionBudget::check_all(budgets).map_err(|_| Refusal::OutOfRange)?;
    unended(facts, application).map(|_| ())
}

/// Whether the queue was unused for long enough to be removed.
fn may_expire(facts: &Facts, queue: QueueId) -> bool {
    let is_known = facts.tree.queues.get(queue.index()).is_some();
    is_known && facts.tree.expires_ms(queue).is_some_and(|at_ms| at_ms <= facts.now_ms)
}

/// Whether a handle may have given this number to a rack.
fn is_near(facts: &Facts, rack: RackId) -> bool {
    rack.index() < facts.racks.len() + RACKS_AHEAD_MAX
}

/// Whether the leaf and the queues above take one more application of this user. A leaf that is still to be created has
/// no applications, and its template gives the limit. An application from another leaf already counts in the common
/// ancestors.
pub(super) fn takes_application(
    facts: &Facts,
    to: &Destination,
    user: &str,
    from: Option<QueueId>,
) -> Result<(), Refusal> {
    let (lowest, is_new) = (to.lowest(), matches!(to, Destination::New { .. }));
    let has_it = |queue: &QueueId| from.is_some_and(|from| facts.queue(from).chain.contains(queue));
    let is_full = |limit: Option<u32>, count: u32| limit.is_some_and(|limit| count >= limit);
    for id in &facts.queue(lowest).chain {
        let queue = facts.queue(*id);
        if queue.config.state == QueueState::Stopped {
            return Err(Refusal::QueueStopped);
        }
        if !has_it(id) && is_full(queue.config.applications.total, queue.applications) {
            return Err(Refusal::TooManyApplications);
        }
    }
    if is_new {
        return Ok(());
    }
    let queue = facts.queue(lowest);
    let of_user = queue.users.get(user).map_or(0, |user| facts.user(*user).applications);
    if is_full(queue.config.applications.per_user, of_user) {
        return Err(Refusal::TooManyApplications);
    }
    Ok(())
}

/// Whether a change of a container is valid.
fn admit_container(facts: &Facts, change: &Change) -> Result<(), Refusal> {
    match change {
        Change::ContainerRecovered { ask, .. } if !facts.is_ask_vacant(*ask) => Err(Refusal::IdentifierTaken),
        Change::ContainerRecovered { node, container, .. } => may_recover(facts, *node, container),
        Change::ContainerResized { container, .. }
        | Change::ExecutionTypeSet { container, .. }
        | Change::ContainerStopping { container, .. }
        | Change::ContainerEnded { container, .. }
        | Change::PreemptionAnnounced { container, .. }
        | Change::PreemptionCostSet { container, .. }
        | Change::PreemptionConfirmed { container }
        | Change::PromotionRequested { container }
            if facts.containers.get(*container).is_none() =>
        {
            Err(Refusal::UnknownContainer)
        }
        Change::PreemptionWithdrawn { container } if !facts.notices.contains_key(container) => {
            Err(Refusal::UnknownContainer)
        }
        Change::PreemptionConfirmed { container } if !facts.notices.contains_key(container) => {
            Err(Refusal::NotAnnounced)
        }
        Change::ContainerResized { container, .. }
        | Change::ExecutionTypeSet { container, .. }
        | Change::ContainerStopping { container, .. }
        | Change::PreemptionAnnounced { container, .. }
        | Change::PreemptionCostSet { container, .. }
        | Change::PreemptionConfirmed { container }
        | Change::PromotionRequested { container }
            if facts.stopping.contains_key(container) =>
        {
            Err(Refusal::ContainerStopping)
        }
        Change::ContainerResized { container, .. } if facts.opportunistic.contains_key(container) => {
            Err(Refusal::Opportunistic)
        }
        Change::ContainerResized { size, .. } if facts.config.resources.check(size).is_err() => {
            Err(Refusal::OutOfRange)
        }
        Change::ContainerResized { container, size } if !stays_something(facts, *container, *size) => {
            Err(Refusal::EmptyContainer)
        }
        Change::ContainerResized { container, size } => {
            may_resize(facts, *container, *size).map_err(Refusal::CannotGrow)
        }
        Change::ExecutionTypeSet { container, execution_type } => {
            match (facts.opportunistic.contains_key(container), execution_type) {
                (false, ExecutionType::Opportunistic) => Ok(()),
                (true, ExecutionType::Guaranteed) => {
                    may_promote(facts, *container).map_err(Refusal::CannotGrow)
                }
                _ => Err(Refusal::SameExecutionType),
            }
        }
        Change::PromotionRequested { container } if !facts.opportunistic.contains_key(container) => {
            Err(Refusal::SameExecutionType)
        }
        _ => Ok(()),
    }
}

/// Whether the configuration admits the container's size after the change; it may refuse empty containers.
fn stays_something(facts: &Facts, id: ContainerId, size: Resources) -> bool {
    facts.config.allocation.admits(&resized(facts, id, size).need.resources)
}

/// Whether the node may have the container that it reports. Limits do not matter, because the container already runs.
/// The sum of the node's containers must not overflow, and no device may be held twice.
fn may_recover(facts: &Facts, node: NodeId, container: &RunningContainer) -> Result<(), Refusal> {
    let types = &facts.config.resources;
    let node = facts.nodes.get(node).ok_or(Refusal::UnknownNode)?;
    unended(facts, container.application)?;
    let is_counted = types.is_counted(&container.size, container.devices_milli())
        && types.check(&(node.taken() + container.size)).is_ok();
    // Held room is given back first.
    let mut room = node.room;
    facts.places_on(node.id, node.partition).iter().for_each(|place| facts.give(&mut room, place));
    let need = container.devices;
    if !is_counted || !need.is_none_or(|need| need.is_valid()) {
        Err(Refusal::OutOfRange)
    } else if !need.is_none_or(|need| room.devices.can_hold(need)) {
        Err(Refusal::NoDevices)
    } else {
        Ok(())
    }
}

fn check_master(facts: &Facts, master: &Master) -> Result<(), Refusal> {
    check_partition(facts, master.partition)?;
    facts.config.resources.check(&master.size).map_err(|_| Refusal::OutOfRange)
}

/// Whether [`admit`] compares the change with limits, which must be computed then.
#[inline]
pub(super) const fn needs_limits(change: &Change) -> bool {
    match change {
        Change::ApplicationMoved { .. }
        | Change::ContainerResized { .. }
        | Change::ExecutionTypeSet { .. }
        | Change::GangSubmitted { .. }
        | Change::RoomHeld { .. } => true,
        // The committer computes them itself before it decides a request.
        Change::Committed { .. }
        | Change::Configured { .. }
        | Change::TimeAdvanced { .. }
        | Change::NodeAdded { .. }
        | Change::NodeUpdated { .. }
        | Change::NodePartitionSet { .. }
        | Change::NodeStateSet { .. }
        | Change::NodeSilenceSet { .. }
        | Change::NodeRemoved { .. }
        | Change::Heartbeats { .. }
        | Change::ApplicationSubmitted { .. }
        | Change::ApplicationEnded { .. }
        | Change::BlacklistUpdated { .. }
        | Change::ApplicationPrioritySet { .. }
        | Change::AskSubmitted { .. }
        | Change::AskCancelled { .. }
        | Change::ContainerRecovered { .. }
        | Change::OpportunitiesMissed { .. }
        | Change::ReservedAgain { .. }
        | Change::ContainerStopping { .. }
        | Change::ContainerEnded { .. }
        | Change::QueueUpdated { .. }
        | Change::Reconfigured { .. }
        | Change::QueueExpired { .. }
        | Change::ReservationExpired { .. }
        | Change::RackNamed { .. }
        | Change::PreemptionAnnounced { .. }
        | Change::PreemptionWithdrawn { .. }
        | Change::GangEnded { .. }
        | Change::PreemptionCostSet { .. }
        | Change::PreemptionConfirmed { .. }
        | Change::DisruptionBudgetsSet { .. }
        | Change::TaskGroupAskSubmitted { .. }
        | Change::PlaceholdersTimedOut { .. }
        | Change::PromotionRequested { .. }
        | Change::RoomGivenBack { .. }
        | Change::GangTurnEnded { .. } => false,
    }
}
