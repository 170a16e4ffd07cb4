//! Hosts of the history that have not yet registered when the service starts.

use apportion_placement::{
    ComponentSpec, HistoryEntry, HistoryFile, OutstandingCause, OutstandingStatus, PlacementPolicy,
};

use crate::support::{Bed, Cluster, Manager, component, host, on_both};

/// A history with instances on these hosts.
fn history(hosts: &[&str]) -> HistoryFile {
    let entry =
        |host: &&str| HistoryEntry { host: (*host).into(), role: 0, is_active: true, last_used_ms: 1 };
    HistoryFile { saved_ms: 100, roles: 1, mapping: [].into(), entries: hosts.iter().map(entry).collect() }
}

fn waiting<M: Manager>(bed: &Bed<M>) -> Vec<OutstandingStatus> {
    bed.service.status(bed.now_ms).outstanding
}

on_both!(a_host_that_has_not_registered_is_waited_for);
/// The request waits for the policy's time, then takes any other host.
fn a_host_that_has_not_registered_is_waited_for<M: Manager>() {
    let cluster = Cluster::<M>::of(1, 8);
    let mut bed = cluster.start(vec![component(0, 2)], Some(&history(&["early", "late"])));
    bed.run_until_idle();
    assert_eq!((bed.hosts(0).len(), bed.status(0).requested), (0, 2), "{:?}", bed.hosts(0));
    for waits in waiting(&bed) {
        assert_eq!((waits.cause, waits.widens_at_ms), (OutstandingCause::WaitsForHost, Some(30_001)));
        assert!(waits.explanation.contains("has not registered"), "{waits:?}");
    }
    bed.at(10_000);
    bed.manager().add_node("early", "", "", 8);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), ["early"]);
    bed.at(30_001);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), ["early"]);
    bed.at(30_002);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), [host(0), "early".to_owned()]);
}

on_both!(an_unregistered_host_is_waited_for_once);
/// The next desired instance goes elsewhere at once, as long as the host has not registered.
fn an_unregistered_host_is_waited_for_once<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 1).start(vec![component(0, 1)], Some(&history(&["late"])));
    bed.at(30_002);
    bed.run_until_idle();
    bed.flex(0, 2);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), [host(0), host(1)]);
    bed.manager().add_node("late", "", "", 1);
    bed.run_until_idle();
    bed.flex(0, 3);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), [host(0), host(1), "late".to_owned()]);
}

on_both!(a_strict_component_waits_for_as_long_as_it_takes);
fn a_strict_component_waits_for_as_long_as_it_takes<M: Manager>() {
    let strict = ComponentSpec { policy: PlacementPolicy::Strict, ..component(0, 1) };
    let mut bed = Cluster::<M>::of(1, 1).start(vec![strict], Some(&history(&["late"])));
    for now_ms in [1_000, 31_000, 3_600_000] {
        bed.at(now_ms);
        bed.run_until_idle();
        assert_eq!(bed.hosts(0).len(), 0);
    }
    bed.manager().add_node("late", "", "", 1);
    bed.run_until_idle();
    assert_eq!(bed.hosts(0), ["late"]);
}
