//! The sums of a request, which `accept` compares with the facts.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::accept::{
    Candidate, candidate, check_active, check_limit_usage, check_queue_limit, check_unreserved,
    check_user_limit,
};
use crate::facts::{Application, Facts, PartitionShare, TagCounts};
use crate::ids::{
    ApplicationId, AskId, LeafUserId, LimitUsageId, NodeId, PartitionId, QueueId, ReservationId,
};
use crate::request::{
    AllocationProposal, RejectReason, ReservationProposal, ResourceAllocationCommitRequest,
};
use crate::resource::{Resources, Room, fits};

/// Whether all of `request` may be applied. All checks are on the request's sums, with its releases netted first, so a
/// swap needs no room for both sides.
pub(super) fn accept_sums(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
) -> Result<(), RejectReason> {
    let mut sums = Sums::default();
    sums.release_containers(facts, request)?;
    sums.end_reservations(facts, request)?;
    if !facts.held_rooms.is_empty() {
        sums.give_room_back(facts, request);
    }
    for proposal in &request.allocate {
        sums.allocate(facts, proposal)?;
    }
    sums.drop_surplus_reservations(facts);
    for proposal in &request.reserve {
        sums.reserve(facts, proposal)?;
    }
    sums.check_limits(facts)
}

/// Up to this many nodes, a search of the list is quicker than a map.
const NODES_SEARCHED: usize = 16;

/// The changes of use that a request makes, by queue, user and limit usage.
#[derive(Default)]
struct Sums {
    /// The room of nodes after the request.
    nodes: SmallVec<[(NodeId, Room); 1]>,
    /// The places of the nodes in that list, once there are many.
    places: FxHashMap<NodeId, usize>,
    /// Changes in the number of tagged containers.
    tags: TagCounts,
    /// Every queue of every chain concerned.
    queues: SmallVec<[QueueSum; 6]>,
    users: SmallVec<[UserSum; 1]>,
    limit_usages: SmallVec<[LimitUsageSum; 2]>,
    asks: SmallVec<[AskSum; 1]>,
    ended: SmallVec<[ReservationId; 1]>,
    reserved: SmallVec<[(AskId, NodeId); 1]>,
}

/// The change of a queue's use. If it is for borrowed containers alone, the limit of borrowed containers applies.
#[derive(Clone, Copy)]
struct QueueSum {
    queue: QueueId,
    share: PartitionShare,
    change: Resources,
}

/// The same for a user.
#[derive(Clone, Copy)]
struct UserSum {
    user: LeafUserId,
    share: PartitionShare,
    change: Resources,
    /// An upper bound on each single container or reservation that the user gets.
    largest: Resources,
}

/// The same for a user or a group with limits.
#[derive(Clone, Copy)]
struct LimitUsageSum {
    limit_usage: LimitUsageId,
    partition: PartitionId,
    change: Resources,
}

/// Units that an ask gets, and reservations that it gains or, below zero, loses.
#[derive(Clone, Copy)]
struct AskSum {
    ask: AskId,
    allocated: u32,
    reservations: i64,
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
            self.tags.add(shape.tags(), facts.nodes.at(container.node), container.application, -1);
            let room = self.room(facts, container.node);
            room.free += shape.need.resources;
            if let Some(need) = shape.need.devices {
                room.devices.give(container.devices, need.milli);
            }
            self.release(facts, container.application, shape.partition, &shape.need.resources);
        }
        Ok(())
    }

    /// The gangs that the request starts give back the room that they hold.
    #[cold]
    fn give_room_back(&mut self, facts: &Facts, request: &ResourceAllocationCommitRequest) {
        let gangs: BTreeSet<_> = request.units().filter_map(|ask| facts.gang_of(ask)).collect();
        for (partition, node, place) in gangs.into_iter().flat_map(|gang| facts.places_of(gang)) {
            facts.give(self.room(facts, node), place);
            self.release(facts, facts.asks.at(place.ask).application, partition, &place.amount);
        }
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
            self.release(facts, ask.application, shape.partition, &shape.need.resources);
            self.ask(reservation.ask).reservations -= 1;
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
        let sum = self.ask(proposal.ask);
        sum.allocated += 1;
        if sum.allocated > ask.outstanding() {
            return Err(RejectReason::NothingOutstanding);
        }
        check_active(facts.applications.at(ask.application))?;
        self.charge(facts, ask.application, shape.share(), &shape.need.resources);
        Ok(())
    }

    /// Ends the surplus reservations of each ask, as `apply` will.
    fn drop_surplus_reservations(&mut self, facts: &Facts) {
        let served: SmallVec<[AskSum; 1]> =
            self.asks.iter().copied().filter(|sum| sum.allocated > 0).collect();
        for sum in served {
            let ask = facts.asks.at(sum.ask);
            let kept = ask.reservations().len() as i64 + sum.reservations;
            let outstanding = ask.outstanding() - sum.allocated;
            let surplus = facts.surplus_reservations(outstanding, kept.max(0) as usize) as i64;
            let shape = facts.shapes.at(ask.shape);
            self.release(facts, ask.application, shape.partition, &shape.need.resources.times(surplus));
            self.ask(sum.ask).reservations -= surplus;
        }
    }

    fn reserve(&mut self, facts: &Facts, proposal: &ReservationProposal) -> Result<(), RejectReason> {
        let Candidate { ask, node, shape } = candidate(facts, proposal.ask, proposal.node, Some(&self.tags))?;
        if !shape.may_reserve() {
            return Err(RejectReason::WrongPartition);
        }
        check_unreserved(node, &self.ended)?;
        if self.reserved.iter().any(|(_, node)| *node == proposal.node) {
            return Err(RejectReason::NodeReserved);
        }
        if facts.holds_room_on(node) {
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
        let sum = self.ask(proposal.ask);
        let reservations = (ask.reservations().len() as i64 + sum.reservations).max(0) as usize;
        let outstanding = ask.outstanding() - sum.allocated;
        sum.reservations += 1;
        // A reservation that is made or ends resets the ask's re-reservations.
        let is_reset =
            !is_first || self.ended.iter().any(|id| facts.reservations.at(*id).ask == proposal.ask);
        let re_reservations = if is_reset { 0 } else { ask.extras().re_reservations };
        if reservations as u64 >= facts.reservations_max(ask, outstanding, reservations, re_reservations) {
            return Err(RejectReason::NothingOutstanding);
        }
        check_active(facts.applications.at(ask.application))?;
        self.charge(facts, ask.application, shape.share(), &shape.need.resources);
        Ok(())
    }

    fn check_limits(&self, facts: &Facts) -> Result<(), RejectReason> {
        for sum in &self.queues {
            check_queue_limit(facts, sum.queue, sum.share, &sum.change)?;
        }
        for sum in &self.limit_usages {
            check_limit_usage(facts, sum.limit_usage, sum.partition, &sum.change)?;
        }
        for sum in &self.users {
            check_user_limit(facts, sum.user, sum.share, &sum.change, &sum.largest)?;
        }
        Ok(())
    }

    /// The number of nodes of the partition that would be reserved.
    fn reserved_nodes(&self, facts: &Facts, partition: PartitionId) -> usize {
        let here = |node: NodeId| facts.nodes.at(node).partition == partition;
        let ended = self.ended.iter().filter(|id| here(facts.reservations.at(**id).node)).count();
        let gained = self.reserved.iter().filter(|(_, node)| here(*node)).count();
        facts.tree.partitions[partition.index()].reserved_nodes + gained - ended
    }

    fn room(&mut self, facts: &Facts, node: NodeId) -> &mut Room {
        let place = self.place_of(node).unwrap_or_else(|| {
            self.nodes.push((node, facts.nodes.at(node).room));
            if self.nodes.len() > NODES_SEARCHED {
                self.list_places();
            }
            self.nodes.len() - 1
        });
        &mut self.nodes[place].1
    }

    fn place_of(&self, node: NodeId) -> Option<usize> {
        if self.nodes.len() > NODES_SEARCHED {
            return self.places.get(&node).copied();
        }
        self.nodes.iter().position(|(known, _)| *known == node)
    }

    /// Lists the nodes that are not listed yet.
    #[cold]
    fn list_places(&mut self) {
        let listed = self.places.len();
        let new = self.nodes.iter().enumerate().skip(listed);
        self.places.extend(new.map(|(place, (node, _))| (*node, place)));
    }

    fn ask(&mut self, ask: AskId) -> &mut AskSum {
        let place = self.asks.iter().position(|sum| sum.ask == ask).unwrap_or_else(|| {
            self.asks.push(AskSum { ask, allocated: 0, reservations: 0 });
            self.asks.len() - 1
        });
        &mut self.asks[place]
    }

    /// Counts use that ends.
    fn release(&mut self, facts: &Facts, of: ApplicationId, partition: PartitionId, freed: &Resources) {
        self.charge(facts, of, PartitionShare::of_release(partition), &(Resources::ZERO - *freed));
    }

    /// Counts a change of use. If any change is for the partition's own asks, the queue's own limit applies to the sum.
    fn charge(&mut self, facts: &Facts, of: ApplicationId, share: PartitionShare, change: &Resources) {
        let (&Application { leaf, user, .. }, &change) = (facts.applications.at(of), change);
        let is_same = |known: PartitionShare| known.partition == share.partition;
        for &queue in &facts.queue(leaf).chain {
            match self.queues.iter_mut().find(|sum| sum.queue == queue && is_same(sum.share)) {
                Some(sum) => {
                    sum.share = sum.share.join(share);
                    sum.change += change;
                }
                None => self.queues.push(QueueSum { queue, share, change }),
            }
        }
        let partition = share.partition;
        for &limit_usage in &facts.user(user).limit_usages {
            let is_it =
                |sum: &&mut LimitUsageSum| (sum.limit_usage, sum.partition) == (limit_usage, partition);
            match self.limit_usages.iter_mut().find(is_it) {
                Some(sum) => sum.change += change,
                None => self.limit_usages.push(LimitUsageSum { limit_usage, partition, change }),
            }
        }
        match self.users.iter_mut().find(|sum| sum.user == user && is_same(sum.share)) {
            Some(sum) => {
                sum.share = sum.share.join(share);
                sum.change += change;
                sum.largest = sum.largest.max(&change);
            }
            None => {
                let largest = Resources::ZERO.max(&change);
                self.users.push(UserSum { user, share, change, largest });
            }
        }
    }
}
