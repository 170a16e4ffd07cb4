//! Waits for an amount to fall: the lanes that are parked, each at one limit, and the sets that are paused.
//!
//! One rule governs parking and waking. A pass that saw state version `seen` parks a lane only if neither the lane nor
//! the limit was woken in a later version. An event that could help wakes them in the critical section in which it
//! happens, so no wake-up is lost (I13).
//!
//! A limit keeps its stamp while no lane is parked at it, because a pass that will park a lane there may be under way.
//! The lane's own stamp counts for every limit, because slots are reused. A report about the former lane in the slot
//! must not park its successor.
//!
//! Waits for room on a node work differently, since nearly every group brings room to some node of a set. See
//! `demand.rs` (shapes) and `locality.rs` (asks that name hosts or racks).

use crate::ids::{LaneId, LeafUserId, LimitUsageId, QueueId, SetId};

/// The limit or event that a parked lane waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitKey {
    /// Every outstanding unit is in flight or has a reserved node.
    AllInFlight,
    /// This queue (the leaf or an ancestor) would exceed its maximum.
    QueueLimit(QueueId),
    /// Earlier queues block the headroom of a queue above.
    BlockedHeadroom,
    /// A user or group would exceed its limit in a queue on the way up.
    LimitUsage(LimitUsageId),
    /// The user would exceed its own user limit.
    UserLimit(LeafUserId),
    /// The user would exceed its share of this leaf. The share moves with use and demand of every user of the leaf.
    UserShare(QueueId),
}

impl WaitKey {
    /// Whether the lane waits for a limit.
    pub(super) fn is_limit(self) -> bool {
        self != Self::AllInFlight
    }
}

/// Lanes parked at one limit.
#[derive(Clone, Debug, Default)]
struct Gate {
    /// The state version in which the limit last gave way.
    woken_at: u64,
    lanes: Vec<LaneId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct LaneWait {
    /// The state version in which units last came back to this lane, or new ones arrived.
    woken_at: u64,
    key: Option<WaitKey>,
    /// Its place in the list of its limit.
    place: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Waits {
    queues: Vec<Gate>,
    shares: Vec<Gate>,
    users: Vec<Gate>,
    limit_usages: Vec<Gate>,
    headroom: Gate,
    /// The state version in which all limits last changed, also those at which no lane was ever parked.
    all_woken_at: u64,
    lanes: Vec<LaneWait>,
    /// By partition: sets over which a pass would find nothing until something in flight is decided, one bit each.
    paused: Vec<u64>,
    /// The state version in which something in flight was last decided.
    decided_at: u64,
}

impl Waits {
    pub(super) fn new(partitions: usize) -> Self {
        Self {
            queues: Vec::new(),
            shares: Vec::new(),
            users: Vec::new(),
            limit_usages: Vec::new(),
            headroom: Gate::default(),
            all_woken_at: 0,
            lanes: Vec::new(),
            paused: vec![0; partitions],
            decided_at: 0,
        }
    }

    /// Makes room for a new lane, or for the successor of a lane without asks.
    pub(super) fn add_lane(&mut self, lane: LaneId) {
        *entry(&mut self.lanes, lane.index()) = LaneWait::default();
    }

    /// The limit or event that the lane waits for; `None` if it is not parked.
    pub(super) fn key_of(&self, lane: LaneId) -> Option<WaitKey> {
        self.lanes[lane.index()].key
    }

    /// Parks a lane that a pass at version `seen` found blocked. False if the lane waits already, or the lane or the
    /// limit was woken later.
    pub(super) fn park(&mut self, lane: LaneId, key: WaitKey, seen: u64) -> bool {
        let wait = self.lanes[lane.index()];
        if wait.key.is_some() || wait.woken_at > seen {
            return false;
        }
        let all_woken_at = self.all_woken_at;
        let place = match self.gate(key) {
            None => 0,
            Some(gate) if gate.woken_at.max(all_woken_at) > seen => return false,
            Some(gate) => {
                gate.lanes.push(lane);
                gate.lanes.len() - 1
            }
        };
        self.lanes[lane.index()] = LaneWait { key: Some(key), place: place as u32, ..wait };
        true
    }

    /// Stamps the key after its amount fell: passes that saw an older version park no lane there. Returns whether lanes
    /// are parked there, for [`pop`](Self::pop).
    #[inline]
    pub(super) fn stamp(&mut self, key: WaitKey, version: u64) -> bool {
        let Some(gate) = self.gate(key) else { return false };
        gate.woken_at = version;
        !gate.lanes.is_empty()
    }

    /// Stamps all limits at once. Returns the limits at which lanes are parked, except blocked headroom, which is
    /// stamped and woken at the end of each group.
    pub(super) fn stamp_all(&mut self, version: u64) -> Vec<WaitKey> {
        self.all_woken_at = version;
        let gates = [&self.queues, &self.shares, &self.users, &self.limit_usages];
        let first = gates.into_iter().flatten().filter_map(|gate| gate.lanes.first());
        first.filter_map(|lane| self.key_of(*lane)).collect()
    }

    /// Removes one lane from the list. One at a time: the counts of borrowed lanes depend on the lanes that are still
    /// parked.
    #[inline]
    pub(super) fn pop(&mut self, key: WaitKey) -> Option<LaneId> {
        let lane = self.gate(key)?.lanes.pop()?;
        self.lanes[lane.index()].key = None;
        Some(lane)
    }

    /// Stamps the lane after units came back or new ones arrived. Returns whether the lane waited for that.
    pub(super) fn renew(&mut self, lane: LaneId, version: u64) -> bool {
        let wait = &mut self.lanes[lane.index()];
        wait.woken_at = version;
        wait.key.take_if(|key| *key == WaitKey::AllInFlight).is_some()
    }

    /// Removes the lane from the list of its limit.
    pub(super) fn withdraw(&mut self, lane: LaneId) -> Option<WaitKey> {
        let wait = &mut self.lanes[lane.index()];
        let (key, place) = (wait.key.take()?, wait.place);
        if let Some(gate) = self.gate(key) {
            gate.lanes.swap_remove(place as usize);
            if let Some(moved) = gate.lanes.get(place as usize).copied() {
                self.lanes[moved.index()].place = place;
            }
        }
        Some(key)
    }

    /// Whether the limit behind the key was woken in this version.
    #[inline]
    pub(super) fn is_stamped(&mut self, key: WaitKey, version: u64) -> bool {
        self.gate(key).is_some_and(|gate| gate.woken_at == version)
    }

    pub(super) fn is_any_parked(&mut self, key: WaitKey) -> bool {
        self.gate(key).is_some_and(|gate| !gate.lanes.is_empty())
    }

    /// Pauses the set after a pass at version `seen` proposed nothing because of units and amounts in flight. A further
    /// pass would only poll. If some of these were decided since, the set is not paused.
    pub(super) fn pause(&mut self, set: SetId, seen: u64) {
        if self.decided_at <= seen {
            self.paused[set.partition().index()] |= set.bit();
        }
    }

    /// Resumes the paused sets after a decision about units or amounts in flight.
    pub(super) fn resume_sets(&mut self, version: u64) {
        self.decided_at = version;
        self.paused.fill(0);
    }

    pub(super) fn is_any_paused(&self) -> bool {
        self.paused.iter().any(|sets| *sets != 0)
    }

    /// Every lane that waits.
    pub(super) fn parked(&self) -> impl Iterator<Item = (LaneId, WaitKey)> {
        let all = self.lanes.iter().enumerate();
        all.filter_map(|(index, wait)| Some((LaneId(index as u32), wait.key?)))
    }

    pub(super) fn is_paused(&self, set: SetId) -> bool {
        self.paused[set.partition().index()] & set.bit() != 0
    }

    /// Mistakes in the lists, for the audit: a lane that is listed elsewhere than its entry says, or not at all.
    pub(super) fn mistakes(&mut self) -> Vec<String> {
        let waiting: Vec<(LaneId, WaitKey)> = self.parked().filter(|(_, key)| key.is_limit()).collect();
        let mut mistakes = Vec::new();
        for (lane, key) in &waiting {
            let place = self.lanes[lane.index()].place as usize;
            if self.gate(*key).is_none_or(|gate| gate.lanes.get(place) != Some(lane)) {
                mistakes.push(format!("{lane} waits for {key:?} and is not in its place there"));
            }
        }
        let gates = [&self.queues, &self.shares, &self.users, &self.limit_usages];
        let listed: usize =
            gates.into_iter().flatten().chain([&self.headroom]).map(|gate| gate.lanes.len()).sum();
        if listed != waiting.len() {
            mistakes
                .push(format!("lanes listed at limits: {listed}; lanes that wait there: {}", waiting.len()));
        }
        mistakes
    }

    /// The list for this key. Units in flight have none: they come back to one lane.
    #[inline]
    fn gate(&mut self, key: WaitKey) -> Option<&mut Gate> {
        match key {
            WaitKey::AllInFlight => None,
            WaitKey::QueueLimit(queue) => Some(entry(&mut self.queues, queue.index())),
            WaitKey::UserShare(leaf) => Some(entry(&mut self.shares, leaf.index())),
            WaitKey::UserLimit(user) => Some(entry(&mut self.users, user.index())),
            WaitKey::LimitUsage(limit_usage) => Some(entry(&mut self.limit_usages, limit_usage.index())),
            WaitKey::BlockedHeadroom => Some(&mut self.headroom),
        }
    }
}

/// Returns the entry at the index, and makes it if there is none yet.
#[inline]
fn entry<T: Clone + Default>(all: &mut Vec<T>, index: usize) -> &mut T {
    if all.len() <= index {
        lengthen(all, index);
    }
    &mut all[index]
}

#[cold]
fn lengthen<T: Clone + Default>(all: &mut Vec<T>, index: usize) {
    all.resize(index + 1, T::default());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Park(LaneId, WaitKey, u64),
        Wake(WaitKey),
        WakeAll,
        Renew(LaneId),
        Withdraw(LaneId),
        Replace(LaneId),
    }

    fn key() -> impl Strategy<Value = WaitKey> {
        prop_oneof![
            Just(WaitKey::AllInFlight),
            Just(WaitKey::BlockedHeadroom),
            (0..2u32).prop_map(|id| WaitKey::QueueLimit(QueueId(id))),
            (0..2u32).prop_map(|id| WaitKey::UserShare(QueueId(id))),
            (0..2u32).prop_map(|id| WaitKey::UserLimit(LeafUserId(id))),
            (0..2u32).prop_map(|id| WaitKey::LimitUsage(LimitUsageId(id))),
        ]
    }

    fn step() -> impl Strategy<Value = Step> {
        let lane = || (0..4u32).prop_map(LaneId);
        prop_oneof![
            4 => (lane(), key(), 0..6u64).prop_map(|(lane, key, age)| Step::Park(lane, key, age)),
            2 => key().prop_map(Step::Wake),
            1 => Just(Step::WakeAll),
            1 => lane().prop_map(Step::Renew),
            1 => lane().prop_map(Step::Withdraw),
            1 => lane().prop_map(Step::Replace),
        ]
    }

    /// Every event with its version, and the lanes that wait.
    #[derive(Default)]
    struct Model {
        parked: BTreeMap<u32, WaitKey>,
        lanes: BTreeMap<u32, u64>,
        keys: Vec<(WaitKey, u64)>,
        all: u64,
    }

    impl Model {
        fn may_park(&self, lane: LaneId, key: WaitKey, seen: u64) -> bool {
            let is_late = |at: u64| at > seen;
            let lane_is_late = self.lanes.get(&lane.0).is_some_and(|at| is_late(*at));
            let key_is_late = self.keys.iter().any(|(other, at)| *other == key && is_late(*at));
            !self.parked.contains_key(&lane.0)
                && !lane_is_late
                && !(key.is_limit() && (key_is_late || is_late(self.all)))
        }

        fn take(&mut self, is_woken: impl Fn(WaitKey) -> bool) -> Vec<(WaitKey, LaneId)> {
            let woken = self.parked.iter().filter(|(_, key)| is_woken(**key));
            let woken: Vec<_> = woken.map(|(lane, key)| (*key, LaneId(*lane))).collect();
            self.parked.retain(|_, key| !is_woken(*key));
            woken
        }
    }

    #[test]
    fn lanes_that_are_not_in_their_place_are_mistakes() {
        type Damage = fn(&mut Waits);
        let key = WaitKey::BlockedHeadroom;
        let damage: [(Damage, &str); 4] = [
            (|waits| waits.headroom.lanes.swap(0, 1), "is not in its place"),
            (|waits| waits.lanes[0].key = Some(WaitKey::QueueLimit(QueueId(0))), "is not in its place"),
            (|waits| waits.headroom.lanes.push(LaneId(0)), "lanes listed at limits: 3"),
            (|waits| waits.headroom.lanes.clear(), "lanes listed at limits: 0"),
        ];
        for (damage, mistake) in damage {
            let mut waits = Waits::new(1);
            (0..2).for_each(|lane| waits.add_lane(LaneId(lane)));
            assert!(waits.park(LaneId(0), key, 1) && waits.park(LaneId(1), key, 1));
            assert_eq!(waits.mistakes(), Vec::<String>::new());
            damage(&mut waits);
            let mistakes = waits.mistakes();
            assert!(mistakes.iter().any(|found| found.contains(mistake)), "{mistake}: {mistakes:?}");
        }
    }

    proptest! {
        /// Equals a list of all events: a lane is parked only if no event since the look helped it. It wakes with the
        /// first event that helps.
        #[test]
        fn equal_a_list_of_events(steps in proptest::collection::vec(step(), 0..80)) {
            let (mut waits, mut model) = (Waits::new(1), Model::default());
            (0..4).for_each(|lane| waits.add_lane(LaneId(lane)));
            for (version, step) in (1..).zip(steps) {
                match step {
                    Step::Park(lane, key, age) => {
                        let seen = u64::saturating_sub(version, age);
                        let expected = model.may_park(lane, key, seen);
                        prop_assert_eq!(waits.park(lane, key, seen), expected);
                        if expected {
                            model.parked.insert(lane.0, key);
                        }
                    }
                    Step::Wake(key) => {
                        waits.stamp(key, version);
                        let mut woken: Vec<LaneId> = std::iter::from_fn(|| waits.pop(key)).collect();
                        woken.sort();
                        let expected = model.take(|other| other == key && key.is_limit());
                        prop_assert_eq!(woken, expected.into_iter().map(|(_, lane)| lane).collect::<Vec<_>>());
                        model.keys.push((key, version));
                    }
                    Step::WakeAll => {
                        let keys = waits.stamp_all(version);
                        let mut woken = Vec::new();
                        for key in keys {
                            woken.extend(std::iter::from_fn(|| Some((key, waits.pop(key)?))));
                        }
                        woken.sort_by_key(|(_, lane)| *lane);
                        let has_list = |key| key != WaitKey::AllInFlight && key != WaitKey::BlockedHeadroom;
                        prop_assert_eq!(woken, model.take(has_list));
                        model.all = version;
                    }
                    Step::Renew(lane) => {
                        let waited = model.parked.get(&lane.0) == Some(&WaitKey::AllInFlight);
                        prop_assert_eq!(waits.renew(lane, version), waited);
                        if waited {
                            model.parked.remove(&lane.0);
                        }
                        model.lanes.insert(lane.0, version);
                    }
                    Step::Withdraw(lane) => prop_assert_eq!(waits.withdraw(lane), model.parked.remove(&lane.0)),
                    Step::Replace(lane) => {
                        waits.withdraw(lane);
                        model.parked.remove(&lane.0);
                        waits.add_lane(lane);
                        waits.renew(lane, version);
                        model.lanes.insert(lane.0, version);
                    }
                }
                for lane in 0..4 {
                    prop_assert_eq!(waits.key_of(LaneId(lane)), model.parked.get(&lane).copied());
                }
                prop_assert_eq!(waits.mistakes(), Vec::<String>::new());
            }
        }
    }
}
