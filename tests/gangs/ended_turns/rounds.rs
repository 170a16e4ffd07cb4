//! The end of a turn beside rounds of preemption that follow each other at once.

use apportion::PartitionId;
use apportion::config::{EngineConfig, PreemptionRounds};

use super::{LIMIT_MS, Stepped};
use crate::{ask, plain};

impl Stepped {
    /// Full nodes, where rounds of preemption follow each other at once.
    fn with_rounds(nodes: &[bool]) -> Self {
        let rounds = PreemptionRounds { interval_ms: 1, ..PreemptionRounds::default() };
        Self::full(EngineConfig { preemption: Some(rounds), ..plain() }, nodes)
    }

    /// Lets the next round be computed, and turns become overdue before it ends.
    fn pass_limit_during_a_round(&mut self) {
        let before = self.rounds();
        self.handle.submit_ask(self.other, ask(1, 1)).unwrap();
        self.pass(1);
        self.pass(1);
        let round = self.search().expect("a round is wanted");
        self.pass(LIMIT_MS);
        self.decide(round);
        assert_eq!(self.rounds(), before + 1);
    }

    fn rounds(&self) -> u64 {
        self.engine.stats().preemption_rounds
    }
}

/// Another proposer takes each round as soon as it is due. So a search that begins between two rounds is decided while
/// the next one is under way, unless the round waits for it.
#[test]
fn turns_end_between_rounds_at_intervals_shorter_than_a_search() {
    let mut stepped = Stepped::with_rounds(&[false; 3]);
    let first = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    stepped.gang("root.default", 2, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.end_on(1);
    stepped.run();
    stepped.pass(LIMIT_MS);
    for _ in 0..10 {
        // News makes a round worthwhile.
        stepped.handle.submit_ask(stepped.other, ask(1, 1)).unwrap();
        stepped.pass(1);
        let batches = [0, 1].map(|proposer| {
            let batch = stepped.parts.proposers[proposer].propose();
            stepped.pass(1);
            batch
        });
        for (proposer, batch) in batches.into_iter().enumerate() {
            batch.into_iter().for_each(|batch| stepped.parts.proposers[proposer].send(batch).unwrap());
            stepped.commit();
        }
    }
    assert!(stepped.engine.stats().preemption_rounds > 2, "{:?}", stepped.engine.stats());
    assert_eq!(stepped.ended_turns().first(), Some(&first));
}

/// Two turns are overdue, and a search ends one at a time.
#[test]
fn one_search_comes_between_two_rounds() {
    let mut stepped = Stepped::with_rounds(&[false, false, false, true, true, true]);
    let q = stepped.handle.partition("q").unwrap();
    for partition in [PartitionId::DEFAULT, q] {
        stepped.gang("root.default", 3, partition);
        stepped.gang("root.default", 2, partition);
    }
    [0, 1, 3, 4].into_iter().for_each(|node| stepped.end_on(node));
    stepped.run();
    stepped.pass_limit_during_a_round();
    let before = stepped.rounds();
    stepped.handle.submit_ask(stepped.other, ask(1, 1)).unwrap();
    stepped.pass(1);
    stepped.pass(1);
    while stepped.ended_turns().is_empty() {
        assert_eq!(stepped.rounds(), before, "the round waits for the search");
        let batch = stepped.search().expect("a search is wanted");
        stepped.decide(batch);
    }
    let round = stepped.search().expect("a round is wanted");
    stepped.decide(round);
    assert_eq!((stepped.rounds(), stepped.ended_turns()), (before + 1, vec![]));
}

#[test]
fn rounds_go_on_after_the_gang_with_an_overdue_turn_is_cancelled() {
    let mut stepped = Stepped::with_rounds(&[false; 3]);
    let gang = stepped.gang("root.default", 3, PartitionId::DEFAULT);
    stepped.end_on(0);
    stepped.run();
    stepped.pass_limit_during_a_round();
    stepped.handle.cancel_gang(gang).unwrap();
    stepped.commit();
    let before = stepped.rounds();
    stepped.handle.submit_ask(stepped.other, ask(1, 1)).unwrap();
    stepped.pass(1);
    stepped.pass(1);
    stepped.run();
    assert!(stepped.rounds() > before);
}
