//! Gangs on few racks.

use std::collections::{BTreeMap, BTreeSet};

use apportion::gang::GangSpec;
use apportion::{AskSpec, Mode, Resources};
use proptest::prelude::*;

use crate::{Cluster, amount, ask, has_started, placed, plain};

/// The racks on which the events placed containers.
fn racks(cluster: &Cluster) -> BTreeSet<String> {
    let placed = placed(&cluster.events());
    cluster
        .engine
        .read(|view| placed.iter().map(|(_, node)| view.node(*node).unwrap().rack().to_owned()).collect())
}

/// Racks a, b, c with these free units, each on nodes of one unit.
fn with_racks(cluster: &Cluster, free: &[usize]) {
    let mut number = 0;
    for (rack, units) in free.iter().enumerate() {
        for _ in 0..*units {
            cluster.node(number, 1, &format!("rack{rack}"));
            number += 1;
        }
    }
    cluster.run();
}

#[test]
fn one_rack_is_enough_if_one_has_room() {
    for cluster in Cluster::of_each_mode() {
        with_racks(&cluster, &[3, 2, 4, 5]);
        let gang = GangSpec::new(cluster.application()).with_role("worker", ask(1, 4)).on_nearest_racks();
        cluster.submit(gang);
        cluster.run();
        assert_eq!(racks(&cluster), ["rack2".to_owned()].into());
    }
}

#[test]
fn the_rack_that_takes_most_members_comes_first() {
    for cluster in Cluster::of_each_mode() {
        with_racks(&cluster, &[1, 3, 1, 4]);
        let gang = GangSpec::new(cluster.application()).with_role("worker", ask(1, 6)).on_nearest_racks();
        cluster.submit(gang);
        cluster.run();
        assert_eq!(racks(&cluster), ["rack1".to_owned(), "rack3".to_owned()].into());
    }
}

#[test]
fn few_racks_are_only_a_preference() {
    let cluster = Cluster::serial();
    with_racks(&cluster, &[1, 1, 1]);
    let gang = GangSpec::new(cluster.application())
        .with_role("worker", ask(1, 2))
        .with_role("master", ask(1, 1))
        .on_nearest_racks();
    let gang = cluster.submit(gang);
    cluster.run();
    assert!(has_started(&cluster.events(), gang.gang));
}

/// The smallest number of racks that hold the members together, if each is one unit of a node.
fn fewest(free: &[i64], members: i64) -> usize {
    let subsets = 0..1usize << free.len();
    let holds = |subset: &usize| {
        let held = (0..free.len()).filter(|rack| subset >> rack & 1 == 1).map(|rack| free[rack]).sum::<i64>();
        held >= members
    };
    subsets.filter(holds).map(usize::count_ones).min().unwrap_or(0) as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With members of one size the greedy choice is the best. It never makes a gang wait.
    #[test]
    fn the_number_of_racks_is_the_smallest(
        nodes in prop::collection::vec((0..4usize, 1..4i64), 1..10),
        part in 1..100i64,
        proposers in 0..3usize,
    ) {
        let mode = if proposers == 0 { Mode::Serial } else { Mode::Parallel { proposers } };
        let cluster = Cluster::new(plain(), mode);
        let mut free = BTreeMap::<usize, i64>::new();
        for (number, (rack, units)) in nodes.iter().enumerate() {
            cluster.node(number, *units, &format!("rack{rack}"));
            *free.entry(*rack).or_default() += units;
        }
        let free: Vec<i64> = free.into_values().collect();
        let members = (free.iter().sum::<i64>() * part / 100).max(1);
        let gang = GangSpec::new(cluster.application())
            .with_role("worker", ask(1, members as u32))
            .on_nearest_racks();
        cluster.submit(gang);
        cluster.run();
        prop_assert_eq!(racks(&cluster).len(), fewest(&free, members));
    }

    /// With members of two sizes, the gang takes one rack if a rack can start it by itself. Otherwise it takes
    /// as many as a gang without a topology could need at most.
    #[test]
    fn one_rack_is_taken_whenever_it_suffices(
        nodes in prop::collection::vec((0..3usize, 1..5i64), 1..8),
        large in 1..4u32,
        small in 1..4u32,
    ) {
        let of = |on_one: bool, near: bool| {
            let cluster = Cluster::new(plain(), Mode::Serial);
            for (number, (rack, units)) in nodes.iter().enumerate() {
                cluster.node(number, *units, &format!("rack{rack}"));
            }
            cluster.run();
            let mut gang = GangSpec::new(cluster.application())
                .with_role("large", AskSpec::new(Resources::new(&[2, 2]), large))
                .with_role("small", AskSpec::new(amount(1), small));
            if on_one {
                gang = gang.on_one_rack();
            }
            if near {
                gang = gang.on_nearest_racks();
            }
            cluster.submit(gang);
            cluster.run();
            racks(&cluster).len()
        };
        let (anywhere, one, near) = (of(false, false), of(true, false), of(false, true));
        prop_assert_eq!(near > 0, anywhere > 0, "a preference makes no gang wait");
        if one == 1 {
            prop_assert_eq!(near, 1);
        }
        prop_assert!(near <= nodes.iter().map(|(rack, _)| rack).collect::<BTreeSet<_>>().len());
    }
}

/// The gang has places on the first rack. Without one of its nodes, that rack is too small.
#[test]
fn a_gang_goes_to_another_rack_if_its_own_becomes_too_small() {
    for cluster in Cluster::of_each_mode() {
        let nodes = ["a", "a", "b", "b"].into_iter().enumerate();
        let nodes: Vec<_> = nodes.map(|(number, rack)| cluster.node(number, 2, rack)).collect();
        cluster.handle.submit_ask(cluster.application(), ask(2, 1_000)).unwrap();
        cluster.run();
        let running = placed(&cluster.events());
        let gang = GangSpec::new(cluster.application()).with_role("worker", ask(2, 2)).on_one_rack();
        let gang = cluster.submit(gang);
        cluster.run();
        cluster.handle.remove_node(nodes[0]).unwrap();
        cluster.run();
        let is_on_b = |(_, node): &&(_, _)| nodes[2..].contains(node);
        cluster.complete(running.iter().filter(is_on_b).take(1).map(|(container, _)| *container));
        cluster.complete(running.iter().filter(is_on_b).skip(1).map(|(container, _)| *container));
        assert!(has_started(&cluster.events(), gang.gang));
    }
}
