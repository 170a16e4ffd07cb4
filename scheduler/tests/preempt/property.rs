//! Random clusters: every preemption of a plan is accepted and helps its beneficiary, and rounds come to an end.

use std::collections::BTreeMap;

use apportion::config::{EngineConfig, Factor, Maximum, Percent, QueueConfig, QueueOrdering};
use apportion::preempt::{
    Preemption, PreemptionPlan, PreemptionPolicy, PreemptionRule, WithinQueueOrder, WithinQueuePolicy,
};
use apportion::{
    ApplicationId, ApplicationSpec, AskId, AskSpec, ContainerId, NodeId, NodeSpec, PartitionId,
    ResourceTypes, Resources, TagLimit,
};
use proptest::prelude::*;

use crate::{Cluster, queue};

/// An application with the size and number of its containers.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) leaf: usize,
    pub(crate) priority: u32,
    pub(crate) has_master: bool,
    pub(crate) size: [i64; 2],
    pub(crate) count: u32,
    pub(crate) is_late: bool,
    /// At most one of its containers is on a node.
    pub(crate) is_spread: bool,
    /// The only node on which it may run.
    pub(crate) host: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Weights of the leaves' guarantees. The first two leaves have a common parent.
    pub(crate) guarantees: Vec<i64>,
    pub(crate) has_user_limits: bool,
    /// The leaves that lose nothing.
    pub(crate) exempt: Option<usize>,
    /// The priorities of the leaves below the root.
    pub(crate) priorities: [i32; 2],
    pub(crate) nodes: Vec<[i64; 2]>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) policy: PreemptionPolicy,
    /// Whether asks that fit nowhere reserve nodes.
    pub(crate) reserves: bool,
    /// The maximum of the common parent, as a part of the cluster.
    pub(crate) parent_maximum: Percent,
    /// The number of containers that are being stopped all the time.
    pub(crate) stopping: usize,
}

fn job() -> impl Strategy<Value = Job> {
    let size = (1..=4i64, 1..=4i64).prop_map(|(memory, vcores)| [memory, vcores]);
    let conditions = (proptest::bool::weighted(0.2), proptest::option::weighted(0.2, 0..8usize));
    (0..4usize, 0..3u32, any::<bool>(), size, 1..=12u32, any::<bool>(), conditions).prop_map(
        |(leaf, priority, has_master, size, count, is_late, (is_spread, host))| Job {
            leaf,
            priority,
            has_master,
            size,
            count,
            is_late,
            is_spread,
            host,
        },
    )
}

fn policy() -> impl Strategy<Value = PreemptionPolicy> {
    let part = || prop_oneof![Just(Percent::whole(10)), Just(Percent::whole(20)), Just(Percent::ALL)];
    let order = prop_oneof![Just(WithinQueueOrder::UserLimitFirst), Just(WithinQueueOrder::PriorityFirst)];
    let within_queue = (order, part(), part()).prop_map(|(order, minimum_use, max_part)| WithinQueuePolicy {
        order,
        minimum_use,
        max_part,
        ..WithinQueuePolicy::default()
    });
    let within_queue = proptest::option::of(within_queue);
    let exempt_tags = prop_oneof![Just(Vec::new()), Just(vec!["spread".to_owned()])];
    (part(), part(), part(), any::<bool>(), within_queue, exempt_tags).prop_map(
        |(dead_zone, natural_termination, per_round, balances, within_queue, exempt_tags)| PreemptionPolicy {
            exempt_tags: exempt_tags.into_iter().collect(),
            within_queue,
            dead_zone,
            natural_termination,
            per_round,
            balances,
            ..PreemptionPolicy::default()
        },
    )
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    (
        proptest::collection::vec(0..=4i64, 4),
        any::<bool>(),
        proptest::option::weighted(0.2, 0..4usize),
        proptest::collection::vec((4..=10i64, 4..=10i64).prop_map(|(memory, vcores)| [memory, vcores]), 1..8),
        proptest::collection::vec(job(), 1..12),
        policy(),
        (
            any::<bool>(),
            prop_oneof![Just(Percent::ALL), (20..100u32).prop_map(Percent::whole)],
            0..4usize,
            [0..3i32, 0..3i32],
        ),
    )
        .prop_map(|(guarantees, has_user_limits, exempt, nodes, jobs, policy, others)| Case {
            guarantees,
            has_user_limits,
            exempt,
            priorities: others.3,
            nodes,
            jobs,
            policy,
            reserves: others.0,
            parent_maximum: others.1,
            stopping: others.2,
        })
}

const LEAVES: [&str; 4] = ["root.p.a", "root.p.b", "root.c", "root.d"];

impl Case {
    fn total(&self) -> [i64; 2] {
        self.nodes.iter().fold([0, 0], |sum, node| [sum[0] + node[0], sum[1] + node[1]])
    }

    pub(crate) fn queues(&self) -> Vec<QueueConfig> {
        let all: i64 = self.guarantees.iter().sum::<i64>().max(1);
        let amounts = |weights: &[i64]| self.total().map(|amount| amount * weights.iter().sum::<i64>() / all);
        let leaf = |place: usize| {
            let (factor, minimum) =
                if self.has_user_limits { (Some(Factor::whole(2)), 50) } else { (None, 100) };
            let name = LEAVES[place].rsplit('.').next().unwrap();
            queue(name, &amounts(&self.guarantees[place..=place]), None)
                .with_user_limit_factor(factor)
                .with_user_limit_minimum(Percent::whole(minimum))
        };
        let parent = queue("p", &amounts(&self.guarantees[..2]), None)
            .with_maximum(Maximum::Percent(self.parent_maximum))
            .with_children([leaf(0), leaf(1)]);
        let [c, d] = self.priorities;
        vec![parent.with_priority(1), leaf(2).with_priority(c), leaf(3).with_priority(d)]
    }

    pub(crate) fn policy(&self) -> PreemptionPolicy {
        let exempt = self.exempt.map(|leaf| LEAVES[leaf].to_owned());
        PreemptionPolicy { exempt: exempt.into_iter().collect(), ..self.policy.clone() }
    }
}

/// An ask whose number tells its size.
fn sized(size: [i64; 2], count: u32) -> AskSpec {
    let number = size[0] * 100 + size[1];
    AskSpec { allocation_request_id: number as u64, ..AskSpec::new(Resources::new(&size), count) }
}

impl Cluster {
    fn start_job(&self, job: &Job, nodes: &[NodeId]) {
        self.submit_job(job, nodes);
        self.engine.run_until_quiet();
    }

    /// Submits an application and its asks. Without `nodes`, no host is named.
    pub(crate) fn submit_job(&self, job: &Job, nodes: &[NodeId]) {
        let size = Resources::new(&job.size);
        let user = if job.priority == 1 { "ann" } else { "bob" };
        let mut spec = ApplicationSpec::new("job", LEAVES[job.leaf], user).with_priority(job.priority);
        if job.has_master {
            spec = spec.with_master(size, PartitionId::DEFAULT);
        }
        let application = self.submit(spec);
        if job.has_master {
            self.ask_for(application, sized(job.size, 1).as_master());
        }
        let mut spec = sized(job.size, job.count);
        if job.is_spread {
            spec = spec.with_tag("spread").with_tag_limit(TagLimit::per_node("spread", 1));
        }
        if let Some(host) = job.host.filter(|_| !nodes.is_empty()) {
            spec = spec.on_hosts([nodes[host % nodes.len()]]).strictly_local();
        }
        self.ask_for(application, spec);
    }

    /// Asks for one container of this size.
    pub(crate) fn ask_with_size(&self, application: ApplicationId, size: [i64; 2]) {
        self.ask_for(application, sized(size, 1));
    }

    /// Begins to stop containers. Their ends are not confirmed.
    fn stop_some(&self, count: usize) {
        let containers: Vec<ContainerId> =
            self.engine.read(|view| view.nodes().flat_map(|node| node.containers().to_vec()).collect());
        for container in containers.iter().step_by(3).take(count) {
            self.engine.handle().stop_container(*container).unwrap();
        }
    }

    fn outstanding(&self, ask: AskId) -> u32 {
        self.engine.read(|view| view.ask(ask).map_or(0, |ask| ask.outstanding()))
    }

    fn size_of(&self, container: ContainerId) -> Resources {
        self.engine.read(|view| view.container(container).unwrap().size)
    }

    /// Carries out a plan. Each beneficiary gets its container, and no leaf falls below its guarantee.
    pub(crate) fn carry_out(&self, plan: &PreemptionPlan) -> Vec<(ApplicationId, Resources)> {
        let victims: Vec<_> = plan.preemptions.iter().flat_map(|preemption| &preemption.victims).collect();
        let of_others: Vec<_> =
            plan.preemptions.iter().filter(|one| is_between(one)).flat_map(|one| &one.victims).collect();
        for queue in &plan.partitions[0].queues {
            let lost = |name| -> i64 {
                let victims = of_others.iter().filter(|victim| victim.queue == queue.path);
                victims.map(|victim| victim.size.get(name)).sum()
            };
            for name in ["memory_mib", "vcore_milli"] {
                let (used, guaranteed) = (queue.used.get(name), queue.guaranteed.get(name));
                let is_kept = used < guaranteed || used - lost(name) >= guaranteed;
                assert!(is_kept, "{queue} falls below its guarantee: {plan}");
            }
        }
        let lost =
            victims.iter().map(|victim| (victim.application, self.size_of(victim.container))).collect();
        let mut expected: BTreeMap<AskId, u32> = BTreeMap::new();
        for preemption in &plan.preemptions {
            *expected.entry(preemption.ask).or_insert_with(|| self.outstanding(preemption.ask)) -= 1;
        }
        self.execute(plan);
        assert!(expected.iter().all(|(ask, most)| self.outstanding(*ask) <= *most), "{plan}");
        lost
    }
}

/// Whether it takes from other queues.
fn is_between(preemption: &Preemption) -> bool {
    matches!(preemption.rule, PreemptionRule::Guarantee | PreemptionRule::Balance)
}

/// Within a leaf, no application loses anything to one of the same user with the same or a lower priority. With
/// priority first, only applications of lower priority lose anything.
fn check_within(cluster: &Cluster, plan: &PreemptionPlan, policy: &PreemptionPolicy) {
    let of = |id| {
        cluster.engine.read(|view| {
            let application = view.application(id).unwrap();
            (application.user().to_owned(), application.priority())
        })
    };
    for preemption in plan.preemptions.iter().filter(|one| !is_between(one)) {
        let within = policy.within_queue.as_ref().unwrap();
        let (user, priority) = of(preemption.application);
        for victim in &preemption.victims {
            let (of_victim, its_priority) = of(victim.application);
            let is_lower = its_priority < priority;
            let is_allowed = match within.order {
                WithinQueueOrder::PriorityFirst => is_lower,
                _ => is_lower || of_victim != user,
            };
            let is_by_limit = preemption.rule == PreemptionRule::UserLimit;
            assert!(is_allowed && victim.queue == preemption.queue, "{plan}");
            assert!(is_by_limit || of_victim == user || within.order == WithinQueueOrder::PriorityFirst);
        }
    }
}

/// Beneficiaries get at most their owed amounts. A leaf loses at most its part of the round and a part of one
/// container. Only the first start of the round may take more, up to the amount above the fair one.
fn check_amounts(cluster: &Cluster, plan: &PreemptionPlan, types: &ResourceTypes) {
    for queue in &plan.partitions[0].queues {
        let gets = plan.preemptions.iter().filter(|one| is_between(one) && one.queue == queue.path);
        let gets =
            gets.map(|preemption| cluster.engine.read(|view| view.ask(preemption.ask).unwrap().size()));
        let gets = types.amounts(&gets.fold(Resources::ZERO, |sum, size| sum + size));
        let is_owed = |name: &String| queue.used.get(name) + gets.get(name) <= queue.ideal.get(name);
        assert!(gets.is_empty() || types.names().iter().all(is_owed), "{}: {plan}", queue.path);
        let victims: Vec<_> = plan
            .preemptions
            .iter()
            .filter(|preemption| is_between(preemption))
            .flat_map(|preemption| &preemption.victims)
            .filter(|one| one.queue == queue.path)
            .collect();
        let Some((_, before)) = victims.split_last() else { continue };
        let first = plan.preemptions.iter().find(|preemption| is_between(preemption)).unwrap();
        let is_of_first = first.victims.iter().filter(|one| one.queue == queue.path).count() == victims.len();
        let is_left = |name: &String| {
            let above = if is_of_first { queue.used.get(name) - queue.ideal.get(name) } else { 0 };
            let most = above.max(queue.to_take.get(name));
            before.iter().map(|one| one.size.get(name)).sum::<i64>() < most
        };
        assert!(types.names().iter().any(is_left), "{}: {plan}\n{:#?}", queue.path, plan.partitions);
    }
}

/// The cluster of the case, without any application.
pub(crate) fn cluster_of(case: &Case) -> (Cluster, Vec<NodeId>) {
    let root = QueueConfig::root(case.queues()).with_child_ordering(QueueOrdering::PriorityUtilization);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.reservations.delay_ms = case.reserves.then_some(0);
    config.reservations.nodes = Percent::ALL;
    let cluster = Cluster::start(config);
    let add_node = |(number, capacity): (usize, &[i64; 2])| {
        let node = NodeSpec::new(format!("n{number}"), Resources::new(capacity));
        cluster.engine.handle().add_node(node).unwrap()
    };
    let nodes = case.nodes.iter().enumerate().map(add_node).collect();
    (cluster, nodes)
}

/// Runs rounds with constant demand: a victim's application asks for its container again.
fn play(case: &Case) {
    let types = ResourceTypes::memory_and_vcores();
    let (cluster, nodes) = cluster_of(case);
    for is_late in [false, true] {
        let jobs = case.jobs.iter().filter(|job| job.is_late == is_late);
        jobs.for_each(|job| cluster.start_job(job, &nodes));
    }
    cluster.stop_some(case.stopping);
    for _ in 0..100 {
        cluster.run();
        let plan = cluster.plan(&case.policy());
        check_amounts(&cluster, &plan, &types);
        check_within(&cluster, &plan, &case.policy);
        if plan.preemptions.is_empty() {
            return;
        }
        let lost = cluster.carry_out(&plan);
        for (application, size) in lost {
            cluster.ask(application, &size.amounts()[..2], 1);
        }
    }
    panic!("a hundred rounds have no end: {}", cluster.plan(&case.policy()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn plans_are_carried_out_and_come_to_an_end(case in case()) {
        play(&case);
    }
}

/// Without the fair amount as a floor, two leaves took the same room from each other in turn. Each was below its fair
/// amount after it had lost a whole container.
#[test]
fn balance_takes_nothing_that_it_would_have_to_give_back() {
    let job = |leaf, has_master, size, count| Job {
        leaf,
        priority: 0,
        has_master,
        size,
        count,
        is_late: false,
        is_spread: false,
        host: None,
    };
    let tenth = Percent::whole(10);
    play(&Case {
        guarantees: vec![1, 1, 1, 3],
        has_user_limits: false,
        exempt: None,
        priorities: [2, 0],
        nodes: vec![[4, 9], [8, 7]],
        jobs: vec![job(2, false, [1, 2], 1), job(2, true, [2, 1], 2), job(0, false, [3, 2], 2)],
        policy: PreemptionPolicy {
            dead_zone: tenth,
            natural_termination: tenth,
            per_round: tenth,
            balances: true,
            ..PreemptionPolicy::default()
        },
        reserves: false,
        parent_maximum: Percent::ALL,
        stopping: 0,
    });
}
