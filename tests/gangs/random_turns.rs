//! Random gangs beside containers that never end.

use apportion::view::GangView;
use apportion::{GangId, Mode};
use proptest::prelude::*;

use crate::property::{check_log, mode};
use crate::recorded::assert_decides_as_recorded;
use crate::turns::{Busy, LIMIT_MS};

/// The units of a node, the units of a container that never ends, and whether it is in the second partition.
type SomeNode = (i64, i64, bool);

/// The size and number of a role's members, and whether they want the second partition.
type SomeRole = (i64, u32, bool);

fn nodes() -> impl Strategy<Value = Vec<SomeNode>> {
    let node =
        (1..5i64, 0..5i64, any::<bool>()).prop_map(|(units, used, in_q)| (units, used.min(units), in_q));
    prop::collection::vec(node, 1..6)
}

fn gangs() -> impl Strategy<Value = Vec<Vec<SomeRole>>> {
    prop::collection::vec(prop::collection::vec((1..4i64, 1u32..5, any::<bool>()), 1..3), 1..5)
}

/// Submits gangs, of which the first `late` ones may not use any node until the others have their turns. Completes
/// containers until each gang has started that fits beside those that never end. Returns the log.
fn fitting_gangs_start(mode: Mode, nodes: &[SomeNode], gangs: &[Vec<SomeRole>], late: usize) -> Vec<u8> {
    let mut busy = Busy::new(mode, nodes);
    let most = |size: i64, in_q: bool| -> i64 {
        nodes.iter().filter(|node| node.2 == in_q).map(|node| (node.0 - node.1) / size).sum()
    };
    let (mut fitting, mut jobs) = (Vec::new(), Vec::new());
    for roles in gangs {
        // One role in a partition, so that it is clear what fits.
        let mut roles = roles.clone();
        roles.sort_by_key(|role| role.2);
        roles.dedup_by_key(|role| role.2);
        let job = busy.cluster.application();
        let gang = busy.gang(job, &roles);
        if jobs.len() < late {
            busy.cluster.run();
            busy.shun_all(job, true);
        }
        jobs.push(job);
        if roles.iter().all(|&(size, count, in_q)| i64::from(count) <= most(size, in_q)) {
            fitting.push(gang);
        }
    }
    busy.cluster.run();
    if late > 0 {
        // They wait for the turns of the others.
        busy.end_all();
        jobs.iter().take(late).for_each(|job| busy.shun_all(*job, false));
    }
    let waiting = |busy: &Busy| fitting.iter().filter_map(|gang| busy.view(*gang)).collect::<Vec<GangView>>();
    let mut steps = 0;
    while !waiting(&busy).is_empty() {
        assert!(steps < 40 * gangs.len(), "{:?}", waiting(&busy));
        busy.end_all();
        busy.pass(LIMIT_MS);
        steps += 1;
    }
    busy.cluster.log.bytes()
}

/// Submits gangs and lets some turns pass. Then completes all containers, four times for each gang. No gang holds room
/// after that. Returns the log.
fn gathering_ends(mode: Mode, nodes: &[SomeNode], gangs: &[Vec<SomeRole>], steps: usize) -> Vec<u8> {
    let mut busy = Busy::new(mode, nodes);
    for roles in gangs {
        busy.gang(busy.cluster.application(), roles);
    }
    for _ in 0..steps {
        busy.end_all();
        busy.pass(LIMIT_MS);
    }
    busy.endless.clear();
    for _ in 0..4 * gangs.len() {
        busy.end_all();
    }
    assert_eq!(busy.gathering_gangs(), Vec::<GangId>::new());
    busy.cluster.log.bytes()
}

#[test]
fn turns_are_decided_as_recorded() {
    assert_decides_as_recorded(
        "fitting_gangs",
        (nodes(), gangs(), 0..3usize),
        200,
        |(nodes, gangs, late)| fitting_gangs_start(Mode::Serial, nodes, gangs, *late),
    );
}

#[test]
fn the_end_of_gathering_is_decided_as_recorded() {
    assert_decides_as_recorded("all_gangs", (nodes(), gangs(), 0..12usize), 200, |(nodes, gangs, steps)| {
        gathering_ends(Mode::Serial, nodes, gangs, *steps)
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Each gang that fits beside the containers that never end starts, even behind gangs that never start. Nodes that
    /// never have the whole room of a member may look better to it: each such node costs it at most one turn.
    #[test]
    fn every_gang_that_fits_beside_endless_containers_starts_in_time(
        mode in mode(),
        nodes in nodes(),
        gangs in gangs(),
        late in 0..3usize,
    ) {
        drop(check_log(&fitting_gangs_start(mode, &nodes, &gangs, late)));
    }

    /// Once the containers have ended that ran for ever, too, no gang holds room: it has started, or could not.
    #[test]
    fn no_gang_holds_room_in_the_end(
        mode in mode(),
        nodes in nodes(),
        gangs in gangs(),
        steps in 0..12usize,
    ) {
        drop(check_log(&gathering_ends(mode, &nodes, &gangs, steps)));
    }
}
