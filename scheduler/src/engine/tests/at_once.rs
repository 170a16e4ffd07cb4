//! Queues ordered by priority while batches are on their way.

use super::{Bench, config, leaf};
use crate::config::{EngineConfig, QueueConfig, QueueOrdering};
use crate::engine::Mode;
use crate::facts::ApplicationEnd;
use crate::ids::{ApplicationId, AskId};
use crate::propose::ProposalBatch;

/// Two nodes, each a set. `root.p.a` has the most urgent application, whose only unit is on its way; `root.p.b` has
/// the least urgent one, `root.c` one in between. All want more than is free.
struct OnItsWay {
    bench: Bench,
    urgent: ApplicationId,
    asks: [AskId; 3],
    batch: Box<ProposalBatch>,
}

fn on_its_way(ordering: QueueOrdering) -> OnItsWay {
    let both = leaf("p").with_children([leaf("a"), leaf("b")]).with_child_ordering(ordering);
    let root = QueueConfig::root([both, leaf("c")]).with_child_ordering(ordering);
    let mut config = EngineConfig { root, ..config([leaf("a")]) };
    (config.limits.single_set_nodes, config.limits.set_nodes, config.limits.batch_requests) = (2, 1, 1);
    let bench = Bench::new(config, Mode::Parallel { proposers: 1 });
    ["n1", "n2"].iter().for_each(|name| _ = bench.node(name, 8));
    bench.engine.run_until_quiet();
    bench.shared.work.close();
    let applications = ["root.p.a", "root.p.b", "root.c"].map(|queue| bench.application(queue));
    for (application, priority) in applications.into_iter().zip([5, 0, 3]) {
        bench.engine.handle().set_application_priority(application, priority).unwrap();
    }
    let [a, b, c] = applications;
    let asks = [bench.ask(a, 1, 1), bench.ask(b, 1, 4), bench.ask(c, 1, 4)];
    bench.wait_for(|bench| bench.engine.read(|view| view.asks().count()) == 3);
    let batch = bench.pass(0);
    assert_eq!(asks_of(&batch), [asks[0]]);
    OnItsWay { bench, urgent: a, asks, batch }
}

fn asks_of(batch: &ProposalBatch) -> Vec<AskId> {
    batch.requests().iter().flat_map(|request| &request.allocate).map(|unit| unit.ask).collect()
}

impl Bench {
    fn wait_for(&self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            std::thread::yield_now();
        }
    }

    fn lists_nothing(&self) -> bool {
        self.shared.state.read().in_flight.given.is_empty()
    }
}

/// The siblings of an urgent leaf do not gain from its urgency while its last unit is on its way.
#[test]
fn a_unit_on_its_way_makes_no_queue_urgent() {
    let OnItsWay { bench, asks, batch: _batch, .. } = on_its_way(QueueOrdering::DemandPriority);
    assert_eq!(asks_of(&bench.pass(1)), [asks[2]]);
}

#[test]
fn a_batch_that_is_dropped_leaves_its_queues_urgent() {
    let OnItsWay { bench, asks, batch, .. } = on_its_way(QueueOrdering::DemandPriority);
    drop(batch);
    assert!(bench.lists_nothing());
    assert_eq!(asks_of(&bench.pass(1)), [asks[0]]);
}

/// The unit on its way belongs to a cancelled ask, so it does not count for the new ask.
#[test]
fn a_further_ask_is_urgent_although_a_cancelled_one_is_on_its_way() {
    let OnItsWay { bench, urgent, asks, batch } = on_its_way(QueueOrdering::DemandPriority);
    bench.engine.handle().cancel_ask(asks[0], 1).unwrap();
    bench.wait_for(|bench| bench.engine.read(|view| view.ask(asks[0]).is_none()));
    let further = bench.ask(urgent, 1, 1);
    bench.wait_for(|bench| bench.engine.read(|view| view.ask(further).is_some()));
    assert_eq!(asks_of(&bench.pass(1)), [further]);
    bench.engine.handle().end_application(urgent, ApplicationEnd::Finished).unwrap();
    bench.wait_for(|bench| bench.engine.read(|view| view.ask(further).is_none()));
    drop(batch);
    assert!(bench.shared.state.read().in_flight.is_zero());
}

/// Both queues got as much, and the batch records the sum once for each queue.
#[test]
fn picks_that_are_published_at_once_are_summed_and_taken_back() {
    let root =
        QueueConfig::root([leaf("a"), leaf("b")]).with_child_ordering(QueueOrdering::PriorityUtilization);
    let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
    bench.node("n1", 8);
    ["root.a", "root.b"].iter().for_each(|queue| _ = bench.ask(bench.application(queue), 1, 4));
    bench.commit();
    let batch = bench.pass(0);
    let amounts: Vec<_> = batch.proposals.amounts.queues.iter().map(|amount| amount.resources[0]).collect();
    assert_eq!(amounts, [8, 4, 4]);
    for amount in &batch.proposals.amounts.queues {
        assert_eq!(
            bench.shared.state.read().in_flight.queues.load(amount.of, amount.share.partition),
            amount.resources
        );
    }
    drop(batch);
    bench.expect_untouched(8);
}

/// If use alone orders the queues, later picks correct earlier ones, and passes need not see each other's.
#[test]
fn picks_are_published_at_once_only_where_queues_are_ordered_by_more_than_their_use() {
    for (ordering, is_at_once) in [
        (QueueOrdering::Utilization, false),
        (QueueOrdering::PriorityUtilization, true),
        (QueueOrdering::DemandPriority, true),
    ] {
        let root = QueueConfig::root([leaf("a")]).with_child_ordering(ordering);
        let bench = Bench::serial(EngineConfig { root, ..config([leaf("a")]) });
        assert_eq!(bench.shared.state.read().facts.tree.orders_by_priority, is_at_once, "{ordering:?}");
    }
}
