//! Random clusters and calls.

use apportion::Mode;
use apportion::config::Percent;
use apportion::preempt::{PreemptionCost, PreemptionPolicy, WithinQueueOrder, WithinQueuePolicy};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::random_gang::{Gang, Gangs};

/// The differences between clusters.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) policy: PreemptionPolicy,
    /// The time between announcement and end of a victim.
    pub(crate) wait_ms: u64,
    /// Whether asks that fit nowhere reserve nodes.
    pub(crate) reserves: bool,
    pub(crate) has_user_limits: bool,
    pub(crate) queue_length_max: u32,
    /// Whether one leaf uses all nodes from the beginning.
    pub(crate) is_full: bool,
    pub(crate) gather_limit_ms: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    OnNode(OnNode),
    OnJob(Index, OnJob),
    OnContainer(Index, OnContainer),
    Complete(Vec<Index>),
    CancelGang(Index),
    CancelAsk(Index, u32),
    Queue(QueueCall),
    Advance(u64),
    /// The engine stops and goes on from its log, or from a snapshot.
    Recover(Mode, bool),
    Run,
}

#[derive(Clone, Debug)]
pub(crate) enum OnNode {
    Add { units: i64, is_on_a: bool },
    Resize(Index, i64),
    Lose(Index),
    Drain(Index),
    Activate(Index),
}

#[derive(Clone, Debug)]
pub(crate) enum OnJob {
    Gang(Gang),
    Ask(Ask),
    /// For real containers of a task group.
    Real {
        role: usize,
        units: i64,
        count: u32,
    },
    Move(usize),
    Priority(u32),
    Shun(Index),
    /// The number of containers that have to be available, and whether only those with the tag count.
    Budget(u32, bool),
    End {
        is_killed: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum OnContainer {
    Cost(PreemptionCost),
    Confirm,
    Stop,
    Demote,
    Promote { waits: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) units: i64,
    pub(crate) count: u32,
    pub(crate) priority: u32,
    pub(crate) is_opportunistic: bool,
    pub(crate) has_tag: bool,
}

/// The guarantee of a leaf in units, and the part of the cluster that is its maximum.
#[derive(Clone, Debug)]
pub(crate) struct QueueCall {
    pub(crate) leaf: usize,
    pub(crate) guarantee: i64,
    pub(crate) maximum: Percent,
}

pub(crate) fn setting() -> impl Strategy<Value = Setting> {
    let wait_ms = prop_oneof![Just(0), Just(2 * super::INTERVAL_MS)];
    let limit_ms = prop_oneof![Just(None), Just(Some(super::INTERVAL_MS / 2)), Just(Some(900_000))];
    let others = (prop::bool::weighted(0.3), 1..4u32, any::<bool>());
    (policy(), wait_ms, any::<bool>(), limit_ms, others).prop_map(
        |(policy, wait_ms, reserves, gather_limit_ms, (has_user_limits, queue_length_max, is_full))| {
            Setting { policy, wait_ms, reserves, has_user_limits, queue_length_max, is_full, gather_limit_ms }
        },
    )
}

fn policy() -> impl Strategy<Value = PreemptionPolicy> {
    let part = || prop_oneof![1 => Just(Percent::whole(20)), 3 => Just(Percent::ALL)];
    let dead_zone = prop_oneof![Just(Percent::NONE), Just(Percent::whole(10))];
    let order = prop_oneof![Just(WithinQueueOrder::UserLimitFirst), Just(WithinQueueOrder::PriorityFirst)];
    let within = order.prop_map(|order| WithinQueuePolicy {
        order,
        minimum_use: Percent::NONE,
        max_part: Percent::ALL,
        ..WithinQueuePolicy::default()
    });
    (dead_zone, part(), part(), any::<bool>(), prop::option::of(within)).prop_map(
        |(dead_zone, natural_termination, per_round, balances, within_queue)| PreemptionPolicy {
            dead_zone,
            natural_termination,
            per_round,
            balances,
            within_queue,
            ..PreemptionPolicy::default()
        },
    )
}

fn gang() -> impl Strategy<Value = Gang> {
    let gangs = Gangs { roles: 1..4, parts: [0.3, 0.3], timeout_ms: 1..400, placeholder_timeout_ms: 1..600 };
    gangs.any().prop_map(Gang::with_large_members_first)
}

fn ask() -> impl Strategy<Value = Ask> {
    (1..4i64, 1..6u32, 0..3u32, any::<bool>(), any::<bool>()).prop_map(
        |(units, count, priority, is_opportunistic, has_tag)| Ask {
            units,
            count,
            priority,
            is_opportunistic,
            has_tag,
        },
    )
}

fn on_node() -> impl Strategy<Value = OnNode> {
    let index = any::<Index>;
    prop_oneof![
        2 => (1..6i64, any::<bool>()).prop_map(|(units, is_on_a)| OnNode::Add { units, is_on_a }),
        1 => (index(), 1..6i64).prop_map(|(node, units)| OnNode::Resize(node, units)),
        1 => index().prop_map(OnNode::Lose),
        1 => index().prop_map(OnNode::Drain),
        1 => index().prop_map(OnNode::Activate),
    ]
}

fn on_job() -> impl Strategy<Value = OnJob> {
    prop_oneof![
        8 => gang().prop_map(OnJob::Gang),
        12 => ask().prop_map(OnJob::Ask),
        3 => (0..3usize, 1..3i64, 1..4u32).prop_map(|(role, units, count)| OnJob::Real { role, units, count }),
        2 => (0..super::LEAVES.len()).prop_map(OnJob::Move),
        1 => (0..4u32).prop_map(OnJob::Priority),
        1 => any::<Index>().prop_map(OnJob::Shun),
        2 => (0..6u32, any::<bool>()).prop_map(|(least, is_of_tag)| OnJob::Budget(least, is_of_tag)),
        1 => any::<bool>().prop_map(|is_killed| OnJob::End { is_killed }),
    ]
}

fn on_container() -> impl Strategy<Value = OnContainer> {
    let cost = prop_oneof![2 => (0..5u32).prop_map(PreemptionCost::Units), 1 => Just(PreemptionCost::Never)];
    prop_oneof![
        2 => cost.prop_map(OnContainer::Cost),
        2 => Just(OnContainer::Confirm),
        1 => Just(OnContainer::Stop),
        1 => Just(OnContainer::Demote),
        3 => any::<bool>().prop_map(|waits| OnContainer::Promote { waits }),
    ]
}

pub(crate) fn call() -> impl Strategy<Value = Call> {
    let index = any::<Index>;
    let queue = (0..super::LEAVES.len(), 0..5i64, prop_oneof![Just(100), 20..100u32]);
    prop_oneof![
        5 => on_node().prop_map(Call::OnNode),
        26 => (index(), on_job()).prop_map(|(job, call)| Call::OnJob(job, call)),
        9 => (index(), on_container()).prop_map(|(container, call)| Call::OnContainer(container, call)),
        6 => prop::collection::vec(index(), 1..4).prop_map(Call::Complete),
        1 => index().prop_map(Call::CancelGang),
        1 => (index(), 1..3u32).prop_map(|(ask, units)| Call::CancelAsk(ask, units)),
        2 => queue.prop_map(|(leaf, guarantee, part)| {
            Call::Queue(QueueCall { leaf, guarantee, maximum: Percent::whole(part) })
        }),
        8 => (1..3 * super::INTERVAL_MS).prop_map(Call::Advance),
        1 => (crate::property::mode(), any::<bool>()).prop_map(|(mode, cuts)| Call::Recover(mode, cuts)),
        10 => Just(Call::Run),
    ]
}
