//! A thousand rounds of random load: rounds follow the demand, and find their rest each time that it stays the same.

use std::collections::BTreeSet;

use apportion::ContainerId;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::Cluster;
use crate::property::{Case, case, cluster_of};

/// The rounds between two changes of the demand.
const ROUNDS: usize = 20;
const CHANGES: usize = 50;

/// A change of the demand: an application comes, or containers finish.
#[derive(Clone, Debug)]
enum Op {
    Submit(Index),
    Complete(Vec<Index>),
}

fn op() -> impl Strategy<Value = Op> {
    let complete = proptest::collection::vec(any::<Index>(), 1..10).prop_map(Op::Complete);
    prop_oneof![any::<Index>().prop_map(Op::Submit), complete]
}

impl Cluster {
    fn change_demand(&self, case: &Case, op: &Op) {
        match op {
            Op::Submit(which) => self.submit_job(which.get(&case.jobs), &[]),
            Op::Complete(which) => {
                let running: Vec<ContainerId> =
                    self.engine.read(|view| view.containers().map(|(id, _)| id).collect());
                let chosen: BTreeSet<ContainerId> =
                    which.iter().filter(|_| !running.is_empty()).map(|one| *one.get(&running)).collect();
                for container in chosen {
                    self.engine.handle().complete_container(container).unwrap();
                }
            }
        }
    }
}

/// Returns the number of rounds that took something.
fn play(case: &Case, ops: &[Op]) -> usize {
    let (cluster, _) = cluster_of(case);
    let mut active = 0;
    for op in ops {
        cluster.change_demand(case, op);
        // Pairs of leaves: the second has lost something to the first since the demand changed.
        let mut taken: BTreeSet<(String, String)> = BTreeSet::new();
        for _ in 0..ROUNDS {
            let plan = cluster.plan(&case.policy());
            for (to, from) in plan.preemptions.iter().flat_map(|one| {
                one.victims.iter().map(|victim| (one.queue.clone(), victim.queue.clone())).collect::<Vec<_>>()
            }) {
                let is_back = to != from && taken.contains(&(from.clone(), to.clone()));
                assert!(!is_back, "{to} takes back what {from} has taken: {plan}");
                taken.insert((to, from));
            }
            active += usize::from(!plan.preemptions.is_empty());
            for (application, size) in cluster.carry_out(&plan) {
                cluster.ask(application, &size.amounts()[..2], 1);
            }
        }
    }
    active
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_thousand_rounds_of_random_load_take_nothing_in_turn(
        case in case(),
        ops in proptest::collection::vec(op(), CHANGES),
    ) {
        play(&case, &ops);
    }
}
