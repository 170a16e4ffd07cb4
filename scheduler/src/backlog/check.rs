//! The backlog's part of the audit: the backlog equals a rebuild from the facts.

use std::collections::BTreeMap;

use super::{Backlog, WaitKey};
use crate::facts::Facts;
use crate::ids::{AskId, LaneId, NodeId, PartitionId, ReservationId, SetId, ShapeId};
use crate::place::NodeShards;
use crate::resource::Resources;

/// Violated invariants, each with its detail.
#[derive(Default)]
struct Findings(Vec<(&'static str, String)>);

impl Findings {
    fn check(&mut self, holds: bool, invariant: &'static str, detail: impl FnOnce() -> String) {
        if !holds {
            self.0.push((invariant, detail()));
        }
    }
}

impl Backlog {
    /// Every parked lane with its key.
    pub(crate) fn parked(&self) -> impl Iterator<Item = (LaneId, WaitKey)> {
        self.waits.parked()
    }

    pub(crate) fn is_any_set_paused(&self) -> bool {
        self.waits.is_any_paused()
    }

    /// The asks in one lane.
    pub(crate) fn asks_of_lane(&self, lane: LaneId) -> impl Iterator<Item = AskId> {
        let slots = self.lane(lane).order.iter();
        let entries = slots.filter_map(move |(_, slot)| self.asks_in(slot, lane));
        entries.flat_map(|entry| entry.asks.iter().map(|pending| pending.ask))
    }

    /// I10: every pending ask is in its lane or waiting. I12: lanes and counts equal those of a rebuild. I13: no ask
    /// waits for a host or rack that has room.
    pub(crate) fn findings(&self, facts: &Facts, node_shards: &NodeShards) -> Vec<(&'static str, String)> {
        let mut findings = Findings::default();
        self.check_asks(facts, &mut findings);
        let rebuilt = Self::rebuild(facts, |partition| node_shards.sets(partition));
        self.check_lanes(&rebuilt, &mut findings);
        self.check_reservations(&rebuilt, facts, &mut findings);
        self.check_waits(facts, node_shards, &mut findings);
        self.check_headroom(facts, &mut findings);
        self.check_wanted(facts, node_shards, &mut findings);
        self.check_variants(&mut findings);
        findings.0
    }

    /// Covers shapes without asks, too.
    fn check_variants(&self, findings: &mut Findings) {
        for (index, demand) in self.demand.iter().enumerate() {
            let own = ShapeId(index as u32);
            let is_its = |variant: &ShapeId| self.own_shape(*variant) == own;
            findings.check(demand.variants.iter().all(is_its), "I12", || {
                format!("{own} has variants of other shapes")
            });
            let may_reserve = self.own_shape(own) == own || self.reservations_for(own).is_empty();
            findings.check(may_reserve, "I12", || format!("{own} is a variant with a reservation"));
        }
    }

    fn check_asks(&self, facts: &Facts, findings: &mut Findings) {
        let mut listed: BTreeMap<AskId, usize> = BTreeMap::new();
        for (id, _) in facts.applications.iter() {
            self.asks_of(id).into_iter().for_each(|ask| *listed.entry(ask).or_default() += 1);
        }
        for (id, _) in facts.asks.iter() {
            let times = listed.remove(&id).unwrap_or_default();
            findings.check(times == 1, "I10", || format!("{id} is in the backlog {times} times"));
        }
        findings
            .check(listed.is_empty(), "I10", || format!("the backlog lists asks that are gone: {listed:?}"));
    }

    /// Lanes listed at limits are parked there, and asks registered at hosts and racks wait. Otherwise stale entries
    /// would pile up.
    fn check_waits(&self, facts: &Facts, node_shards: &NodeShards, findings: &mut Findings) {
        for mistake in self.waits.clone().mistakes() {
            findings.check(false, "I12", || mistake);
        }
        for ask in self.locality.registered() {
            let waits = self.locality.is_waiting(ask) && facts.asks.get(ask).is_some();
            findings
                .check(waits, "I12", || format!("{ask} is registered at a host or rack but does not wait"));
        }
        self.check_locality(facts, node_shards, findings);
    }

    /// Only lanes that are parked at a queue's limit block headroom.
    fn check_headroom(&self, facts: &Facts, findings: &mut Findings) {
        let mut blocked_headroom =
            vec![vec![Resources::ZERO; facts.tree.partitions.len()]; facts.tree.queues.len()];
        let mut owners = 0;
        for id in self.lanes.ids() {
            let lane = self.lane(id);
            let Some(blocks) = self.headroom.owners.get(&id) else { continue };
            let Some(WaitKey::QueueLimit(limited)) = self.waits.key_of(id) else {
                findings.check(false, "I12", || {
                    format!("{id} blocks headroom but is not parked at a queue's limit")
                });
                continue;
            };
            owners += 1;
            let chain = &facts.queue(lane.leaf).chain;
            for queue in chain.iter().rev().take_while(|queue| **queue != limited) {
                blocked_headroom[queue.index()][lane.share.partition.index()] += *blocks;
            }
        }
        for (index, expected) in blocked_headroom.iter().enumerate() {
            let kept = &self.headroom.queues[index];
            findings.check(expected == kept, "I12", || {
                format!("below queue {index} lanes block {kept:?}, not {expected:?}")
            });
        }
        let all = self.headroom.owners.len();
        findings.check(owners == all, "I12", || format!("{all} lanes own headroom, of which {owners} exist"));
    }

    /// No ask waits for a host or rack that has room.
    fn check_locality(&self, facts: &Facts, node_shards: &NodeShards, findings: &mut Findings) {
        for id in self.locality.waiting() {
            let Some(ask) = facts.asks.get(id) else { continue };
            let shape = facts.shapes.at(ask.shape);
            let has_room =
                |node: &NodeId| facts.nodes.get(*node).is_some_and(|node| facts.can_take(shape, node));
            let allowed = self.locality.allowed(facts, id, ask);
            let found = node_shards.preferred_nodes(ask.preference(), allowed).find(has_room);
            findings.check(found.is_none(), "I13", || format!("{id} waits, and {found:?} has room"));
        }
    }

    fn check_reservations(&self, rebuilt: &Self, facts: &Facts, findings: &mut Findings) {
        for (id, ..) in facts.shapes.iter() {
            let sorted = |reservations: &[ReservationId]| {
                let mut reservations = reservations.to_vec();
                reservations.sort();
                reservations
            };
            let (kept, all) = (sorted(self.reservations_for(id)), sorted(rebuilt.reservations_for(id)));
            findings
                .check(kept == all, "I12", || format!("{id} lists the reservations {kept:?}, has {all:?}"));
        }
        for (kept, all) in self.reserved.iter().zip(&rebuilt.reserved) {
            let is_same = kept.len() == all.len() && kept.iter().all(|shape| all.contains(shape));
            findings.check(is_same, "I12", || format!("shapes with reservations are {kept:?}, not {all:?}"));
        }
    }

    fn check_lanes(&self, rebuilt: &Self, findings: &mut Findings) {
        for id in self.lanes.ids() {
            let lane = self.lane(id);
            for (key, slot) in lane.order.iter() {
                let asks = self.asks_in(slot, id).map(|entry| &entry.asks);
                let Some(same) = rebuilt.lanes.of(lane.user, lane.shape) else {
                    findings.check(false, "I12", || format!("{id} is missing in a rebuild"));
                    continue;
                };
                let expected = rebuilt.asks_in(slot, same).map(|entry| &entry.asks);
                // Asks that wait for hosts are in a rebuilt lane, not in the kept one.
                let is_part =
                    asks.zip(expected).is_some_and(|(asks, all)| asks.iter().all(|ask| all.contains(ask)));
                findings.check(is_part, "I12", || {
                    format!("{id} lists asks of slot {slot} that a rebuild does not list")
                });
                findings.check(rebuilt.lane(same).order.contains((key, slot)), "I12", || {
                    format!("{id} lists slot {slot} under a stale key")
                });
            }
            let is_parked = self.waits.key_of(id).is_some();
            findings.check(!(lane.order.is_empty() && is_parked), "I12", || {
                format!("{id} is parked without asks")
            });
        }
    }

    fn check_wanted(&self, facts: &Facts, node_shards: &NodeShards, findings: &mut Findings) {
        // Runnable lanes by shape, and those borrowed lanes among them that are due by the limits of their own lanes.
        let (mut runnable, mut ahead) = (BTreeMap::<ShapeId, u32>::new(), BTreeMap::<ShapeId, u32>::new());
        let mut listed = 0;
        let mut below = vec![vec![0u32; facts.tree.partitions.len() * 2]; facts.tree.queues.len()];
        for id in self.lanes.ids() {
            let lane = self.lane(id);
            let first = lane.order.first_key().filter(|_| self.waits.key_of(id).is_none());
            let key = self.runnable.key_of(id, lane);
            findings.check(key == first, "I12", || format!("{id} is listed under {key:?}, not {first:?}"));
            if key.is_some() {
                listed += 1;
                *runnable.entry(lane.shape).or_default() += 1;
                if self.is_ahead(lane) {
                    *ahead.entry(lane.shape).or_default() += 1;
                }
                for queue in facts.queue(lane.leaf).chain.iter().rev() {
                    let below = &mut below[queue.index()][lane.share.index()];
                    *below += 1;
                    if *below > 1 {
                        break;
                    }
                }
            }
        }
        for mistake in self.runnable.mistakes() {
            findings.check(false, "I12", || mistake);
        }
        let kept = self.runnable.count_listed();
        findings.check(kept == listed, "I12", || format!("lanes listed: {kept}, runnable: {listed}"));
        for (index, counts) in below.iter().enumerate() {
            let kept = self.runnable.below(index);
            findings
                .check(counts == kept, "I12", || format!("queue {index} counts {kept:?}, has {counts:?}"));
        }
        for partition in 0..facts.tree.partitions.len() as u32 {
            let partition = PartitionId(partition);
            for set in (0..node_shards.sets(partition)).map(|number| SetId::new(partition, number)) {
                let open = facts.shapes.iter().filter(|(id, shape, _)| {
                    let own = self.own_shape(*id);
                    let is_due = own == *id || self.is_closed_everywhere(own);
                    let lanes = if is_due { &runnable } else { &ahead };
                    let is_wanting = lanes.contains_key(id) || !self.reservations_for(*id).is_empty();
                    shape.partition == partition && is_wanting && self.is_open(*id, set)
                });
                let wanted = open.count() + node_shards.ready_reservations(set).len();
                let kept = self.wanted[set.index()] as usize;
                findings.check(wanted == kept, "I12", || {
                    format!("{set} counts {kept} open shapes and ready reservations, has {wanted}")
                });
            }
        }
    }
}
