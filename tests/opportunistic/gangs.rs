//! Opportunistic containers beside gangs, task groups and disruption budgets.

use apportion::config::{Capacity, Percent, QueueConfig};
use apportion::event::{EventKind, Refusal, TaskGroupRefusal};
use apportion::gang::GangSpec;
use apportion::preempt::{DisruptionBudget, DisruptionLimit, PreemptionPolicy, UnhelpedReason};
use apportion::{ContainerId, Mode};

use crate::cluster::{Cluster, ask, config, opportunistic, queued, started};

fn guaranteed(events: &[EventKind]) -> Vec<ContainerId> {
    let placed = |event: &EventKind| match *event {
        EventKind::Allocated { container, .. } => Some(container),
        _ => None,
    };
    events.iter().filter_map(placed).collect()
}

/// Held room is not a leftover. It counts in the order of loads, and a container that waits beside it starts once the
/// gang has given it back. Each run audits the order.
#[test]
fn room_that_a_gang_holds_is_no_leftover() {
    for mode in Cluster::modes() {
        let cluster = Cluster::new(config(5), mode);
        let node = cluster.node("n0", 4);
        cluster.ask(cluster.application(), ask(1, 4));
        let running = guaranteed(&cluster.events());
        let gang = GangSpec::new(cluster.application()).with_role("worker", ask(1, 3));
        let gang = cluster.handle.submit_gang(gang).unwrap();
        cluster.run();
        cluster.complete(running[0]);
        cluster.ask(cluster.application(), opportunistic(1, 1));
        let waiting = queued(&cluster.events())[0].0;
        assert_eq!(cluster.at(node), (vec![waiting], vec![]), "{mode:?}: the gang holds the room");
        cluster.handle.cancel_gang(gang.gang).unwrap();
        cluster.run();
        assert_eq!(started(&cluster.events()), [waiting], "{mode:?}");
    }
}

/// The gang of the group waits, so a role for the ask would be there without the ask.
#[test]
fn the_containers_of_a_task_group_are_guaranteed() {
    for is_full in [true, false] {
        let cluster = Cluster::serial(5);
        cluster.node("n0", 2);
        if is_full {
            cluster.ask(cluster.application(), ask(1, 2));
        }
        let job = cluster.application();
        cluster.handle.submit_gang(GangSpec::new(job).with_placeholders("w", ask(1, 2), 2)).unwrap();
        cluster.run();
        let submitted = cluster.handle.submit_ask_of_group(job, "w", opportunistic(1, 1)).unwrap();
        cluster.run();
        let refused = TaskGroupRefusal::Refused(Refusal::OpportunisticTaskGroup);
        assert_eq!(submitted.ticket.try_take(), Some(Err(refused)));
        assert!(cluster.engine.read(|view| view.asks().all(|ask| ask.id() != submitted.ask)));
    }
}

/// Two of the service have to be available. Two more wait at the node, and do no work.
#[test]
fn containers_that_wait_do_not_meet_a_budget() {
    let mut config = config(5);
    let half = |name: &str| {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50))).with_user_limit_factor(None)
    };
    config.root = QueueConfig::root([half("a"), half("b")]);
    let cluster = Cluster::new(config, Mode::Serial);
    cluster.node("n0", 4);
    let service = cluster.application_in("root.a");
    cluster.ask(service, ask(1, 4));
    cluster.ask(service, opportunistic(1, 2));
    let budget = DisruptionBudget::new(6, DisruptionLimit::MinAvailable(4));
    cluster.handle.set_disruption_budgets(service, vec![budget]).unwrap();
    cluster.ask(cluster.application_in("root.b"), ask(1, 2));
    let at_once = PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    };
    let plan = cluster.engine.preemption_plan(&at_once);
    assert!(plan.preemptions.is_empty(), "{plan}");
    assert_eq!(plan.unhelped[0].reason, UnhelpedReason::DisruptionBudget, "{plan}");
}
