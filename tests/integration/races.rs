//! Minimal cases of defects that the properties found in parallel mode. The threads run in a different order each
//! time, so each case is repeated until the defect would almost surely have shown.

use apportion::config::{EngineConfig, HeartbeatPolicy, LocalityDelay};
use apportion::resource::DeviceNeed;
use apportion::{ApplicationEnd, AskSpec, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_tests::support::cluster::Cluster;

use crate::{engine, leaf};

const ROUNDS: usize = 300;

fn single() -> EngineConfig {
    engine([leaf("default", 100)])
}

/// Sets of one node each, as soon as there are two nodes.
fn several_sets() -> EngineConfig {
    let mut config = single();
    config.limits.single_set_nodes = 2;
    config.limits.set_nodes = 1;
    config
}

#[test]
fn an_ask_is_well_kept_when_its_host_is_drained() {
    for _ in 0..ROUNDS {
        let mut config = several_sets();
        config.limits.inbox = 1;
        let mut cluster = Cluster::start(config, Mode::Parallel { proposers: 2 });
        let nodes = ["n1", "n2", "n3", "n4"].map(|name| cluster.node(name, &[8]));
        cluster.run();
        let application = cluster.application("root.default", "user");
        let ask = AskSpec::new(Resources::new(&[1]), 4).on_hosts([nodes[0]]).strictly_local();
        cluster.submit_ask(application, ask);
        cluster.drain(nodes[0]);
        cluster.run();
    }
}

#[test]
fn a_host_with_devices_enough_in_sum_but_not_one_by_one_is_well_kept() {
    for _ in 0..ROUNDS {
        let mut config = several_sets();
        config.resources = ResourceTypes::new(["gpu"]).unwrap().with_devices("gpu").unwrap();
        let mut cluster = Cluster::start(config, Mode::Parallel { proposers: 1 });
        let node = NodeSpec::new("n2", Resources::ZERO).with_devices(3);
        let hosts = [cluster.node("n1", &[0]), cluster.add_node(node).unwrap()];
        let application = cluster.application("root.default", "user");
        // Three containers leave 100, 100 and 1000 milli: enough for a fourth only in sum.
        let need = DeviceNeed { count: 2, milli: 300 };
        let ask = AskSpec::new(Resources::ZERO, 4).with_devices(need).on_hosts(hosts).strictly_local();
        cluster.submit_ask(application, ask);
        cluster.run();
        assert_eq!(cluster.running(application).len(), 3);
    }
}

#[test]
fn an_ask_that_was_offered_enough_nodes_is_placed_in_several_sets() {
    for _ in 0..ROUNDS {
        let locality_delay = LocalityDelay::nodes(0, 1);
        let config = EngineConfig { locality_delay, ..several_sets() };
        let mut cluster = Cluster::start(config, Mode::Parallel { proposers: 1 });
        cluster.node("n1", &[8]);
        cluster.node("n2", &[8]);
        let elsewhere = cluster.handle.rack("elsewhere");
        let application = cluster.application("root.default", "user");
        cluster.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1).on_racks([elsewhere]));
        cluster.run();
        assert_eq!(cluster.running(application).len(), 1);
    }
}

/// With the defect, the engine and this test slept for ever.
#[test]
fn a_timer_of_an_ask_that_is_gone_does_not_keep_the_engine_from_becoming_quiet() {
    for _ in 0..ROUNDS {
        let mut cluster = Cluster::start(single(), Mode::Parallel { proposers: 1 });
        let rack = cluster.handle.rack("elsewhere");
        let application = cluster.application("root.default", "user");
        cluster.submit_ask(application, AskSpec::new(Resources::new(&[1]), 1).on_racks([rack]));
        cluster.end(application, ApplicationEnd::Finished);
        cluster.advance(500);
        cluster.run();
    }
}

/// With the defect, the engine and this test slept for ever.
#[test]
fn a_node_that_registers_as_time_passes_lets_the_engine_become_quiet() {
    for _ in 0..ROUNDS {
        let heartbeat = Some(HeartbeatPolicy { interval_ms: 100, missed_max: 3 });
        let config = EngineConfig { heartbeat, ..single() };
        let mut cluster = Cluster::start(config, Mode::Parallel { proposers: 1 });
        cluster.node("n1", &[8]);
        cluster.advance(5000);
        cluster.run();
    }
}
