//! `spec/capacity-scheduler.md`, sections 6.7 and 6.8, as a table. Nodes hold one container each.

use apportion::config::Percent;
use apportion::preempt::PreemptionPolicy;

use crate::{Cluster, at_once, by_queue, queue};

/// A queue with its guarantee, its maximum, and the containers that it runs and waits for.
type Row = (&'static str, i64, i64, u32, u32);

struct Scenario {
    name: &'static str,
    /// Parents come before their children, and have neither used nor pending amounts.
    rows: &'static [Row],
    policy: PreemptionPolicy,
    /// The victims by queue.
    taken: &'static [(&'static str, usize)],
}

fn exempt(path: &str) -> PreemptionPolicy {
    PreemptionPolicy { exempt: [path.to_owned()].into(), ..at_once() }
}

fn scenario(
    name: &'static str,
    rows: &'static [Row],
    policy: PreemptionPolicy,
    taken: &'static [(&'static str, usize)],
) -> Scenario {
    Scenario { name, rows, policy, taken }
}

const DISABLED: &[Row] = &[("a", 55, 100, 0, 10), ("b", 25, 100, 54, 0), ("c", 20, 100, 46, 0)];
const HIERARCHY: &[Row] = &[
    ("a", 100, 200, 0, 0),
    ("a.b", 50, 200, 60, 0),
    ("a.c", 50, 200, 50, 0),
    ("d", 100, 200, 0, 0),
    ("d.e", 10, 200, 90, 0),
    ("d.f", 90, 200, 0, 10),
];
const SATISFIED: &[Row] = &[("a", 30, 100, 0, 0), ("b", 30, 100, 40, 20), ("c", 40, 100, 60, 20)];
const IMBALANCE: &[Row] = &[("a", 40, 100, 55, 10), ("b", 40, 100, 45, 10), ("c", 20, 100, 0, 0)];

#[rustfmt::skip]
fn scenarios() -> Vec<Scenario> {
    let slowly = PreemptionPolicy { natural_termination: Percent::whole(10), ..at_once() };
    vec![
        scenario("51: ideal amounts", &[("a", 10, 100, 30, 20), ("b", 40, 100, 60, 5), ("c", 20, 100, 10, 20), ("d", 30, 100, 0, 0)],
            at_once(), &[("a", 10)]),
        scenario("52: cycle", &[("a", 40, 100, 0, 10), ("b", 40, 100, 60, 0), ("c", 20, 100, 40, 0)],
            at_once(), &[("c", 10)]),
        scenario("53: maximum", &[("a", 40, 100, 55, 10), ("b", 40, 45, 45, 10), ("c", 20, 100, 0, 0)],
            at_once(), &[]),
        scenario("54: dead zone", &[("a", 40, 103, 39, 10), ("b", 40, 103, 43, 0), ("c", 20, 103, 21, 0)],
            at_once(), &[]),
        scenario("57: natural termination", IMBALANCE, slowly, &[]),
        scenario("57: imbalance above the guarantees", IMBALANCE, at_once(), &[]),
        scenario("58: exempt", DISABLED, exempt("root.b"), &[("c", 10)]),
        scenario("58: not exempt", DISABLED, at_once(), &[("b", 4), ("c", 6)]),
        scenario("59: hierarchy", HIERARCHY, at_once(), &[("a.b", 10)]),
        scenario("59: hierarchy with an exempt leaf", HIERARCHY, exempt("root.a.b"), &[("d.e", 10)]),
        scenario("59: hierarchy with an exempt parent", HIERARCHY, exempt("root.a"), &[("d.e", 10)]),
        scenario("63: no guarantees", &[("a", 0, 100, 60, 10), ("b", 0, 100, 40, 10), ("c", 100, 100, 0, 0)],
            at_once(), &[]),
        // C takes 25 of the 39 units that the guarantees leave. A and B share the other 14 by weight: 37 for A, and
        // 37 for B. With priorities, B gets them alone: see `priority.rs`.
        scenario("70: queues above their guarantees, without priorities", &[("a", 30, 100, 40, 50), ("b", 30, 100, 59, 50), ("c", 40, 100, 1, 25)],
            at_once(), &[("a", 3), ("b", 22)]),
        scenario("73: satisfied", SATISFIED, at_once(), &[]),
        scenario("case 9: no guarantee", &[("a", 0, 10, 10, 0), ("b", 0, 10, 0, 5)], at_once(), &[]),
        scenario("case 9: a guarantee", &[("a", 5, 10, 10, 0), ("b", 5, 10, 0, 5)], at_once(), &[("a", 5)]),
    ]
}

/// The queues of the rows, with the nodes full of their containers.
fn cluster(rows: &[Row]) -> Cluster {
    let is_top = |row: &&Row| !row.0.contains('.');
    let config = |row: &Row| queue(row.0.rsplit('.').next().unwrap(), &[row.1], Some(&[row.2]));
    let tree = rows.iter().filter(is_top).map(|row| {
        let below = format!("{}.", row.0);
        let children: Vec<_> = rows.iter().filter(|child| child.0.starts_with(&below)).map(config).collect();
        if children.is_empty() { config(row) } else { config(row).with_children(children) }
    });
    let cluster = Cluster::new(tree);
    let used: u32 = rows.iter().map(|row| row.3).sum();
    cluster.nodes(used as usize, &[1]);
    for of_row in [|row: &Row| row.3, |row: &Row| row.4] {
        for row in rows.iter().filter(|row| of_row(row) > 0) {
            cluster.demand(&format!("root.{}", row.0), &[1], of_row(row));
        }
        cluster.run();
        assert_eq!(cluster.engine.read(|view| view.container_count()), used as usize);
    }
    cluster
}

#[test]
fn queues_lose_what_yarn_takes() {
    for Scenario { name, rows, policy, taken } in scenarios() {
        let cluster = cluster(rows);
        let plan = cluster.plan(&policy);
        let expected = taken.iter().map(|(queue, count)| ((*queue).to_owned(), *count)).collect();
        assert_eq!(by_queue(&plan), expected, "{name}: {plan}\n{:#?}", plan.partitions);
        assert!(plan.preemptions.iter().all(|preemption| preemption.victims.len() == 1), "{name}");
        cluster.execute(&plan);
        assert!(cluster.plan(&policy).preemptions.is_empty(), "{name}: a second round");
    }
}
