//! Users of one leaf with a strict minimum user limit.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, QueueConfig};
use apportion::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use proptest::prelude::*;

use crate::mode;

/// The size of one container: large, because small guarantees would be rounded down to zero.
const SIZE: i64 = 1_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// In a full leaf, no user has more than its percentage of the leaf or its equal share, rounded up, if that is
    /// larger. The leaf is used up, and earlier users have at least as much as later ones.
    #[test]
    fn a_minimum_user_limit_is_not_exceeded_in_a_full_leaf(
        places in 1..=120i64,
        users in 1..=8i64,
        percent in 1..=100u32,
        guaranteed in prop_oneof![Just(100u32), 1..=100u32],
        mode in mode(),
    ) {
        let used = fill(places, users, percent, guaranteed, mode);
        let of_percent = places * i64::from(percent) / 100;
        let of_equals = (places - 1) / users + 1;
        prop_assert_eq!(used.iter().sum::<i64>(), places, "{:?}", used);
        prop_assert!(used.iter().all(|used| *used <= of_percent.max(of_equals)), "{:?}", used);
        prop_assert!(used.is_sorted_by(|first, second| first >= second), "{:?}", used);
    }
}

/// All users want the whole leaf, and then a node with this many places is added. Returns the places of each user.
fn fill(places: i64, users: i64, percent: u32, guaranteed: u32, mode: Mode) -> Vec<i64> {
    let guaranteed = Capacity::Percent(Percent::whole(guaranteed));
    let leaf = QueueConfig::leaf("a", guaranteed)
        .with_user_limit_factor(None)
        .with_user_limit_minimum(Percent::whole(percent));
    let config = EngineConfig::new(ResourceTypes::new(["memory"]).unwrap(), QueueConfig::root([leaf]));
    let engine = Engine::start(config, mode, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let events = handle.event_stream(10_000);
    let submit = |user| {
        let spec = ApplicationSpec::new("application", "root.a", format!("user{user}"));
        let application = handle.submit_application(spec, &events).unwrap();
        handle.submit_ask(application, AskSpec::new(Resources::new(&[SIZE]), places as u32)).unwrap();
        application
    };
    let applications: Vec<_> = (0..users).map(submit).collect();
    engine.run_until_quiet();
    handle.add_node(NodeSpec::new("node", Resources::new(&[places * SIZE]))).unwrap();
    engine.run_until_quiet();
    let used = |view: &apportion::view::View<'_>, application| {
        view.application(application).unwrap().containers().count()
    };
    engine.read(|view| applications.iter().map(|application| used(view, *application) as i64).collect())
}
