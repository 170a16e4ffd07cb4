//! Priorities of queues, with the numbers of `capacity-scheduler.md`, case 70, and of the tests that it sums up.

use apportion::ResourceTypes;
use apportion::config::{EngineConfig, QueueConfig, QueueOrdering};

use crate::{Cluster, at_once, by_queue, queue};

/// Name, priority, guarantee, used and pending.
type Row = (&'static str, i32, i64, u32, u32);

/// One level of queues below the root, full of their containers.
fn cluster(ordering: QueueOrdering, rows: &[Row]) -> Cluster {
    let leaf =
        |(name, priority, guaranteed, ..): &Row| queue(name, &[*guaranteed], None).with_priority(*priority);
    let root = QueueConfig::root(rows.iter().map(leaf)).with_child_ordering(ordering);
    let cluster = Cluster::with_config(EngineConfig::new(ResourceTypes::memory_and_vcores(), root));
    cluster.nodes(rows.iter().map(|row| row.3 as usize).sum(), &[1]);
    for of_row in [|row: &Row| row.3, |row: &Row| row.4] {
        for row in rows {
            cluster.demand(&format!("root.{}", row.0), &[1], of_row(row));
        }
        cluster.run();
    }
    cluster
}

#[test]
fn scenario_70_queues_of_higher_priority_keep_more_above_their_guarantees() {
    // Being below the guarantee counts more than priority: C's own priority makes no difference.
    for of_c in [2, 0] {
        let rows = [("a", 1, 30, 40, 50), ("b", 2, 30, 59, 50), ("c", of_c, 40, 1, 25)];
        let cluster = cluster(QueueOrdering::PriorityUtilization, &rows);
        let plan = cluster.plan(&at_once());
        let expected = [("a".to_owned(), 10), ("b".to_owned(), 15)].into();
        assert_eq!(by_queue(&plan), expected, "{plan}\n{:#?}", plan.partitions);
        cluster.execute(&plan);
        assert!(cluster.plan(&at_once()).preemptions.is_empty());
    }
}

/// The same priorities, in an order that does not use them.
#[test]
fn priorities_count_only_where_the_order_uses_them() {
    let rows = [("a", 1, 30, 40, 50), ("b", 2, 30, 59, 50), ("c", 2, 40, 1, 25)];
    let plan = cluster(QueueOrdering::Utilization, &rows).plan(&at_once());
    assert_eq!(by_queue(&plan), [("a".to_owned(), 3), ("b".to_owned(), 22)].into(), "{plan}");
}

/// YARN rounds to the nearest unit and takes 23 from A and 6 from B; the plan rounds up for the first queue.
#[test]
fn queues_of_one_priority_share_by_weight() {
    let rows = [
        ("a", 1, 10, 35, 50),
        ("b", 1, 15, 25, 50),
        ("c", 2, 20, 39, 50),
        ("d", 2, 25, 0, 0),
        ("e", 2, 30, 1, 99),
    ];
    let plan = cluster(QueueOrdering::PriorityUtilization, &rows).plan(&at_once());
    assert_eq!(by_queue(&plan), [("a".to_owned(), 22), ("b".to_owned(), 7)].into(), "{plan}");
}
