use std::sync::Arc;

use super::pass::PassLimits;
use super::queue_walk::QueueWalk;
use super::scope::PassScope;
use super::scratch::{Head, LaneCursor, LeafCursor, Scratch, Threshold};
use crate::backlog::{Lane, OrderKey, PendingAsk};
use crate::change::{ApplicationSpec, AskSpec, NodeSpec};
use crate::clock::ManualClock;
use crate::config::{Capacity, EngineConfig, Percent, QueueConfig};
use crate::engine::{Engine, Mode};
use crate::facts::LeafUse;
use crate::ids::{ApplicationId, AskId, LaneId, PartitionId, QueueId, SetId, SlotId};
use crate::resource::{ResourceTypes, Resources};
use crate::state::State;

const LEAF: QueueId = QueueId(1);

/// A full node whose users have these containers, and each user's ask for one more of `size`. Returns the state and the
/// applications of the users.
fn full(used: &[[i64; 2]], size: [i64; 2]) -> (State, Vec<ApplicationId>) {
    let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)));
    let leaf = leaf.with_user_limit_factor(None).with_user_limit_minimum(Percent::whole(10));
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
    config.reservations.delay_ms = None;
    let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    let handle = engine.handle();
    let all = used.iter().fold(Resources::ZERO, |all, used| all + Resources::new(used));
    handle.add_node(NodeSpec::new("full", all)).unwrap();
    let idle = handle.add_node(NodeSpec::new("idle", Resources::new(&[1_000, 1_000]))).unwrap();
    handle.drain_node(idle).unwrap();
    let events = handle.event_stream(1 << 10);
    let mut applications = Vec::new();
    for (number, used) in used.iter().enumerate() {
        let spec = ApplicationSpec::new("application", "root.a", format!("user{number}"));
        applications.push(handle.submit_application(spec, &events).unwrap());
        handle.submit_ask(applications[number], AskSpec::new(Resources::new(used), 1)).unwrap();
        engine.run_until_quiet();
    }
    for application in &applications {
        handle.submit_ask(*application, AskSpec::new(Resources::new(&size), 1)).unwrap();
    }
    engine.run_until_quiet();
    let state = engine.shared_state();
    assert_eq!((state.facts.containers.len(), state.facts.asks.len()), (used.len(), used.len()));
    (state, applications)
}

fn lane_of(state: &State, application: ApplicationId) -> &Lane {
    let slot = application.index() as u32;
    let lane = (0..).map(LaneId).find(|lane| state.backlog.asks_in(slot, *lane).is_some());
    state.backlog.lane(lane.unwrap())
}

/// The threshold for the first user, and the exact one, found by trying each amount of its type.
fn threshold(used: &[[i64; 2]], size: [i64; 2]) -> (Threshold, i64) {
    let (state, applications) = full(used, size);
    let limits = PassLimits { requests: 1, visits: 1, scope: PassScope::default(), is_single_step: false };
    let mut scratch = Scratch::default();
    let set = SetId::new(PartitionId::DEFAULT, 0);
    let mut walk = QueueWalk::start(&state, &mut scratch, set, &limits);
    walk.visit(LEAF);
    let lane = lane_of(&state, applications[0]);
    let found = walk.share_suffices_at(lane);
    let (now, size) = (walk.leaf_use(LEAF), Resources::new(&size));
    let suffices = |more: &i64| {
        let mut given = Resources::ZERO;
        given.set(found.resource, *more);
        let then = || LeafUse { all: now.all + given, active: now.active + given, ..now };
        let limit = state.facts.tree.user_limit(lane.user, walk.share, &size, then);
        limit[found.resource] >= used[0][found.resource] + size[found.resource]
    };
    (found, now.all[found.resource] + (0..).find(suffices).unwrap())
}

#[test]
fn a_lane_is_held_until_its_share_suffices_or_for_less_than_one_container_less() {
    for greed in 5..=40 {
        for (size, others) in [(1, 2), (1, 5), (2, 1), (3, 7), (4, 3), (5, 3)] {
            let used = [[greed, greed], [others, others], [1, 1]];
            let (found, exact) = threshold(&used, [size, 1]);
            let held = exact - size < found.level && found.level <= exact;
            assert!(found.resource == 0 && held, "{used:?}, {size}: {found:?}, by trying {exact}");
        }
    }
}

/// The use of memory is equal, so each user's limit admits the memory that it wants.
#[test]
fn a_lane_is_held_by_the_type_that_is_above_the_share() {
    let (found, exact) = threshold(&[[2, 9], [2, 1], [2, 1]], [1, 1]);
    assert_eq!((found.resource, found.level), (1, exact));
}

fn head(number: u64, lane: u32) -> Head {
    let ask = AskId::new(number as u32, 0);
    let pending = PendingAsk { priority: 0, number, ask, is_single: true };
    Head {
        key: OrderKey::for_test(number),
        pending,
        slot: number as u32,
        lane,
        at: 0,
        next_is_unopened: false,
        has_more: false,
    }
}

/// One lane whose heads of applications 1 and 2 are held until `level`, and one whose heads are not.
fn held_and_not(level: i64) -> LeafCursor {
    let (mut cursor, until) = (LeafCursor::default(), Threshold { resource: 0, level });
    for lane in [0, 1] {
        let held_until = (lane == 0).then_some(until);
        cursor.lanes.push(LaneCursor { head_count: 2, held_until, ..LaneCursor::new(LaneId(lane)) });
        for number in [1, 2] {
            cursor.heads.push(head(number, lane));
            held_until.into_iter().for_each(|until| cursor.hold(until));
        }
    }
    cursor
}

fn places<'a>(heads: impl Iterator<Item = &'a Head>) -> Vec<(u32, u32)> {
    let mut places: Vec<_> = heads.map(|head| (head.slot, head.lane)).collect();
    places.sort_unstable();
    places
}

#[test]
fn an_application_takes_its_held_heads_along_and_leaves_those_of_others() {
    let mut cursor = held_and_not(5);
    let taken = cursor.take_heads_of(1);
    assert_eq!(places(taken.iter()), [(1, 0), (1, 1)]);
    assert!(cursor.lanes.iter().all(|lane| lane.head_count == 1), "{:?}", cursor.lanes);
    cursor.release_all_held();
    assert_eq!(places(cursor.heads.as_slice().iter()), [(2, 0), (2, 1)]);
}

#[test]
fn held_heads_come_back_when_the_use_reaches_their_threshold() {
    let mut cursor = held_and_not(5);
    cursor.release_held(&Resources::new(&[4]));
    assert_eq!((cursor.heads.as_slice().len(), cursor.lanes[0].held_until.is_some()), (2, true));
    cursor.release_held(&Resources::new(&[5]));
    assert_eq!((cursor.heads.as_slice().len(), cursor.lanes[0].held_until.is_some()), (4, false));
}

/// A reconfiguration may make a leaf of a parent. A scratch outlives it.
#[test]
fn a_leaf_keeps_no_children_from_a_pass_in_which_it_was_a_parent() {
    let (state, _) = full(&[[1, 1]], [1, 1]);
    let limits = PassLimits { requests: 1, visits: 1, scope: PassScope::default(), is_single_step: false };
    let mut scratch = Scratch::default();
    let mut walk = QueueWalk::start(&state, &mut scratch, SetId::new(PartitionId::DEFAULT, 0), &limits);
    let child = walk.key(LEAF, &Resources::ZERO, 0);
    walk.scratch.queues[LEAF.index()].children.push(child);
    walk.visit(LEAF);
    assert!(walk.scratch.queues[LEAF.index()].children.is_empty());
}
