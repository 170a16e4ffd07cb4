//! Asks that wait for hosts are woken when there is room for them, and not by the thousand for room for one.

use super::hand::Hand;
use super::{config, leaf, memory};
use crate::change::{AskSpec, NodeSpec};
use crate::config::{EngineConfig, LocalityDelay};
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId};

/// Two hosts full of containers of 1, and an application whose asks for them wait.
struct Crowded {
    hand: Hand,
    hosts: Vec<NodeId>,
    application: ApplicationId,
    asks: Vec<AskId>,
}

fn crowded(asks: usize, hosts_of: impl Fn(usize) -> Vec<usize>) -> Crowded {
    crowded_in(config([leaf("a")]), asks, hosts_of)
}

fn crowded_in(config: EngineConfig, asks: usize, hosts_of: impl Fn(usize) -> Vec<usize>) -> Crowded {
    let mut hand = Hand::new(config);
    let hosts: Vec<NodeId> = (0..2).map(|number| hand.node(&format!("n{number}"), 3)).collect();
    elsewhere(&hand);
    let application = hand.application();
    for &host in &hosts {
        hand.ask(application, AskSpec::new(memory(1), 3).on_hosts([host]).strictly_local());
    }
    hand.settle();
    let ask = |number| {
        let named = hosts_of(number).into_iter().map(|place| hosts[place]);
        hand.ask(application, AskSpec::new(memory(1), 1).on_hosts(named).strictly_local().with_priority(9))
    };
    let asks = (0..asks).map(ask).collect();
    hand.settle();
    Crowded { hand, hosts, application, asks }
}

/// Room that no ask of these tests may use, so that no limit is in anybody's way.
fn elsewhere(hand: &Hand) {
    let spec = NodeSpec::new("elsewhere", memory(100)).on_rack("another");
    hand.engine.handle().add_node(spec).unwrap();
}

impl Crowded {
    /// One of the host's containers ends, and the committer is told.
    fn free_one(&mut self, place: usize) {
        let host = self.hosts[place];
        let on_host = |container: &ContainerId| {
            self.hand.engine.shared_state().facts.containers.at(*container).node == host
        };
        let containers =
            self.hand.engine.shared_state().facts.applications.at(self.application).containers.clone();
        let container = containers.into_iter().find(on_host).expect("the host is full");
        self.hand.engine.handle().complete_container(container).unwrap();
    }

    /// The asks that are awake, by number.
    fn awake(&self) -> Vec<usize> {
        let state = self.hand.engine.shared_state();
        let is_awake =
            |id: &AskId| state.facts.asks.get(*id).is_some() && !state.backlog.waiting.is_waiting(*id);
        (0..self.asks.len()).filter(|number| is_awake(&self.asks[*number])).collect()
    }

    fn placed(&self) -> Vec<usize> {
        let state = self.hand.engine.shared_state();
        (0..self.asks.len()).filter(|number| state.facts.asks.get(self.asks[*number]).is_none()).collect()
    }

    fn expect_sound(&self) {
        let report = self.hand.engine.audit();
        assert!(report.is_clean(), "{report}");
    }
}

#[test]
fn room_for_one_wakes_the_first() {
    let mut crowded = crowded(20, |_| vec![0, 1]);
    assert_eq!(crowded.awake(), []);
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0]);
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0, 1], "room for two by now");
    crowded.expect_sound();
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0, 1]);
    assert_eq!(crowded.awake(), []);
}

/// One ask is awake for either host. When it has got one, the other host is the next one's.
#[test]
fn who_needs_no_more_passes_the_turn_on() {
    let mut crowded = crowded(3, |_| vec![0, 1]);
    crowded.free_one(0);
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0], "it would do with either");
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0, 1]);
    crowded.expect_sound();
}

#[test]
fn who_is_cancelled_passes_the_turn_on() {
    let mut crowded = crowded(3, |_| vec![0]);
    crowded.free_one(0);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0]);
    crowded.hand.engine.handle().cancel_ask(crowded.asks[0], 1).unwrap();
    crowded.hand.commit();
    crowded.expect_sound();
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0, 1]);
}

/// An ask that is awake for another host comes later: who was there first is not made to wait for it.
#[test]
fn who_comes_later_does_not_stand_for_who_came_first() {
    let mut crowded = crowded(2, |number| if number == 0 { vec![0] } else { vec![1, 0] });
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [1]);
    crowded.free_one(0);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0, 1]);
    crowded.expect_sound();
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0, 1]);
}

/// An ask that may go anywhere is no substitute for one that may not: it goes elsewhere, and says so only to those
/// that wait for what it named.
#[test]
fn who_may_go_anywhere_stands_for_nobody() {
    let mut config = config([leaf("a")]);
    config.locality_delay = LocalityDelay::Time { rack_ms: 0, any_ms: 0 };
    let mut crowded = crowded_in(config, 1, |_| vec![1]);
    let another = crowded.hand.engine.handle().rack("another");
    let anywhere = AskSpec::new(memory(1), 1).on_hosts([crowded.hosts[0]]).on_racks([another]);
    crowded.hand.ask(crowded.application, anywhere);
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0]);
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0]);
}

/// An ask for a rack may take any of its nodes; those that wait for one of them do not wait for it.
#[test]
fn who_names_the_rack_does_not_stand_for_who_names_the_host() {
    let mut crowded = crowded(1, |_| vec![1]);
    let rack = crowded.hand.engine.shared_state().facts.nodes.at(crowded.hosts[0]).rack;
    let on_rack = AskSpec::new(memory(1), 1).on_racks([rack]).strictly_local().with_priority(0);
    crowded.hand.ask(crowded.application, on_rack);
    crowded.free_one(0);
    crowded.free_one(1);
    crowded.hand.commit();
    assert_eq!(crowded.awake(), [0]);
    crowded.expect_sound();
    crowded.hand.settle();
    assert_eq!(crowded.placed(), [0]);
}

/// What a rack's node has is for those that name the rack as well.
#[test]
fn a_rack_wakes_as_its_hosts_do() {
    let mut hand = Hand::new(config([leaf("a")]));
    let host = hand.node("n0", 2);
    elsewhere(&hand);
    hand.commit();
    let rack = hand.engine.shared_state().facts.nodes.at(host).rack;
    let application = hand.application();
    hand.ask(application, AskSpec::new(memory(1), 2).on_hosts([host]).strictly_local());
    hand.settle();
    let ask = || hand.ask(application, AskSpec::new(memory(1), 1).on_racks([rack]).strictly_local());
    let asks: Vec<AskId> = (0..10).map(|_| ask()).collect();
    hand.settle();
    let state = hand.engine.shared_state();
    let container = state.facts.applications.at(application).containers[0];
    hand.engine.handle().complete_container(container).unwrap();
    hand.commit();
    let state = hand.engine.shared_state();
    let awake: Vec<bool> = asks.iter().map(|id| !state.backlog.waiting.is_waiting(*id)).collect();
    assert_eq!(awake.iter().filter(|is_awake| **is_awake).count(), 1, "{awake:?}");
    assert!(awake[0] && hand.engine.audit().is_clean());
    hand.settle();
    assert!(hand.engine.shared_state().facts.asks.get(asks[0]).is_none() && hand.engine.audit().is_clean());
}
