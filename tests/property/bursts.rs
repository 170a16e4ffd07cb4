//! Shares in parallel mode: a burst of free slots is divided among the queues as in serial mode.

use std::collections::HashMap;
use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Factor, Percent, QueueConfig, QueueOrdering};
use apportion::log::SharedLog;
use apportion::{
    ApplicationEnd, ApplicationSpec, AskId, AskSpec, Change, Engine, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources,
};
use apportion_tests::support::check::read_log;
use proptest::collection::vec;
use proptest::prelude::*;

/// The size of one container: large, so that guarantees, which are rounded down, are as configured.
const SLOT: i64 = 1_000_000;
/// Clusters below this size are one placement set; larger ones have sets of four nodes.
const SINGLE_SET_NODES: u32 = 8;

/// A queue and the demand below it.
#[derive(Clone, Debug)]
struct Share {
    /// Its share of its parent, relative to its siblings.
    weight: u32,
    priority: i32,
    below: Below,
}

#[derive(Clone, Debug)]
enum Below {
    /// A leaf whose application has the same priority and wants this percentage of all slots.
    Wanted(u32),
    Queues(Vec<Share>),
}

#[derive(Clone, Debug)]
struct Burst {
    queues: Vec<Share>,
    /// Guarantees in percent, or weights.
    in_percent: bool,
    ordering: QueueOrdering,
    nodes: u32,
    slots_per_node: u32,
    batch_requests: usize,
}

impl Burst {
    fn slots(&self) -> u32 {
        self.nodes * self.slots_per_node
    }

    fn config(&self) -> EngineConfig {
        let root = QueueConfig::root(self.children(&self.queues)).with_child_ordering(self.ordering);
        let mut config = EngineConfig::new(ResourceTypes::new(["slots"]).unwrap(), root);
        config.limits.batch_requests = self.batch_requests;
        (config.limits.single_set_nodes, config.limits.set_nodes) = (SINGLE_SET_NODES as usize, 4);
        config
    }

    fn children(&self, shares: &[Share]) -> Vec<QueueConfig> {
        let sum: u32 = shares.iter().map(|share| share.weight).sum();
        let queue = |(place, share): (usize, &Share)| {
            let capacity = if self.in_percent {
                // Rounded down: siblings may sum to less than everything.
                let millionths = u64::from(share.weight) * 1_000_000 / u64::from(sum);
                let percent = format!("{}.{:04}", millionths / 10_000, millionths % 10_000);
                Capacity::Percent(percent.parse::<Percent>().unwrap())
            } else {
                Capacity::Weight(Factor::whole(u64::from(share.weight)))
            };
            let queue = QueueConfig::leaf(place.to_string(), capacity)
                .with_user_limit_factor(None)
                .with_priority(share.priority)
                .with_child_ordering(self.ordering);
            match &share.below {
                Below::Wanted(_) => queue,
                Below::Queues(below) => queue.with_children(self.children(below)),
            }
        };
        shares.iter().enumerate().map(queue).collect()
    }

    /// Every leaf's path, its priority, and how many slots it wants.
    fn leaves(&self) -> Vec<(String, u32, u32)> {
        let mut leaves = Vec::new();
        self.list_leaves("root", &self.queues, &mut leaves);
        leaves
    }

    fn list_leaves(&self, above: &str, shares: &[Share], leaves: &mut Vec<(String, u32, u32)>) {
        for (place, share) in shares.iter().enumerate() {
            let path = format!("{above}.{place}");
            match &share.below {
                Below::Wanted(percent) => {
                    leaves.push((path, share.priority.unsigned_abs(), (self.slots() * percent / 100).max(1)));
                }
                Below::Queues(below) => self.list_leaves(&path, below, leaves),
            }
        }
    }

    /// Returns the leaf of each container of the burst, in the order of the log.
    fn play(&self, mode: Mode) -> Vec<usize> {
        let log = SharedLog::new();
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(self.config(), mode, clock, Some(Box::new(log.clone()))).unwrap();
        let handle = engine.handle();
        let capacity = Resources::new(&[i64::from(self.slots_per_node) * SLOT]);
        for node in 0..self.nodes {
            handle.add_node(NodeSpec::new(node.to_string(), capacity)).unwrap();
        }
        let events = handle.event_stream(1);
        let submit = |leaf: &str, priority, wanted| {
            let application = ApplicationSpec::new("application", leaf, "user").with_priority(priority);
            let application = handle.submit_application(application, &events).unwrap();
            let ask = AskSpec::new(Resources::new(&[SLOT]), wanted);
            (application, handle.submit_ask(application, ask).unwrap())
        };
        let leaves = self.leaves();
        // One application fills the cluster; with its end all slots become free in one change.
        let (first, _) = submit(&leaves[0].0, 0, self.slots());
        engine.run_until_quiet();
        let submit_all = leaves.iter().map(|(path, priority, wanted)| submit(path, *priority, *wanted).1);
        let leaf_of: HashMap<AskId, usize> = submit_all.zip(0..).collect();
        engine.run_until_quiet();
        handle.end_application(first, ApplicationEnd::Finished).unwrap();
        engine.run_until_quiet();
        drop(engine);
        let placed = |change| match change {
            Change::Committed { request } => leaf_of.get(&request.allocate[0].ask).copied(),
            _ => None,
        };
        read_log(&log.bytes()).into_iter().filter_map(placed).collect()
    }

    /// With one set only one batch is in flight, and the order is exact. With several sets, each further proposer has
    /// a batch in flight that the log lacks, and passes at the same moment choose the same leaf.
    fn allowed(&self, proposers: usize) -> Allowed {
        if self.nodes < SINGLE_SET_NODES {
            return Allowed { ahead: 0, behind: 0 };
        }
        let (others, leaves) = (proposers - 1, self.leaves().len());
        let (ahead, behind) = match self.ordering {
            QueueOrdering::Utilization => (self.batch_requests, self.batch_requests.max(leaves)),
            // No later pass makes up for two passes that chose the same leaf at the same moment.
            _ => (self.batch_requests + leaves, self.batch_requests + leaves),
        };
        // The last container of a batch in flight decides which of two equal queues was served last.
        Allowed { ahead: others * ahead + 1, behind: others * behind + 1 }
    }

    /// For each queue, the range of its leaves by number. A container in a leaf counts for every range that contains
    /// it.
    fn queues_above(&self) -> Vec<std::ops::Range<usize>> {
        fn list(shares: &[Share], next: &mut usize, ranges: &mut Vec<std::ops::Range<usize>>) {
            for share in shares {
                let from = *next;
                match &share.below {
                    Below::Wanted(_) => *next += 1,
                    Below::Queues(below) => list(below, next, ranges),
                }
                ranges.push(from..*next);
            }
        }
        let mut ranges = Vec::new();
        list(&self.queues, &mut 0, &mut ranges);
        ranges
    }
}

/// How many containers a queue may be ahead of its serial share, and behind it.
#[derive(Clone, Copy)]
struct Allowed {
    ahead: usize,
    behind: usize,
}

/// Compares the shares of all queues at every prefix of the log.
fn expect_shares(
    burst: &Burst,
    serial: &[usize],
    parallel: &[usize],
    allowed: Allowed,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(serial.len(), parallel.len(), "as many slots are used");
    let queues = burst.queues_above();
    let mut ahead = vec![0i64; queues.len()];
    for (at, (in_serial, in_parallel)) in serial.iter().zip(parallel).enumerate() {
        for (queue, ahead) in queues.iter().zip(&mut ahead) {
            *ahead += i64::from(queue.contains(in_parallel)) - i64::from(queue.contains(in_serial));
            prop_assert!(
                ahead.unsigned_abs() as usize <= if *ahead > 0 { allowed.ahead } else { allowed.behind },
                "after {} containers the queue of leaves {queue:?} is {ahead} ahead; {} ahead and {} behind are allowed",
                at + 1,
                allowed.ahead,
                allowed.behind
            );
        }
    }
    Ok(())
}

/// Leaves with these weights and priorities, each with demand for all slots.
fn greedy(weights: &[(u32, i32)]) -> Vec<Share> {
    let share = |&(weight, priority): &(u32, i32)| Share { weight, priority, below: Below::Wanted(100) };
    weights.iter().map(share).collect()
}

fn one_large_and_fifty_small() -> Vec<(u32, i32)> {
    let mut weights = vec![(1, 0); 51];
    weights[0].0 = 50;
    weights
}

fn leaf() -> impl Strategy<Value = Share> {
    let wanted = prop_oneof![3 => Just(100u32), 1 => 1..100u32];
    (1..=20u32, 0..=2i32, wanted).prop_map(|(weight, priority, percent)| Share {
        weight,
        priority,
        below: Below::Wanted(percent),
    })
}

fn parent(below: BoxedStrategy<Share>) -> BoxedStrategy<Share> {
    let children = vec(below, 1..=3);
    (1..=20u32, 0..=2i32, children)
        .prop_map(|(weight, priority, children)| Share { weight, priority, below: Below::Queues(children) })
        .boxed()
}

fn queues() -> impl Strategy<Value = Vec<Share>> {
    prop_oneof![
        3 => vec(leaf(), 2..=3),
        2 => vec(leaf(), 10),
        1 => Just(greedy(&one_large_and_fifty_small())),
        3 => vec(parent(parent(leaf().boxed())), 2..=3),
    ]
}

/// About 1,000 slots in one set or in several; now and then 20,000.
fn sizes() -> impl Strategy<Value = (u32, u32)> {
    prop_oneof![
        20 => (1..SINGLE_SET_NODES).prop_map(|nodes| (nodes, 1_000 / nodes)),
        20 => (SINGLE_SET_NODES..=64).prop_map(|nodes| (nodes, 1_000 / nodes)),
        1 => (1..=64u32).prop_map(|nodes| (nodes, 20_000 / nodes)),
    ]
}

fn ordering() -> impl Strategy<Value = QueueOrdering> {
    prop_oneof![
        2 => Just(QueueOrdering::Utilization),
        1 => Just(QueueOrdering::PriorityUtilization),
        1 => Just(QueueOrdering::DemandPriority),
        1 => Just(QueueOrdering::UtilizationThenDemand),
    ]
}

fn burst() -> impl Strategy<Value = Burst> {
    // Small compared with the burst, or the bounds would allow any order.
    let batch_requests = prop_oneof![Just(8usize), Just(16), Just(32)];
    (queues(), any::<bool>(), ordering(), sizes(), batch_requests).prop_map(
        |(queues, in_percent, ordering, (nodes, slots_per_node), batch_requests)| Burst {
            queues,
            in_percent,
            ordering,
            nodes,
            slots_per_node,
            batch_requests,
        },
    )
}

/// Exact on one node, and within the allowed difference on fifty nodes.
#[test]
fn a_burst_is_shared_as_configured() {
    let all_small = [vec![500], vec![10; 50]].concat();
    let cases = [
        (greedy(&[(90, 0), (10, 0)]), QueueOrdering::Utilization, vec![900, 100]),
        (greedy(&[(8, 0), (1, 0), (1, 0)]), QueueOrdering::Utilization, vec![400, 50, 50]),
        (greedy(&[(1, 10), (1, 0)]), QueueOrdering::DemandPriority, vec![100, 0]),
        (greedy(&one_large_and_fifty_small()), QueueOrdering::Utilization, all_small),
    ];
    for (queues, ordering, expected) in cases {
        let slots: u32 = expected.iter().sum();
        for nodes in [1, 50] {
            let (in_percent, slots_per_node) = (false, slots / nodes);
            let queues = queues.clone();
            let burst = Burst { queues, in_percent, ordering, nodes, slots_per_node, batch_requests: 8 };
            expect_configured(&burst, &expected);
        }
    }
}

fn expect_configured(burst: &Burst, expected: &[u32]) {
    let parallel = (1..=4).map(|proposers| Mode::Parallel { proposers });
    for mode in [Mode::Serial, Mode::Background].into_iter().chain(parallel) {
        let mut shares = vec![0u32; expected.len()];
        burst.play(mode).into_iter().for_each(|leaf| shares[leaf] += 1);
        // With demand priority, the only urgent leaf stays urgent: the other leaf gets nothing.
        let allowed = match burst.ordering {
            QueueOrdering::DemandPriority => 0,
            _ if mode.proposers() == 0 => 0,
            _ => burst.allowed(mode.proposers()).behind as u32,
        };
        let is_close = shares.iter().zip(expected).all(|(share, wanted)| share.abs_diff(*wanted) <= allowed);
        assert!(is_close, "{mode:?}, {} nodes: {shares:?}, expected {expected:?} +-{allowed}", burst.nodes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The promise of `docs/semantics.md`, "Shares in background mode".
    #[test]
    fn a_burst_is_shared_in_background_mode_exactly_as_in_serial_mode(burst in burst()) {
        prop_assert_eq!(burst.play(Mode::Background), burst.play(Mode::Serial));
    }

    /// The promise of `docs/semantics.md`, "Shares in parallel mode".
    #[test]
    fn a_burst_is_shared_as_in_serial_mode(burst in burst(), proposers in 1..=4usize) {
        let serial = burst.play(Mode::Serial);
        let parallel = burst.play(Mode::Parallel { proposers });
        expect_shares(&burst, &serial, &parallel, burst.allowed(proposers))?;
    }
}
