//! Preemption within a queue.

use apportion::config::{EngineConfig, Percent, QueueConfig};
use apportion::preempt::{PreemptionPolicy, PreemptionRule, WithinQueueOrder, WithinQueuePolicy};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, NodeId, NodeSpec, PartitionId, ResourceTypes, Resources,
};

use crate::{Cluster, at_once, queue, victims};

/// Users of this leaf may use what they like.
fn leaf(name: &str, guaranteed: i64) -> QueueConfig {
    queue(name, &[guaranteed], None)
}

fn within(order: WithinQueueOrder) -> PreemptionPolicy {
    let within_queue = Some(WithinQueuePolicy { order, ..WithinQueuePolicy::default() });
    PreemptionPolicy { within_queue, ..at_once() }
}

/// The same without a limit on what a round takes.
fn all(order: WithinQueueOrder) -> PreemptionPolicy {
    let within_queue =
        Some(WithinQueuePolicy { order, max_part: Percent::ALL, ..WithinQueuePolicy::default() });
    PreemptionPolicy { within_queue, ..at_once() }
}

/// An application of `root.b` with a master and so many containers in all, and the number of its pending containers.
struct Job {
    user: &'static str,
    priority: u32,
    used: u32,
    pending: u32,
}

const fn job(user: &'static str, priority: u32, used: u32, pending: u32) -> Job {
    Job { user, priority, used, pending }
}

/// `root.b` with this guarantee. The part of it that the jobs do not use is on a node that takes no containers.
fn full(guaranteed: i64, jobs: &[Job]) -> (Cluster, Vec<ApplicationId>) {
    let used: u32 = jobs.iter().map(|job| job.used).sum();
    let config =
        EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf("b", guaranteed)]));
    let cluster = Cluster::with_config(config);
    let rest = NodeSpec::new("drained", Resources::new(&[guaranteed - i64::from(used)]));
    let rest = cluster.engine.handle().add_node(rest).unwrap();
    cluster.engine.handle().drain_node(rest).unwrap();
    let applications = start(&cluster, jobs);
    (cluster, applications)
}

/// A cluster of so many nodes for one container each, on which the jobs run.
fn cluster(queues: impl IntoIterator<Item = QueueConfig>, jobs: &[Job]) -> (Cluster, Vec<ApplicationId>) {
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
    let cluster = Cluster::with_config(config);
    let applications = start(&cluster, jobs);
    (cluster, applications)
}

/// Adds a node for each container, and starts the jobs.
fn start(cluster: &Cluster, jobs: &[Job]) -> Vec<ApplicationId> {
    cluster.nodes(jobs.iter().map(|job| job.used as usize).sum(), &[1]);
    let one = Resources::new(&[1]);
    let submit = |job: &Job| {
        let spec = ApplicationSpec::new("job", "root.b", job.user)
            .with_priority(job.priority)
            .with_master(one, PartitionId::DEFAULT);
        let application = cluster.submit(spec);
        cluster.engine.handle().submit_ask(application, AskSpec::new(one, 1).as_master()).unwrap();
        cluster.run();
        if job.used > 1 {
            cluster.ask(application, &[1], job.used - 1);
        }
        cluster.run();
        application
    };
    let applications: Vec<_> = jobs.iter().map(submit).collect();
    for (job, application) in jobs.iter().zip(&applications).filter(|(job, _)| job.pending > 0) {
        cluster.ask(*application, &[1], job.pending);
    }
    cluster.run();
    applications
}

/// The number of containers that each application loses.
fn lost(cluster: &Cluster, applications: &[ApplicationId], policy: &PreemptionPolicy) -> Vec<usize> {
    let plan = cluster.plan(policy);
    let counts = victims(&plan, |victim| victim.application);
    cluster.execute(&plan);
    applications.iter().map(|id| counts.get(id).copied().unwrap_or(0)).collect()
}

const CASE_74: [Job; 4] =
    [job("ann", 4, 34, 20), job("bob", 4, 2, 10), job("cid", 5, 1, 10), job("dan", 6, 1, 10)];

#[test]
fn scenario_74_applications_of_higher_priority_take_a_fifth_of_the_guarantee() {
    let (cluster, applications) = full(40, &CASE_74);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    assert!(plan.preemptions.iter().all(|one| one.rule == PreemptionRule::ApplicationPriority), "{plan}");
    assert!(plan.preemptions.iter().all(|one| one.application == applications[3]), "{plan}");
    let is_served = |ask| plan.preemptions.iter().any(|one| one.ask == ask);
    assert!(!plan.unhelped.iter().any(|one| is_served(one.ask)), "{plan}");
    let text = plan.to_string();
    assert!(text.contains("because its application has a higher priority: container-"), "{text}");
    assert_eq!(lost(&cluster, &applications, &within(WithinQueueOrder::PriorityFirst)), [7, 1, 0, 0]);
}

#[test]
fn nothing_is_taken_within_a_queue_by_default() {
    let (cluster, applications) = full(40, &CASE_74);
    assert_eq!(lost(&cluster, &applications, &at_once()), [0, 0, 0, 0]);
}

#[test]
fn equal_priorities_take_nothing_from_each_other() {
    // The application of the lowest priority has only a master, which is never taken within a queue.
    let jobs = [job("ann", 4, 34, 20), job("bob", 4, 4, 20), job("bob", 4, 1, 20), job("bob", 3, 1, 0)];
    let (cluster, applications) = full(40, &jobs);
    assert_eq!(lost(&cluster, &applications, &all(WithinQueueOrder::PriorityFirst)), [0, 0, 0, 0]);
}

#[test]
fn a_leaf_that_uses_little_of_its_guarantee_is_left_alone() {
    let jobs = || [job("ann", 1, 19, 0), job("bob", 2, 1, 9)];
    for (guaranteed, taken) in [(40, 8), (41, 0)] {
        let (cluster, applications) = full(guaranteed, &jobs());
        let policy = within(WithinQueueOrder::PriorityFirst);
        assert_eq!(lost(&cluster, &applications, &policy), [taken, 0], "{guaranteed}");
    }
}

#[test]
fn queues_can_be_exempt_from_preemption_within_them_alone() {
    let (cluster, applications) = full(40, &CASE_74);
    let of_others =
        PreemptionPolicy { exempt: ["root.b".to_owned()].into(), ..within(WithinQueueOrder::PriorityFirst) };
    assert_eq!(cluster.plan(&of_others).preemptions.len(), 8);
    let mut own = within(WithinQueueOrder::PriorityFirst);
    own.within_queue.as_mut().unwrap().exempt = ["root".to_owned()].into();
    assert_eq!(lost(&cluster, &applications, &own), [0, 0, 0, 0]);
}

/// The part of the guarantee that a round takes includes what other queues take.
#[test]
fn what_other_queues_take_counts() {
    let (cluster, applications) =
        cluster([leaf("b", 20), leaf("c", 5)], &[job("ann", 1, 24, 0), job("bob", 2, 1, 9)]);
    cluster.demand("root.c", &[1], 3);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    let rules = |rule| plan.preemptions.iter().filter(|one| one.rule == rule).count();
    assert_eq!(
        (rules(PreemptionRule::Guarantee), rules(PreemptionRule::ApplicationPriority)),
        (3, 1),
        "{plan}"
    );
    assert_eq!(lost(&cluster, &applications, &within(WithinQueueOrder::PriorityFirst)), [4, 0]);
}

#[test]
fn a_round_takes_no_more_than_its_cap_within_queues() {
    let (cluster, applications) = full(40, &CASE_74);
    let policy =
        PreemptionPolicy { per_round: Percent::whole(10), ..within(WithinQueueOrder::PriorityFirst) };
    // A tenth of 40 units.
    assert_eq!(lost(&cluster, &applications, &policy), [3, 1, 0, 0]);
}

/// Of a user at its limit, an application of higher priority takes from one of lower priority.
#[test]
fn a_user_at_its_limit_takes_from_itself() {
    let of_users = leaf("b", 20).with_user_limit_factor(apportion::config::Factor::from_milli(500));
    let jobs = [job("ann", 1, 10, 0), job("bob", 1, 10, 0), job("ann", 2, 0, 0)];
    let (cluster, _) = cluster([of_users], &jobs[..2]);
    let urgent = cluster.submit(ApplicationSpec::new("job", "root.b", "ann").with_priority(2));
    cluster.ask(urgent, &[1], 3);
    for order in [WithinQueueOrder::PriorityFirst, WithinQueueOrder::UserLimitFirst] {
        let plan = cluster.plan(&all(order));
        assert_eq!(plan.preemptions.len(), 3, "{order:?}: {plan}");
        let user = |id| cluster.engine.read(|view| view.application(id).unwrap().user().to_owned());
        let victims = plan.preemptions.iter().flat_map(|one| &one.victims);
        assert!(victims.clone().all(|victim| user(victim.application) == "ann"), "{order:?}: {plan}");
        assert!(plan.preemptions.iter().all(|one| one.rule == PreemptionRule::ApplicationPriority));
    }
    cluster.execute(&cluster.plan(&all(WithinQueueOrder::PriorityFirst)));
    assert_eq!(cluster.running(urgent), 3);
}

/// Two users with a part of a half each. Ann came first and has all. Bob gets his half at any priorities.
#[test]
fn a_user_below_the_limit_takes_from_one_above() {
    let of_users = || leaf("b", 20).with_user_limit_minimum(Percent::whole(50));
    for (of_ann, of_bob) in [(1, 1), (2, 1), (1, 2)] {
        let jobs = [job("ann", of_ann, 20, 5)];
        let (cluster, ann) = cluster([of_users()], &jobs);
        let bob = cluster.submit(ApplicationSpec::new("job", "root.b", "bob").with_priority(of_bob));
        cluster.ask(bob, &[1], 15);
        let plan = cluster.plan(&all(WithinQueueOrder::UserLimitFirst));
        assert!(plan.preemptions.iter().all(|one| one.rule == PreemptionRule::UserLimit), "{plan}");
        assert!(plan.preemptions.iter().all(|one| one.application == bob), "{plan}");
        assert_eq!(lost(&cluster, &ann, &all(WithinQueueOrder::UserLimitFirst)), [10], "{plan}");
        assert_eq!((cluster.running(ann[0]), cluster.running(bob)), (10, 10));
        assert!(cluster.plan(&all(WithinQueueOrder::UserLimitFirst)).preemptions.is_empty());
    }
}

/// Containers with as much memory as vcores, of which the cluster has twice as many. So each half of the vcores is more
/// than ann has after a loss, if vcores have a user limit at all.
#[test]
fn a_user_above_the_limit_of_one_type_loses_that() {
    for guaranteed in [&[20, 40][..], &[20]] {
        let of_users = queue("b", guaranteed, None).with_user_limit_minimum(Percent::whole(50));
        let cluster = Cluster::new([of_users]);
        cluster.nodes(20, &[1, 2]);
        let [ann, bob] = ["ann", "bob"].map(|user| {
            let application = cluster.submit(ApplicationSpec::new("job", "root.b", user));
            cluster.ask(application, &[1, 1], 20);
            cluster.run();
            application
        });
        cluster.execute(&cluster.plan(&all(WithinQueueOrder::UserLimitFirst)));
        assert_eq!((cluster.running(ann), cluster.running(bob)), (10, 10), "{guaranteed:?}");
        let plan = cluster.plan(&all(WithinQueueOrder::UserLimitFirst));
        assert!(plan.preemptions.is_empty(), "{guaranteed:?}: {plan}");
    }
}

/// Ann has twice her memory limit, but no more than half of the vcores, of which bob needs more than are free.
#[test]
fn a_user_keeps_what_it_has_within_its_limit() {
    let of_users = queue("b", &[20, 40], None).with_user_limit_minimum(Percent::whole(50));
    let cluster = Cluster::new([of_users]);
    cluster.nodes(20, &[1, 2]);
    let ann = cluster.submit(ApplicationSpec::new("job", "root.b", "ann"));
    cluster.ask(ann, &[1, 1], 20);
    cluster.run();
    let bob = cluster.submit(ApplicationSpec::new("job", "root.b", "bob"));
    cluster.ask(bob, &[0, 2], 1);
    let plan = cluster.plan(&all(WithinQueueOrder::UserLimitFirst));
    assert!(plan.preemptions.is_empty(), "{plan}");
}

/// Three users with a third each. Bob is above his part already, and Cid has no demand.
#[test]
fn a_user_above_the_limit_takes_from_no_other_user() {
    let of_users = leaf("b", 20).with_user_limit_minimum(Percent::whole(33));
    let jobs = [job("ann", 1, 10, 0), job("cid", 1, 3, 0), job("bob", 2, 7, 5)];
    let (cluster, applications) = cluster([of_users], &jobs);
    assert_eq!(lost(&cluster, &applications, &all(WithinQueueOrder::UserLimitFirst)), [0, 0, 0]);
    assert_eq!(lost(&cluster, &applications, &all(WithinQueueOrder::PriorityFirst)), [3, 2, 0]);
}

/// Ann has 12 of 20, two more than her part. Containers of one size make room for one of another.
#[test]
fn the_victims_of_one_container_count_together() {
    for (size, taken) in [(2, 2), (3, 0)] {
        let cluster = Cluster::new([leaf("b", 20).with_user_limit_minimum(Percent::whole(50))]);
        // No node has room for more.
        let [small, full] = [7, 10].map(|size| NodeSpec::new(format!("n{size}"), Resources::new(&[size])));
        let rest = NodeSpec::new("drained", Resources::new(&[3]));
        let rest = [rest, small, full].map(|spec| cluster.engine.handle().add_node(spec).unwrap())[0];
        cluster.engine.handle().drain_node(rest).unwrap();
        let ann = cluster.submit(ApplicationSpec::new("job", "root.b", "ann"));
        cluster.ask(ann, &[1], 12);
        cluster.run();
        let bob = cluster.submit(ApplicationSpec::new("job", "root.b", "bob"));
        cluster.ask(bob, &[1], 5);
        cluster.run();
        let cid = cluster.submit(ApplicationSpec::new("job", "root.b", "bob"));
        cluster.ask(cid, &[size], 1);
        let counts = victims(&cluster.plan(&all(WithinQueueOrder::UserLimitFirst)), |one| one.application);
        assert_eq!(counts.get(&ann).copied().unwrap_or(0), taken, "{size}");
    }
    // A fifth of the guarantee is four.
    for (size, taken) in [(4, 4), (5, 0)] {
        let cluster = Cluster::new([leaf("b", 20)]);
        cluster.nodes(2, &[10]);
        cluster.demand("root.b", &[1], 20);
        cluster.run();
        let urgent = cluster.submit(ApplicationSpec::new("job", "root.b", "bob").with_priority(1));
        cluster.ask(urgent, &[size], 1);
        let counts =
            victims(&cluster.plan(&within(WithinQueueOrder::PriorityFirst)), |one| one.queue.clone());
        assert_eq!(counts.get("root.b").copied().unwrap_or(0), taken, "{size}");
    }
}

/// With priority first, users within their limits lose containers too.
#[test]
fn priority_first_takes_from_users_within_their_limits() {
    let of_users = || leaf("b", 20).with_user_limit_minimum(Percent::whole(50));
    let jobs = [job("ann", 1, 10, 0), job("bob", 1, 8, 0), job("bob", 2, 2, 0)];
    let (cluster, applications) = cluster([of_users()], &jobs);
    let cid = cluster.submit(ApplicationSpec::new("job", "root.b", "cid").with_priority(3));
    cluster.ask(cid, &[1], 4);
    let policy = all(WithinQueueOrder::UserLimitFirst);
    assert_eq!(cluster.plan(&policy).preemptions.len(), 0, "{}", cluster.plan(&policy));
    // The newest containers of the latest application of the lowest priority.
    assert_eq!(lost(&cluster, &applications, &all(WithinQueueOrder::PriorityFirst)), [0, 4, 0]);
    assert_eq!(cluster.running(cid), 4);
}

/// Ten containers of 1 in the only leaf `b`, on a node of this size, and an urgent ask for 3 with the node reserved.
/// The other node takes no containers.
fn with_reserved_node(leaf: QueueConfig, rest: i64, size: i64) -> (Cluster, NodeId, ApplicationId) {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
    config.reservations.delay_ms = Some(0);
    let cluster = Cluster::start(config);
    let [rest, node] = [("rest", rest), ("n1", size)].map(|(name, size)| {
        cluster.engine.handle().add_node(NodeSpec::new(name, Resources::new(&[size]))).unwrap()
    });
    cluster.engine.handle().drain_node(rest).unwrap();
    cluster.demand("root.b", &[1], 10);
    cluster.run();
    let urgent = cluster.submit(ApplicationSpec::new("job", "root.b", "bob").with_priority(1));
    cluster.ask(urgent, &[3], 1);
    (cluster, node, urgent)
}

/// No other queue could clear the reserved node, but an application of the same queue can.
#[test]
fn the_reserved_node_is_cleared_within_the_queue() {
    let (cluster, node, urgent) = with_reserved_node(leaf("b", 15), 5, 10);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    let [preemption] = &plan.preemptions[..] else { panic!("{plan}") };
    assert_eq!((preemption.node, preemption.victims.len()), (node, 3), "{plan}");
    assert!(preemption.reservation.is_some(), "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(urgent), 1);
}

/// The leaf is at its maximum with the reservation, which is charged already. So the container needs only the room that
/// its node lacks.
#[test]
fn a_reserved_container_needs_no_headroom() {
    let (cluster, ..) = with_reserved_node(queue("b", &[13], Some(&[13])), 1, 12);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    let [preemption] = &plan.preemptions[..] else { panic!("{plan}") };
    assert_eq!((preemption.reservation.is_some(), preemption.victims.len()), (true, 1), "{plan}");
}

/// Victims need not have the size of the container, but must be on one node and be needed.
#[test]
fn victims_within_a_queue_are_on_one_node_and_needed() {
    let cluster = Cluster::new([leaf("b", 20)]);
    let nodes = cluster.nodes(2, &[10]);
    let low = cluster.submit(ApplicationSpec::new("job", "root.b", "ann").with_priority(1));
    for (size, node) in [(6, 0), (3, 0), (1, 0), (8, 1), (2, 1)] {
        let spec = AskSpec::new(Resources::new(&[size]), 1).on_hosts([nodes[node]]).strictly_local();
        cluster.ask_for(low, spec);
        cluster.run();
    }
    let high = cluster.submit(ApplicationSpec::new("job", "root.b", "ann").with_priority(2));
    cluster.ask(high, &[3], 1);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    let sizes: Vec<i64> =
        plan.preemptions.iter().flat_map(|one| &one.victims).map(|one| one.size.get("memory_mib")).collect();
    assert_eq!(sizes, [3], "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(high), 1);
}

/// The urgent container lacks vcores alone. The newest container has none, and its memory is all that the leaf may
/// lose.
#[test]
fn a_container_without_what_is_lacking_uses_up_nothing_within_a_queue() {
    let cluster = Cluster::new([leaf("b", 20)]);
    cluster.nodes(1, &[20, 1]);
    let low = cluster.submit(ApplicationSpec::new("job", "root.b", "ann").with_priority(1));
    for size in [[10, 0], [1, 1], [4, 0]] {
        cluster.ask(low, &size, 1);
        cluster.run();
    }
    let high = cluster.submit(ApplicationSpec::new("job", "root.b", "ann").with_priority(2));
    cluster.ask(high, &[0, 1], 1);
    let plan = cluster.plan(&within(WithinQueueOrder::PriorityFirst));
    let sizes: Vec<i64> =
        plan.preemptions.iter().flat_map(|one| &one.victims).map(|one| one.size.get("memory_mib")).collect();
    assert_eq!(sizes, [1], "{plan}");
    cluster.execute(&plan);
    assert_eq!(cluster.running(high), 1);
}
