//! A run with every kind of change, and the facts at its end.
//!
//! It uses only calls that programs have since version 9 of the log, so that an old program can write its log; see
//! `tests/old_logs/README.md`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use apportion::config::{
    AutoCreation, Capacity, EngineConfig, Factor, HeartbeatPolicy, LocalityDelay, Percent, QueueConfig,
    QueueMapping, QueueUpdate, Reconfiguration, ReservationPolicy, Semantics,
};
use apportion::log::{LogReader, LogSink, SharedLog};
use apportion::resource::DeviceNeed;
use apportion::view::View;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskOfKind, AskSpec, AttributeRule, Blacklist,
    ContainerId, Engine, EventStream, Handle, ManualClock, Mode, NodeId, NodeSpec, PassScope, ResourceTypes,
    Resources, RunningContainer, TagLimit,
};

/// An engine in the middle of the run.
struct Run {
    engine: Engine,
    handle: Handle,
    events: EventStream,
    clock: Arc<ManualClock>,
    now_ms: u64,
}

/// Writes the log and the facts of a run into a folder.
pub fn write(folder: &Path) {
    let log = SharedLog::new();
    let engine = play(Box::new(log.clone()), || ());
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("log"), log.bytes()).unwrap();
    std::fs::write(folder.join("facts.txt"), facts(&engine)).unwrap();
}

/// The engine at the end of the run. `midway` is called in the middle of it.
pub fn play(log: Box<dyn LogSink>, midway: impl FnOnce()) -> Engine {
    let clock = Arc::new(ManualClock::new());
    let engine = Engine::start(config(), Mode::Serial, clock.clone(), Some(log)).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(1 << 12);
    let mut run = Run { engine, handle, events, clock, now_ms: 0 };
    let nodes = run.add_nodes();
    let (first, second) = run.place(&nodes);
    run.change_containers(first);
    run.change_applications(second);
    midway();
    run.change_nodes(&nodes, first);
    run.change_queues();
    run.reserve(second, &nodes);
    run.leave_unfinished(first, &nodes);
    run.engine
}

fn config() -> EngineConfig {
    let types =
        ResourceTypes::new(["memory_mib", "vcore_milli", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let half = |name: &str| {
        let leaf = QueueConfig::leaf(name, Capacity::Weight(Factor::ONE));
        leaf.with_user_limit_factor(None)
    };
    let creation = AutoCreation { expiry_ms: Some(1_000), ..AutoCreation::default() };
    let users = half("users").with_auto_creation(creation);
    let mut config = EngineConfig::new(types, QueueConfig::root([half("batch"), half("services"), users]));
    config.partitions = vec!["large".to_owned()];
    config.semantics = Semantics::YarnCompatible;
    config.locality_delay = LocalityDelay::nodes(1, 2);
    config.heartbeat = Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 3 });
    config.reservations = ReservationPolicy {
        delay_ms: Some(0),
        age_limit_ms: 20_000,
        nodes: Percent::whole(50),
        continue_looking: true,
    };
    config.stop_timeout_ms = 2_000;
    config
}

fn size(memory: i64, vcores: i64) -> Resources {
    Resources::new(&[memory, vcores])
}

impl Run {
    fn quiet(&self) {
        self.engine.run_until_quiet();
    }

    fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
        self.clock.set(self.now_ms);
        self.handle.tick().unwrap();
        self.quiet();
    }

    /// One pass over one node.
    fn pass(&self, node: NodeId) {
        self.engine.pass_once(PassScope { node: Some(node), leaf: None }).unwrap();
        self.engine.commit_waiting().unwrap();
    }

    fn submit(&self, name: &str, queue: &str, user: &str) -> ApplicationId {
        let application =
            ApplicationSpec::new(name, queue, user).with_priority(3).with_tag("made", "by hand");
        self.handle.submit_application(application, &self.events).unwrap()
    }

    fn ask(&self, application: ApplicationId, spec: AskSpec) {
        self.handle.submit_ask(application, spec).unwrap();
    }

    fn containers_of(&self, application: ApplicationId) -> Vec<ContainerId> {
        self.engine.read(|view| {
            let all = view.containers().filter(|(_, container)| container.application == application);
            all.map(|(id, _)| id).collect()
        })
    }

    /// Six nodes on three racks; the last one belongs to a partition of its own. The first one reports a container.
    fn add_nodes(&mut self) -> Vec<NodeId> {
        let early = self.submit("early", "root.services", "eve");
        self.quiet();
        let spec = |number: usize| {
            let node = NodeSpec::new(format!("n{number}"), size(16_384, 8_000));
            node.on_rack(format!("rack{}", number / 2)).with_attribute("os", ["old", "new"][number % 2])
        };
        let running = RunningContainer::new(early, size(1_024, 1_000)).with_tag("store").with_priority(2);
        let first = self.handle.recover_node(spec(0), vec![running]).unwrap().node;
        let more = (1..5).map(|number| self.handle.add_node(spec(number).with_devices(2)).unwrap());
        let mut nodes: Vec<_> = std::iter::once(first).chain(more).collect();
        let large = self.handle.partition("large").unwrap();
        nodes.push(self.handle.add_node(spec(5).in_partition(large)).unwrap());
        self.quiet();
        nodes
    }

    /// Containers by size, host, rack, rule, tag, device, partition and kind, and a cancelled ask.
    fn place(&mut self, nodes: &[NodeId]) -> (ApplicationId, ApplicationId) {
        let first = self.submit("first", "root.batch", "ann");
        let second = self.submit("second", "root.services", "bob");
        let large = self.handle.partition("large").unwrap();
        self.ask(first, AskSpec::new(size(2_048, 1_000), 5).with_priority(2).with_allocation_request(7));
        self.ask(first, AskSpec::new(size(1_024, 500), 2).with_devices(DeviceNeed { count: 1, milli: 500 }));
        self.ask(first, AskSpec::new(size(512, 100), 1).on_hosts([nodes[2]]));
        self.ask(
            first,
            AskSpec::new(size(512, 100), 1).on_racks([self.handle.rack("rack9")]).strictly_local(),
        );
        self.ask(second, AskSpec::new(size(512, 100), 1).with_rule(AttributeRule::one_of("os", ["new"])));
        let spread = AskSpec::new(size(256, 100), 3).with_tag("store");
        self.ask(second, spread.with_tag_limit(TagLimit::per_node("store", 1)));
        self.ask(second, AskSpec::new(size(4_096, 1_000), 2).in_partition(large));
        let kind = self.handle.register_ask_kind(AskSpec::new(size(300, 100), 1)).unwrap();
        let of_kind = AskOfKind { application: second, kind, count: 2, allocation_request_id: 9 };
        self.handle.submit_asks_of_kinds([of_kind]).unwrap();
        let unwanted = self.handle.submit_ask(second, AskSpec::new(size(16_000, 8_000), 2)).unwrap();
        self.handle.cancel_ask(unwanted, 1).unwrap();
        self.handle.cancel_ask(unwanted, 1).unwrap();
        self.quiet();
        (first, second)
    }

    /// Containers that grow, are demoted, stop, are preempted and end.
    fn change_containers(&mut self, application: ApplicationId) {
        let all = self.containers_of(application);
        let [grown, stopped, preempted, completed, demoted] = all[..5] else { panic!("{all:?}") };
        drop(self.handle.resize_container(grown, size(3_000, 1_500)).unwrap());
        drop(self.handle.demote_container(demoted).unwrap());
        drop(self.handle.stop_container(stopped).unwrap());
        drop(self.handle.preempt_container(preempted).unwrap());
        self.handle.complete_container(completed).unwrap();
        self.quiet();
        self.handle.complete_container(stopped).unwrap();
        self.wait(500);
    }

    /// Applications that move, get a priority and a blacklist, and end; one was in a queue made for it.
    fn change_applications(&mut self, application: ApplicationId) {
        let moved = self.submit("moved", "root.batch", "cid");
        let ended = self.submit("ended", "root.users.dan", "dan");
        for application in [moved, ended] {
            self.ask(application, AskSpec::new(size(600, 200), 2));
        }
        self.quiet();
        drop(self.handle.move_application(moved, "root.services").unwrap());
        self.handle.set_application_priority(moved, 8).unwrap();
        let shunned = Blacklist::new().with_hosts(["n3"]).with_racks(["rack7"]);
        self.handle.update_blacklist(application, shunned, Blacklist::new()).unwrap();
        self.handle.end_application(ended, ApplicationEnd::Finished).unwrap();
        self.quiet();
    }

    /// Nodes that change, move to another partition, drain, are silent, send heartbeats again, and are removed.
    fn change_nodes(&mut self, nodes: &[NodeId], application: ApplicationId) {
        let attributes = [("os".to_owned(), "newest".to_owned())].into_iter().collect();
        self.handle.update_node(nodes[1], size(20_000, 9_000), attributes).unwrap();
        let large = self.handle.partition("large").unwrap();
        self.handle.set_node_partition(nodes[4], large).unwrap();
        self.handle.drain_node(nodes[2]).unwrap();
        for _ in 0..4 {
            self.wait(1_000);
            self.handle.heartbeat(&nodes[1..]).unwrap();
        }
        self.wait(0);
        self.handle.heartbeat(nodes).unwrap();
        self.handle.activate_node(nodes[2]).unwrap();
        self.ask(application, AskSpec::new(size(700, 100), 1).on_hosts([nodes[5]]));
        drop(self.handle.remove_node(nodes[3]).unwrap());
        self.quiet();
        nodes[..3].iter().for_each(|node| self.pass(*node));
        self.quiet();
    }

    /// Queues that get other limits, a new sibling, and expire.
    fn change_queues(&mut self) {
        let batch = self.handle.queue("root.batch").unwrap();
        let update = QueueUpdate { priority: Some(4), ..QueueUpdate::default() };
        drop(self.handle.update_queue(batch, update).unwrap());
        let mut root = self.engine.read(|view| view.queue_tree());
        root.children.push(QueueConfig::leaf("added", Capacity::Weight(Factor::ONE)));
        let configuration = Reconfiguration { root, queue_mapping: QueueMapping::default() };
        drop(self.handle.reconfigure(configuration).unwrap());
        self.wait(1_000);
    }

    /// An ask that fits nowhere reserves a node, and again once the reservation is too old.
    fn reserve(&mut self, application: ApplicationId, nodes: &[NodeId]) {
        self.ask(application, AskSpec::new(size(16_384, 8_000), 2).with_priority(9));
        self.quiet();
        let alive = [nodes[0], nodes[1], nodes[2], nodes[4], nodes[5]];
        for ms in [19_999, 2] {
            nodes[..3].iter().for_each(|node| self.pass(*node));
            self.handle.heartbeat(&alive).unwrap();
            self.wait(ms);
        }
    }

    /// Leaves a container that is being stopped and an opportunistic one. Leaves a draining node, a silent one, and
    /// the first node on a rack for which an ask has waited.
    fn leave_unfinished(&mut self, application: ApplicationId, nodes: &[NodeId]) {
        for _ in 0..4 {
            self.handle.heartbeat(&nodes[..3]).unwrap();
            self.wait(1_000);
        }
        self.handle.drain_node(nodes[0]).unwrap();
        self.handle.add_node(NodeSpec::new("n6", size(4_096, 2_000)).on_rack("rack9")).unwrap();
        let [stopped, demoted, ..] = self.containers_of(application)[..] else {
            panic!("too few containers")
        };
        drop(self.handle.stop_container(stopped).unwrap());
        drop(self.handle.demote_container(demoted).unwrap());
        self.quiet();
    }
}

/// The state, in words that do not depend on the program. It has one line for each node, queue, ask, reservation
/// and container, then the digest of the state.
pub fn facts(engine: &Engine) -> String {
    engine.read(|view| {
        let mut text = format!("changes {}, time {} ms\n", view.seq().0, view.now_ms());
        write_nodes(&mut text, view);
        write_queues(&mut text, view);
        write_asks(&mut text, view);
        write_containers(&mut text, view);
        text
    }) + &format!("digest {}\n", engine.digest())
}

/// The amounts of the resource types of the run.
fn amounts(amounts: Resources) -> String {
    format!("{:?}", &amounts.amounts()[..3])
}

fn write_nodes(text: &mut String, view: &View<'_>) {
    for node in view.nodes() {
        let (id, name, rack, partition) = (node.id(), node.name(), node.rack(), node.partition());
        let (capacity, used) = (amounts(node.capacity()), amounts(node.allocated()));
        let state = (node.state(), node.is_stale(), node.is_reserved());
        writeln!(text, "node {id} {name} {rack} {partition} {capacity} used {used} {state:?}").unwrap();
    }
}

fn write_queues(text: &mut String, view: &View<'_>) {
    for queue in view.queues() {
        for partition in view.partition_ids() {
            let (path, quota) = (queue.path(), queue.quota(partition));
            let (used, pending) = (amounts(quota.used), amounts(quota.pending));
            writeln!(text, "queue {path} {partition} used {used} pending {pending}").unwrap();
        }
    }
}

fn write_asks(text: &mut String, view: &View<'_>) {
    for ask in view.asks() {
        let (id, application, outstanding) = (ask.id(), ask.application(), ask.outstanding());
        let (size, reserved) = (amounts(ask.size()), ask.reserved());
        let counts = (ask.missed_opportunities(), ask.re_reservations());
        writeln!(text, "ask {id} of {application} {size} x {outstanding} reserved {reserved} {counts:?}")
            .unwrap();
    }
    for (id, reservation) in view.reservations() {
        let (ask, node, created) = (reservation.ask, reservation.node, reservation.created_ms);
        writeln!(text, "reservation {id} on {node} for {ask} since {created} ms").unwrap();
    }
}

fn write_containers(text: &mut String, view: &View<'_>) {
    for (id, container) in view.containers() {
        let (node, size, request) =
            (container.node, amounts(container.size), container.allocation_request_id);
        let owner = view.application(container.application).unwrap();
        let (name, queue, user, priority) = (owner.name(), owner.queue(), owner.user(), owner.priority());
        let (execution, is_stopping) = (container.execution_type, container.stopping.is_some());
        write!(
            text,
            "container {id} on {node} {size} {execution:?} request {request} stopping {is_stopping}"
        )
        .unwrap();
        writeln!(text, " of {name} in {queue} for {user} priority {priority}").unwrap();
    }
}

/// The kinds of the changes in a log.
pub fn kinds(log: &[u8]) -> BTreeSet<&'static str> {
    let mut reader = LogReader::new(log).unwrap();
    std::iter::from_fn(|| reader.next_change().unwrap()).map(|change| change.label()).collect()
}
