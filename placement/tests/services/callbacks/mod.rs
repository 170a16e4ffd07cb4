//! F7 and F9 to F18 of the formal model. Callbacks may come in any order, repeatedly, or not at all: the counts stay
//! right. Once the manager behaves, every component has its desired instances, and every placement action has its
//! last word.

mod world;

use apportion_placement::{
    AntiAffinity, ApartGroup, ComponentId, ComponentSpec, FaultDomain, InstanceState, PlacementPolicy,
    RetryPolicy,
};
use proptest::prelude::*;

use crate::support::component;
use world::World;

const COMPONENTS: u32 = 8;
const HOSTS: usize = 6;
/// A component and its standby.
const ACTIVE: u32 = 5;
const STANDBY: u32 = 6;

/// An event. Its numbers choose among the objects that exist at the time.
#[derive(Clone, Debug)]
enum Step {
    /// The manager serves a request; on one of its hosts if `rightly`.
    Grant {
        which: usize,
        host: usize,
        rightly: bool,
        echoes: bool,
    },
    /// The manager allocates a container without a request.
    GrantUnasked {
        component: u32,
        host: usize,
    },
    /// A node registers again with a container.
    Recover {
        component: u32,
        host: usize,
    },
    /// A container starts, or fails to start.
    Start {
        which: usize,
        fails: bool,
    },
    /// A container ends.
    End {
        which: usize,
        exit: i32,
    },
    /// A container ends without a callback.
    EndWithoutCallback {
        which: usize,
    },
    /// The manager repeats a callback.
    Repeat {
        which: usize,
    },
    Withdraw {
        which: usize,
    },
    Refuse {
        which: usize,
        /// The reason is that the manager does not know the host.
        is_unknown: bool,
    },
    Flex {
        component: u32,
        desired: u32,
    },
    Node {
        host: usize,
        is_usable: bool,
        is_labelled: bool,
    },
    Pass {
        by_ms: u64,
    },
    Kill {
        which: usize,
    },
    Lose {
        which: usize,
    },
    /// A placement action; `kind` selects it.
    Act {
        which: usize,
        host: usize,
        kind: u8,
        expires_after_ms: u64,
        /// The new size of the container, if above 0.
        size: i64,
    },
    /// Keeps one host free, or none.
    Exclude {
        host: usize,
    },
    CancelAction {
        back: u64,
    },
    StopFails {
        which: usize,
    },
    RestartMaster {
        /// If false, the nodes register only after the new master has taken over the containers.
        knows_racks: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let which = 0..8_usize;
    let host = 0..HOSTS;
    let exit = prop::sample::select(vec![0, 1, -100, -101, -102, -104, -105]);
    prop_oneof![
        8 => (which.clone(), host.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(which, host, rightly, echoes)| Step::Grant { which, host, rightly, echoes }),
        1 => (0..COMPONENTS + 1, host.clone()).prop_map(|(component, host)| Step::GrantUnasked { component, host }),
        1 => (0..COMPONENTS + 1, host.clone()).prop_map(|(component, host)| Step::Recover { component, host }),
        6 => (which.clone(), prop::bool::weighted(0.2)).prop_map(|(which, fails)| Step::Start { which, fails }),
        5 => (which.clone(), exit).prop_map(|(which, exit)| Step::End { which, exit }),
        1 => which.clone().prop_map(|which| Step::EndWithoutCallback { which }),
        2 => which.clone().prop_map(|which| Step::Repeat { which }),
        1 => which.clone().prop_map(|which| Step::Withdraw { which }),
        2 => (which.clone(), any::<bool>()).prop_map(|(which, is_unknown)| Step::Refuse { which, is_unknown }),
        4 => (0..COMPONENTS, 0..5_u32).prop_map(|(component, desired)| Step::Flex { component, desired }),
        2 => (host, any::<bool>(), any::<bool>())
            .prop_map(|(host, is_usable, is_labelled)| Step::Node { host, is_usable, is_labelled }),
        3 => prop::sample::select(vec![0, 1, 999, 30_001, 70_000, 22_000_000]).prop_map(|by_ms| Step::Pass { by_ms }),
        1 => which.clone().prop_map(|which| Step::Kill { which }),
        1 => which.clone().prop_map(|which| Step::Lose { which }),
        4 => (which.clone(), 0..HOSTS + 1, 0..6_u8, prop::sample::select(vec![0, 1_000, 100_000]), 0..4_i64)
            .prop_map(|(which, host, kind, expires_after_ms, size)| Step::Act { which, host, kind, expires_after_ms, size }),
        1 => (0..2 * HOSTS).prop_map(|host| Step::Exclude { host }),
        1 => (0..4_u64).prop_map(|back| Step::CancelAction { back }),
        1 => which.prop_map(|which| Step::StopFails { which }),
        1 => any::<bool>().prop_map(|knows_racks| Step::RestartMaster { knows_racks }),
    ]
}

fn components() -> Vec<ComponentSpec> {
    let policies = [
        PlacementPolicy::Normal,
        PlacementPolicy::Strict,
        PlacementPolicy::Anywhere,
        PlacementPolicy::AntiAffinity,
        PlacementPolicy::Normal,
        PlacementPolicy::Normal,
        PlacementPolicy::Normal,
        PlacementPolicy::Normal,
    ];
    let group = ApartGroup { name: "active and standby".into(), domain: FaultDomain::Rack };
    let spec = |(id, policy)| ComponentSpec {
        apart_from: matches!(id, ACTIVE | STANDBY).then(|| group.clone()),
        takes_over: if id == ACTIVE { vec![ComponentId(STANDBY)] } else { Vec::new() },
        degrades: id == 7,
        retries: (id == 7).then_some(RetryPolicy { window_ms: 300_000, last_delay_ms: 361_000 }),
        label: (id == 4).then(|| "gpu".to_owned()),
        container_failure_threshold: matches!(id, 2 | 7).then_some(3),
        node_failure_threshold: Some(1),
        shuns_hosts_alone: matches!(id, 0 | 3 | 7),
        ..component(id, if id < 5 { 2 } else { 1 }).with_policy(policy)
    };
    (0..COMPONENTS).zip(policies).map(spec).collect()
}

fn run_steps(anti_affinity: AntiAffinity, steps: &[Step]) {
    let mut world = World::new(anti_affinity);
    for step in steps {
        world.take(step);
    }
    world.behave();
    for spec in &world.components {
        let Some(status) = world.service.component(spec.id) else { panic!("{} is known", spec.name) };
        let is_left = world.service.is_over() || (status.is_given_up && status.live == 0);
        let wanted = if is_left { 0 } else { spec.desired };
        assert_eq!(
            (status.live, status.requested),
            (wanted, 0),
            "{} has its desired instances (F9)",
            spec.name
        );
    }
    assert_eq!(world.service.action_count(), 0);
    let open: Vec<_> = world.actions.iter().filter(|(_, is_over)| !**is_over).collect();
    assert!(open.is_empty(), "every action has its last word: {open:?}");
}

/// An instance runs beside another because the manager did not keep them apart, so the component's request lists
/// hosts. When the instance has ended, the next request is for any host and gets the only host that had been listed.
#[test]
fn a_list_of_hosts_is_not_kept_for_longer_than_it_is_needed() {
    let grant = |which, host| Step::Grant { which, host, rightly: false, echoes: false };
    let steps = [
        grant(6, 5),
        Step::Flex { component: 3, desired: 3 },
        Step::RestartMaster { knows_racks: false },
        grant(6, 1),
        Step::End { which: 0, exit: 0 },
        grant(11, 1),
    ];
    run_steps(AntiAffinity::AllAtOnce, &steps);
}

/// The second host and the third share a rack, so the recovered standby is given back.
fn with_a_standby_given_back(then: &[Step]) -> World {
    let mut world = World::new(AntiAffinity::AllAtOnce);
    let recovered =
        [Step::Recover { component: ACTIVE, host: 1 }, Step::Recover { component: STANDBY, host: 2 }];
    for step in recovered.iter().chain(then) {
        world.take(step);
    }
    world
}

fn states(world: &World) -> Vec<(String, InstanceState)> {
    world.service.containers().map(|found| (found.host, found.state)).collect()
}

/// The next master cannot undo that the standby still runs near the active container, which stays.
#[test]
fn a_container_that_is_being_stopped_may_be_near_one_that_stays() {
    for knows_racks in [false, true] {
        let world = with_a_standby_given_back(&[Step::RestartMaster { knows_racks }]);
        let expected = [("host1", InstanceState::Live), ("host2", InstanceState::Releasing)];
        assert_eq!(states(&world), expected.map(|(host, state)| (host.to_owned(), state)));
    }
}

/// The active container is killed, and the standby cannot be stopped: the standby alone remains.
#[test]
fn a_container_that_is_being_stopped_takes_no_other_one_with_it() {
    let then =
        [Step::StopFails { which: 1 }, Step::Kill { which: 0 }, Step::RestartMaster { knows_racks: true }];
    let world = with_a_standby_given_back(&then);
    let expected = [("host1", InstanceState::Releasing), ("host2", InstanceState::Live)];
    assert_eq!(states(&world), expected.map(|(host, state)| (host.to_owned(), state)));
}

/// The standby cannot be stopped, so the next master finds two running containers. It learns the racks of their hosts
/// before or after it takes them over.
#[test]
fn containers_stay_on_one_rack_if_the_rack_is_learnt_later() {
    for (knows_racks, standby) in [(false, InstanceState::Live), (true, InstanceState::Releasing)] {
        let fails = Step::StopFails { which: 1 };
        let world = with_a_standby_given_back(&[fails, Step::RestartMaster { knows_racks }]);
        let expected = [("host1", InstanceState::Live), ("host2", standby)];
        assert_eq!(states(&world), expected.map(|(host, state)| (host.to_owned(), state)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn no_event_makes_a_service_count_wrong(steps in prop::collection::vec(step(), 0..60)) {
        run_steps(AntiAffinity::AllAtOnce, &steps);
    }

    #[test]
    fn no_event_makes_a_one_by_one_service_count_wrong(steps in prop::collection::vec(step(), 0..60)) {
        run_steps(AntiAffinity::OneByOne, &steps);
    }
}
