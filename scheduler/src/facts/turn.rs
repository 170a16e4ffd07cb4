//! Turns of gangs that gather.
//!
//! A gang's turn begins when it first holds room. It may end when its time is up, and ends when another gang holds room
//! in its place. Changed nodes and places on better nodes do not prolong it. The time is over when the room has not
//! grown for [`gather_limit_ms`](crate::config::EngineConfig::gather_limit_ms). Then the turn ends if another gang
//! could use the room, or if members with a part of their room could be on other nodes. But an overdue turn does not
//! end while a round of preemption is under way: the plan counts on the held room. A gang that comes first may take
//! over even then. At the end of its turn the gang gives the room back and goes behind all gangs that wait. Its next
//! turn prefers nodes on which it has not yet waited with a part of its room. The limit doubles if a part waited once
//! more on such a node, or if no member had a part. Then the gang avoids only the nodes of its last turn. So even a
//! gang that needs long gets its room in the end.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Facts, WaitingGang};
use crate::ids::{ApplicationId, GangId, NodeId, PartitionId};
use crate::resource::Resources;

/// The turns of a gang that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turns {
    /// Gangs of an earlier lap come first. A gang whose turn has ended is in a later lap than all others.
    pub(crate) lap: u64,
    /// The number of turns that ended because the held room did not grow.
    pub(crate) ended: u32,
    /// How often the limit doubled.
    doubled: u32,
    /// Nodes on which parts waited without success since the limit last doubled.
    pub(crate) in_vain: BTreeSet<NodeId>,
    /// The present turn. It may outlast the held room for a moment.
    current: Option<Turn>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Turn {
    /// The number of asks that had been submitted when it began.
    began_after: u64,
    /// When the held room last grew.
    grown_ms: u64,
    /// The most that was held of each type.
    most: Resources,
}

/// The place of a waiting gang in the order in which gangs are tried. The first field that differs decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GangKey {
    lap: u64,
    /// The priority of its application.
    priority: Reverse<u32>,
    /// The order of submission.
    number: u64,
}

impl Turns {
    pub(crate) fn in_lap(lap: u64) -> Self {
        Self { lap, ..Self::default() }
    }
}

impl Facts {
    /// The place of a waiting gang in the order in which gangs are tried.
    pub(crate) fn gang_key(&self, gang: &WaitingGang) -> GangKey {
        let priority = Reverse(self.applications.at(gang.application).priority);
        GangKey { lap: gang.turns.lap, priority, number: gang.number }
    }

    /// When the time of the gang's turn is up. `None` without held room or without a limit.
    pub(crate) fn turn_until_ms(&self, gang: GangId) -> Option<u64> {
        let turn = self.gangs.get(&gang)?.turns.current.as_ref().filter(|_| self.holds_room(gang))?;
        Some(turn.grown_ms.saturating_add(self.turn_limit_ms(gang)?))
    }

    /// Whether the time of the gang's turn is up.
    pub(crate) fn turn_has_expired(&self, gang: GangId) -> bool {
        self.turn_until_ms(gang).is_some_and(|until_ms| until_ms <= self.now_ms)
    }

    fn turn_limit_ms(&self, gang: GangId) -> Option<u64> {
        let doubled = self.gangs.get(&gang)?.turns.doubled;
        Some(self.config.gather_limit_ms?.saturating_mul(1u64 << doubled.min(63)))
    }

    /// Whether the gang takes over the other gang's room: it comes first in order, and was submitted since the other
    /// gang's turn began. A gang that a limit stopped when the turn began waits for its end. Otherwise each moment of
    /// headroom would cost the other gang its gathered room.
    pub(crate) fn may_interrupt(&self, gang: &WaitingGang, other: &WaitingGang) -> bool {
        let is_new = other.turns.current.as_ref().is_none_or(|turn| gang.number > turn.began_after);
        is_new && self.gang_key(gang) < self.gang_key(other)
    }

    /// The later gangs whose turns the gang waits for in some partition.
    fn awaited_turns(&self, id: GangId, gang: &WaitingGang) -> impl Iterator<Item = GangId> {
        let gathering = self.held_rooms.iter().map(|(partition, held)| (*partition, held.gang));
        let others = gathering.filter(move |(_, other)| *other != id);
        others.filter_map(move |(partition, other_id)| {
            let other = self.gangs.get(&other_id)?;
            let is_later = self.gang_key(gang) < self.gang_key(other);
            let waits = is_later && !self.may_interrupt(gang, other) && self.wants(gang, partition);
            waits.then_some(other_id)
        })
    }

    /// The partitions in which the gang must hold nothing while it waits for the turns of later gangs. The later gangs
    /// want them, or gangs whose room the later ones need. Without a time limit for turns, the gang also cedes all
    /// partitions that it wants. The gang `ended` counts as if it held nothing.
    pub(crate) fn partitions_ceded(
        &self,
        id: GangId,
        gang: &WaitingGang,
        ended: Option<GangId>,
    ) -> BTreeSet<PartitionId> {
        let mut ceded = BTreeSet::new();
        let mut open: Vec<GangId> =
            self.awaited_turns(id, gang).filter(|other| Some(*other) != ended).collect();
        if !open.is_empty() && self.config.gather_limit_ms.is_none() {
            ceded.extend(self.partitions_wanted(gang));
        }
        while let Some(next) = open.pop() {
            let Some(waiting) = self.gangs.get(&next) else { continue };
            for partition in self.partitions_wanted(waiting) {
                let gathering = self.held_rooms.get(&partition).map(|held| held.gang);
                if ceded.insert(partition) {
                    open.extend(gathering.filter(|other| *other != id && Some(*other) != ended));
                }
            }
        }
        ceded
    }

    /// The partitions in which the gang may hold room now.
    pub(crate) fn partitions_to_gather(&self, id: GangId, gang: &WaitingGang) -> Vec<PartitionId> {
        let ceded = self.partitions_ceded(id, gang, None);
        self.partitions_wanted(gang).into_iter().filter(|partition| !ceded.contains(partition)).collect()
    }

    /// The partitions in which gangs hold room that come before this one.
    pub(crate) fn partitions_held_before(&self, id: GangId) -> impl Iterator<Item = PartitionId> {
        let key = |gang: GangId| self.gangs.get(&gang).map(|gang| self.gang_key(gang));
        let own = key(id);
        let held = self.held_rooms.iter().filter(move |(_, held)| key(held.gang) < own);
        held.map(|(partition, _)| *partition)
    }

    /// The other gangs that may gather and want a partition of this one.
    pub(crate) fn rivals(&self, id: GangId) -> impl Iterator<Item = (GangId, &WaitingGang)> {
        self.rivals_among(id, |_| true)
    }

    /// The rivals that were submitted after the first `asks` asks.
    pub(crate) fn rivals_since(&self, id: GangId, asks: u64) -> impl Iterator<Item = (GangId, &WaitingGang)> {
        self.rivals_among(id, move |gang| gang.number > asks)
    }

    fn rivals_among(
        &self,
        id: GangId,
        is_candidate: impl Fn(&WaitingGang) -> bool,
    ) -> impl Iterator<Item = (GangId, &WaitingGang)> {
        let wanted = self.gangs.get(&id).map(|gang| self.partitions_wanted(gang)).unwrap_or_default();
        let others = self
            .gangs
            .iter()
            .filter(move |(other, gang)| **other != id && gang.gathers && is_candidate(gang));
        let others = others.filter(move |(_, gang)| wanted.iter().any(|one| self.wants(gang, *one)));
        others.map(|(id, gang)| (*id, gang))
    }

    fn wants(&self, gang: &WaitingGang, partition: PartitionId) -> bool {
        self.partitions_wanted(gang).contains(&partition)
    }

    /// The lap of a new gang of the application: the last lap of gangs of its priority or above, or else the very
    /// first lap. So the new gang comes before those of lower priority that are not in an earlier lap.
    pub(crate) fn lap_of_new(&self, application: ApplicationId) -> u64 {
        let priority = |id| self.applications.at(id).priority;
        let laps = |is_behind: &dyn Fn(&&WaitingGang) -> bool| {
            self.gangs.values().filter(is_behind).map(|gang| gang.turns.lap).collect::<Vec<_>>()
        };
        let not_lower = laps(&|gang| priority(gang.application) >= priority(application));
        let all = || laps(&|_| true).into_iter().min();
        not_lower.into_iter().max().or_else(all).unwrap_or_default()
    }

    /// Ends the turns of all other gangs that hold no room, because the gang begins to hold room in a partition. The
    /// gang's own turn goes on after a moment without room, unless its time is up. Gangs submitted until now can no
    /// longer interrupt it.
    pub(super) fn end_turns_without_room(&mut self, gang: GangId) {
        let (limit_ms, asks_submitted, now_ms) = (self.turn_limit_ms(gang), self.asks_submitted, self.now_ms);
        let gathering: BTreeSet<GangId> = self.held_rooms.values().map(|held| held.gang).collect();
        for (id, waiting) in self.gangs.iter_mut().filter(|(id, _)| !gathering.contains(id)) {
            let turn = &mut waiting.turns.current;
            let until_ms = |turn: &Turn| turn.grown_ms.saturating_add(limit_ms.unwrap_or(u64::MAX));
            *turn = turn.take().filter(|turn| *id == gang && now_ms < until_ms(turn));
            if let Some(turn) = turn {
                turn.began_after = asks_submitted;
            }
        }
    }

    /// Begins the gang's turn if it has none. Its time begins anew if the held room has grown.
    pub(super) fn record_growth(&mut self, gang: GangId) {
        let (began_after, grown_ms) = (self.asks_submitted, self.now_ms);
        let held: Resources =
            self.held_rooms.values().filter(|held| held.gang == gang).map(|held| held.amount).sum();
        let Some(waiting) = self.gangs.get_mut(&gang) else { return };
        let begins = || Turn { began_after, grown_ms, most: Resources::ZERO };
        let turn = waiting.turns.current.get_or_insert_with(begins);
        if !held.within(&turn.most) {
            turn.most = turn.most.max(&held);
            turn.grown_ms = grown_ms;
        }
    }

    /// The gang holds no room in the partition any more. Gangs that waited for it and hold room elsewhere have their
    /// whole time from now on. Otherwise two gangs could end their turns together for ever.
    pub(super) fn restart_turns(&mut self, partition: PartitionId, gang: GangId) {
        let gathering: Vec<GangId> = self.held_rooms.values().map(|held| held.gang).collect();
        for id in gathering.into_iter().filter(|id| *id != gang) {
            if self.gangs.get(&id).is_some_and(|gang| self.wants(gang, partition))
                && let Some(turn) = self.gangs.get_mut(&id).and_then(|gang| gang.turns.current.as_mut())
            {
                turn.grown_ms = self.now_ms;
            }
        }
    }

    /// The nodes on which members of the gang have a part of their room.
    pub(crate) fn nodes_of_parts(&self, id: GangId) -> BTreeSet<NodeId> {
        self.places_of(id).filter(|(.., place)| !place.is_whole).map(|(_, node, _)| node).collect()
    }

    /// The gang goes behind all gangs that wait. It holds nothing any more, and had parts on these nodes.
    pub(crate) fn transition_end_turn(&mut self, id: GangId, parts: BTreeSet<NodeId>) {
        let last = self.gangs.values().map(|gang| gang.turns.lap).max().unwrap_or_default();
        let Some(Turns { lap, ended, doubled, in_vain, current }) =
            self.gangs.get_mut(&id).map(|gang| &mut gang.turns)
        else {
            return;
        };
        *lap = last.saturating_add(1);
        *ended = ended.saturating_add(1);
        *current = None;
        if parts.is_empty() || !parts.is_disjoint(in_vain) {
            *doubled = doubled.saturating_add(1);
            *in_vain = parts;
        } else {
            in_vain.extend(parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::ManualClock;
    use crate::config::{EngineConfig, QueueConfig};
    use crate::engine::{Engine, Mode};
    use crate::gang::GangSpec;
    use crate::ids::{AskId, SlotId};
    use crate::resource::ResourceTypes;
    use crate::{ApplicationSpec, AskSpec, NodeSpec};

    const LIMIT_MS: u64 = 100;
    const DEFAULT: PartitionId = PartitionId::DEFAULT;
    const Q: PartitionId = PartitionId(1);

    /// A node in the default partition and one in `q`, each with room for one member, and gangs without held room.
    /// Each wants three members in all of its partitions.
    fn facts(wanted: &[&[PartitionId]]) -> (Facts, Vec<GangId>) {
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        config.partitions = vec!["q".into()];
        config.gather_limit_ms = Some(LIMIT_MS);
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        for (name, partition) in [("n0", DEFAULT), ("n1", Q)] {
            let node = NodeSpec::new(name, Resources::new(&[3])).in_partition(partition);
            handle.add_node(node).unwrap();
        }
        let application = ApplicationSpec::new("job", "root.default", "ann");
        let application = handle.submit_application(application, &handle.event_stream(100)).unwrap();
        for partition in [DEFAULT, Q] {
            let other = AskSpec::new(Resources::new(&[2]), 1).in_partition(partition);
            handle.submit_ask(application, other).unwrap();
        }
        engine.run_until_quiet();
        let submit = |partitions: &&[PartitionId]| {
            let mut gang = GangSpec::new(application).without_gathering();
            for partition in *partitions {
                let members = AskSpec::new(Resources::new(&[1]), 3).in_partition(*partition);
                gang = gang.with_role(partition.to_string(), members);
            }
            handle.submit_gang(gang).unwrap().gang
        };
        let gangs = wanted.iter().map(submit).collect();
        engine.run_until_quiet();
        (engine.shared_state().facts.clone(), gangs)
    }

    /// A member of the gang gets a place in the partition.
    fn hold(facts: &mut Facts, gang: GangId, partition: PartitionId) {
        let mut asks = facts.gangs[&gang].roles.iter().map(|role| role.ask);
        let is_here = |ask: &AskId| facts.shapes.at(facts.asks.at(*ask).shape).partition == partition;
        let ask = asks.find(is_here).unwrap();
        facts.transition_hold_room(gang, ask, node_of(partition));
    }

    fn node_of(partition: PartitionId) -> NodeId {
        NodeId::new(partition.index() as u32, 0)
    }

    #[test]
    fn only_room_of_gangs_that_come_first_is_held_before() {
        let (mut facts, gangs) = facts(&[[DEFAULT, Q].as_slice(); 3]);
        hold(&mut facts, gangs[0], DEFAULT);
        hold(&mut facts, gangs[1], Q);
        let before = |gang| facts.partitions_held_before(gang).collect::<Vec<_>>();
        assert_eq!(before(gangs[0]), []);
        assert_eq!(before(gangs[1]), [DEFAULT]);
        assert_eq!(before(gangs[2]), [DEFAULT, Q]);
    }

    /// The first gang gives back its room in the default partition. The second one holds room in `q`.
    #[test]
    fn a_turn_begins_again_if_room_is_given_back_that_the_gang_wants() {
        for (wanted, until_ms) in [(&[DEFAULT, Q][..], 60 + LIMIT_MS), (&[Q], LIMIT_MS)] {
            let (mut facts, gangs) = facts(&[&[DEFAULT], wanted]);
            hold(&mut facts, gangs[0], DEFAULT);
            hold(&mut facts, gangs[1], Q);
            facts.now_ms = 60;
            facts.transition_give_back_room(DEFAULT, node_of(DEFAULT));
            assert_eq!(facts.turn_until_ms(gangs[1]), Some(until_ms));
        }
    }

    /// It does not prolong its own turn.
    #[test]
    fn a_turn_goes_on_if_the_gang_gives_back_a_part_of_its_room() {
        let (mut facts, gangs) = facts(&[&[DEFAULT, Q]]);
        hold(&mut facts, gangs[0], DEFAULT);
        hold(&mut facts, gangs[0], Q);
        facts.now_ms = 60;
        facts.transition_give_back_room(DEFAULT, node_of(DEFAULT));
        assert_eq!(facts.turn_until_ms(gangs[0]), Some(LIMIT_MS));
    }

    /// A moment without room is not a new turn, unless the time of the turn is over by then.
    #[test]
    fn a_turn_goes_on_after_a_moment_without_room() {
        for (again_ms, until_ms) in [(60, LIMIT_MS), (LIMIT_MS, 2 * LIMIT_MS)] {
            let (mut facts, gangs) = facts(&[&[DEFAULT]]);
            hold(&mut facts, gangs[0], DEFAULT);
            facts.transition_give_back_room(DEFAULT, node_of(DEFAULT));
            assert_eq!(facts.turn_until_ms(gangs[0]), None);
            facts.now_ms = again_ms;
            hold(&mut facts, gangs[0], DEFAULT);
            assert_eq!(facts.turn_until_ms(gangs[0]), Some(until_ms));
        }
    }

    #[test]
    fn a_turn_is_over_once_another_gang_holds_room() {
        let (mut facts, gangs) = facts(&[&[DEFAULT], &[DEFAULT]]);
        for (now_ms, gang) in [(0, gangs[0]), (20, gangs[1]), (40, gangs[0])] {
            facts.now_ms = now_ms;
            hold(&mut facts, gang, DEFAULT);
            assert_eq!(facts.turn_until_ms(gang), Some(now_ms + LIMIT_MS));
            facts.transition_give_back_room(DEFAULT, node_of(DEFAULT));
        }
    }
}
