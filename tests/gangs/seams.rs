//! Faults between features that a random load of all of them found.

use apportion::config::Percent;
use apportion::event::EventKind;
use apportion::gang::GangSpec;
use apportion::{EndCause, NodeAttributes};

use crate::{Cluster, amount, ask, plain};

/// Between the placeholder's end and the real container's start, the node had room for the ask that reserved it. The
/// reservation stayed listed as ready, so that passes proposed its container for ever.
#[test]
fn a_reservation_is_not_ready_after_a_placeholder_was_replaced() {
    let mut config = plain();
    config.reservations.delay_ms = Some(0);
    config.reservations.nodes = Percent::ALL;
    let cluster = Cluster::new(config, apportion::Mode::Serial);
    let node = cluster.nodes(1, 4)[0];
    // Nodes too small for the asks of 2. They raise the limits.
    cluster.nodes(2, 1);
    let [job, other] = [cluster.application(), cluster.application()];
    cluster.submit(GangSpec::new(job).with_placeholders("worker", ask(2, 1), 1));
    cluster.run();
    cluster.handle.submit_ask(other, ask(2, 2)).unwrap();
    cluster.run();
    assert!(cluster.engine.read(|view| view.node(node).unwrap().is_reserved()));
    cluster.handle.submit_ask_of_group(job, "worker", ask(2, 1)).unwrap();
    cluster.engine.commit_waiting().unwrap();
    let is_replaced =
        |event: &EventKind| matches!(event, EventKind::ContainerEnded { cause: EndCause::Replaced, .. });
    assert!(cluster.events().iter().any(is_replaced));
    let report = cluster.engine.audit();
    assert!(report.is_clean(), "{report}");
    cluster.run();
}

/// An embedder may send the same update of a node repeatedly.
#[test]
fn a_node_that_is_updated_without_a_change_keeps_the_room_of_a_gang() {
    let cluster = Cluster::new(plain(), apportion::Mode::Serial);
    let node = cluster.nodes(1, 4)[0];
    cluster.handle.submit_ask(cluster.application(), ask(1, 4)).unwrap();
    cluster.run();
    let gang = cluster.submit(GangSpec::new(cluster.application()).with_role("worker", ask(1, 4)));
    cluster.run();
    let container = cluster.engine.read(|view| view.node(node).unwrap().containers()[0]);
    cluster.complete([container]);
    let held = || cluster.engine.read(|view| view.gang(gang.gang).unwrap().held());
    assert_eq!(held(), 1);
    cluster.handle.update_node(node, amount(4), NodeAttributes::new()).unwrap();
    cluster.engine.commit_waiting().unwrap();
    assert_eq!(held(), 1);
}
