//! Accept: decides whether a request may be applied to the present state.
//!
//! Every fact is looked up again: the proposer's view does not count. All checks are on the request's sums with its
//! releases netted first, so a swap needs no room for both sides.

use smallvec::SmallVec;

use crate::facts::{Application, Ask, Borrowing, Breach, Facts, Node, PartitionShare, Shape, TagCounts};
use crate::ids::{AskId, LeafUserId, LimitUsageId, NodeId, PartitionId, QueueId, ReservationId};
use crate::propose::Amounts;
use crate::request::{
    AllocationProposal, RejectReason, ReservationProposal, ResourceAllocationCommitRequest,
};
use crate::resource::{Resources, Room, fits};

/// Whether all additions of a batch together stay within the limits of queues and users. Then any part of them does.
/// False where users have shares, because shares move with each part. `amounts` are those that the pass put in flight:
/// all additions of its requests.
pub(super) fn is_within_limits(facts: &Facts, amounts: &Amounts) -> bool {
    let share = |partition: &PartitionId| PartitionShare {
        partition: *partition,
        is_borrowed: amounts.is_of_borrowed,
    };
    let queues = amounts
        .queues
        .iter()
        .all(|(queue, partition, change)| check_queue_limit(facts, *queue, share(partition), change).is_ok());
    let users = amounts.users.iter().all(|(user, partition, change)| {
        !facts.queue(facts.user(*user).leaf).shares_among_users()
            && check_user_limit(facts, *user, share(partition), change, change).is_ok()
    });
    let limit_usages = amounts.limit_usages.iter().all(|(limit_usage, partition, change)| {
        check_limit_usage(facts, *limit_usage, *partition, change).is_ok()
    });
    queues && users && limit_usages
}

/// Whether all of `request` may be applied. With `is_within_limits`, the request cannot exceed limits of queues or
/// users, and they are not checked.
pub(super) fn accept(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
    is_within_limits: bool,
) -> Result<(), RejectReason> {
    if request.is_empty() {
        return Err(RejectReason::Empty);
    }
    let Some(proposal) = request.as_single() else { return accept_sums(facts, request) };
    let candidate = candidate(facts, proposal.ask, proposal.node, None)?;
    if !candidate.ask.reservations.is_empty() {
        return accept_sums(facts, request);
    }
    let verdict = accept_single(facts, &candidate, is_within_limits);
    debug_assert_eq!(verdict, accept_sums(facts, request), "a single container is no special case");
    verdict
}

/// Decides as [`accept_sums`], but without sums, for one container of an ask without reservations. Nearly every request
/// is of this kind.
fn accept_single(
    facts: &Facts,
    Candidate { ask, node, shape }: &Candidate<'_>,
    is_within_limits: bool,
) -> Result<(), RejectReason> {
    check_unreserved(node, &[])?;
    if !fits(&shape.need, &node.room) {
        return Err(RejectReason::NodeFull);
    }
    if ask.outstanding() == 0 {
        return Err(RejectReason::NothingOutstanding);
    }
    if is_within_limits {
        // So a pass proposed it. Passes see only active applications, and these stay active.
        return Ok(());
    }
    let (size, application) = (&shape.need.resources, facts.applications.at(ask.application));
    check_active(application)?;
    for queue in &facts.queue(application.leaf).chain {
        check_queue_limit(facts, *queue, shape.share(), size)?;
    }
    for limit_usage in &facts.user(application.user).limit_usages {
        check_limit_usage(facts, *limit_usage, shape.partition, size)?;
    }
    check_user_limit(facts, application.user, shape.share(), size, size)
}

/// Whether the queue's use may change by `change`.
pub(super) fn check_queue_limit(
    facts: &Facts,
    queue: QueueId,
    share: PartitionShare,
    change: &Resources,
) -> Result<(), RejectReason> {
    let used = &facts.queue(queue).quota(share.partition).used;
    if facts.queue_admits(queue, share, used, change) { Ok(()) } else { Err(RejectReason::QueueLimit) }
}

/// Whether the use that counts for a user or a group may change by `change`.
pub(super) fn check_limit_usage(
    facts: &Facts,
    limit_usage: LimitUsageId,
    partition: PartitionId,
    change: &Resources,
) -> Result<(), RejectReason> {
    let limit_usage = facts.limit_usage(limit_usage);
    if limit_usage.admits(&limit_usage.used[partition.index()], change) {
        Ok(())
    } else {
        Err(RejectReason::UserLimit)
    }
}

/// Whether the user's use may change by `change`, if its largest container has size `largest`.
pub(super) fn check_user_limit(
    facts: &Facts,
    user: LeafUserId,
    share: PartitionShare,
    change: &Resources,
    largest: &Resources,
) -> Result<(), RejectReason> {
    if facts.user_may_use(user, share, change, largest) { Ok(()) } else { Err(RejectReason::UserLimit) }
}

/// An inactive application gets nothing.
pub(super) fn check_active(application: &Application) -> Result<(), RejectReason> {
    if application.is_active { Ok(()) } else { Err(RejectReason::ApplicationInactive) }
}

/// A reserved node takes a container only if the same request ends the reservation.
pub(super) fn check_unreserved(node: &Node, ended: &[ReservationId]) -> Result<(), RejectReason> {
    match node.reservation {
        Some(reservation) if !ended.contains(&reservation) => Err(RejectReason::NodeReserved),
        _ => Ok(()),
    }
}

fn accept_sums(facts: &Facts, request: &ResourceAllocationCommitRequest) -> Result<(), RejectReason> {
    let mut sums = Sums::default();
    sums.release_containers(facts, request)?;
    sums.end_reservations(facts, request)?;
    for proposal in &request.allocate {
        sums.allocate(facts, proposal)?;
    }
    sums.drop_surplus_reservations(facts);
    for proposal in &request.reserve {
        sums.reserve(facts, proposal)?;
    }
    sums.check_limits(facts)
}

/// The changes of use that a request makes, by queue, user and limit usage.
#[derive(Default)]
struct Sums {
    /// The room of nodes after the request.
    nodes: SmallVec<[(NodeId, Room); 1]>,
    /// Changes in the number of tagged containers.
    tags: TagCounts,
    /// Change of use at each queue of every chain concerned. If it is for borrowed containers alone, the limit of
    /// borrowed containers applies.
    queues: SmallVec<[(QueueId, PartitionShare, Resources); 6]>,
    /// The same for users, with an upper bound on each single container or reservation that they get.
    users: SmallVec<[(LeafUserId, PartitionShare, Resources, Resources); 1]>,
    /// The same for users and groups with limits.
    limit_usages: SmallVec<[(LimitUsageId, PartitionId, Resources); 2]>,
    /// Units taken and reservations gained, by ask.
    asks: SmallVec<[(AskId, u32, i64); 1]>,
    ended: SmallVec<[ReservationId; 1]>,
    reserved: SmallVec<[(AskId, NodeId); 1]>,
}

impl Sums {
    fn release_containers(
        &mut self,
        facts: &Facts,
        request: &ResourceAllocationCommitRequest,
    ) -> Result<(), RejectReason> {
        for (place, id) in request.release.iter().enumerate() {
            let container = facts.containers.get(*id).ok_or(RejectReason::UnknownContainer)?;
            if request.release[..place].contains(id) {
                return Err(RejectReason::UnknownContainer);
            }
            let shape = facts.shapes.at(container.shape);
            let application = facts.applications.at(container.application);
            self.tags.add(shape.tags(), facts.nodes.at(container.node), container.application, -1);
            let room = self.room(facts, container.node);
            room.free += shape.need.resources;
            if let Some(need) = shape.need.devices {
                room.devices.give(container.devices, need.milli);
            }
            let freed = Resources::ZERO - shape.need.resources;
            // Charged as borrowed, so that a release does not bring borrowed containers under the queue's own limit.
            self.charge(facts, application, PartitionShare::borrowed(shape.partition), &freed);
        }
        Ok(())
    }

    fn end_reservations(
        &mut self,
        facts: &Facts,
        request: &ResourceAllocationCommitRequest,
    ) -> Result<(), RejectReason> {
        let fulfilled = request.allocate.iter().filter_map(|proposal| {
            proposal.from_reservation.map(|id| (id, Some((proposal.ask, proposal.node))))
        });
        for (id, fulfils) in request.unreserve.iter().map(|id| (*id, None)).chain(fulfilled) {
            let reservation = facts.reservations.get(id).ok_or(RejectReason::UnknownReservation)?;
            if self.ended.contains(&id) {
                return Err(RejectReason::UnknownReservation);
            }
            if fulfils.is_some_and(|expected| expected != (reservation.ask, reservation.node)) {
                return Err(RejectReason::ReservationMismatch);
            }
            self.ended.push(id);
            let ask = facts.asks.at(reservation.ask);
            let shape = facts.shapes.at(ask.shape);
            let freed = Resources::ZERO - shape.need.resources;
            let application = facts.applications.at(ask.application);
            self.charge(facts, application, PartitionShare::borrowed(shape.partition), &freed);
            self.units(reservation.ask).2 -= 1;
        }
        Ok(())
    }

    fn allocate(&mut self, facts: &Facts, proposal: &AllocationProposal) -> Result<(), RejectReason> {
        let Candidate { ask, node, shape } = candidate(facts, proposal.ask, proposal.node, Some(&self.tags))?;
        check_unreserved(node, &self.ended)?;
        let room = self.room(facts, proposal.node);
        if !fits(&shape.need, room) {
            return Err(RejectReason::NodeFull);
        }
        room.free -= shape.need.resources;
        if let Some(need) = shape.need.devices {
            let mask = room.devices.choose(need).ok_or(RejectReason::NodeFull)?;
            room.devices.take(mask, need.milli);
        }
        self.tags.add(shape.tags(), node, ask.application, 1);
        let units = self.units(proposal.ask);
        units.1 += 1;
        if units.1 > ask.outstanding() {
            return Err(RejectReason::NothingOutstanding);
        }
        let application = facts.applications.at(ask.application);
        check_active(application)?;
        self.charge(facts, application, shape.share(), &shape.need.resources);
        Ok(())
    }

    /// Ends the surplus reservations of each ask, as `apply` will.
    fn drop_surplus_reservations(&mut self, facts: &Facts) {
        let asks: SmallVec<[(AskId, u32, i64); 1]> =
            self.asks.iter().copied().filter(|ask| ask.1 > 0).collect();
        for (id, allocated, reservations) in asks {
            let ask = facts.asks.at(id);
            let kept = ask.reservations.len() as i64 + reservations;
            let surplus =
                facts.surplus_reservations(ask.outstanding() - allocated, kept.max(0) as usize) as i64;
            let shape = facts.shapes.at(ask.shape);
            let freed = shape.need.resources.times(-surplus);
            let application = facts.applications.at(ask.application);
            self.charge(facts, application, PartitionShare::borrowed(shape.partition), &freed);
            self.units(id).2 -= surplus;
        }
    }

    fn reserve(&mut self, facts: &Facts, proposal: &ReservationProposal) -> Result<(), RejectReason> {
        let Candidate { ask, node, shape } = candidate(facts, proposal.ask, proposal.node, Some(&self.tags))?;
        if shape.borrowing == Borrowing::Borrowed {
            return Err(RejectReason::WrongPartition);
        }
        check_unreserved(node, &self.ended)?;
        if self.reserved.iter().any(|(_, node)| *node == proposal.node) {
            return Err(RejectReason::NodeReserved);
        }
        if !fits(&shape.need, &node.empty_room()) {
            return Err(RejectReason::NodeTooSmall);
        }
        let is_first = self.reserved.iter().all(|(ask, _)| *ask != proposal.ask);
        self.reserved.push((proposal.ask, proposal.node));
        if self.reserved_nodes(facts, shape.partition) > facts.reserved_nodes_max(shape.partition) {
            return Err(RejectReason::ReservationLimit);
        }
        let units = self.units(proposal.ask);
        let reservations = (ask.reservations.len() as i64 + units.2).max(0) as usize;
        let outstanding = ask.outstanding() - units.1;
        units.2 += 1;
        // A reservation that is made or ends resets the ask's re-reservations.
        let is_reset =
            !is_first || self.ended.iter().any(|id| facts.reservations.at(*id).ask == proposal.ask);
        let re_reservations = if is_reset { 0 } else { ask.re_reservations };
        if reservations as u64 >= facts.reservations_max(ask, outstanding, reservations, re_reservations) {
            return Err(RejectReason::NothingOutstanding);
        }
        let application = facts.applications.at(ask.application);
        check_active(application)?;
        self.charge(facts, application, shape.share(), &shape.need.resources);
        Ok(())
    }

    fn check_limits(&self, facts: &Facts) -> Result<(), RejectReason> {
        for (queue, share, change) in &self.queues {
            check_queue_limit(facts, *queue, *share, change)?;
        }
        for (limit_usage, partition, change) in &self.limit_usages {
            check_limit_usage(facts, *limit_usage, *partition, change)?;
        }
        for (user, share, change, largest) in &self.users {
            check_user_limit(facts, *user, *share, change, largest)?;
        }
        Ok(())
    }

    /// The number of nodes of the partition that would be reserved.
    fn reserved_nodes(&self, facts: &Facts, partition: PartitionId) -> usize {
        let here = |node: NodeId| facts.nodes.at(node).partition == partition;
        let ended = self.ended.iter().filter(|id| here(facts.reservations.at(**id).node)).count();
        let gained = self.reserved.iter().filter(|(_, node)| here(*node)).count();
        facts.partitions[partition.index()].reserved_nodes + gained - ended
    }

    fn room(&mut self, facts: &Facts, node: NodeId) -> &mut Room {
        let place = self.nodes.iter().position(|(known, _)| *known == node).unwrap_or_else(|| {
            self.nodes.push((node, facts.nodes.at(node).room));
            self.nodes.len() - 1
        });
        &mut self.nodes[place].1
    }

    fn units(&mut self, ask: AskId) -> &mut (AskId, u32, i64) {
        let place = self.asks.iter().position(|(known, ..)| *known == ask).unwrap_or_else(|| {
            self.asks.push((ask, 0, 0));
            self.asks.len() - 1
        });
        &mut self.asks[place]
    }

    /// Counts a change of use. If any change is for the partition's own asks, the queue's own limit applies to the sum.
    fn charge(
        &mut self,
        facts: &Facts,
        application: &Application,
        share: PartitionShare,
        change: &Resources,
    ) {
        let Application { leaf, user, .. } = *application;
        let is_same = |known: &PartitionShare| known.partition == share.partition;
        for &queue in &facts.queue(leaf).chain {
            match self.queues.iter_mut().find(|entry| entry.0 == queue && is_same(&entry.1)) {
                Some((_, known, sum)) => {
                    known.is_borrowed &= share.is_borrowed;
                    *sum += *change;
                }
                None => self.queues.push((queue, share, *change)),
            }
        }
        for &limit_usage in &facts.user(user).limit_usages {
            match self
                .limit_usages
                .iter_mut()
                .find(|entry| (entry.0, entry.1) == (limit_usage, share.partition))
            {
                Some(entry) => entry.2 += *change,
                None => self.limit_usages.push((limit_usage, share.partition, *change)),
            }
        }
        match self.users.iter_mut().find(|entry| entry.0 == user && is_same(&entry.1)) {
            Some((_, known, sum, largest)) => {
                known.is_borrowed &= share.is_borrowed;
                (*sum, *largest) = (*sum + *change, largest.max(change));
            }
            None => self.users.push((user, share, *change, Resources::ZERO.max(change))),
        }
    }
}

/// An ask and a node that may serve it.
struct Candidate<'a> {
    ask: &'a Ask,
    node: &'a Node,
    /// The shape that the container would have.
    shape: &'a Shape,
}

/// The ask and node of a proposal, and the shape that the container would have. Fails if the node may not serve the ask
/// at all, with `tags` on top of the present tags.
fn candidate<'a>(
    facts: &'a Facts,
    ask: AskId,
    node: NodeId,
    tags: Option<&TagCounts>,
) -> Result<Candidate<'a>, RejectReason> {
    let id = node;
    let ask = facts.asks.get(ask).ok_or(RejectReason::UnknownAsk)?;
    let node = facts.nodes.get(node).ok_or(RejectReason::UnknownNode)?;
    if !node.is_candidate() {
        return Err(RejectReason::NodeNotCandidate);
    }
    let shape = facts.shapes.at(facts.shape_on(ask.shape, node).ok_or(RejectReason::WrongPartition)?);
    if !ask.preference.will_do(id, node.rack) {
        return Err(RejectReason::ConstraintViolated);
    }
    match facts.breach_with(shape, node, tags) {
        None => Ok(Candidate { ask, node, shape }),
        Some(Breach::Attributes) => Err(RejectReason::ConstraintViolated),
        Some(Breach::Shunned) => Err(RejectReason::NodeBlacklisted),
        Some(Breach::TagLimit) => Err(RejectReason::TagLimit),
    }
}
