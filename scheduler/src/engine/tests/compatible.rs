//! YARN's behaviour in the compatible mode, one pass at a time.

use super::{Bench, config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{EngineConfig, LocalityDelay, Percent, Semantics};
use crate::ids::{AskId, NodeId};
use crate::request::{CommitOutcome, RejectReason, ResourceAllocationCommitRequest};

fn compatible() -> EngineConfig {
    let mut config = config([leaf("a").with_user_limit_factor(None)]);
    (config.reservations.delay_ms, config.reservations.nodes) = (Some(0), Percent::ALL);
    config.semantics = Semantics::YarnCompatible;
    config
}

impl Bench {
    fn missed(&self, ask: AskId) -> u32 {
        self.engine.read(|view| view.ask(ask).unwrap().missed_opportunities())
    }

    fn reserved_nodes(&self) -> Vec<NodeId> {
        self.engine.read(|view| view.reservations().map(|(_, reservation)| reservation.node).collect())
    }

    fn has_locality(&self, size: i64, count: u32, hosts: &[NodeId]) -> AskId {
        let spec = AskSpec::new(memory(size), count).on_hosts(hosts.iter().copied());
        let ask = self.engine.handle().submit_ask(self.application("root.a"), spec).unwrap();
        self.commit();
        ask
    }
}

#[test]
fn a_pass_over_one_node_reserves_it_although_another_has_room() {
    let bench = Bench::serial(compatible());
    let nodes = [bench.node("n1", 4), bench.node("n2", 8)];
    let application = bench.application("root.a");
    bench.ask(application, 1, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let large = bench.ask(application, 4, 1);
    assert_eq!((bench.pass_on(nodes[0]), bench.reservations(large)), (1, 1));
    bench.expect_sound();
    assert_eq!((bench.containers_on(nodes[1]), bench.reserved_nodes()), (1, Vec::new()), "it was swapped");
}

#[test]
fn without_continued_looking_a_reservation_waits_for_its_node() {
    let mut config = compatible();
    config.reservations.continue_looking = false;
    let bench = Bench::serial(config);
    let nodes = [bench.node("n1", 4), bench.node("n2", 8)];
    let application = bench.application("root.a");
    let small = bench.ask(application, 1, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let large = bench.ask(application, 4, 1);
    assert_eq!((bench.pass_on(nodes[0]), bench.reservations(large)), (1, 1));
    bench.expect_sound();
    assert_eq!(bench.reserved_nodes(), [nodes[0]], "{small} still runs there");
    let running = bench.engine.read(|view| view.node(nodes[0]).unwrap().containers()[0]);
    bench.engine.handle().complete_container(running).unwrap();
    bench.expect_sound();
    assert_eq!((bench.containers_on(nodes[0]), bench.containers_on(nodes[1])), (1, 0));
}

/// Without a maximum container size each failed pass counts fully.
#[test]
fn an_ask_that_waits_at_a_reserved_node_may_reserve_another() {
    let bench = Bench::serial(compatible());
    let nodes = ["n1", "n2", "n3", "n4", "n5"].map(|name| bench.node(name, 8));
    let application = bench.application("root.a");
    bench.ask(application, 5, 3);
    nodes[..3].iter().for_each(|node| assert_eq!(bench.pass_on(*node), 1));
    let large = bench.ask(application, 6, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    assert_eq!(bench.pass_on(nodes[1]), 0, "it has as many reservations as it wants containers");
    let by_hand = || {
        let request = ResourceAllocationCommitRequest::reserve(large, nodes[2]);
        let ticket = bench.engine.handle().commit(request).unwrap();
        bench.commit();
        ticket.wait().unwrap()
    };
    assert_eq!(by_hand(), CommitOutcome::Rejected(RejectReason::NothingOutstanding));
    let over_again = || bench.pass_on(nodes[0]);
    assert_eq!([over_again(), over_again(), over_again(), bench.pass_on(nodes[1])], [0, 0, 0, 1]);
    assert_eq!((bench.pass_on(nodes[0]), bench.pass_on(nodes[2])), (0, 0), "the count restarted");
    assert_eq!(bench.reserved_nodes(), nodes[..2]);
    assert!(bench.engine.audit().is_clean(), "{}", bench.engine.audit());
    let running = bench.engine.read(|view| view.node(nodes[1]).unwrap().containers()[0]);
    bench.engine.handle().complete_container(running).unwrap();
    assert_eq!((bench.commit(), bench.pass_on(nodes[1])).1, 1);
    assert_eq!((bench.reservations(large), bench.reserved_nodes()), (0, Vec::new()), "it wants nothing more");
    bench.expect_sound();
}

/// The first of two reservations in one request resets the count, so the second has no failed passes to its credit.
#[test]
fn of_two_reservations_in_one_request_only_the_first_uses_failed_passes() {
    let bench = Bench::serial(compatible());
    let nodes = ["n1", "n2", "n3", "n4"].map(|name| bench.node(name, 8));
    let application = bench.application("root.a");
    bench.ask(application, 5, 3);
    nodes[..3].iter().for_each(|node| assert_eq!(bench.pass_on(*node), 1));
    let large = bench.ask(application, 6, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    assert_eq!([(); 9].map(|()| bench.pass_on(nodes[0])), [0; 9]);
    let reserve = |count: usize| {
        let mut request = ResourceAllocationCommitRequest::default();
        for node in &nodes[1..=count] {
            request.reserve.extend(ResourceAllocationCommitRequest::reserve(large, *node).reserve);
        }
        let ticket = bench.engine.handle().commit(request).unwrap();
        bench.commit();
        ticket.wait().unwrap()
    };
    assert_eq!(reserve(2), CommitOutcome::Rejected(RejectReason::NothingOutstanding));
    assert!(reserve(1).is_accepted());
    assert_eq!(bench.reserved_nodes(), nodes[..2]);
    assert!(bench.engine.audit().is_clean(), "{}", bench.engine.audit());
}

/// Of a container of seven eighths of the maximum, each failed pass counts an eighth.
#[test]
fn a_large_container_waits_for_eight_passes_in_vain() {
    let mut config = compatible();
    config.allocation.maximum[0] = Some(8);
    let bench = Bench::serial(config);
    let [first, second, ..] = ["n1", "n2", "n3", "n4"].map(|name| bench.node(name, 8));
    let nodes = [first, second];
    let application = bench.application("root.a");
    bench.ask(application, 2, 2);
    nodes.iter().for_each(|node| assert_eq!(bench.pass_on(*node), 1));
    bench.ask(application, 7, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let proposed = [(); 8].map(|()| nodes.map(|node| bench.pass_on(node)));
    assert_eq!((&proposed[..7], proposed[7]), (&[[0, 0]; 7][..], [0, 1]));
    assert_eq!(bench.reserved_nodes(), nodes);
    bench.expect_sound();
}

#[test]
fn of_several_nodes_the_last_in_order_is_reserved() {
    let bench = Bench::serial(compatible());
    let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 8));
    let application = bench.application("root.a");
    for (node, size) in [(nodes[1], 7), (nodes[0], 4), (nodes[2], 4)] {
        bench.ask(application, size, 1);
        assert_eq!(bench.pass_on(node), 1);
    }
    bench.ask(application, 6, 1);
    bench.engine.run_until_quiet();
    assert_eq!(bench.reserved_nodes(), [nodes[1]], "though it lacks most");
    bench.expect_sound();
}

#[test]
fn every_pass_over_another_node_is_a_missed_opportunity() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::nodes(2, 3);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2", "n3", "n4"].map(|name| bench.node(name, 8));
    let ask = bench.has_locality(1, 3, &nodes[..1]);
    let placed = [(); 4].map(|()| (bench.pass_on(nodes[1]), bench.missed(ask)));
    assert_eq!(
        placed,
        [(0, 1), (0, 2), (1, 0), (0, 1)],
        "all are on one rack, which counts from the third on"
    );
    assert_eq!((bench.pass_on(nodes[0]), bench.missed(ask)), (1, 0));
    bench.expect_sound();
}

/// YARN restarts the count after each container, so the same pass over a node misses an opportunity after a
/// placement.
#[test]
fn a_pass_over_one_node_counts_anew_after_a_container_on_the_rack() {
    let mut config = compatible();
    // The pass goes on until this many containers are off-switch.
    config.limits.off_switch_per_pass = Some(2);
    config.locality_delay = LocalityDelay::nodes(1, 4);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2", "n3", "n4"].map(|name| bench.node(name, 8));
    let ask = bench.has_locality(1, 3, &nodes[..1]);
    let placed = [(); 3].map(|()| (bench.pass_on(nodes[1]), bench.missed(ask)));
    assert_eq!(placed, [(0, 1), (1, 1), (1, 1)]);
    bench.expect_sound();
}

/// A pass over several nodes counts nodes with room until a node is accepted.
#[test]
fn passes_over_all_nodes_go_on_until_enough_was_missed() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::Nodes { rack: 40, any: None, full_reset: false };
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 4));
    bench.ask(bench.application("root.a"), 4, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let ask = bench.has_locality(1, 5, &nodes[..1]);
    bench.engine.run_until_quiet();
    assert_eq!(nodes.map(|node| bench.containers_on(node)), [1, 4, 1], "its rack, in order");
    assert!(bench.engine.read(|view| view.ask(ask).is_none()));
    bench.expect_sound();
}

/// A node that the pass reserves is not offered to later asks: YARN's pass ends there.
#[test]
fn what_the_pass_reserves_is_no_opportunity_for_others() {
    let mut config = compatible();
    // The pass goes on until this many containers are placed.
    config.limits.off_switch_per_pass = Some(2);
    config.locality_delay = LocalityDelay::nodes(1, 1);
    let bench = Bench::serial(config);
    let nodes = [bench.node("n1", 4), bench.node("n2", 4)];
    let application = bench.application("root.a");
    bench.ask(application, 1, 1);
    assert_eq!(bench.pass_on(nodes[0]), 1);
    let large = bench.ask(application, 4, 1);
    let has_locality = bench.has_locality(1, 1, &nodes[1..]);
    assert_eq!((bench.pass_on(nodes[0]), bench.reservations(large), bench.missed(has_locality)), (1, 1, 0));
    bench.expect_sound();
}

/// A node that was removed after a pass had offered it without success does not count.
#[test]
fn a_removed_node_was_no_opportunity() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::nodes(40, 40);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 4));
    let full = bench.has_locality(4, 1, &nodes[2..]);
    bench.expect_running(1);
    let has_locality = bench.has_locality(1, 1, &nodes[2..]);
    let batch = bench.pass(0);
    bench.engine.handle().remove_node(nodes[1]).unwrap();
    bench.decide(batch);
    assert_eq!(bench.missed(has_locality), 1, "n1 is there, beside what {full} is on");
}

/// Of the pass's two asks, one was offered a node that is gone, and the other is gone itself. Neither changes anything.
#[test]
fn offers_of_removed_nodes_and_to_cancelled_asks_are_not_logged() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::nodes(40, 40);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2"].map(|name| bench.node(name, 4));
    bench.has_locality(4, 1, &nodes[1..]);
    bench.expect_running(1);
    let [kept, cancelled] = [1, 2].map(|size| bench.has_locality(size, 1, &nodes[1..]));
    let batch = bench.pass(0);
    bench.engine.handle().cancel_ask(cancelled, 1).unwrap();
    bench.engine.handle().remove_node(nodes[0]).unwrap();
    bench.commit();
    let changes = || bench.engine.read(|view| view.seq());
    let before = changes();
    bench.decide(batch);
    assert_eq!((changes(), bench.missed(kept)), (before, 0));
    bench.expect_sound();
}

/// The opportunity counted when the node was reserved.
#[test]
fn a_container_for_a_reservation_is_no_opportunity() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::Nodes { rack: 0, any: Some(0), full_reset: false };
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2"].map(|name| bench.node(name, 4));
    nodes.iter().for_each(|node| _ = bench.has_locality(3, 1, &[*node]));
    bench.expect_running(2);
    bench.node("n3", 100);
    let has_locality = bench.has_locality(4, 2, &nodes[1..]);
    assert_eq!((bench.pass_on(nodes[0]), bench.reserved_nodes()), (1, vec![nodes[0]]));
    let missed = bench.missed(has_locality);
    let running = bench.engine.read(|view| view.node(nodes[0]).unwrap().containers()[0]);
    bench.engine.handle().complete_container(running).unwrap();
    assert_eq!((bench.pass_on(nodes[0]), bench.missed(has_locality)), (1, missed));
    assert_eq!(bench.containers_on(nodes[0]), 1);
}

#[test]
fn no_ask_waits_for_more_opportunities_than_there_are_nodes() {
    let mut config = compatible();
    config.locality_delay = LocalityDelay::nodes(10, 10);
    let bench = Bench::serial(config);
    let nodes = ["n1", "n2"].map(|name| bench.node(name, 4));
    let far = NodeSpec::new("n3", memory(4)).on_rack("another");
    let far = bench.engine.handle().add_node(far).unwrap();
    let has_locality = bench.has_locality(1, 2, &nodes[..1]);
    let placed = [(); 4].map(|()| bench.pass_on(far));
    assert_eq!(placed, [0, 0, 0, 1]);
    assert!(bench.engine.read(|view| view.ask(has_locality).is_some()));
}

/// The outstanding units times the named hosts and their rack, divided by the number of nodes, and at most that number.
#[test]
fn without_a_set_delay_an_ask_waits_the_longer_the_more_it_wants() {
    for (units, hosts, in_vain) in
        [(1, 1, 0), (2, 1, 1), (3, 1, 1), (4, 1, 2), (1, 2, 0), (2, 2, 1), (4, 2, 3), (8, 1, 4), (100, 2, 4)]
    {
        let mut config = compatible();
        config.locality_delay = LocalityDelay::Nodes { rack: 40, any: None, full_reset: false };
        let bench = Bench::serial(config);
        let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 4));
        let far = NodeSpec::new("n4", memory(4)).on_rack("another");
        let far = bench.engine.handle().add_node(far).unwrap();
        bench.has_locality(1, units, &nodes[..hosts]);
        let placed = (0..in_vain).map(|_| bench.pass_on(far)).sum::<usize>();
        assert_eq!((placed, bench.pass_on(far)), (0, 1), "{units} units, {hosts} hosts");
    }
}
