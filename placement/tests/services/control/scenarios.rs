//! Scenarios of `samza.md` section 3 without an action.

use apportion_placement::{Callback, ContainerExit, ContainerRef, FakeCluster};

use super::bed::{JobBed, job_of, with_standbys};
use super::one::cluster;
use crate::support::{Manager, on_both};

on_both!(without_a_history_any_host_will_do);
/// P12: four processors without known former hosts.
fn without_a_history_any_host_will_do<M: Manager>() {
    let mut bed = JobBed::start(job_of(4), M::new());
    bed.run_until_idle();
    let waiting = bed.job.service().status(bed.now_ms).outstanding;
    assert_eq!(waiting.len(), 4);
    assert!(waiting.iter().all(|waits| waits.hosts.is_empty()), "{waiting:?}");
}

on_both!(a_request_for_any_host_has_no_deadline);
/// The request waits without limit, and is not sent again.
fn a_request_for_any_host_has_no_deadline<M: Manager>() {
    let mut bed = JobBed::start(job_of(4), M::new());
    bed.at(3_600_000);
    bed.run_until_idle();
    let asked = |bed: &JobBed<M>| -> u64 {
        let components = bed.job.service().state().components();
        components.map(|component| component.counters.requested + component.counters.widened).sum()
    };
    assert_eq!(asked(&bed), 4);
    bed.manager().add_node("late", "", "", 4);
    bed.run_until_idle();
    assert_eq!((bed.job.status().below_configured, asked(&bed)), (0, 4));
}

/// P19: the end of an unknown container, and a repeated end of one that was replaced.
#[test]
fn repeated_and_unknown_callbacks_change_nothing() {
    let mut bed = JobBed::start(job_of(2), cluster::<FakeCluster>(2, 2));
    let first = bed.status("0").container.unwrap_or_else(|| panic!("0 has a container"));
    bed.end("0", 1);
    bed.run_until_idle();
    let (before, moves) = (bed.job.status(), bed.job.service().status(bed.now_ms).components);
    for container in [first, ContainerRef(4_711)] {
        let ended = vec![(container, ContainerExit::of(1))];
        bed.manager().report(Callback::Completed(ended));
        bed.run_until_idle();
    }
    let after = (bed.job.status(), bed.job.service().status(bed.now_ms).components);
    assert_eq!(after, (before, moves), "no request, no failure");
}

on_both!(each_container_is_apart_from_all_others_of_its_processor);
/// P20: the peers of each container are exactly the other containers of its processor, for several numbers of
/// processors and standbys.
fn each_container_is_apart_from_all_others_of_its_processor<M: Manager>() {
    for (processors, standbys) in [(1, 3), (3, 1), (3, 2)] {
        let mut bed = JobBed::start(with_standbys(job_of(processors), standbys), cluster::<M>(4, 12));
        bed.run_until_idle();
        let status = bed.job.status();
        assert_eq!(
            (status.configured as usize, status.below_configured),
            (processors * (standbys as usize + 1), 0)
        );
        for known in &status.processors {
            let of_its_own = |other: &&apportion_placement::control::ProcessorStatus| {
                other.processor.active() == known.processor.active()
            };
            let hosts: std::collections::BTreeSet<_> =
                status.processors.iter().filter(of_its_own).map(|other| other.host.clone()).collect();
            assert_eq!(hosts.len(), standbys as usize + 1, "{known:?}");
        }
    }
}
