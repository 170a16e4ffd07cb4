//! Re-reservations: full nodes, asks that fit on none of them, and passes over one node and over all nodes in turn.

use apportion::config::{Capacity, EngineConfig, Factor, Percent, QueueConfig, Semantics};
use apportion::view::View;
use apportion::{ApplicationSpec, AskId, ContainerId, NodeId, NodeSpec, ResourceTypes, Resources};
use apportion_tests::support::cluster::Cluster;
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Pass {
        node: usize,
        times: usize,
    },
    /// A container on the node ends.
    End {
        node: usize,
    },
    Cancel {
        units: u32,
    },
    Run,
}

/// An operation on a few large containers beside small ones.
#[derive(Clone, Copy, Debug)]
enum Move {
    Pass { node: usize },
    End { node: usize },
    AskSmall,
    Cancel,
    Run,
}

fn a_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => (0..5usize).prop_map(|node| Move::Pass { node }),
        4 => (0..5usize).prop_map(|node| Move::End { node }),
        1 => Just(Move::AskSmall),
        1 => Just(Move::Cancel),
        3 => Just(Move::Run),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..5usize, 1..=6usize).prop_map(|(node, times)| Step::Pass { node, times }),
        1 => (0..5usize).prop_map(|node| Step::End { node }),
        1 => (1..=2u32).prop_map(|units| Step::Cancel { units }),
        2 => Just(Step::Run),
    ]
}

fn config(maximum: Option<i64>, continue_looking: bool) -> EngineConfig {
    let leaf = QueueConfig::leaf("a", Capacity::Weight(Factor::whole(1))).with_user_limit_factor(None);
    let types = ResourceTypes::new(["memory"]).unwrap();
    let mut config = EngineConfig::new(types, QueueConfig::root([leaf]));
    config.semantics = Semantics::YarnCompatible;
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    config.reservations.continue_looking = continue_looking;
    (config.allocation.minimum, config.allocation.maximum[0]) = (Resources::new(&[1]), maximum);
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The model checks each reservation and each count. In addition, a pass over a reserved node that is too full
    /// counts. An ask that may reserve one more node does so in the next pass over a suitable node, and no other ask
    /// does.
    #[test]
    fn passes_in_vain_let_an_ask_reserve_more(
        units in 1..=3u32,
        maximum in prop_oneof![Just(None), Just(Some(8)), Just(Some(30))],
        continue_looking in any::<bool>(),
        steps in vec(step(), 1..25),
    ) {
        let mut cluster = Cluster::serial(config(maximum, continue_looking));
        let nodes: Vec<_> = (0..5)
            .map(|number| cluster.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[8]))).unwrap())
            .collect();
        let small = cluster.submit(ApplicationSpec::new("small", "root.a", "user"));
        cluster.ask(small, &[5], 5);
        cluster.run();
        // These nodes enlarge the queue's share, but the large containers do not fit on them.
        for number in 0..12 {
            cluster.add_node(NodeSpec::new(format!("tiny{number}"), Resources::new(&[5]))).unwrap();
        }
        let large = cluster.submit(ApplicationSpec::new("large", "root.a", "user"));
        let ask = cluster.ask(large, &[6], units);
        cluster.run();
        for step in steps {
            match step {
                Step::Pass { node, times } => (0..times).for_each(|_| pass(&mut cluster, nodes[node], ask)),
                Step::End { node } => {
                    let first = |view: &View<'_>| view.node(nodes[node])?.containers().first().copied();
                    let running: Option<ContainerId> = cluster.engine.read(|view| first(view));
                    running.into_iter().for_each(|container| cluster.complete(container));
                    cluster.run();
                }
                Step::Cancel { units } => {
                    cluster.cancel(ask, units);
                    cluster.run();
                }
                Step::Run => cluster.run(),
            }
        }
        cluster.run();
    }

    /// Few nodes may be reserved, so an ask often wants more than it has reserved. The checks of each step detect a
    /// reservation that was given back without need.
    #[test]
    fn reservations_stay_while_more_is_wanted(
        semantics in prop_oneof![Just(Semantics::Strict), Just(Semantics::YarnCompatible)],
        units in 1..=4u32,
        reserved_nodes in 1..=3u32,
        moves in vec(a_move(), 1..30),
    ) {
        let mut config = config(None, true);
        (config.semantics, config.reservations.nodes) = (semantics, Percent::whole(reserved_nodes * 17));
        let mut cluster = Cluster::serial(config);
        let nodes: Vec<_> = (0..5)
            .map(|number| cluster.add_node(NodeSpec::new(format!("n{number}"), Resources::new(&[8]))).unwrap())
            .collect();
        let small = cluster.submit(ApplicationSpec::new("small", "root.a", "user"));
        cluster.ask(small, &[4], 10);
        cluster.run();
        // The drained node makes the queue large enough.
        let idle = cluster.node("idle", &[100]);
        cluster.drain(idle);
        cluster.run();
        let large = cluster.submit(ApplicationSpec::new("large", "root.a", "user"));
        let ask = cluster.ask(large, &[6], units);
        for one in moves {
            match one {
                Move::Pass { node } => cluster.pass(nodes[node]),
                Move::End { node } => {
                    let first = |view: &View<'_>| view.node(nodes[node])?.containers().first().copied();
                    let running = cluster.engine.read(|view| first(view));
                    running.into_iter().for_each(|container| cluster.complete(container));
                    cluster.engine.commit_waiting().unwrap();
                }
                Move::AskSmall => { cluster.ask(small, &[4], 1); }
                Move::Cancel => cluster.cancel(ask, 1),
                Move::Run => cluster.run(),
            }
        }
        cluster.run();
    }
}

fn pass(cluster: &mut Cluster, node: NodeId, ask: AskId) {
    let seen = |cluster: &Cluster| {
        cluster.engine.read(|view| {
            let pending = view.ask(ask);
            (pending.map_or(0, |ask| ask.reserved()), pending.map_or(0, |ask| ask.re_reservations()))
        })
    };
    let is_reserved =
        cluster.engine.read(|view| view.reservations().any(|(_, reservation)| reservation.node == node));
    let (reservations, counted) = seen(cluster);
    let is_full = cluster.engine.read(|view| view.node(node).unwrap().free()[0] < 6);
    let may_reserve =
        cluster.checker.oracle.asks.contains_key(&ask) && cluster.checker.oracle.may_reserve(ask);
    cluster.pass(node);
    if is_full && is_reserved {
        assert_eq!(seen(cluster), (reservations, counted + 1), "a pass over {node} in vain");
    } else if is_full {
        assert_eq!(
            seen(cluster).0 > reservations,
            may_reserve,
            "{reservations} reservations, {counted} in vain, {node}"
        );
    }
}
