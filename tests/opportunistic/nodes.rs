//! Nodes are told to start a container only when it may start.

use std::collections::{BTreeMap, BTreeSet};

use apportion::config::{Capacity, Maximum, Percent, QueueConfig, QueueUpdate};
use apportion::engine::NodeReport;
use apportion::nodes::DirectiveTracker;
use apportion::resource::DeviceNeed;
use apportion::{AskSpec, ContainerId, Mode, NodeId, NodeSpec, ResourceTypes, Resources, RunningContainer};

use crate::{Cluster, amount, ask, config, opportunistic};

/// Passes all events on to the tracker, and returns what the node has to start and stop.
struct Agent {
    tracker: DirectiveTracker,
    version: u64,
}

impl Agent {
    fn told(&mut self, cluster: &Cluster, node: NodeId) -> (Vec<ContainerId>, Vec<ContainerId>) {
        cluster.all_events().iter().for_each(|event| self.tracker.on_event(event));
        let directives = self.tracker.since(node, self.version);
        self.version = directives.version;
        (directives.start.iter().map(|start| start.container).collect(), directives.stop)
    }
}

#[test]
fn a_node_starts_a_queued_container_when_its_turn_comes() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 2), cluster.application());
    let mut agent = Agent { tracker: DirectiveTracker::new(cluster.handle.clone()), version: 0 };
    cluster.ask(job, opportunistic(2, 2));
    let (waiting, running) = cluster.at(node);
    assert_eq!(agent.told(&cluster, node), (running.clone(), vec![]));
    cluster.complete(running[0]);
    let (start, _) = agent.told(&cluster, node);
    assert_eq!(start, waiting);
    cluster.ask(job, ask(1, 1));
    let (start, stop) = agent.told(&cluster, node);
    assert_eq!((start.len(), stop), (1, waiting), "the guaranteed container takes its place");
}

/// A tracker that starts later does not take queued containers for running.
#[test]
fn a_new_tracker_knows_what_waits() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 2), cluster.application());
    cluster.ask(job, opportunistic(2, 2));
    let (waiting, running) = cluster.at(node);
    drop(cluster.events());
    let mut agent = Agent { tracker: DirectiveTracker::new(cluster.handle.clone()), version: 0 };
    agent.tracker.resync();
    let directives = agent.tracker.since(node, 0);
    assert_eq!((directives.start.len(), directives.keep), (0, BTreeSet::from([running[0]])));
    cluster.complete(running[0]);
    assert_eq!(agent.told(&cluster, node).0, waiting);
}

/// A node does not report containers of its queue, and they wait on.
#[test]
fn a_report_ends_no_queued_container() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 2), cluster.application());
    cluster.ask(job, opportunistic(2, 2));
    let (waiting, running) = cluster.at(node);
    let described = RunningContainer::new(job, amount(2));
    let report = NodeReport { running: BTreeMap::from([(running[0], described)]), ..NodeReport::default() };
    let ticket = cluster.handle.reconcile_node(node, report).unwrap();
    cluster.run();
    assert!(ticket.wait().unwrap().unwrap().ended.is_empty());
    assert_eq!(cluster.at(node), (waiting, running));
}

/// The end of a lost container starts the next one in the queue. No agent was told of that one, so no report misses it.
#[test]
fn a_container_that_starts_during_a_report_does_not_end_by_it() {
    let cluster = Cluster::serial(5);
    let (node, job) = (cluster.node("a", 2), cluster.application());
    cluster.ask(job, opportunistic(2, 2));
    let (waiting, running) = cluster.at(node);
    let ticket = cluster.handle.reconcile_node(node, NodeReport::default()).unwrap();
    cluster.run();
    assert_eq!(ticket.wait().unwrap().unwrap().ended, running);
    assert_eq!(cluster.at(node), (vec![], waiting), "it runs now");
}

/// The queue's maximum has fallen below the devices of the waiting container, so the first end ends both.
#[test]
fn a_report_may_end_a_queued_container_that_can_never_start() {
    let leaf = |name, percent| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent)));
    let maximum = |percent| Maximum::Percent(Percent::whole(percent));
    let mut config = config(5);
    let small = leaf("a", 25).with_user_limit_factor(None).with_maximum(maximum(100));
    config.root = QueueConfig::root([small, leaf("b", 75)]);
    config.resources = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let cluster = Cluster::new(config, Mode::Serial);
    let node = cluster.handle.add_node(NodeSpec::new("a", Resources::new(&[8])).with_devices(4)).unwrap();
    let job = cluster.application_in("root.a");
    let spec = AskSpec::new(Resources::new(&[1]), 2).with_devices(DeviceNeed { count: 3, milli: 1_000 });
    cluster.ask(job, spec.opportunistic());
    let (waiting, running) = cluster.at(node);
    assert_eq!((waiting.len(), running.len()), (1, 1), "the node has devices for one");
    let update = QueueUpdate { maximum: Some(maximum(25)), ..QueueUpdate::default() };
    drop(cluster.handle.update_queue(cluster.handle.queue("root.a").unwrap(), update).unwrap());
    cluster.run();
    assert_eq!(cluster.at(node), (waiting, running.clone()));
    let ticket = cluster.handle.reconcile_node(node, NodeReport::default()).unwrap();
    cluster.run();
    assert_eq!(ticket.wait().unwrap().unwrap().ended, running);
    assert_eq!(cluster.at(node), (vec![], vec![]));
}
