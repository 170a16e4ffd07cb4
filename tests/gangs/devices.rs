//! Gangs whose members need devices.

use apportion::config::{EngineConfig, QueueConfig};
use apportion::gang::GangSpec;
use apportion::resource::DeviceNeed;
use apportion::{ApplicationId, AskSpec, ContainerId, Mode, NodeId, NodeSpec, ResourceTypes, Resources};

use crate::{Cluster, has_started, placed};

/// One node with this many devices.
fn with_devices(devices: u8, mode: Mode) -> (Cluster, NodeId) {
    let types = ResourceTypes::new(["memory", "gpu"]).unwrap().with_devices("gpu").unwrap();
    let mut config = EngineConfig::new(types, QueueConfig::single_leaf());
    config.reservations.delay_ms = None;
    let cluster = Cluster::new(config, mode);
    let spec = NodeSpec::new("n0", Resources::new(&[64])).with_devices(devices);
    let node = cluster.handle.add_node(spec).unwrap();
    (cluster, node)
}

fn need(count: u8, milli: u16, members: u32) -> AskSpec {
    AskSpec::new(Resources::new(&[1]), members).with_devices(DeviceNeed { count, milli })
}

fn run_one_by_one(cluster: &Cluster, of: ApplicationId, asks: &[AskSpec]) -> Vec<ContainerId> {
    for ask in asks {
        cluster.handle.submit_ask(of, ask.clone()).unwrap();
        cluster.run();
    }
    placed(&cluster.events()).into_iter().map(|(container, _)| container).collect()
}

/// Ordinary asks want each device that becomes free.
#[test]
fn a_gang_gathers_the_devices_of_a_member_one_by_one() {
    for mode in [Mode::Serial, Mode::Background, Mode::Parallel { proposers: 2 }] {
        let (cluster, _) = with_devices(8, mode);
        let other = cluster.application();
        let running = run_one_by_one(&cluster, other, &[need(1, 1_000, 8)]);
        cluster.handle.submit_ask(other, need(1, 1_000, 1_000)).unwrap();
        cluster.run();
        let gang =
            cluster.submit(GangSpec::new(cluster.application()).with_role("worker", need(8, 1_000, 1)));
        cluster.run();
        for (number, container) in running.into_iter().enumerate() {
            assert!(!has_started(&cluster.events(), gang.gang), "after {number} ends");
            cluster.complete([container]);
        }
        assert!(has_started(&cluster.events(), gang.gang), "{mode:?}");
        assert_eq!(cluster.running(other), 0);
    }
}

/// The room is held for the master first, and then for the workers. In this order of the need, the master would take
/// what the second worker needs.
#[test]
fn a_gang_that_holds_all_devices_starts() {
    let (cluster, _) = with_devices(2, Mode::Serial);
    let other = cluster.application();
    let fractions = [need(1, 400, 1), need(1, 600, 1), need(1, 600, 1)];
    let running = run_one_by_one(&cluster, other, &fractions);
    cluster.handle.submit_ask(other, need(1, 1_000, 100)).unwrap();
    let gang = GangSpec::new(cluster.application())
        .with_role("master", need(1, 400, 1))
        .with_role("worker", need(1, 600, 2));
    let gang = cluster.submit(gang);
    cluster.run();
    cluster.complete([running[2]]);
    cluster.complete([running[1]]);
    let view = cluster.engine.read(|view| view.gang(gang.gang));
    assert!(has_started(&cluster.events(), gang.gang), "{view:?}");
}
