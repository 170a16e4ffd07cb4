//! Verdicts on commit requests.

use apportion::event::EventKind;
use apportion::request::{AllocationProposal, RejectReason, ReservationProposal};
use apportion::{AskId, EndCause, NodeId, ReservationId, ResourceAllocationCommitRequest};

use super::amounts::{Amounts, NOTHING, amounts, minus};
use super::borrowed::Taker;
use super::node::choose_devices;
use super::{Books, Container, Effect, Hints, Oracle, Reservation};

/// The faults of a request, and the events that applications should get.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Every reason to reject the request; empty if the engine has to accept it.
    pub reasons: Vec<RejectReason>,
    /// The events that applications should get if it is accepted.
    pub effects: Vec<Effect>,
}

impl Oracle {
    /// Applies the request step by step, first its releases, then its additions. An illegal step is skipped and its
    /// reason recorded; after that the model can no longer be used.
    pub fn validate(&mut self, request: &ResourceAllocationCommitRequest, hints: &Hints) -> Verdict {
        let mut verdict = Verdict::default();
        if request.is_empty() {
            verdict.reasons.push(RejectReason::Empty);
        }
        let (before, earlier) = (self.books(), self.clone());
        self.give_back(request, hints, &mut verdict);
        let mut started = hints.containers.iter().copied();
        for proposal in &request.allocate {
            self.allocate(proposal, &mut started, &mut verdict);
        }
        for proposal in &request.reserve {
            self.reserve(proposal, &mut verdict);
        }
        self.drop_surplus(request, hints, &mut verdict);
        self.check_growth(request, &earlier, &before, &mut verdict);
        self.asks.retain(|_, ask| ask.outstanding > 0);
        self.activate_all(None, &mut verdict.effects);
        verdict
    }

    /// Drops a reservation of each ask that got a container elsewhere and now has more reservations than it may keep.
    /// The engine chooses the reservation.
    fn drop_surplus(
        &mut self,
        request: &ResourceAllocationCommitRequest,
        hints: &Hints,
        verdict: &mut Verdict,
    ) {
        let chosen: Vec<NodeId> =
            hints.dropped.iter().skip(request.unreserve.len()).map(|(_, node)| *node).collect();
        for proposal in &request.allocate {
            while self.asks.contains_key(&proposal.ask) && self.surplus(proposal.ask) > 0 {
                let own = self
                    .reservations
                    .iter()
                    .filter(|(_, reservation)| reservation.ask == proposal.ask)
                    .map(|(node, _)| *node);
                let own: Vec<NodeId> = own.collect();
                let node = own.iter().find(|node| chosen.contains(node)).unwrap_or(&own[0]);
                self.drop_reservation(*node, &mut verdict.effects);
            }
        }
    }

    /// Checks that each queue and user that has grown is within its limits; borrowed containers alone have limits of
    /// their own. A request that adds no more than it releases is legal even above a limit that has been lowered.
    fn check_growth(
        &self,
        request: &ResourceAllocationCommitRequest,
        earlier: &Self,
        before: &Books,
        verdict: &mut Verdict,
    ) {
        let after = self.books();
        let (takers, totals) = (earlier.takers(request), &before.totals);
        for (partition, total) in totals.iter().enumerate() {
            let pairs = before.queues[partition].iter().zip(&after.queues[partition]);
            for (queue, (before, after)) in pairs.enumerate() {
                let is_there = |taker: &&Taker<'_>| {
                    taker.partition == partition && self.tree.chain(taker.leaf).contains(&queue)
                };
                let are_borrowed = takers.iter().filter(is_there).all(|taker| taker.is_borrowed);
                let most = if are_borrowed { *total } else { after.limits.maximum };
                if is_over(&before.used, &after.used, &most) {
                    verdict.reasons.push(RejectReason::QueueLimit);
                }
            }
        }
        for ((partition, leaf, user), used) in &after.users {
            let is_theirs = |taker: &&Taker<'_>| {
                (taker.partition, taker.leaf, taker.user) == (*partition, *leaf, user.as_str())
            };
            let theirs: Vec<_> = takers.iter().filter(is_theirs).collect();
            let contest = earlier.contest(before, *partition, *leaf);
            let are_borrowed = theirs.iter().all(|taker| taker.is_borrowed);
            let contest = if are_borrowed { contest.of_borrowed(&totals[*partition]) } else { contest };
            let held = before.user(*partition, *leaf, user);
            // For each type, the largest amount that one container or reservation of the request takes.
            let last = theirs
                .iter()
                .fold(NOTHING, |largest, taker| std::array::from_fn(|i| largest[i].max(taker.size[i])));
            let weight = self.tree.weight(*leaf, user);
            if !contest.allows(weight, &held, &minus(used, &held), &last)
                || !self.holder_limits_are_kept(before, &after, *partition, *leaf, user)
            {
                verdict.reasons.push(RejectReason::UserLimit);
            }
        }
    }

    fn give_back(&mut self, request: &ResourceAllocationCommitRequest, hints: &Hints, verdict: &mut Verdict) {
        let mut dropped = hints.dropped.iter();
        for id in &request.unreserve {
            match dropped.next() {
                Some((_, node)) if self.identify_reservation(*node, *id) => {
                    self.drop_reservation(*node, &mut verdict.effects);
                }
                _ => verdict.reasons.push(RejectReason::UnknownReservation),
            }
        }
        for id in &request.release {
            if let Some(owner) = self.container(*id).map(|container| container.application) {
                let starts = |proposal: &AllocationProposal| self.asks.get(&proposal.ask);
                let mut starters = request.allocate.iter().filter_map(starts);
                let is_swap = starters.any(|ask| ask.application == owner);
                let cause = if is_swap { EndCause::Released } else { EndCause::Preempted };
                self.end_container(*id, cause, &mut verdict.effects);
            } else {
                verdict.reasons.push(RejectReason::UnknownContainer);
            }
        }
    }

    fn allocate(
        &mut self,
        proposal: &AllocationProposal,
        started: &mut impl Iterator<Item = apportion::ContainerId>,
        verdict: &mut Verdict,
    ) {
        let (ask, node) = (proposal.ask, proposal.node);
        let mut reasons = self.misfits(ask, node, false);
        if !self.asks.contains_key(&ask) || !self.nodes.contains_key(&node) {
            verdict.reasons.extend(reasons);
            return;
        }
        reasons.extend(match proposal.from_reservation {
            Some(id) => self.use_reservation(proposal, id),
            None => self.reservation_in_the_way(ask, node),
        });
        if !self.has_room(&self.books(), &self.asks[&ask].spec, node) {
            reasons.push(RejectReason::NodeFull);
        }
        if reasons.is_empty() {
            self.record_opportunity(ask, node, proposal.from_reservation.is_some());
            self.record_served(ask, node);
            self.place(ask, node, started.next(), verdict);
        } else {
            self.pretend(ask, node);
        }
        verdict.reasons.extend(reasons);
    }

    fn use_reservation(&mut self, proposal: &AllocationProposal, id: ReservationId) -> Vec<RejectReason> {
        let node = proposal.node;
        if !self.reservations.contains_key(&node) || self.retired.contains(&id) {
            vec![RejectReason::UnknownReservation]
        } else if self.reservations[&node].ask != proposal.ask || !self.identify_reservation(node, id) {
            vec![RejectReason::ReservationMismatch]
        } else {
            self.take_reservation(node);
            Vec::new()
        }
    }

    /// Charges a container that cannot be placed, so that limits are checked on the sum of the whole request.
    fn pretend(&mut self, ask: AskId, node: NodeId) {
        let ask = &self.asks[&ask];
        let (application, size) = (ask.application, amounts(&ask.spec.size));
        self.started += 1;
        let charged = Container {
            id: None,
            application,
            node,
            size,
            put_aside: None,
            stopping: None,
            need: None,
            devices: Vec::new(),
            tags: Vec::new(),
            allocation_request_id: 0,
        };
        self.containers.insert(self.started, charged);
    }

    fn reserve(&mut self, proposal: &ReservationProposal, verdict: &mut Verdict) {
        let (id, node) = (proposal.ask, proposal.node);
        let mut reasons = self.misfits(id, node, true);
        if let (Some(ask), true) = (self.asks.get(&id), self.nodes.contains_key(&node)) {
            let in_partition = self.nodes.iter().filter(|(_, other)| other.partition == ask.partition);
            let (nodes, reserved) = in_partition.fold((0u64, 0u64), |(nodes, reserved), (node, _)| {
                (nodes + 1, reserved + u64::from(self.reservations.contains_key(node)))
            });
            let part = nodes * u64::from(self.config.reservations.nodes.millionths()) / 1_000_000;
            let checks = [
                (self.reservations.contains_key(&node), RejectReason::NodeReserved),
                (!self.nodes[&node].could_hold(&ask.spec), RejectReason::NodeTooSmall),
                (reserved >= part.max(1), RejectReason::ReservationLimit),
                (!self.may_reserve(id), RejectReason::NothingOutstanding),
            ];
            reasons.extend(checks.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| reason));
        }
        if reasons.is_empty() {
            self.reservations.insert(node, Reservation { ask: id, since_ms: self.now_ms, id: None });
            self.asks.get_mut(&id).expect("checked before").re_reserved = 0;
            let application = self.asks[&id].application;
            self.record_served(id, node);
            verdict.effects.push((application, EventKind::Reserved { ask: id, node }));
        } else if self.asks.contains_key(&id) && self.nodes.contains_key(&node) {
            self.pretend(id, node);
        }
        verdict.reasons.extend(reasons);
    }

    /// Reasons why the ask can have nothing on the node, even if it were empty.
    fn misfits(&self, ask: AskId, node: NodeId, is_reservation: bool) -> Vec<RejectReason> {
        let mut reasons = Vec::new();
        match (self.asks.get(&ask), self.nodes.get(&node)) {
            (Some(ask), Some(known)) => {
                // A borrowed node cannot be reserved.
                if !self.may_be_on(ask, node) || (is_reservation && self.is_borrowed(ask, node)) {
                    reasons.push(RejectReason::WrongPartition);
                }
                if self.may_be_on(ask, node) && !ask.accepts(node, known) {
                    reasons.push(RejectReason::ConstraintViolated);
                }
                if self.shuns(ask, known) {
                    reasons.push(RejectReason::NodeBlacklisted);
                }
                if !self.keeps_tag_limits(ask, node) {
                    reasons.push(RejectReason::TagLimit);
                }
                if !known.is_candidate() {
                    reasons.push(RejectReason::NodeNotCandidate);
                }
                if !self.applications[&ask.application].is_active {
                    reasons.push(RejectReason::ApplicationInactive);
                }
            }
            (known_ask, known_node) => {
                reasons.extend(known_ask.is_none().then_some(RejectReason::UnknownAsk));
                reasons.extend(known_node.is_none().then_some(RejectReason::UnknownNode));
            }
        }
        reasons
    }

    /// A reserved node takes only the container that fulfils the reservation, not even another unit of the same ask.
    fn reservation_in_the_way(&self, ask: AskId, node: NodeId) -> Vec<RejectReason> {
        let other = self.reservations.contains_key(&node);
        let nothing = self.asks[&ask].outstanding == 0;
        let checks = [(other, RejectReason::NodeReserved), (nothing, RejectReason::NothingOutstanding)];
        checks.into_iter().filter(|(applies, _)| *applies).map(|(_, reason)| reason).collect()
    }

    fn place(
        &mut self,
        id: AskId,
        node: NodeId,
        container: Option<apportion::ContainerId>,
        verdict: &mut Verdict,
    ) {
        let books = self.books();
        let ask = self.asks.get_mut(&id).expect("checked before");
        let need = ask.spec.devices;
        let devices = need.map(|need| choose_devices(need, &books.nodes[&node].device_free));
        let devices = devices.map_or(Vec::new(), |devices| devices.expect("there is room"));
        let (application, size) = (ask.application, amounts(&ask.spec.size));
        let (tags, allocation_request_id) = (ask.tags().to_vec(), ask.spec.allocation_request_id);
        let locality = ask.locality(node, &self.nodes[&node]);
        ask.outstanding -= 1;
        self.started += 1;
        let started = Container {
            id: container,
            application,
            node,
            size,
            stopping: None,
            put_aside: None,
            need,
            devices,
            tags,
            allocation_request_id,
        };
        self.containers.insert(self.started, started);
        if let Some(container) = container {
            let kind = EventKind::Allocated { ask: id, container, node, locality, allocation_request_id };
            verdict.effects.push((application, kind));
        }
    }
}

/// Whether a type has grown and exceeds the limit.
fn is_over(before: &Amounts, after: &Amounts, limit: &Amounts) -> bool {
    (0..limit.len()).any(|i| after[i] > before[i] && after[i] > limit[i])
}
