//! The history over stops and restarts.

use std::error::Error;
use std::sync::Arc;

use apportion_placement::{
    ComponentSpec, DirectoryStore, FakeCluster, HistoryEntry, HistoryFile, HistorySaver, PlacementPolicy,
    load_newest,
};

use crate::support::{Cluster, Manager, component, host, named, on_both, requests, roles};

fn entry(host: &str, role: u32, is_active: bool, last_used_ms: u64) -> HistoryEntry {
    HistoryEntry { host: host.into(), role, is_active, last_used_ms }
}

/// Slider's fixture: hosts, components and times of use.
fn recents() -> HistoryFile {
    let entries = vec![
        entry("a2", 0, false, 2),
        entry("a3", 0, false, 3),
        entry("a1", 2, false, 9),
        entry("a3", 1, false, 1),
    ];
    HistoryFile { saved_ms: 100, roles: 3, mapping: [].into(), entries }
}

fn hosts_of_recents<M: Manager>() -> Cluster<M> {
    ["a1", "a2", "a3", "a4"]
        .into_iter()
        .fold(Cluster::of(0, 0), |cluster, host| cluster.with_node(host, "", "", 8))
}

on_both!(the_host_used_last_is_asked_for_first);
/// S3: with equal times, the first host by name (D25).
fn the_host_used_last_is_asked_for_first<M: Manager>() {
    let mut bed = hosts_of_recents::<M>().start(roles([0, 0, 0]), Some(&recents()));
    let asked: Vec<Vec<String>> = [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1)]
        .map(|(id, desired)| {
            let calls = bed.flex(id, desired);
            named(requests(&calls)[0]).into_iter().map(str::to_owned).collect()
        })
        .into();
    assert_eq!(asked, [vec!["a3"], vec!["a2"], vec![], vec!["a3"], vec![]]);
}

on_both!(hosts_active_at_the_save_count_as_used_until_then);
/// F17. Entries older than the limit are forgotten (D4).
fn hosts_active_at_the_save_count_as_used_until_then<M: Manager>() {
    let entries = vec![
        entry("a1", 0, true, 0),
        entry("a2", 0, false, 99),
        entry("a3", 0, false, 98),
        entry("a4", 0, false, 3),
    ];
    let file = HistoryFile { saved_ms: 100, roles: 1, mapping: [].into(), entries };
    let cluster = hosts_of_recents::<M>().with_settings(|settings| settings.history_age_max_ms = Some(2));
    let mut bed = cluster.start(vec![component(0, 0)], Some(&file));
    let report = bed.service.thawed().copied().unwrap_or_default();
    assert_eq!((report.restored, report.too_old, report.discarded), (3, 1, 0));
    let calls = bed.flex(0, 4);
    let asked: Vec<_> = requests(&calls).into_iter().map(named).collect();
    assert_eq!(asked, [vec!["a1"], vec!["a2"], vec!["a3"], vec![]]);
}

on_both!(the_service_looks_for_old_hosts_every_eighth_of_their_age_limit);
/// It looks at 650 and again at 730. From 721 on, the host is too old.
fn the_service_looks_for_old_hosts_every_eighth_of_their_age_limit<M: Manager>() {
    let cluster = Cluster::<M>::of(1, 1).with_settings(|settings| settings.history_age_max_ms = Some(640));
    let mut bed = cluster.start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.at(80);
    bed.flex(0, 0);
    bed.run_until_idle();
    bed.manager().lose_node(&host(0));
    bed.run_until_idle();
    let is_known = [650, 729, 730].map(|now_ms| {
        bed.at(now_ms);
        bed.service.state().knows_host(&host(0))
    });
    assert_eq!(is_known, [true, true, false]);
}

on_both!(components_are_known_by_name_when_their_numbers_change);
/// D5: a renumbered component keeps its hosts and does not get those of another component.
fn components_are_known_by_name_when_their_numbers_change<M: Manager>() {
    let mapping = [("role1".to_owned(), 7), ("gone".to_owned(), 2)].into();
    let entries = vec![entry("a1", 7, true, 0), entry("a2", 2, true, 0)];
    let file = HistoryFile { saved_ms: 100, roles: 2, mapping, entries };
    let mut bed = hosts_of_recents::<M>().start(vec![component(1, 0), component(2, 0)], Some(&file));
    let report = bed.service.thawed().copied().unwrap_or_default();
    assert_eq!((report.restored, report.remapped, report.discarded), (1, 1, 1));
    assert_eq!(named(requests(&bed.flex(1, 1))[0]), ["a1"]);
    assert_eq!(named(requests(&bed.flex(2, 1))[0]), [""; 0]);
}

on_both!(a_service_that_stops_and_starts_is_where_it_was);
/// The purpose of the history, with gaps between component numbers (D6).
fn a_service_that_stops_and_starts_is_where_it_was<M: Manager>() {
    let components = vec![
        ComponentSpec { policy: PlacementPolicy::AntiAffinity, ..component(3, 2) },
        component(40, 3),
        ComponentSpec { policy: PlacementPolicy::Strict, ..component(500, 2) },
    ];
    let mut bed = Cluster::<M>::of(9, 1).start(components, None);
    bed.run_until_idle();
    let was = [bed.hosts(40), bed.hosts(500)];
    bed.at(1_000_000);
    let mut bed = bed.restart();
    bed.run_until_idle();
    assert_eq!([bed.hosts(40), bed.hosts(500)], was);
    assert_eq!(bed.status(3).live, 2);
}

on_both!(only_hosts_that_were_used_are_kept);
/// D19: a host that was only requested is not worth an entry.
fn only_hosts_that_were_used_are_kept<M: Manager>() {
    let apart = component(0, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(3, 3).one_by_one().start(vec![apart], None);
    bed.run_until_idle();
    let kept = bed.service.take_history(5).map(|file| file.entries.len());
    assert_eq!(kept, Some(1));
    assert_eq!(bed.service.take_history(5), None, "nothing has changed since");
}

on_both!(containers_run_on_while_the_master_is_away);
/// S37: the hosts of running containers are busy, and count as used until now (D7).
fn containers_run_on_while_the_master_is_away<M: Manager>() {
    let mut bed = Cluster::<M>::of(4, 8).start(roles([1, 2, 3]), None);
    bed.run_until_idle();
    let before: Vec<_> = [0, 1, 2].map(|id| bed.hosts(id)).into();
    let mut bed = bed.restart_master();
    assert_eq!(bed.run_until_idle(), []);
    let after: Vec<_> = [0, 1, 2].map(|id| bed.hosts(id)).into();
    assert_eq!(after, before);
    for (id, live) in [(0, 1), (1, 2), (2, 3)] {
        let status = bed.status(id);
        assert_eq!((status.live, status.starting, status.counters.started), (live, 0, u64::from(live)));
    }
    assert_eq!(bed.service.status(1).containers_at_restart, Some(6));
    bed.flex(0, 0);
    bed.run_until_idle();
    let calls = bed.flex(0, 2);
    let asked: Vec<usize> = requests(&calls).into_iter().map(|request| request.hosts.len()).collect();
    assert_eq!(asked, [1, 0], "the host is asked for once");
}

on_both!(instances_that_keep_apart_do_so_beyond_a_restart_of_the_master);
/// S37, the anti-affine half: missing instances are requested one by one.
fn instances_that_keep_apart_do_so_beyond_a_restart_of_the_master<M: Manager>() {
    let apart = component(2, 1).with_policy(PlacementPolicy::AntiAffinity);
    let mut bed = Cluster::<M>::of(4, 8).one_by_one().start(vec![apart], None);
    bed.run_until_idle();
    bed.flex(2, 3);
    let mut bed = bed.restart_master();
    assert_eq!((bed.status(2).live, bed.status(2).requested, bed.status(2).pending_anti_affine), (1, 1, 1));
    bed.run_until_idle();
    let mut hosts = bed.hosts(2);
    hosts.dedup();
    assert_eq!(hosts.len(), 3);
}

on_both!(requests_of_a_master_that_is_gone_answer_nothing_twice);
/// Requests from before the restart are withdrawn and sent again.
fn requests_of_a_master_that_is_gone_answer_nothing_twice<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).start(vec![component(0, 3)], None);
    bed.run_until_idle();
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    assert_eq!((bed.status(0).live, bed.status(0).requested), (1, 2));
    bed.manager().add_node(&host(5), "", "", 9);
    bed.run_until_idle();
    assert_eq!((bed.status(0).live, bed.status(0).requested, bed.status(0).counters.surplus), (3, 0, 0));
}

on_both!(containers_of_components_that_are_no_more_are_given_back);
fn containers_of_components_that_are_no_more_are_given_back<M: Manager>() {
    let mut bed = Cluster::<M>::of(2, 2).start(vec![component(0, 1), component(1, 1)], None);
    bed.run_until_idle();
    bed.forget(1);
    let gone = bed.only(1).container;
    let mut bed = bed.restart_master();
    bed.run_until_idle();
    assert_eq!(bed.status(0).live, 1);
    assert_eq!(bed.service.state().container_count(), 1);
    assert_eq!(bed.state_of(gone), None);
}

/// With files: each change is saved as soon as no other save runs, and the files are read at the next start.
#[test]
fn a_service_comes_back_through_its_files() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(DirectoryStore::new(folder.path().join("history")));
    let mut bed = Cluster::<FakeCluster>::of(5, 1).start(vec![component(1, 3)], None);
    let saver = HistorySaver::start(store.clone(), HistorySaver::KEEP)?;
    bed.run_until_idle();
    bed.service.save_with(&saver, 1_000);
    saver.stop()?;
    let loaded = load_newest(store.as_ref()).loaded.ok_or("a history")?.history;
    assert_eq!(loaded.file.saved_ms, 1_000);

    let cluster = Cluster::<FakeCluster>::of(5, 1);
    let mut again = cluster.start(vec![component(1, 3)], Some(&loaded.file));
    again.run_until_idle();
    assert_eq!(again.hosts(1), bed.hosts(1));
    assert!(again.containers(1).iter().all(|c| c.outcome == apportion_placement::AllocationOutcome::Placed));
    Ok(())
}
