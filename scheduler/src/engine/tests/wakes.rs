//! Wake-ups: of proposers by work, and of asks that wait for hosts or racks by room.

use super::hand::Hand;
use super::{Bench, config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{EngineConfig, LocalityDelay};
use crate::facts::TagLimit;
use crate::ids::{ApplicationId, AskId, NodeId};

/// Three hosts of one rack, each full with one container of 1.
struct Crowded {
    hand: Hand,
    hosts: Vec<NodeId>,
    application: ApplicationId,
}

impl Crowded {
    fn new(config: EngineConfig) -> Self {
        let mut hand = Hand::new(config);
        let hosts: Vec<NodeId> = (0..3).map(|number| hand.node(&format!("n{number}"), 1)).collect();
        // Room that no ask of these tests may use; it keeps limits out of the way.
        let elsewhere = NodeSpec::new("elsewhere", memory(100)).on_rack("another");
        hand.engine.handle().add_node(elsewhere).unwrap();
        let application = hand.application();
        for &host in &hosts {
            hand.ask(application, AskSpec::new(memory(1), 1).on_hosts([host]).strictly_local());
        }
        hand.run_until_idle();
        Self { hand, hosts, application }
    }

    /// Submits a strict ask for these hosts.
    fn ask(&mut self, application: ApplicationId, hosts: &[usize]) -> AskId {
        let hosts = hosts.iter().map(|place| self.hosts[*place]);
        self.hand.ask(application, AskSpec::new(memory(1), 1).on_hosts(hosts).strictly_local())
    }

    /// Ends the containers on these hosts and reports it to the committer.
    fn free(&mut self, hosts: &[usize]) {
        for place in hosts {
            let state = self.hand.engine.shared_state();
            let container = state.facts.nodes.at(self.hosts[*place]).containers[0];
            self.hand.engine.handle().complete_container(container).unwrap();
        }
        self.hand.commit();
        self.expect_sound();
    }

    fn is_waiting(&self, ask: AskId) -> bool {
        self.hand.engine.shared_state().backlog.locality.is_waiting(ask)
    }

    /// Whether each ask is placed once no work is left.
    fn placed<const N: usize>(&mut self, asks: [AskId; N]) -> [bool; N] {
        self.hand.run_until_idle();
        self.expect_sound();
        asks.map(|ask| self.hand.engine.shared_state().facts.asks.get(ask).is_none())
    }

    fn expect_sound(&self) {
        let report = self.hand.engine.audit();
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn room_on_a_host_wakes_only_asks_that_named_it() {
    let mut crowded = Crowded::new(config([leaf("a")]));
    let application = crowded.application;
    let asks =
        [crowded.ask(application, &[0]), crowded.ask(application, &[0, 1]), crowded.ask(application, &[1])];
    crowded.hand.run_until_idle();
    assert_eq!(asks.map(|ask| crowded.is_waiting(ask)), [true, true, true]);
    crowded.free(&[0]);
    assert_eq!(asks.map(|ask| crowded.is_waiting(ask)), [false, false, true]);
    assert_eq!(crowded.placed(asks), [true, false, false]);
    assert!(crowded.is_waiting(asks[1]), "it found nothing, and waits again");
}

/// The second ask's host is not left to the third, which comes later and has another host.
#[test]
fn no_ask_is_overtaken_within_an_application() {
    let mut crowded = Crowded::new(config([leaf("a")]));
    let application = crowded.application;
    let asks = [
        crowded.ask(application, &[0, 1]),
        crowded.ask(application, &[1]),
        crowded.ask(application, &[1, 2]),
    ];
    crowded.hand.run_until_idle();
    crowded.free(&[0, 1, 2]);
    assert_eq!(crowded.placed(asks), [true, true, true]);
}

#[test]
fn no_ask_is_overtaken_by_a_later_application() {
    let mut crowded = Crowded::new(config([leaf("a")]));
    let (first, second) = (crowded.application, crowded.hand.application());
    let asks = [crowded.ask(first, &[0, 1]), crowded.ask(first, &[1]), crowded.ask(second, &[1])];
    crowded.hand.run_until_idle();
    crowded.free(&[0, 1]);
    assert_eq!(crowded.placed(asks), [true, true, false]);
}

/// An ask that may go anywhere takes the host that it named; the other host is for the ask that named it.
#[test]
fn an_ask_that_may_go_anywhere_leaves_no_other_asleep() {
    let mut config = config([leaf("a")]);
    config.locality_delay = LocalityDelay::Time { rack_ms: 0, any_ms: 0 };
    let mut crowded = Crowded::new(config);
    let another = crowded.hand.engine.handle().rack("another");
    let anywhere = AskSpec::new(memory(1), 1).on_hosts([crowded.hosts[0]]).on_racks([another]);
    let strict = crowded.ask(crowded.application, &[1]);
    crowded.hand.run_until_idle();
    let anywhere = crowded.hand.ask(crowded.application, anywhere);
    crowded.free(&[0, 1]);
    assert_eq!(crowded.placed([anywhere, strict]), [true, true]);
}

/// Room on a node wakes asks that named its rack and asks that named the node.
#[test]
fn an_ask_that_named_the_rack_leaves_no_other_asleep() {
    let mut crowded = Crowded::new(config([leaf("a")]));
    let rack = crowded.hand.engine.shared_state().facts.nodes.at(crowded.hosts[0]).rack;
    let on_rack = AskSpec::new(memory(1), 1).on_racks([rack]).strictly_local();
    let on_rack = crowded.hand.ask(crowded.application, on_rack);
    let on_host = crowded.ask(crowded.application, &[1]);
    crowded.hand.run_until_idle();
    assert!(crowded.is_waiting(on_rack) && crowded.is_waiting(on_host));
    crowded.free(&[0, 1]);
    assert_eq!(crowded.placed([on_rack, on_host]), [true, true]);
}

/// A proposer that looked before the ask came does not sleep through it.
#[test]
fn a_group_after_which_a_set_is_worth_a_pass_raises_the_signal() {
    let mut hand = Hand::new(config([leaf("a")]));
    hand.node("n1", 8);
    let application = hand.application();
    hand.run_until_idle();
    let seen = hand.engine.shared.work.observe();
    hand.ask(application, AskSpec::new(memory(1), 1));
    hand.commit();
    assert_ne!(hand.engine.shared.work.observe(), seen);
}

/// Room that the rejected request had taken is offered to the ask that found none beside it.
#[test]
fn an_ask_that_found_nothing_beside_what_was_rejected_looks_again() {
    let delayed = EngineConfig { locality_delay: LocalityDelay::nodes(1, 1), ..config([leaf("a")]) };
    let bench = Bench::serial(delayed);
    let nodes = ["n1", "n2", "n3"].map(|name| bench.node(name, 8));
    let [first, second] = [(); 2].map(|()| bench.application("root.a"));
    let on_last = |amount| AskSpec::new(memory(amount), 1).on_hosts([nodes[2]]);
    bench.engine.handle().submit_ask(first, on_last(7)).unwrap();
    bench.ask(first, 7, 1);
    bench.expect_running(2);
    bench.engine.handle().set_application_priority(second, 9).unwrap();
    let large = bench.ask(second, 7, 1);
    bench.engine.handle().submit_ask(first, on_last(2)).unwrap();
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.requests().len(), 1, "the second one's, which leaves no room for the first");
    bench.engine.handle().cancel_ask(large, 1).unwrap();
    bench.decide(batch);
    bench.expect_running(3);
}

#[test]
fn a_node_that_gains_too_little_room_wakes_no_proposer() {
    let bench = Bench::serial(config([leaf("a")]));
    bench.node("n1", 8);
    bench.add_idle_room();
    let application = bench.application("root.a");
    bench.ask(application, 4, 2);
    bench.engine.run_until_quiet();
    bench.ask(application, 6, 1);
    bench.engine.run_until_quiet();
    for wanted in [0, 1] {
        bench.complete_one();
        assert_eq!(bench.shared.leases.count_wanted(), wanted);
    }
    bench.expect_running(1);
}

/// With its own container a pass found the limit of a rack reached. Until it was committed, a container on another node
/// of the rack ended. That node takes none, and the node with room has not changed.
#[test]
fn a_limit_of_a_rack_that_is_no_longer_reached_closes_no_shape() {
    let mut hand = Hand::new(config([leaf("a")]));
    let [full, open] = ["n1", "n2"].map(|name| hand.node(name, 4));
    let application = hand.application();
    let web = |units| {
        let spec = AskSpec::new(memory(1), units).with_tag("web");
        spec.with_tag_limit(TagLimit::per_rack("web", 2))
    };
    hand.ask(application, web(1).on_hosts([full]).strictly_local());
    hand.run_until_idle();
    hand.engine.handle().drain_node(full).unwrap();
    let ask = hand.ask(application, web(2));
    hand.commit();
    let batch = hand.parts.proposers[0].propose().expect("one container is within the limit");
    assert_eq!(batch.requests().len(), 1);
    let first = hand.engine.shared_state().facts.nodes.at(full).containers[0];
    hand.engine.handle().complete_container(first).unwrap();
    hand.parts.proposers[0].send(batch).unwrap();
    hand.expect_idle(2);
    let state = hand.engine.shared_state();
    assert!(state.facts.asks.get(ask).is_none(), "both units run");
    assert_eq!(state.facts.nodes.at(open).containers.len(), 2);
}
