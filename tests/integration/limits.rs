//! Limits of a leaf and of its ancestors, in passes and at commit.

use apportion::config::{Capacity, HolderLimit, Maximum, Percent, QueueConfig, QueueUpdate};
use apportion::request::RejectReason;
use apportion::{
    ApplicationSpec, AskId, CommitOutcome, Mode, NodeId, PartitionId, ResourceAllocationCommitRequest,
    Resources,
};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

/// Two leaves that may each use the whole maximum of their parent, 100.
fn siblings() -> QueueConfig {
    let parent = leaf("parent", 100).with_maximum(Maximum::absolute(&[100]));
    parent.with_children([leaf("a", 50), leaf("b", 50)])
}

/// The parent is full before either leaf is full.
#[test]
fn leaves_share_the_maximum_of_their_parent() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let mut cluster = Cluster::start(engine([siblings()]), mode);
        cluster.node("n1", &[200]);
        for queue in ["root.parent.a", "root.parent.b"] {
            let application = cluster.application(queue, "user");
            cluster.ask(application, &[10], 20);
        }
        cluster.run();
        assert_eq!(cluster.used("root.parent"), 100);
    }
}

/// A serial engine with one node, and an ask that no pass has seen yet.
fn by_hand(queue: QueueConfig, path: &str, size: i64) -> (Cluster, NodeId, AskId) {
    let mut cluster = Cluster::serial(engine([queue]));
    let node = cluster.node("n1", &[200]);
    cluster.run();
    let application = cluster.application(path, "user");
    let ask = cluster.ask(application, &[size], 1);
    (cluster, node, ask)
}

fn expect_verdict(cluster: &mut Cluster, ask: AskId, node: NodeId, reason: RejectReason) {
    cluster.commit(ResourceAllocationCommitRequest::allocate(ask, node));
    cluster.run();
    assert_eq!(cluster.outcomes(), [CommitOutcome::Rejected(reason)]);
}

/// The leaf's maximum equals its parent's, but the sibling has used the parent's up.
#[test]
fn a_commit_is_validated_by_the_maximum_of_every_queue_above() {
    let mut cluster = Cluster::serial(engine([siblings()]));
    let node = cluster.node("n1", &[200]);
    let sibling = cluster.application("root.parent.a", "user");
    cluster.ask(sibling, &[100], 1);
    cluster.run();
    let application = cluster.application("root.parent.b", "user");
    let ask = cluster.ask(application, &[1], 1);
    expect_verdict(&mut cluster, ask, node, RejectReason::QueueLimit);
}

#[test]
fn a_commit_is_validated_by_the_user_limit() {
    let capacity = Capacity::Percent(Percent::whole(50));
    let queue = QueueConfig::leaf("a", capacity).with_user_limit_factor(Some("0.5".parse().unwrap()));
    let (mut cluster, node, ask) = by_hand(queue, "root.a", 51);
    expect_verdict(&mut cluster, ask, node, RejectReason::UserLimit);
}

/// The change of limits and the request are committed in one group.
#[test]
fn a_commit_is_validated_by_limits_that_changed_right_before() {
    let (mut cluster, node, ask) = by_hand(leaf("a", 100), "root.a", 51);
    let maximum = Some(Maximum::absolute(&[50]));
    cluster.update_queue("root.a", &QueueUpdate { maximum, ..QueueUpdate::default() });
    expect_verdict(&mut cluster, ask, node, RejectReason::QueueLimit);
}

/// A victim and its beneficiary in a full queue: the request does not raise the queue's use.
#[test]
fn what_a_request_releases_counts_before_what_it_takes() {
    let queue = leaf("a", 100).with_maximum(Maximum::absolute(&[100]));
    let mut cluster = Cluster::serial(engine([queue]));
    let node = cluster.node("n1", &[100]);
    let victim = cluster.application("root.a", "user");
    cluster.ask(victim, &[100], 1);
    cluster.run();
    let beneficiary = cluster.application("root.a", "user");
    let ask = cluster.ask(beneficiary, &[60], 1);
    let release = cluster.running(victim).into();
    let request = ResourceAllocationCommitRequest::allocate(ask, node);
    cluster.commit(ResourceAllocationCommitRequest { release, ..request });
    cluster.run();
    assert!(cluster.outcomes()[0].is_accepted(), "{:?}", cluster.outcomes());
    assert_eq!((cluster.used("root.a"), cluster.allocated(node)), (60, 60));
}

/// The maximum of the parent, of the leaf, of the user's limit or of its group, less what is used below it; in whole
/// steps.
#[test]
fn headroom_is_what_the_nearest_limit_leaves() {
    let limit = |amount: i64| {
        let mut limit = HolderLimit::default();
        limit.maximum[0] = Some(amount);
        limit
    };
    // The limits of parent, leaf, user and group, and the headroom of the first application and of its neighbour.
    for (limits, step, left) in [
        ([90, 99, 99, 99], 1, [60, 60]),
        ([99, 70, 99, 99], 1, [40, 40]),
        ([99, 99, 50, 99], 1, [30, 40]),
        ([99, 99, 99, 45], 1, [25, 69]),
        ([99, 99, 99, 45], 10, [20, 60]),
        ([99, 99, 20, 99], 1, [0, 10]),
    ] {
        let [parent, leaf_max, user, group] = limits;
        let of_users = HolderLimit { users: vec!["*".into()], ..limit(user) };
        let of_group = HolderLimit { groups: vec!["staff".into()], ..limit(group) };
        let leaf =
            leaf("a", 100).with_maximum(Maximum::absolute(&[leaf_max])).with_limits([of_users, of_group]);
        let parent =
            crate::leaf("parent", 100).with_maximum(Maximum::absolute(&[parent])).with_children([leaf]);
        let mut config = engine([parent]);
        config.allocation.minimum = Resources::new(&[step]);
        let mut cluster = Cluster::serial(config);
        cluster.node("n1", &[99]);
        let ann = ApplicationSpec {
            groups: vec!["staff".into()],
            ..ApplicationSpec::new("one", "root.parent.a", "ann")
        };
        let applications = [cluster.submit(ann), cluster.application("root.parent.a", "bob")];
        for (application, size) in applications.into_iter().zip([20, 10]) {
            cluster.ask(application, &[size], 1);
        }
        cluster.run();
        let headroom = applications.map(|id| {
            cluster.engine.read(|view| view.application(id).unwrap().headroom(PartitionId::DEFAULT)[0])
        });
        assert_eq!(headroom, left, "{limits:?}");
    }
}
