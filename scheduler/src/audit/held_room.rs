//! Checks of the room that gangs hold.

use std::collections::BTreeMap;

use super::AuditReport;
use crate::facts::{Facts, GangTopology, HeldPlace, HeldRoom};
use crate::ids::{AskId, PartitionId};
use crate::place::Restart;
use crate::propose::plan_places;
use crate::resource::Resources;
use crate::state::State;

/// All places, with their partitions.
pub(super) fn places(facts: &Facts) -> impl Iterator<Item = (PartitionId, &HeldPlace)> {
    facts
        .held_rooms
        .iter()
        .flat_map(|(partition, held)| held.nodes.values().flatten().map(move |place| (*partition, place)))
}

/// I18: a gang that holds room gathers, and its application is active. Its places are counted, and are at most one for
/// each member. They are on open nodes of the partition, on one rack if its topology demands that.
pub(super) fn check(facts: &Facts, report: &mut AuditReport) {
    for (partition, held) in &facts.held_rooms {
        let id = held.gang;
        let Some(gang) = facts.gangs.get(&id).filter(|gang| gang.gathers) else {
            report.check(false, "I18", || format!("{id} holds room in {partition} and does not gather"));
            continue;
        };
        report.check(facts.applications.at(gang.application).is_active, "I18", || {
            format!("{id} holds room, and its application is not active")
        });
        check_counts(held, report);
        for (ask, count) in &held.counts {
            let role = gang.roles.iter().find(|role| role.ask == *ask);
            report.check(role.is_some_and(|role| count.all() <= role.minimum), "I18", || {
                format!("{id} holds room for members of {ask}: {count:?}")
            });
        }
        for (id, places) in &held.nodes {
            let node = facts.nodes.get(*id);
            let is_usable = |place: &HeldPlace| {
                let (Some(node), Some(ask)) = (node, facts.asks.get(place.ask)) else { return false };
                let shape = facts.shapes.at(ask.shape);
                let is_all = place.amount == shape.need.resources;
                node.is_open()
                    && node.partition == *partition
                    && shape.partition == *partition
                    && place.amount.within(&shape.need.resources)
                    && Resources::ZERO.within(&place.amount)
                    && (!place.is_whole || is_all)
            };
            report.check(!places.is_empty() && places.iter().all(is_usable), "I18", || {
                format!("{} holds {places:?} on {id}", held.gang)
            });
        }
        let mut racks = facts.places_of(id).filter_map(|(_, node, _)| Some(facts.nodes.get(node)?.rack));
        let first = racks.next();
        let is_together = gang.topology != GangTopology::SameRack || racks.all(|rack| Some(rack) == first);
        report.check(is_together, "I18", || format!("{id} holds room on several racks"));
    }
}

fn check_counts(held: &HeldRoom, report: &mut AuditReport) {
    let mut counts = BTreeMap::<AskId, (u32, u32)>::new();
    for place in held.nodes.values().flatten() {
        let (whole, parts) = counts.entry(place.ask).or_default();
        *(if place.is_whole { whole } else { parts }) += 1;
    }
    let known = held.counts.iter().map(|(ask, count)| (*ask, (count.whole, count.parts)));
    report.check(counts.into_iter().eq(known), "I18", || format!("{} counts {:?}", held.gang, held.counts));
    let amount: Resources = held.nodes.values().flatten().map(|place| place.amount).sum();
    report.check(amount == held.amount, "I18", || {
        format!("{} holds {amount:?} and counts {:?}", held.gang, held.amount)
    });
}

/// I18: no gang that gathers waits for room that a later gang holds. Holds whenever the engine is quiet.
pub(super) fn check_first_gangs(state: &State, report: &mut AuditReport) {
    let facts = &state.facts;
    let mut taken = Vec::new();
    for id in facts.gangs_in_order().into_iter().filter(|_| !state.limits_are_stale()) {
        if plan_places(state, id, &taken, Restart::Allowed).is_none() {
            continue;
        }
        for partition in facts.partitions_to_gather(id, &facts.gangs[&id]) {
            let gathering = facts.held_rooms.get(&partition).map(|held| held.gang);
            let is_first = taken.contains(&partition) || gathering.is_none_or(|gathering| gathering == id);
            report.check(is_first, "I18", || format!("{gathering:?} holds room in {partition} before {id}"));
            taken.push(partition);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::change::{ApplicationSpec, AskSpec, GangSpec, NodeSpec};
    use crate::clock::ManualClock;
    use crate::config::{EngineConfig, QueueConfig};
    use crate::engine::{Engine, Mode};
    use crate::facts::NodeState;
    use crate::resource::{DeviceNeed, ResourceTypes};

    fn amount(units: i64) -> Resources {
        Resources::new(&[units])
    }

    /// Two nodes of 4 with a container of 3 each. A gang holds room for a member of 1 with half a device, and a part
    /// of the room for a member of 2. Another gang of one member of 2 is behind it.
    fn state() -> State {
        let types = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
        let mut config = EngineConfig::new(types, QueueConfig::single_leaf());
        config.reservations.delay_ms = None;
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(1 << 10);
        for name in ["n0", "n1"] {
            handle.add_node(NodeSpec::new(name, amount(4)).with_devices(1)).unwrap();
        }
        let submit = || {
            let spec = ApplicationSpec::new("application", "root.default", "user");
            handle.submit_application(spec, &events).unwrap()
        };
        handle.submit_ask(submit(), AskSpec::new(amount(3), 2)).unwrap();
        engine.run_until_quiet();
        let half = AskSpec::new(amount(1), 1).with_devices(DeviceNeed { count: 1, milli: 500 });
        let large = || AskSpec::new(amount(2), 1);
        let gang = GangSpec::new(submit()).with_role("half", half).with_role("large", large());
        handle.submit_gang(gang).unwrap();
        handle.submit_gang(GangSpec::new(submit()).with_role("large", large())).unwrap();
        engine.run_until_quiet();
        let state = engine.shared_state();
        assert_eq!(violations(&state), [""; 0]);
        let held = &state.facts.held_rooms[&PartitionId::DEFAULT];
        let kinds: Vec<_> = held.nodes.values().flatten().map(|place| place.is_whole).collect();
        assert_eq!((kinds.len(), kinds.iter().filter(|is_whole| **is_whole).count()), (2, 1));
        state
    }

    fn violations(state: &State) -> Vec<String> {
        let mut report = state.audit();
        state.audit_nothing_in_flight(&mut report);
        report.violations.iter().map(|violation| violation.invariant.to_string()).collect()
    }

    fn held(state: &mut State) -> &mut HeldRoom {
        state.facts.held_rooms.get_mut(&PartitionId::DEFAULT).unwrap()
    }

    #[track_caller]
    fn expect(invariant: &str, damage: impl FnOnce(&mut State)) {
        let mut state = state();
        damage(&mut state);
        let found = violations(&state);
        assert!(
            found.iter().any(|name| name == invariant),
            "{invariant} is broken, the audit found {found:?}"
        );
    }

    #[test]
    fn held_room_is_a_part_of_the_sums() {
        for invariant in ["I1", "I2"] {
            expect(invariant, |state| {
                let place = held(state).nodes.values_mut().flatten().find(|place| !place.is_whole);
                place.unwrap().amount = Resources::ZERO;
            });
        }
    }

    #[test]
    fn held_room_belongs_to_the_first_gang() {
        let later = |state: &State| *state.facts.gangs.keys().last().unwrap();
        expect("I18", |state| {
            let later = later(state);
            held(state).gang = later;
        });
        expect("I18", |state| {
            let id = held(state).gang;
            state.facts.gangs.get_mut(&id).unwrap().gathers = false;
        });
        expect("I18", |state| held(state).counts.clear());
        expect("I18", |state| held(state).amount = Resources::ZERO);
        expect("I18", |state| {
            held(state).nodes.values_mut().flatten().for_each(|place| place.is_whole = true);
        });
        expect("I18", |state| {
            let node = *held(state).nodes.keys().next().unwrap();
            state.facts.nodes.at_mut(node).state = NodeState::Draining;
        });
        // The first gang gave its room back, and the second one has it, although the first one came during its turn.
        expect("I18", |state| {
            let first = held(state).gang;
            for node in held(state).nodes.keys().copied().collect::<Vec<_>>() {
                state.facts.transition_give_back_room(PartitionId::DEFAULT, node);
            }
            let second = later(state);
            let ask = state.facts.gangs[&second].roles[0].ask;
            let node = state.facts.nodes.iter().next().unwrap().0;
            assert_ne!(first, second);
            state.facts.transition_hold_room(second, ask, node);
            state.facts.gangs.get_mut(&second).unwrap().turns.lap = 1;
            state.facts.gangs.get_mut(&first).unwrap().number = state.facts.asks_submitted + 1;
        });
    }
}
