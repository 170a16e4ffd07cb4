//! Explanations: for each reason an ask can be pending, the explanation names it.

use std::sync::Arc;

use apportion::config::{
    AutoCreation, Capacity, EngineConfig, HeartbeatPolicy, HolderLimit, Maximum, ParallelLimits, Percent,
    QueueConfig, ReservationPolicy,
};
use apportion::explain::{Blocker, PendingReason, Stage, Standing, WhyPending};
use apportion::request::RejectReason;
use apportion::resource::DeviceNeed;
use apportion::{
    ApplicationSpec, AskId, AskSpec, AttributeRule, Engine, ManualClock, NodeSpec,
    ResourceAllocationCommitRequest, ResourceTypes, Resources,
};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

/// The key of the setting that decides, and its value.
fn setting(why: &WhyPending) -> String {
    why.setting.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Returns why an ask is pending, after checking that the text contains `words`.
pub(crate) fn why(cluster: &Cluster, ask: AskId, words: &[&str]) -> WhyPending {
    let explanation = cluster.engine.explain(ask);
    let text = explanation.to_string();
    for word in words {
        assert!(text.contains(word), "`{word}` is not in:\n{text}");
    }
    explanation.pending().unwrap_or_else(|| panic!("{text}")).clone()
}

/// The nodes that drop out at each stage; stages at which none drops out are absent.
fn funnel(why: &WhyPending) -> Vec<(Stage, usize)> {
    why.funnel.stages.iter().filter(|(_, nodes)| **nodes > 0).map(|(stage, nodes)| (*stage, *nodes)).collect()
}

/// One leaf, and an application in it.
pub(crate) fn plain() -> (Cluster, apportion::ApplicationId) {
    let mut cluster = Cluster::serial(engine([leaf("default", 100)]));
    let application = cluster.application("root.default", "ann");
    (cluster, application)
}

fn memory(amounts: &apportion::resource::Amounts) -> i64 {
    amounts.get("memory_mib")
}

#[test]
fn the_maximum_of_a_leaf() {
    let mut cluster =
        Cluster::serial(engine([leaf("a", 100).with_maximum(Maximum::absolute(&[50])), leaf("b", 0)]));
    cluster.node("n1", &[200]);
    let application = cluster.application("root.a", "ann");
    let ask = cluster.ask(application, &[20], 3);
    cluster.run();
    let why = why(
        &cluster,
        ask,
        &[
            "Queue root.a would exceed its limit: 40 MiB used, limit 50 MiB, 10 MiB short",
            "The limit is queues.\"root.a\".maximum_capacity = { memory_mib = 50 }.",
        ],
    );
    let Some(Blocker::QueueMaximum(reached)) = &why.blocker else { panic!("{why:?}") };
    assert_eq!(reached.queue, "root.a");
    assert_eq!([&reached.used, &reached.limit, &reached.missing].map(memory), [40, 50, 10]);
    assert_eq!((why.reason, why.outstanding), (PendingReason::QueueLimit, 1));
    assert_eq!(funnel(&why), [(Stage::Fits, 1)]);
}

/// Both the parent and the leaf are full. The parent is named, since its check comes first.
#[test]
fn the_maximum_of_a_parent() {
    let parent = leaf("parent", 100).with_maximum(Maximum::absolute(&[100]));
    let mut cluster = Cluster::serial(engine([parent.with_children([leaf("a", 50), leaf("b", 50)])]));
    cluster.node("n1", &[200]);
    let sibling = cluster.application("root.parent.a", "ann");
    cluster.ask(sibling, &[100], 1);
    let application = cluster.application("root.parent.b", "bob");
    let ask = cluster.ask(application, &[1], 1);
    cluster.run();
    let why = why(
        &cluster,
        ask,
        &["Queue root.parent would exceed its limit: 100 MiB used, limit 100 MiB, 1 MiB short"],
    );
    let Some(Blocker::QueueMaximum(reached)) = &why.blocker else { panic!("{why:?}") };
    assert_eq!(reached.queue, "root.parent");
}

/// A queue that creates others has its own table, and a created queue that of its template.
#[test]
fn the_setting_of_a_queue_that_creates_queues_is_its_own() {
    let mut creation = AutoCreation::default();
    creation.leaf.maximum = Maximum::absolute(&[80]);
    let maker = leaf("users", 100).with_maximum(Maximum::absolute(&[100])).with_auto_creation(creation);
    let mut cluster = Cluster::serial(engine([maker]));
    cluster.node("n1", &[500]);
    let mut pending = |user: &str| {
        let application = cluster.application(&format!("root.users.{user}"), user);
        let ask = cluster.ask(application, &[30], 3);
        cluster.run();
        setting(&why(&cluster, ask, &[]))
    };
    let of_template = "queues.\"root.users\".auto_creation.leaf.maximum_capacity = { memory_mib = 80 }";
    assert_eq!(pending("ann"), of_template);
    assert_eq!(pending("bob"), "queues.\"root.users\".maximum_capacity = { memory_mib = 100 }");
}

#[test]
fn the_user_limit() {
    let queue = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(50)))
        .with_user_limit_factor(Some("0.5".parse().unwrap()));
    let mut cluster = Cluster::serial(engine([queue]));
    cluster.node("n1", &[200]);
    let application = cluster.application("root.a", "ann");
    let ask = cluster.ask(application, &[30], 2);
    cluster.run();
    let why = why(
        &cluster,
        ask,
        &["User ann would exceed the user limit of root.a: 30 MiB used, limit 50 MiB, 10 MiB short"],
    );
    let Some(Blocker::UserLimit { user, reached }) = &why.blocker else { panic!("{why:?}") };
    assert_eq!((user.as_str(), memory(&reached.missing)), ("ann", 10));
    assert_eq!(why.reason, PendingReason::UserLimit);
    assert_eq!(setting(&why), "queues.\"root.a\".user_limit_factor = 0.5");
}

/// Among the limits on a user, the one that decides is named: a share among users, a weight, an amount, or a number
/// of applications.
#[test]
fn the_key_that_decides() {
    let shared = leaf("shared", 20).with_user_limit_minimum(Percent::whole(50));
    let light = leaf("light", 20).with_user_weight("j.doe", "0.5".parse().unwrap());
    let amount = HolderLimit { users: vec!["ann".into()], maximum: [None; 8], ..HolderLimit::default() };
    let mut maximum = amount.maximum;
    maximum[0] = Some(10);
    let listed = leaf("listed", 20).with_limits([HolderLimit { maximum, ..amount }]);
    let by_user = [("j.doe".to_owned(), 1)].into();
    let one = ParallelLimits { per_user: Some(1), by_user, ..ParallelLimits::default() };
    let single = leaf("single", 20).with_parallel(one);
    let masters = leaf("masters", 20).with_master_share(Some(Percent::whole(10)));
    let light = light.with_maximum(Maximum::Percent(Percent::whole(30)));
    let mut cluster = Cluster::serial(engine([shared, light, listed, single, masters]));
    cluster.node("n1", &[1_000]);
    let rival = cluster.application("root.shared", "bob");
    cluster.ask(rival, &[2_000], 1);
    let ann = cluster.application("root.shared", "ann");
    let shares = cluster.ask(ann, &[50], 20);
    let light = cluster.application("root.light", "j.doe");
    let weighed = cluster.ask(light, &[80], 3);
    let listed = cluster.application("root.listed", "ann");
    let named = cluster.ask(listed, &[6], 2);
    let [_, second] = [0, 1].map(|_| cluster.application("root.single", "ann"));
    let waits = cluster.ask(second, &[1], 1);
    let [_, second] = [0, 1].map(|_| cluster.application("root.single", "j.doe"));
    let waits_by_name = cluster.ask(second, &[1], 1);
    // Two masters of 15 are more than a tenth of 200.
    let master = Resources::new(&[15]);
    let [_, late] = ["first", "second"].map(|name| {
        let spec = ApplicationSpec::new(name, "root.masters", "ann");
        cluster.submit(spec.with_master(master, apportion::PartitionId::DEFAULT))
    });
    let led = cluster.ask(late, &[15], 1);
    cluster.run();
    let why = |ask| why(&cluster, ask, &[]);
    assert_eq!(setting(&why(led)), "queues.\"root.masters\".maximum_master_share = \"10 %\"");
    assert_eq!(setting(&why(weighed)), "queues.\"root.light\".user_weights.\"j.doe\" = 0.5");
    assert_eq!(setting(&why(named)), "queues.\"root.listed\".limits[0].maximum = { memory_mib = 10 }");
    let single = "queues.\"root.single\".maximum_parallel_applications_per_user = 1";
    assert_eq!(setting(&why(waits)), single);
    let single = "queues.\"root.single\".maximum_parallel_applications_by_user.\"j.doe\" = 1";
    assert_eq!(setting(&why(waits_by_name)), single);
    assert_eq!(setting(&why(shares)), "queues.\"root.shared\".user_limit_minimum = \"50 %\"");
}

/// The explanation names the node that lacks the smallest part of the container, and the amounts missing there.
#[test]
fn too_little_room_and_the_least_short_node() {
    let (mut cluster, application) = plain();
    for (name, cores) in [("n1", 4), ("n2", 6), ("n3", 5)] {
        cluster.node(name, &[100, cores]);
        let blocker = cluster.application("root.default", "bob");
        let host = [cluster.handle.node(name).unwrap()];
        cluster
            .submit_ask(blocker, AskSpec::new(Resources::new(&[50, 1]), 1).on_hosts(host).strictly_local());
    }
    cluster.node("tiny", &[10, 1]);
    cluster.run();
    let ask = cluster.ask(application, &[60, 4], 1);
    cluster.run();
    let why =
        why(&cluster, ask, &["No suitable node has room now.", "Closest to fitting is n2: 10 MiB missing."]);
    assert_eq!(funnel(&why), [(Stage::TooSmall, 1), (Stage::NoRoom, 3)]);
    let shortage = why.shortage.unwrap();
    assert_eq!((shortage.name.as_str(), memory(&shortage.missing)), ("n2", 10));
    assert_eq!(shortage.missing.get("vcore_milli"), 0);
    let short_of: Vec<_> = shortage.short_of.iter().map(|(name, nodes)| (name.as_str(), *nodes)).collect();
    assert_eq!(short_of, [("memory_mib", 3), ("vcore_milli", 1)]);
    assert_eq!((why.reason, why.blocker), (PendingReason::NoRoom, None));
}

#[test]
fn larger_than_every_node() {
    let (mut cluster, application) = plain();
    cluster.node("small", &[10, 10]);
    cluster.node("large", &[90, 10]);
    cluster.ask(application, &[90, 10], 1);
    let ask = cluster.ask(application, &[100, 1], 1);
    cluster.run();
    let words =
        ["No node that meets its conditions could hold it, even empty.", "large, if it were empty: 10 MiB"];
    let why = why(&cluster, ask, &words);
    assert_eq!(why.reason, PendingReason::NoNodeLargeEnough);
    assert_eq!(funnel(&why), [(Stage::TooSmall, 2)]);
    assert!(why.shortage.unwrap().is_even_empty);
}

/// The only node with room is kept for an earlier ask.
#[test]
fn behind_a_reserved_node() {
    let reservations = ReservationPolicy { delay_ms: Some(0), ..ReservationPolicy::default() };
    let mut cluster = Cluster::serial(EngineConfig { reservations, ..engine([leaf("default", 100)]) });
    let n1 = cluster.node("n1", &[8]);
    for name in ["n2", "n3", "n4"] {
        cluster.node(name, &[4]);
    }
    let application = cluster.application("root.default", "ann");
    cluster.ask(application, &[5], 1);
    cluster.run();
    let large = cluster.ask(application, &[8], 1);
    cluster.run();
    let behind = cluster.application("root.default", "bob");
    let small = AskSpec::new(Resources::new(&[2]), 1).on_hosts([n1]).strictly_local();
    let small = cluster.submit_ask(behind, small);
    cluster.run();
    let behind = why(&cluster, small, &[&format!("Node n1 has room, but is reserved for {large}.")]);
    assert_eq!(funnel(&behind), [(Stage::NotNamed, 3), (Stage::ReservedForOther, 1)]);
    assert_eq!(behind.node_of_other_ask.unwrap().reserved_for, large);
    let first = why(&cluster, large, &["Reserved for it: n1 (5 MiB must become free)."]);
    assert_eq!((first.reason, first.reservations.len()), (PendingReason::HoldsReservation, 1));
    assert_eq!(first.blocker, None, "it names no host, so it may use another node");
    assert_eq!(funnel(&first), [(Stage::TooSmall, 3), (Stage::NoRoom, 1)]);
    assert_eq!(memory(&first.reservations[0].missing), 5);
}

#[test]
fn hosts_that_are_full_and_for_how_long_they_are_waited_for() {
    let (mut cluster, application) = plain();
    let named = cluster.node("named", &[8]);
    cluster.add_node(NodeSpec::new("beside", Resources::new(&[8])).on_rack("elsewhere")).unwrap();
    let spec = |size| AskSpec::new(Resources::new(&[size]), 1).on_hosts([named]);
    cluster.submit_ask(application, spec(6));
    cluster.run();
    let relaxed = cluster.submit_ask(application, spec(4));
    let strict = cluster.submit_ask(application, spec(4).strictly_local());
    cluster.run();
    let relaxed_why =
        why(&cluster, relaxed, &["waits for the hosts or racks it names, and accepts others at 0.500 s"]);
    assert_eq!(relaxed_why.reason, PendingReason::WaitsForHosts);
    assert_eq!(funnel(&relaxed_why), [(Stage::LaterByLocality, 1), (Stage::NoRoom, 1)]);
    let strict_why = why(&cluster, strict, &["1 not among the hosts or racks it requires", "named: 2 MiB"]);
    assert_eq!(funnel(&strict_why), [(Stage::NotNamed, 1), (Stage::NoRoom, 1)]);
    assert_eq!((strict_why.reason, strict_why.locality), (PendingReason::NoRoom, None));
    cluster.advance(500);
    cluster.run();
    why(&cluster, relaxed, &["waits for the hosts or racks it names, and accepts others at 1.000 s"]);
    cluster.advance(500);
    cluster.run();
    assert_eq!(cluster.engine.explain(relaxed).standing, Standing::Placed);
}

#[test]
fn nodes_of_other_partitions_and_without_the_attribute() {
    let config = EngineConfig { partitions: vec!["gpu".into()], ..engine([leaf("default", 100)]) };
    let mut cluster = Cluster::serial(config);
    cluster.node("plain", &[8]);
    let gpu = cluster.handle.partition("gpu").unwrap();
    let labelled = NodeSpec::new("labelled", Resources::new(&[8])).in_partition(gpu);
    cluster.add_node(labelled.with_attribute("zone", "a")).unwrap();
    let application = cluster.application("root.default", "ann");
    let rule = AttributeRule::one_of("zone", ["b"]);
    let elsewhere = cluster.submit_ask(application, AskSpec::new(Resources::new(&[9]), 1).in_partition(gpu));
    let ruled = AskSpec::new(Resources::new(&[1]), 1).in_partition(gpu).with_rule(rule);
    let ruled = cluster.submit_ask(application, ruled);
    cluster.run();
    let elsewhere =
        why(&cluster, elsewhere, &["Of 2 nodes: 1 in another partition, 1 too small even when empty."]);
    assert_eq!((elsewhere.partition.as_str(), elsewhere.reason), ("gpu", PendingReason::NoNodeLargeEnough));
    let ruled = why(
        &cluster,
        ruled,
        &[
            "of 1 MiB on a node with zone = b for",
            "No node meets its conditions.",
            "1 without the attributes it requires",
        ],
    );
    assert_eq!(funnel(&ruled), [(Stage::OtherPartition, 1), (Stage::WrongAttributes, 1)]);
}

#[test]
fn nodes_that_drain_or_are_silent() {
    let heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 2 });
    let mut cluster = Cluster::serial(EngineConfig { heartbeat, ..engine([leaf("default", 100)]) });
    let drained = cluster.node("drained", &[8]);
    cluster.node("silent", &[8]);
    cluster.drain(drained);
    cluster.run();
    cluster.advance(1_000);
    cluster.heartbeat(&[drained]);
    cluster.run();
    let application = cluster.application("root.default", "ann");
    let ask = cluster.ask(application, &[1], 1);
    cluster.run();
    let why = why(&cluster, ask, &["Of 2 nodes: 1 draining, 1 silent for too long."]);
    assert_eq!((why.reason, why.since_ms), (PendingReason::NoRoom, 1_000));
}

/// The sum of free devices suffices, but no single device has a half left.
#[test]
fn devices_that_are_free_in_pieces() {
    let types = ResourceTypes::new(["memory_mib", "gpu_milli"]).unwrap().with_devices("gpu_milli").unwrap();
    let mut cluster = Cluster::serial(EngineConfig { resources: types, ..engine([leaf("default", 100)]) });
    cluster.add_node(NodeSpec::new("n1", Resources::new(&[100])).with_devices(2)).unwrap();
    cluster.add_node(NodeSpec::new("bare", Resources::new(&[100]))).unwrap();
    let application = cluster.application("root.default", "ann");
    let spec = |count, milli| AskSpec::new(Resources::new(&[1]), 1).with_devices(DeviceNeed { count, milli });
    cluster.submit_ask(application, spec(2, 600));
    let ask = cluster.submit_ask(application, spec(1, 500));
    cluster.run();
    let words = [
        "1 with too little room on each device",
        "Closest to fitting is n1: 500/1000 left on 0 of 1 device.",
    ];
    let why = why(&cluster, ask, &words);
    assert_eq!(funnel(&why), [(Stage::TooSmall, 1), (Stage::NoDevice, 1)]);
    let short = why.shortage.unwrap().devices.unwrap();
    assert_eq!((short.needed, short.milli, short.found), (1, 500, 0));
}

/// Explanations between a pass and the verdict on its batch.
#[test]
fn proposals_on_their_way() {
    let config = engine([leaf("default", 100).with_maximum(Maximum::absolute(&[10]))]);
    let (engine, mut parts) = Engine::assemble(config, 1, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let node = handle.add_node(NodeSpec::new("n1", Resources::new(&[10]))).unwrap();
    let spare = handle.add_node(NodeSpec::new("spare", Resources::new(&[10]))).unwrap();
    handle.drain_node(spare).unwrap();
    let events = handle.event_stream(100);
    let spec = ApplicationSpec::new("job", "root.default", "ann");
    let application = handle.submit_application(spec, &events).unwrap();
    let submit = |spec| handle.submit_ask(application, spec).unwrap();
    let first = submit(AskSpec::new(Resources::new(&[7]), 1).on_hosts([node]));
    let second = submit(AskSpec::new(Resources::new(&[1]), 4));
    let third = submit(AskSpec::new(Resources::new(&[5]), 1));
    while parts.committer.step() == apportion::engine::Step::Worked {}
    let batch = parts.proposers[0].propose().unwrap();
    let pending = |ask| engine.explain(ask).pending().cloned().unwrap();
    assert_eq!(pending(first).blocker, Some(Blocker::InFlight { units: 1 }));
    assert_eq!(pending(second).in_flight, 3);
    let behind = pending(third);
    let Some(Blocker::QueueMaximum(reached)) = &behind.blocker else { panic!("{behind:?}") };
    assert_eq!([&reached.used, &reached.in_flight, &reached.missing].map(memory), [0, 10, 5]);
    assert_eq!(funnel(&behind), [(Stage::Draining, 1), (Stage::InFlight, 1)]);
    assert!(engine.explain(third).to_string().contains("0 MiB used and 10 MiB in flight, limit 10 MiB"));
    drop(batch);
    assert_eq!(funnel(&pending(third)), [(Stage::Draining, 1), (Stage::Fits, 1)]);
    assert!(engine.explain(third).to_string().contains("Nothing is in its way"));
}

#[test]
fn what_was_rejected_is_counted_until_the_ask_is_over() {
    let (mut cluster, application) = plain();
    let (full, node) = (cluster.node("full", &[4]), cluster.node("n1", &[8]));
    cluster.ask(application, &[4], 3);
    cluster.run();
    let ask = cluster.ask(application, &[4], 1);
    for node in [full, full, node] {
        cluster.commit(ResourceAllocationCommitRequest::allocate(ask, node));
    }
    cluster.drain(node);
    cluster.commit(ResourceAllocationCommitRequest::allocate(ask, node));
    cluster.run();
    let why = why(&cluster, ask, &["Rejected requests: ", "3 for node full"]);
    let counted: Vec<_> = why.rejections.unwrap().iter().map(|r| (r.reason, r.count)).collect();
    assert_eq!(counted.len(), 2, "{counted:?}");
    assert!(counted.contains(&(RejectReason::NodeFull, 3)), "{counted:?}");
    assert!(counted.contains(&(RejectReason::NodeNotCandidate, 1)), "{counted:?}");
    cluster.complete(cluster.running(application)[0]);
    cluster.activate(node);
    cluster.run();
    assert_eq!(cluster.engine.explain(ask).standing, Standing::Placed);
}

#[test]
fn asks_that_are_over_and_asks_that_never_were() {
    let (mut cluster, application) = plain();
    cluster.node("n1", &[4]);
    let (placed, part) = (cluster.ask(application, &[1], 2), cluster.ask(application, &[1], 5));
    cluster.run();
    let unknown: AskId = "ask-99".parse().unwrap();
    assert_eq!(why(&cluster, part, &["wants 3 more of 5 containers of 1 MiB"]).outstanding, 3);
    cluster.cancel(part, 3);
    cluster.run();
    let standing = |ask| cluster.engine.explain(ask).standing;
    assert_eq!(standing(placed), Standing::Placed);
    assert_eq!(standing(part), Standing::Cancelled { units: 3, placed: 2 });
    assert_eq!(standing(unknown), Standing::Unknown);
    for (ask, words) in
        [(placed, "all of its containers"), (part, "3 containers cancelled, 2"), (unknown, "not known")]
    {
        let text = cluster.engine.explain(ask).to_string();
        assert!(text.contains(words), "{text}");
    }
}
