//! A gang that gathers starts at the latest when every container has ended that ran before.

use std::collections::BTreeSet;

use apportion::gang::GangSpec;
use apportion::{ContainerId, Mode};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::property::{check_log, mode};
use crate::recorded::assert_decides_as_recorded;
use crate::{Cluster, ask, has_started, placed, plain};

/// The units of a node, and whether it is in the second partition.
type SomeNode = (i64, bool);

/// The size and number of a role's members, and whether they want the second partition.
type SomeRole = (i64, u32, bool);

/// Ordinary asks want every node that becomes free, for ever. A gang that could start on empty nodes starts at the
/// latest when every container has ended that ran before. `pick` chooses the next container to end. Returns the log.
fn start_in_time(
    mode: Mode,
    nodes: &[SomeNode],
    gangs: &[Vec<SomeRole>],
    mut pick: impl FnMut(usize) -> usize,
) -> Vec<u8> {
    let mut config = plain();
    config.partitions = vec!["q".into()];
    let cluster = Cluster::new(config, mode);
    let q = cluster.handle.partition("q").unwrap();
    let partition = |in_q: bool| if in_q { q } else { apportion::PartitionId::DEFAULT };
    for (number, (units, in_q)) in nodes.iter().enumerate() {
        let spec = apportion::NodeSpec::new(format!("n{number}"), crate::amount(*units));
        cluster.handle.add_node(spec.in_partition(partition(*in_q))).unwrap();
    }
    let other = cluster.application();
    for in_q in [false, true] {
        cluster.handle.submit_ask(other, ask(1, 100_000).in_partition(partition(in_q))).unwrap();
    }
    cluster.run();
    let mut old: BTreeSet<ContainerId> = placed(&cluster.events()).into_iter().map(|(id, _)| id).collect();
    let mut new = BTreeSet::new();
    let mut waiting = Vec::new();
    for roles in gangs {
        let mut spec = GangSpec::new(cluster.application());
        for (number, (units, count, in_q)) in roles.iter().enumerate() {
            let ask = ask(*units, *count).in_partition(partition(*in_q));
            spec = spec.with_role(format!("role {number}"), ask);
        }
        waiting.push(cluster.submit(spec).gang);
    }
    cluster.run();
    loop {
        let gathering: Vec<_> =
            cluster.engine.read(|view| view.gangs().filter(|gang| gang.is_gathering).collect());
        if gathering.is_empty() {
            break;
        }
        // In each partition one at most.
        assert!(gathering.len() <= 2);
        let mut started = false;
        while !started {
            assert!(!old.is_empty(), "all has ended that ran before, and {gathering:?} wait");
            let running: Vec<_> = old.iter().copied().collect();
            let container = running[pick(running.len())];
            old.remove(&container);
            cluster.complete([container]);
            let events = cluster.events();
            started = waiting.iter().any(|gang| has_started(&events, *gang));
            new.extend(placed(&events).into_iter().map(|(id, _)| id));
        }
        old.append(&mut new);
    }
    cluster.log.bytes()
}

/// The gang fits in one way only, and fills the partition. Containers end in many orders.
#[test]
fn a_gang_of_the_partitions_size_starts() {
    for order in 0..400usize {
        let mut left = order;
        let pick = |running: usize| {
            let place = left % running;
            left /= running;
            place
        };
        let log = start_in_time(
            Mode::Serial,
            &[(4, false), (1, false), (4, false)],
            &[vec![(1, 3, false), (2, 3, false)]],
            pick,
        );
        drop(check_log(&log));
    }
}

/// Nodes, gangs, and the order in which containers end.
type Load = (Vec<SomeNode>, Vec<Vec<SomeRole>>, Vec<Index>);

/// Gangs want two partitions, in any order.
fn load() -> impl Strategy<Value = Load> {
    let role = (1..4i64, 1..5u32, any::<bool>());
    (
        prop::collection::vec((1..5i64, any::<bool>()), 2..8),
        prop::collection::vec(prop::collection::vec(role, 1..4), 1..4),
        prop::collection::vec(any::<Index>(), 40),
    )
}

fn play(mode: Mode, load: &Load) -> Vec<u8> {
    let (nodes, gangs, order) = load;
    let mut order = order.iter().cycle();
    start_in_time(mode, nodes, gangs, |running| order.next().unwrap().index(running))
}

#[test]
fn gangs_of_two_partitions_are_decided_as_recorded() {
    assert_decides_as_recorded("partitions", load(), 200, |load| play(Mode::Serial, load));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_gang_starts_once_what_ran_before_has_ended(mode in mode(), load in load()) {
        drop(check_log(&play(mode, &load)));
    }
}
