//! Fairness in the long run: leaves get shares in proportion to their weights, and equal asks are served in turn.

use std::sync::Arc;

use apportion::config::{ApplicationOrdering, Capacity, EngineConfig, Factor, QueueConfig};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, EventStream, Handle, ManualClock, Mode,
    NodeSpec, ResourceTypes, Resources,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// The size of one container: large, so that guarantees, which are rounded down, are proportional to the weights.
const SIZE: i64 = 1_000_000;

/// A cluster of one node whose containers all have one size.
struct Pool {
    engine: Engine,
    handle: Handle,
    events: EventStream,
}

impl Pool {
    /// A pool with this many places and with leaves of these weights, called `root.0` and so on.
    fn new(places: u32, weights: &[u64], mode: Mode) -> Self {
        Self::ordered(places, weights, ApplicationOrdering::Fifo, mode)
    }

    /// The same, with leaves that order their applications like this.
    fn ordered(places: u32, weights: &[u64], ordering: ApplicationOrdering, mode: Mode) -> Self {
        let leaf = |(number, weight): (usize, &u64)| {
            QueueConfig::leaf(number.to_string(), Capacity::Weight(Factor::whole(*weight)))
                .with_user_limit_factor(None)
                .with_ordering(ordering)
        };
        let root = QueueConfig::root(weights.iter().enumerate().map(leaf));
        let config = EngineConfig::new(ResourceTypes::new(["memory"]).unwrap(), root);
        let engine = Engine::start(config, mode, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        handle.add_node(NodeSpec::new("node", Resources::new(&[i64::from(places) * SIZE]))).unwrap();
        let events = handle.event_stream(100_000);
        Self { engine, handle, events }
    }

    fn application(&self, leaf: usize, wanted: u32) -> ApplicationId {
        let spec = ApplicationSpec::new("application", format!("root.{leaf}"), "user");
        let application = self.handle.submit_application(spec, &self.events).unwrap();
        self.handle.submit_ask(application, AskSpec::new(Resources::new(&[SIZE]), wanted)).unwrap();
        application
    }

    fn running(&self, application: ApplicationId) -> Vec<ContainerId> {
        self.engine.read(|view| {
            let application = view.application(application).unwrap();
            application.containers().map(|running| running.container).collect()
        })
    }

    fn used(&self, applications: &[ApplicationId]) -> Vec<u64> {
        applications.iter().map(|application| self.running(*application).len() as u64).collect()
    }
}

/// Checks that shares are as equal, by weight, as whole containers allow. Without its last container, an
/// application's share is at most the share of any application that wants more. `slack` containers are added to the
/// first one's use.
fn expect_fair(used: &[u64], wanted: &[u32], weights: &[u64], slack: u64) -> Result<(), TestCaseError> {
    for (i, _) in wanted.iter().enumerate().filter(|(i, wants)| used[*i] < u64::from(**wants)) {
        let used_i = used[i] + if i == 0 { slack } else { 0 };
        for j in (0..used.len()).filter(|j| used[*j] > 0) {
            let (is_behind, is_ahead) = (used_i * weights[j], (used[j] - 1) * weights[i]);
            prop_assert!(is_ahead <= is_behind, "{i} wants more: {used:?} of {wanted:?} by {weights:?}");
        }
    }
    Ok(())
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        Just(Mode::Serial),
        Just(Mode::Background),
        (1..=3usize).prop_map(|proposers| Mode::Parallel { proposers })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Runs from an empty cluster, then from a cluster that a single leaf has filled, while its containers end one by
    /// one. After each has ended once, every leaf has its fair share.
    #[test]
    fn shares_become_weighted_max_min(
        leaves in vec((1..=9u64, 1..=60u32), 2..6),
        places in 1..=60u32,
        mode in mode(),
    ) {
        let (weights, wanted): (Vec<u64>, Vec<u32>) = leaves.into_iter().unzip();
        let fresh = Pool::new(places, &weights, Mode::Serial);
        let all: Vec<_> = wanted.iter().enumerate().map(|(leaf, wants)| fresh.application(leaf, *wants)).collect();
        fresh.engine.run_until_quiet();
        expect_fair(&fresh.used(&all), &wanted, &weights, 0)?;

        let pool = Pool::new(places, &weights, mode);
        let first = pool.application(0, places.max(wanted[0]));
        pool.engine.run_until_quiet();
        let hogged = pool.running(first);
        let others = wanted.iter().enumerate().skip(1).map(|(leaf, wants)| pool.application(leaf, *wants));
        let all: Vec<_> = std::iter::once(first).chain(others).collect();
        for container in hogged {
            pool.handle.complete_container(container).unwrap();
            pool.engine.run_until_quiet();
        }
        // The first leaf no longer wants the containers that it has finished. The last one it finished may have been
        // one too many.
        let mut wanted = wanted;
        wanted[0] = wanted[0].max(places) - places;
        expect_fair(&pool.used(&all), &wanted, &weights, 1)?;
    }

    /// Equal leaves, or applications of one fair leaf, all want more than they get. While one of them has no
    /// container, the others are served at most as often as their number.
    #[test]
    fn of_equals_nobody_starves(
        others in 1..6usize,
        places in 1..=4u32,
        in_one_leaf in any::<bool>(),
        ends in vec(any::<u16>(), 1..60),
        mode in mode(),
    ) {
        let equals = others + 1;
        let weights = vec![1; if in_one_leaf { 1 } else { equals }];
        let pool = Pool::ordered(places, &weights, ApplicationOrdering::Fair, mode);
        // More than `ends` can free, so no application is ever satisfied.
        let all: Vec<_> =
            (0..equals).map(|number| pool.application(if in_one_leaf { 0 } else { number }, 100)).collect();
        pool.engine.run_until_quiet();
        let mut passed_over = vec![0; equals];
        for end in ends {
            let before = pool.used(&all);
            let running: Vec<(usize, ContainerId)> = all
                .iter()
                .enumerate()
                .flat_map(|(place, application)| pool.running(*application).into_iter().map(move |id| (place, id)))
                .collect();
            let (ended, container) = running[usize::from(end) % running.len()];
            pool.handle.complete_container(container).unwrap();
            pool.engine.run_until_quiet();
            let after = pool.used(&all);
            for number in 0..equals {
                let was_served = after[number] + u64::from(number == ended) > before[number];
                passed_over[number] = if was_served || after[number] > 0 { 0 } else { passed_over[number] + 1 };
            }
            let most = passed_over.iter().max().copied().unwrap_or(0);
            prop_assert!(most < equals, "{passed_over:?} times with nothing, now {after:?}");
        }
    }

    /// In a FIFO leaf with equal applications, no application is passed over. While an ask waits, no later ask of the
    /// same size gets a container.
    #[test]
    fn a_fifo_leaf_serves_applications_in_order(
        wanted in vec(1..=20u32, 2..8),
        places in 1..=20u32,
        ends in vec(any::<u16>(), 1..40),
        mode in mode(),
    ) {
        let pool = Pool::new(places, &[1], mode);
        let all: Vec<_> = wanted.iter().map(|wants| pool.application(0, *wants)).collect();
        pool.engine.run_until_quiet();
        let mut got: Vec<u32> = pool.used(&all).into_iter().map(|used| used as u32).collect();
        for end in ends {
            let running: Vec<(usize, ContainerId)> = all
                .iter()
                .enumerate()
                .flat_map(|(place, application)| pool.running(*application).into_iter().map(move |id| (place, id)))
                .collect();
            let Some((place, container)) = running.get(usize::from(end) % running.len().max(1)) else { break };
            let before = pool.used(&all);
            pool.handle.complete_container(*container).unwrap();
            pool.engine.run_until_quiet();
            for (number, used) in pool.used(&all).into_iter().enumerate() {
                let ended = u64::from(number == *place);
                let gained = (used + ended - before[number]) as u32;
                let is_first = (0..number).all(|earlier| got[earlier] == wanted[earlier]);
                prop_assert!(gained == 0 || is_first, "{number} got one before {got:?} of {wanted:?}");
                got[number] += gained;
            }
        }
    }
}
