//! Saves while containers are being released, and after the service was told to stop (seed, "Teardown").

use apportion_placement::{Callback, ContainerExit, ContainerRef, HistoryFile, ServiceEvent};

use crate::support::{Bed, Cluster, Manager, component, host, named, on_both, requests};

/// Four instances on four hosts.
fn four<M: Manager>() -> Bed<M> {
    let mut bed = Cluster::<M>::of(4, 1).start(vec![component(0, 4)], None);
    bed.run_until_idle();
    bed
}

fn deliver_end<M: Manager>(bed: &mut Bed<M>, container: ContainerRef) {
    let exit = ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER);
    let ended = Callback::Completed(vec![(container, exit)]);
    bed.service.handle(ServiceEvent::Callback(ended), bed.now_ms);
}

/// The hosts that the next start requests.
fn asked_back<M: Manager>(file: &HistoryFile) -> Vec<String> {
    let cluster =
        (0..4).fold(Cluster::<M>::of(0, 0), |cluster, number| cluster.with_node(&host(number), "", "", 1));
    let mut bed = cluster.start(vec![component(0, 0)], Some(file));
    let calls = bed.flex(0, 4);
    let mut hosts: Vec<String> = requests(&calls).into_iter().flat_map(named).map(str::to_owned).collect();
    hosts.sort();
    hosts
}

fn active(file: &HistoryFile) -> usize {
    file.entries.iter().filter(|entry| entry.is_active).count()
}

on_both!(a_save_keeps_hosts_whose_containers_are_being_released);
/// D28: `active` means that an instance runs there, releasing or not.
fn a_save_keeps_hosts_whose_containers_are_being_released<M: Manager>() {
    for ends_reported in 0..=3 {
        let mut bed = four::<M>();
        let containers: Vec<ContainerRef> = bed.containers(0).iter().map(|found| found.container).collect();
        bed.at(1_000);
        bed.flex(0, 0);
        for container in containers.iter().take(ends_reported) {
            deliver_end(&mut bed, *container);
        }
        let file = bed.service.take_history(2_000).unwrap_or_else(|| panic!("nothing to save"));
        assert_eq!(active(&file), 4 - ends_reported, "{ends_reported} ends reported");
        assert_eq!(asked_back::<M>(&file).len(), 4, "{ends_reported} ends reported");
    }
}

on_both!(a_container_that_never_ran_is_not_kept_while_it_is_released);
fn a_container_that_never_ran_is_not_kept_while_it_is_released<M: Manager>() {
    let mut bed = Cluster::<M>::of(1, 1).starting_by_hand().start(vec![component(0, 1)], None);
    bed.run_until_idle();
    bed.flex(0, 0);
    assert_eq!(bed.service.state().image(2_000).entries, []);
}

on_both!(a_teardown_is_not_saved);
/// D32: the last save holds the state before the stop. Containers that end afterwards change nothing.
fn a_teardown_is_not_saved<M: Manager>() {
    for is_saved_before in [true, false] {
        let mut bed = four::<M>();
        bed.at(1_000);
        let before = is_saved_before.then(|| bed.service.take_history(1_000)).flatten();
        assert_eq!(before.is_some(), is_saved_before);
        bed.at(2_000);
        let containers: Vec<ContainerRef> = bed.containers(0).iter().map(|found| found.container).collect();
        bed.service.stop(2_000);
        bed.now_ms = 3_000;
        deliver_end(&mut bed, containers[0]);
        let after = bed.service.take_history(3_000);
        match &after {
            None => assert!(is_saved_before, "changes from before the stop are lost"),
            Some(file) => {
                assert!(!is_saved_before, "nothing had changed before the stop");
                assert_eq!((file.saved_ms, active(file)), (2_000, 4));
            }
        }
        bed.run_until_idle();
        assert_eq!(bed.service.state().container_count(), 0);
        assert_eq!(bed.service.take_history(4_000), None);
        let file = before.or(after).unwrap_or_else(|| panic!("nothing was saved"));
        assert_eq!(asked_back::<M>(&file).len(), 4);
    }
}
