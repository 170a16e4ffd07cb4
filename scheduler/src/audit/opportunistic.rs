//! Checks of opportunistic asks and containers.

use std::collections::BTreeSet;

use super::AuditReport;
use crate::facts::{Facts, Head};
use crate::ids::{ContainerId, NodeId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

pub(super) fn check(facts: &Facts, report: &mut AuditReport) {
    check_charges(facts, report);
    check_lists(facts, report);
    for id in facts.node_queues.nodes.keys() {
        check_node(facts, *id, report);
    }
    check_asks(facts, report);
    let loads = facts.rebuilt_loads();
    report.check(loads == facts.node_loads, "I12", || {
        format!("the loads of nodes are {loads:?}, listed are {:?}", facts.node_loads)
    });
}

/// I4: each opportunistic ask has outstanding units. I13: no node would take one of them.
fn check_asks(facts: &Facts, report: &mut AuditReport) {
    for (id, ask) in &facts.node_queues.asks {
        report.check(ask.outstanding() > 0, "I4", || format!("{id} has nothing outstanding: {ask:?}"));
        let Some(application) = facts.applications.get(ask.application) else {
            report.check(false, "I10", || format!("{id} has lost its application"));
            continue;
        };
        let length = facts.config.opportunistic.map_or(0, |policy| policy.queue_length_max);
        let mut nodes = facts.node_loads.least_loaded(ask.shape.partition, None, length);
        let node = nodes.find(|load| facts.could_queue(ask, facts.nodes.at(load.node())));
        let is_admitted = application.is_active && facts.maxima_admit_devices(ask.application, &ask.shape);
        report.check(node.is_none() || !is_admitted, "I13", || {
            format!("{id} is pending, and {node:?} would take it")
        });
    }
}

/// I5: an opportunistic container is charged its devices only, and nothing while it waits.
fn check_charges(facts: &Facts, report: &mut AuditReport) {
    let device_type = facts.config.resources.device_type();
    for (id, size) in &facts.opportunistic {
        let charged =
            facts.containers.get(*id).map(|container| facts.shapes.at(container.shape).need.resources);
        let charged_type = device_type.filter(|_| !facts.is_waiting(*id));
        let is_free = |charged: Resources| {
            (0..RESOURCE_TYPES_MAX).all(|i| charged[i] == if Some(i) == charged_type { size[i] } else { 0 })
        };
        report.check(charged.is_some_and(is_free), "I5", || {
            format!("{id} is opportunistic with {size:?} put aside, and charged {charged:?}")
        });
    }
}

/// I19: in an engine that queues opportunistic containers, each is listed once, at its node.
fn check_lists(facts: &Facts, report: &mut AuditReport) {
    let mut listed = BTreeSet::new();
    for (node, queue) in &facts.node_queues.nodes {
        for id in queue.running.iter().chain(&queue.waiting) {
            let is_there = facts.containers.get(*id).is_some_and(|container| container.node == *node);
            report.check(is_there && listed.insert(*id), "I19", || {
                format!("{id} is listed at {node}, or twice")
            });
        }
    }
    let known: BTreeSet<ContainerId> = facts.opportunistic.keys().copied().collect();
    report.check(listed == known || !facts.node_loads.is_on(), "I19", || {
        format!("opportunistic are {known:?}, nodes list {listed:?}")
    });
    for id in &facts.node_queues.promotions {
        report
            .check(known.contains(id), "I19", || format!("{id} is to be promoted, but is not opportunistic"));
    }
}

/// I19: the running opportunistic containers of a node fit beside the guaranteed ones. Its queue is within bounds, and
/// the queue's head has no room unless a limit on its devices holds it back.
fn check_node(facts: &Facts, id: NodeId, report: &mut AuditReport) {
    let Some(node) = facts.nodes.get(id) else {
        return report.check(false, "I19", || format!("{id} is gone, and has a queue"));
    };
    let left = facts.leftover(node).free;
    let ends = facts.next_to_end(id);
    report.check(ends.is_none(), "I19", || format!("{id} has {left:?} left, and {ends:?} still runs"));
    let waiting = facts.queue_at(id).map_or(0, |queue| queue.waiting.len());
    let length_max = facts.config.opportunistic.map_or(0, |policy| policy.queue_length_max as usize);
    report.check(waiting <= length_max, "I19", || {
        format!("{id} has {waiting} in its queue, and {length_max} may wait")
    });
    let starts = match facts.head_of_queue(id) {
        Head::Fits(head) if facts.opportunistic_need(head).devices.is_none() => Some(head),
        Head::TooLarge(head) => Some(head),
        Head::Fits(_) | Head::Waits => None,
    };
    report.check(starts.is_none(), "I19", || format!("{starts:?} waits at {id} and should not"));
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
    use crate::clock::ManualClock;
    use crate::config::{EngineConfig, OpportunisticPolicy, QueueConfig};
    use crate::engine::{Engine, Mode};
    use crate::ids::{ContainerId, NodeId};
    use crate::resource::{ResourceTypes, Resources};
    use crate::state::State;

    fn amount(units: i64) -> Resources {
        Resources::new(&[units])
    }

    /// A node of 4 with a guaranteed container of 2. Beside it runs an opportunistic one of 2, and two others wait, as
    /// many as may wait.
    fn state() -> State {
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        config.opportunistic = Some(OpportunisticPolicy { queue_length_max: 2 });
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(1 << 10);
        handle.add_node(NodeSpec::new("n0", amount(4))).unwrap();
        let spec = ApplicationSpec::new("application", "root.default", "user");
        let application = handle.submit_application(spec, &events).unwrap();
        for ask in [AskSpec::new(amount(2), 1), AskSpec::new(amount(2), 3).opportunistic()] {
            handle.submit_ask(application, ask).unwrap();
            engine.run_until_quiet();
        }
        let state = engine.shared_state();
        assert!(state.audit().is_clean());
        let (running, waiting) = lists(&state);
        assert_eq!((running.len(), waiting.len()), (1, 2));
        state
    }

    /// The containers that run at the node, and those that wait.
    fn lists(state: &State) -> (Vec<ContainerId>, Vec<ContainerId>) {
        let queue = state.facts.node_queues.nodes.values().next().unwrap();
        (queue.running.clone(), queue.waiting.iter().copied().collect())
    }

    fn node(state: &State) -> NodeId {
        *state.facts.node_queues.nodes.keys().next().unwrap()
    }

    /// Damages a sound state, and asserts that the audit finds this.
    #[track_caller]
    fn expect(finding: &str, damage: impl FnOnce(&mut State)) {
        let mut state = state();
        damage(&mut state);
        let violations = state.audit().violations;
        let is_found = violations.iter().any(|one| one.invariant == "I19" && one.detail.contains(finding));
        assert!(is_found, "{finding}: the audit found {violations:?}");
    }

    #[test]
    fn i19_running_containers_fit_beside_guaranteed_ones() {
        expect("still runs", |state| {
            let node = node(state);
            state.facts.nodes.at_mut(node).room.free -= amount(1);
        });
    }

    #[test]
    fn i19_the_head_starts_once_it_has_room() {
        expect("should not", |state| {
            let node = node(state);
            state.facts.nodes.at_mut(node).room.free += amount(2);
        });
    }

    #[test]
    fn i19_queues_are_bounded() {
        expect("3 in its queue", |state| {
            let (node, first) = (node(state), lists(state).1[0]);
            state.facts.node_queues.nodes.get_mut(&node).unwrap().waiting.push_back(first);
        });
    }

    #[test]
    fn i19_each_opportunistic_container_is_listed_once() {
        for is_listed_twice in [true, false] {
            let finding = if is_listed_twice { "or twice" } else { "nodes list" };
            expect(finding, |state| {
                let (node, running) = (node(state), lists(state).0[0]);
                let list = &mut state.facts.node_queues.nodes.get_mut(&node).unwrap().running;
                if is_listed_twice { list.push(running) } else { list.clear() }
            });
        }
        expect("to be promoted", |state| {
            let mut all = state.facts.containers.iter().map(|(id, _)| id);
            let guaranteed = all.find(|id| !state.facts.opportunistic.contains_key(id));
            state.facts.node_queues.promotions.extend(guaranteed);
        });
    }
}
