//! The audit: compares every view of the same fact.
//!
//! Checks the invariants that one state shows. It reads the whole state, so its time is proportional to the state's
//! size. It is meant for production, too.
//!
//! It checks I1, I2, I4 to I6, I9, I10, I12, I18 and I19. Of I13 it checks parked lanes, paused sets, timers, waits
//! for hosts, opportunistic asks, gangs that could start and applications that wait for activation. In a busy engine
//! it skips I9, paused sets, gangs that could start or gather (I13, I18) and the sets' part of I12. These
//! hold only while no proposer works. The tests damage a state once for each of these invariants.

mod applications;
mod gangs;
mod held_room;
mod opportunistic;
mod placeholders;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::backlog::WaitKey;
use crate::facts::{Facts, TagCounts};
use crate::ids::{AskId, ContainerId, LeafUserId, NodeId, PartitionId, QueueId, SetId};
use crate::place::Leases;
use crate::resource::{Devices, Resources};
use crate::state::State;

/// The findings of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The invariants that do not hold.
    pub violations: Vec<Violation>,
}

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// The invariant's name, `I1` to `I20` in the architecture of the engine.
    pub invariant: Cow<'static, str>,
    /// The place and the finding.
    pub detail: String,
}

impl AuditReport {
    /// Whether every invariant holds.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    fn check(&mut self, holds: bool, invariant: &'static str, detail: impl FnOnce() -> String) {
        if !holds {
            self.violations.push(Violation { invariant: invariant.into(), detail: detail() });
        }
    }

    /// I12: the placement sets in the pool equal rebuilt sets.
    pub(crate) fn check_sets(&mut self, state: &State, leases: &Leases) {
        for partition in state.partitions() {
            for number in 0..state.node_shards.sets(partition) {
                let id = SetId::new(partition, number);
                let equal = leases.inspect(id, |set| {
                    set.sync(state.nodes());
                    set.equals_rebuilt(state.nodes())
                });
                self.check(equal != Some(false), "I12", || format!("{id} differs from a rebuilt set"));
            }
        }
    }
}

impl fmt::Display for AuditReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("no violations");
        }
        for violation in &self.violations {
            writeln!(f, "{}: {}", violation.invariant, violation.detail)?;
        }
        Ok(())
    }
}

impl State {
    /// Checks every invariant that one state shows.
    pub(crate) fn audit(&self) -> AuditReport {
        let mut report = AuditReport::default();
        check_nodes(&self.facts, &mut report);
        check_use(&self.facts, &mut report);
        applications::check(&self.facts, &mut report);
        check_asks(&self.facts, &mut report);
        gangs::check(&self.facts, &mut report);
        placeholders::check(&self.facts, &mut report);
        opportunistic::check(&self.facts, &mut report);
        held_room::check(&self.facts, &mut report);
        check_containers(&self.facts, &mut report);
        check_reservations(&self.facts, &mut report);
        check_tags(&self.facts, &mut report);
        check_ready_reservations(self, &mut report);
        self.check_parked(&mut report);
        for timer in self.missing_timers() {
            report.check(false, "I13", || format!("the timer {timer:?} is not set"));
        }
        for (invariant, detail) in self.backlog.findings(&self.facts, &self.node_shards) {
            report.check(false, invariant, || detail);
        }
        report
    }

    /// I13: the limit that parked a lane still blocks it, by use and amounts in flight. Shares and blocked headroom
    /// depend on the order in which a pass looks.
    fn check_parked(&self, report: &mut AuditReport) {
        let facts = &self.facts;
        for (lane, key) in self.backlog.parked().filter(|_| !self.limits_are_stale()) {
            let lane = self.backlog.lane(lane);
            let (share, partition) = (lane.share, lane.share.partition);
            let size = &facts.shapes.at(lane.shape).need.resources;
            let has_room = match key {
                WaitKey::QueueLimit(queue) => {
                    let in_flight = self.in_flight.queues.load(queue, partition);
                    facts.tree.queue_admits(
                        queue,
                        share,
                        &(facts.queue(queue).quota(partition).used + in_flight),
                        size,
                    )
                }
                WaitKey::LimitUsage(id) => {
                    let (in_flight, usage) =
                        (self.in_flight.limit_usages.load(id, partition), facts.tree.limit_usage(id));
                    usage.admits(&(usage.used[partition.index()] + in_flight), size)
                }
                WaitKey::UserLimit(id) => {
                    let used =
                        facts.user(id).used[partition.index()] + self.in_flight.users.load(id, partition);
                    let besides = self.in_flight.queues.load(lane.leaf, partition);
                    facts.tree.user_may_grow(id, share, &used, size, || {
                        facts.tree.leaf_use(lane.leaf, partition, besides)
                    })
                }
                WaitKey::AllInFlight | WaitKey::BlockedHeadroom | WaitKey::UserShare(_) => false,
            };
            report.check(!has_room, "I13", || {
                format!("a lane of {} waits for {key:?}, which has room", lane.leaf)
            });
        }
    }

    /// I9: nothing is in flight. Also the parts of I13 and I18 that hold only while the engine is quiet.
    pub(crate) fn audit_nothing_in_flight(&self, report: &mut AuditReport) {
        gangs::check_waiting(self, report);
        held_room::check_first_gangs(self, report);
        report.check(self.in_flight.is_zero(), "I9", || {
            "units or amounts are still in flight in a quiet engine".into()
        });
        for (lane, _) in self.backlog.parked().filter(|(_, key)| *key == WaitKey::AllInFlight) {
            let is_reserved = |ask: &AskId| {
                let ask = self.facts.asks.at(*ask);
                ask.outstanding() <= ask.reservations().len() as u32
            };
            let all_reserved = self.backlog.asks_of_lane(lane).all(|ask| is_reserved(&ask));
            report.check(all_reserved, "I13", || format!("{lane} waits for units in flight, and none are"));
        }
        let paused = self.backlog.is_any_set_paused();
        report.check(!paused, "I13", || "a set is paused although nothing is in flight".into());
    }
}

/// I1: a node's taken room is the sum of its containers and held places, and only an overcommitted node lacks room.
fn check_nodes(facts: &Facts, report: &mut AuditReport) {
    let mut totals = vec![(Resources::ZERO, 0usize, 0usize); facts.tree.partitions.len()];
    for (id, node) in facts.nodes.iter() {
        let mut held = Resources::ZERO;
        let mut devices = Devices::new(node.room.devices.count());
        for container in &node.containers {
            let Some(container) = facts.containers.get(*container) else { continue };
            let need = &facts.shapes.at(container.shape).need;
            held += need.resources;
            if let Some(need) = need.devices {
                devices.take(container.devices, need.milli);
            }
        }
        for place in facts.places_on(id, node.partition) {
            held += place.amount;
            if let Some(need) =
                facts.asks.get(place.ask).and_then(|ask| facts.shapes.at(ask.shape).need.devices)
            {
                devices.take(place.devices, need.milli);
            }
        }
        report.check(held == node.taken(), "I1", || {
            format!("{id} has {:?} free, its containers and gangs hold {held:?}", node.room.free)
        });
        report.check(devices == node.room.devices, "I1", || format!("{id}: devices differ from containers'"));
        let is_over = !Resources::ZERO.within(&node.room.free);
        report
            .check(is_over == node.overcommitted, "I1", || format!("{id}: its overcommitted flag is wrong"));
        let total = &mut totals[node.partition.index()];
        total.0 += node.capacity;
        total.1 += 1;
        total.2 += usize::from(node.reservation.is_some());
    }
    for (partition, (total, known)) in totals.into_iter().zip(&facts.tree.partitions).enumerate() {
        report.check(total == (known.capacity, known.nodes, known.reserved_nodes), "I1", || {
            format!("partition {partition} counts {known:?}, its nodes give {total:?}")
        });
    }
}

/// The use of a queue in one partition, summed from containers and reservations.
#[derive(Default)]
struct Held {
    used: Resources,
    reserved: Resources,
    containers: u64,
}

/// I2: the use of a queue, user or application is the sum of its containers, reservations and held room, at every
/// level.
fn check_use(facts: &Facts, report: &mut AuditReport) {
    let mut queues: BTreeMap<(QueueId, PartitionId), Held> = BTreeMap::new();
    let mut users: BTreeMap<(LeafUserId, PartitionId), Resources> = BTreeMap::new();
    let mut applications: BTreeMap<_, Resources> = BTreeMap::new();
    let containers = facts.containers.iter().map(|(_, c)| (c.application, c.shape, false));
    let reservations = facts.reservations.iter().filter_map(|(_, reservation)| {
        facts.asks.get(reservation.ask).map(|ask| (ask.application, ask.shape, true))
    });
    for (id, shape, is_reservation) in containers.chain(reservations) {
        let Some(application) = facts.applications.get(id) else { continue };
        let shape = facts.shapes.at(shape);
        let size = shape.need.resources;
        *applications.entry(id).or_default() += size;
        *users.entry((application.user, shape.partition)).or_default() += size;
        for queue in &facts.queue(application.leaf).chain {
            let held = queues.entry((*queue, shape.partition)).or_default();
            held.used += size;
            if is_reservation {
                held.reserved += size;
            } else {
                held.containers += 1;
            }
        }
    }
    for (partition, place) in held_room::places(facts) {
        let Some(application) = facts.asks.get(place.ask).map(|ask| ask.application) else { continue };
        let Some(owner) = facts.applications.get(application) else { continue };
        *applications.entry(application).or_default() += place.amount;
        *users.entry((owner.user, partition)).or_default() += place.amount;
        for queue in &facts.queue(owner.leaf).chain {
            let held = queues.entry((*queue, partition)).or_default();
            held.used += place.amount;
            held.reserved += place.amount;
        }
    }
    for (index, queue) in facts.tree.queues.iter().enumerate() {
        for (partition, quota) in queue.quota.iter().enumerate() {
            let key = (QueueId(index as u32), PartitionId(partition as u32));
            let held = queues.remove(&key).unwrap_or_default();
            let is_equal =
                (held.used, held.reserved, held.containers) == (quota.used, quota.reserved, quota.containers);
            report.check(is_equal, "I2", || {
                format!(
                    "{} uses {:?} by its count, {:?} by its containers",
                    queue.path, quota.used, held.used
                )
            });
        }
    }
    for (index, user) in facts.tree.users.iter().enumerate() {
        for (partition, used) in user.used.iter().enumerate() {
            let key = (LeafUserId(index as u32), PartitionId(partition as u32));
            let held = users.remove(&key).unwrap_or_default();
            report.check(held == *used, "I2", || format!("user {} uses {used:?}, holds {held:?}", user.name));
        }
    }
    for (id, application) in facts.applications.iter() {
        let held = applications.remove(&id).unwrap_or_default();
        report.check(held == application.used, "I2", || format!("{id} uses {:?}", application.used));
    }
}

/// I4: every known ask has outstanding units and no surplus reservations. The pending amounts of leaves equal the sums
/// over their asks.
fn check_asks(facts: &Facts, report: &mut AuditReport) {
    let mut pending: BTreeMap<(QueueId, PartitionId), Resources> = BTreeMap::new();
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for (id, ask) in facts.asks.iter() {
        let done = u64::from(ask.allocated) + u64::from(ask.extras().cancelled);
        report.check(done < u64::from(ask.asked.get()), "I4", || {
            format!("{id} has nothing outstanding: {ask:?}")
        });
        let reservations = ask.reservations().len();
        let surplus = facts.surplus_reservations(ask.asked.get().saturating_sub(done as u32), reservations);
        report.check(surplus == 0, "I4", || format!("{id} has {surplus} surplus reservations"));
        let Some(application) = facts.applications.get(ask.application) else {
            report.check(false, "I10", || format!("{id} has lost its application"));
            continue;
        };
        let shape = facts.shapes.at(ask.shape);
        let entry = pending.entry((application.leaf, shape.partition)).or_default();
        *entry += shape.need.resources.times(i64::from(ask.outstanding()));
        *counts.entry(ask.application).or_default() += 1;
    }
    for (index, queue) in facts.tree.queues.iter().enumerate() {
        for (partition, quota) in queue.quota.iter().enumerate() {
            let key = (QueueId(index as u32), PartitionId(partition as u32));
            let sum = pending.remove(&key).unwrap_or_default();
            report.check(sum == quota.pending, "I4", || {
                format!("{}: its pending amount differs from its asks", queue.path)
            });
        }
    }
    for (id, application) in facts.applications.iter() {
        let count = counts.remove(&id).unwrap_or_default();
        report.check(count == application.asks, "I4", || {
            format!("{id} counts its asks as {}", application.asks)
        });
    }
}

/// I5: a container has one application and one node, and each lists it once. Its charge is in the node's partition.
fn check_containers(facts: &Facts, report: &mut AuditReport) {
    for (id, container) in facts.containers.iter() {
        let on_node = |node: NodeId| {
            facts.nodes.get(node).map_or(0, |n| n.containers.iter().filter(|c| **c == id).count())
        };
        report.check(on_node(container.node) == 1, "I5", || format!("{id} is not listed once by its node"));
        let charged_to = facts.shapes.at(container.shape).partition;
        let is_there = facts.nodes.get(container.node).is_none_or(|node| node.partition == charged_to);
        report.check(is_there, "I5", || format!("{id} is charged to {charged_to}, its node is in another"));
    }
    for id in facts.stopping.keys() {
        report.check(facts.containers.get(*id).is_some(), "I5", || {
            format!("{id} is listed as stopping but has ended")
        });
    }
    for id in facts.notices.keys() {
        report.check(facts.containers.get(*id).is_some(), "I5", || {
            format!("{id} is announced for preemption but has ended")
        });
    }
    for id in facts.disruption.known_containers() {
        report.check(facts.containers.get(id).is_some(), "I5", || {
            format!("{id} has a cost or is a member of a gang, but has ended")
        });
    }
    check_ending(facts, report);
    let mut by_applications = 0;
    for (id, application) in facts.applications.iter() {
        let mut listed: Vec<ContainerId> = application.containers.iter(&facts.containers).collect();
        listed.sort_unstable();
        listed.dedup();
        let are_its = listed.iter().all(|listed| facts.containers.at(*listed).application == id);
        report.check(are_its && listed.len() == application.containers.running(), "I5", || {
            format!("{id} lists {} of its containers, {} run", listed.len(), application.containers.running())
        });
        by_applications += listed.len();
    }
    let by_nodes: usize = facts.nodes.iter().map(|(_, node)| node.containers.len()).sum();
    let count = facts.containers.len();
    report.check(by_applications == count && by_nodes == count, "I5", || {
        format!("containers: {count}; applications list {by_applications}, nodes {by_nodes}")
    });
    let leaves =
        facts.tree.queues.iter().filter(|queue| queue.is_leaf).map(|queue| queue.applications as usize);
    let leaves: usize = leaves.sum();
    report
        .check(leaves == facts.applications.len(), "I5", || format!("leaves count applications as {leaves}"));
}

/// I5: an ending application has no asks, has containers, and all of them are being stopped.
fn check_ending(facts: &Facts, report: &mut AuditReport) {
    for (id, application) in facts.applications.iter().filter(|(_, known)| known.ending.is_some()) {
        let mut running = application.containers.iter(&facts.containers);
        let is_awaited = application.containers.running() > 0 && application.asks == 0;
        let are_stopping = running.all(|container| facts.stopping.contains_key(&container));
        report
            .check(is_awaited && are_stopping, "I5", || format!("{id} is ending but waits for no container"));
    }
}

/// I12: the tag counts equal the sums over containers.
fn check_tags(facts: &Facts, report: &mut AuditReport) {
    let mut counts = TagCounts::default();
    for (_, container) in facts.containers.iter() {
        if let Some(node) = facts.nodes.get(container.node) {
            counts.add(facts.shapes.at(container.shape).tags(), node, container.application, 1);
        }
    }
    report.check(counts == facts.tags, "I12", || {
        format!("containers with tags are {counts:?}, counted {:?}", facts.tags)
    });
}

/// I12: exactly the reservations that a pass could fulfil now are listed as ready.
fn check_ready_reservations(state: &State, report: &mut AuditReport) {
    for (id, reservation) in state.facts.reservations.iter() {
        let Some(node) = state.facts.nodes.get(reservation.node) else { continue };
        if state.facts.asks.get(reservation.ask).is_none() {
            continue;
        }
        let (set, _) = state.node_shards.place_of(reservation.node, node.partition);
        let is_listed = state.node_shards.ready_reservations(set).contains(&id);
        report.check(is_listed == state.is_ready(id), "I12", || {
            format!(
                "{id} is {}",
                if is_listed { "listed as ready but is not" } else { "ready but not listed" }
            )
        });
    }
}

/// I6: the node and the ask of a reservation both list it, and the node could serve the ask if it were empty.
fn check_reservations(facts: &Facts, report: &mut AuditReport) {
    for (id, reservation) in facts.reservations.iter() {
        let at_node = facts.nodes.get(reservation.node).and_then(|node| node.reservation);
        report.check(at_node == Some(id), "I6", || format!("{id} is not known to its node"));
        let ask = facts.asks.get(reservation.ask);
        let at_ask = ask.map_or(0, |ask| ask.reservations().iter().filter(|r| **r == id).count());
        report.check(at_ask == 1, "I6", || format!("{id} is not known once to its ask"));
        let could_serve = |node| ask.is_some_and(|ask| facts.could_hold(facts.shapes.at(ask.shape), node));
        report.check(facts.nodes.get(reservation.node).is_some_and(could_serve), "I6", || {
            format!("{id} is on a node that can never serve it")
        });
    }
    let at_nodes = facts.nodes.iter().filter(|(_, node)| node.reservation.is_some()).count();
    let at_asks: usize = facts.asks.iter().map(|(_, ask)| ask.reservations().len()).sum();
    let count = facts.reservations.len();
    report.check(at_nodes == count && at_asks == count, "I6", || {
        format!("reservations: {count}; nodes know {at_nodes}, asks {at_asks}")
    });
}

#[cfg(test)]
mod tests;
