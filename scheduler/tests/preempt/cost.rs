//! The costs of containers as victims.

use std::collections::BTreeMap;

use apportion::event::{Refusal, Subject};
use apportion::preempt::{PreemptionCost, PreemptionPlan, UnhelpedReason};
use apportion::{ApplicationId, ContainerId, Resources};

use crate::{Cluster, at_once, by_queue, queue, reasons};

const ONE: &[i64] = &[1];

/// Two queues with half of the cluster each, of which the first has all: ten containers on so many nodes.
fn full(nodes: usize) -> (Cluster, ApplicationId) {
    let cluster = Cluster::new([queue("a", &[5], None), queue("b", &[5], None)]);
    cluster.nodes(nodes, &[10 / nodes as i64]);
    let application = cluster.demand("root.a", ONE, 10);
    cluster.run();
    (cluster, application)
}

impl Cluster {
    /// The application's containers, oldest first.
    pub(crate) fn containers(&self, application: ApplicationId) -> Vec<ContainerId> {
        let all = |view: &apportion::view::View<'_>| -> Vec<_> {
            view.application(application).unwrap().containers().map(|one| one.container).collect()
        };
        self.engine.read(|view| all(view))
    }

    fn set_costs(&self, costs: impl IntoIterator<Item = (ContainerId, PreemptionCost)>) {
        self.engine.handle().set_preemption_costs(costs).unwrap();
        self.run();
    }
}

fn taken(plan: &PreemptionPlan) -> Vec<ContainerId> {
    let mut victims: Vec<_> =
        plan.preemptions.iter().flat_map(|one| &one.victims).map(|one| one.container).collect();
    victims.sort_unstable();
    victims
}

/// The newest would be taken without costs. On one node the order of the candidates decides, on ten the loss of each
/// node.
#[test]
fn the_cheapest_containers_are_taken() {
    for nodes in [1, 10] {
        let (cluster, application) = full(nodes);
        let containers = cluster.containers(application);
        let units = |place: usize| PreemptionCost::Units([7, 3, 9, 1, 8, 2, 7, 9, 9, 9][place]);
        cluster.set_costs(containers.iter().enumerate().map(|(place, id)| (*id, units(place))));
        cluster.demand("root.b", ONE, 3);
        let plan = cluster.plan(&at_once());
        let mut expected = [3, 5, 1].map(|place: usize| containers[place]);
        expected.sort_unstable();
        assert_eq!(taken(&plan), expected, "{nodes} nodes: {plan}");
        cluster.execute(&plan);
    }
}

/// One container of two units frees as much as two of one: the number of victims comes before their cost.
#[test]
fn fewer_victims_come_before_cheaper_ones() {
    let cluster = Cluster::new([queue("a", &[0], None), queue("b", &[4], None)]);
    cluster.nodes(2, &[2]);
    let large = cluster.demand("root.a", &[2], 1);
    cluster.run();
    cluster.demand("root.a", ONE, 2);
    cluster.run();
    let large = cluster.containers(large);
    cluster.set_costs([(large[0], PreemptionCost::Units(u32::MAX))]);
    cluster.demand("root.b", &[2], 1);
    assert_eq!(taken(&cluster.plan(&at_once())), large);
}

/// The large container is cheaper than the one that leaves nothing to spare.
#[test]
fn the_cost_comes_before_the_amount_to_spare() {
    let cluster = Cluster::new([queue("a", &[0], None), queue("b", &[5], None)]);
    cluster.nodes(1, &[3]);
    let large = cluster.demand("root.a", &[3], 1);
    cluster.run();
    cluster.engine.handle().add_node(apportion::NodeSpec::new("small", Resources::new(&[2]))).unwrap();
    let exact = cluster.demand("root.a", &[2], 1);
    cluster.run();
    let (large, exact) = (cluster.containers(large), cluster.containers(exact));
    cluster.demand("root.b", &[2], 1);
    assert_eq!(taken(&cluster.plan(&at_once())), exact);
    cluster.set_costs([(large[0], PreemptionCost::Units(4)), (exact[0], PreemptionCost::Units(5))]);
    assert_eq!(taken(&cluster.plan(&at_once())), large);
}

#[test]
fn a_container_that_costs_never_is_no_victim() {
    let (cluster, application) = full(10);
    let containers = cluster.containers(application);
    cluster.set_costs(containers[1..].iter().map(|id| (*id, PreemptionCost::Never)));
    cluster.demand("root.b", ONE, 3);
    let plan = cluster.plan(&at_once());
    assert_eq!(taken(&plan), containers[..1], "{plan}");
    cluster.set_costs([(containers[0], PreemptionCost::Never)]);
    let plan = cluster.plan(&at_once());
    assert_eq!((plan.preemptions.len(), reasons(&plan)), (0, vec![UnhelpedReason::Exempt]), "{plan}");
    cluster.set_costs([(containers[4], PreemptionCost::default())]);
    assert_eq!(taken(&cluster.plan(&at_once())), containers[4..=4]);
}

/// As with exempt applications: what never is taken above the guarantee is taken from other queues.
#[test]
fn other_queues_lose_more_instead() {
    let cluster = Cluster::new([queue("a", &[55], None), queue("b", &[25], None), queue("c", &[20], None)]);
    cluster.nodes(100, ONE);
    let kept = cluster.demand("root.b", ONE, 54);
    cluster.demand("root.c", ONE, 46);
    cluster.run();
    cluster.set_costs(cluster.containers(kept).into_iter().map(|id| (id, PreemptionCost::Never)));
    cluster.demand("root.a", ONE, 10);
    assert_eq!(by_queue(&cluster.plan(&at_once())), BTreeMap::from([("c".to_owned(), 10)]));
}

#[test]
fn an_unknown_container_has_no_cost() {
    let (cluster, application) = full(1);
    let handle = cluster.engine.handle();
    let containers = cluster.containers(application);
    let [gone, stopping, live] = [0, 1, 2].map(|place: usize| containers[place]);
    handle.complete_container(gone).unwrap();
    handle.stop_container(stopping).unwrap();
    cluster.run();
    let costs = [gone, stopping, live].map(|id| (id, PreemptionCost::Units(4)));
    handle.set_preemption_costs(costs).unwrap();
    cluster.run();
    let refused: Vec<_> = handle.take_refusals().list.iter().map(|one| (one.subject, one.refusal)).collect();
    let expected = [
        (Subject::Container(gone), Refusal::UnknownContainer),
        (Subject::Container(stopping), Refusal::ContainerStopping),
    ];
    assert_eq!(refused, expected);
    let cost = cluster.engine.read(|view| view.container(live).unwrap().preemption_cost);
    assert_eq!(cost, PreemptionCost::Units(4));
}
