//! The asks at the head of each queue, and the time they spend there.

use std::collections::BTreeSet;

use apportion::{ApplicationSpec, AskId, AskSpec, PartitionId};
use apportion_load::{Kinds, Task};
use hdrhistogram::{CreationError, Histogram};
use rustc_hash::{FxHashMap, FxHashSet};

use super::driver::Watch;

/// A container is large if it needs at least this many thousandths of a vcore.
const LARGE_MILLI: i64 = 48_000;
/// Longer waits count as this one.
const LONGEST_MS: u64 = 1 << 32;

/// An ask's place in a leaf's order, smaller first: the application's priority and number, then the ask's priority,
/// then its submission.
type Place = ([u32; 3], u64);

/// Follows the large asks that come to the head of their queue.
///
/// *First* is the pending ask of a leaf and partition that comes before all other pending asks when the engine is
/// quiet. The order is that of leaves that serve first in, first out. A later ask may come before it, for example when
/// an earlier application asks for a container again. So `Heads` records both the time since an ask was first and the
/// time for which it was. Asks that wait at a limit would hide others behind them. But in a backlog where users may
/// have as much as their leaf, no limit is reached.
pub(super) struct Heads {
    /// For each application, its leaf and its place there.
    applications: Vec<(u32, [u32; 2])>,
    pending: FxHashMap<(u32, PartitionId), BTreeSet<(Place, AskId)>>,
    places: FxHashMap<AskId, Place>,
    /// Pending large asks, with their waits if they have been first.
    large: FxHashMap<AskId, Option<Wait>>,
    /// The asks that are first now.
    first: FxHashSet<AskId>,
    asked: u64,
    from_ms: u64,
    pub(super) first_to_placed_ms: Histogram<u64>,
    pub(super) at_head_ms: Histogram<u64>,
    pub(super) placed_at_once: u64,
}

/// The wait of a large ask since it was first.
#[derive(Clone, Copy, Default)]
struct Wait {
    since_ms: u64,
    /// How long it was first, without the current time.
    at_head_ms: u64,
    /// Since when it is first, if it is.
    head_since_ms: Option<u64>,
}

impl Wait {
    fn all_at_head_ms(&self, now_ms: u64) -> u64 {
        self.at_head_ms + self.head_since_ms.map_or(0, |since_ms| now_ms - since_ms)
    }
}

impl Heads {
    /// Records placements from `from_ms` on.
    pub(super) fn new(applications: &[ApplicationSpec], from_ms: u64) -> Result<Self, CreationError> {
        let mut leaves: Vec<&str> = applications.iter().map(|spec| spec.queue.as_str()).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let place = |(number, spec): (usize, &ApplicationSpec)| {
            let leaf = leaves.binary_search(&spec.queue.as_str()).unwrap_or_default();
            (leaf as u32, [u32::MAX - spec.priority.unwrap_or(0), number as u32])
        };
        Ok(Self {
            applications: applications.iter().enumerate().map(place).collect(),
            pending: FxHashMap::default(),
            places: FxHashMap::default(),
            large: FxHashMap::default(),
            first: FxHashSet::default(),
            asked: 0,
            from_ms,
            first_to_placed_ms: Histogram::new_with_max(LONGEST_MS, 3)?,
            at_head_ms: Histogram::new_with_max(LONGEST_MS, 3)?,
            placed_at_once: 0,
        })
    }

    /// Adds the asks that have been first and still wait to the times at the head, with their time so far. Returns the
    /// number of these asks, and how long ago the earliest of them was first.
    pub(super) fn end(&mut self, now_ms: u64) -> (u64, u64) {
        let waits = || self.large.values().flatten();
        for wait in waits() {
            self.at_head_ms.saturating_record(wait.all_at_head_ms(now_ms));
        }
        (waits().count() as u64, waits().map(|wait| now_ms - wait.since_ms).max().unwrap_or(0))
    }
}

/// The partition that an ask is for. No leaf has another default partition.
fn partition_of(spec: &AskSpec) -> PartitionId {
    spec.partition.unwrap_or(PartitionId::DEFAULT)
}

impl Watch for Heads {
    fn asked(&mut self, ask: AskId, task: Task, kinds: &Kinds) {
        let spec = kinds.of(task);
        let (leaf, [rank, number]) = self.applications[task.application as usize];
        let place = ([rank, number, spec.priority], self.asked);
        self.asked += 1;
        self.places.insert(ask, place);
        self.pending.entry((leaf, partition_of(spec))).or_default().insert((place, ask));
        if spec.size[1] >= LARGE_MILLI {
            self.large.insert(ask, None);
        }
    }

    fn placed(&mut self, ask: AskId, task: Task, now_ms: u64, kinds: &Kinds) {
        let (leaf, _) = self.applications[task.application as usize];
        let pending = self.pending.get_mut(&(leaf, partition_of(kinds.of(task))));
        if let (Some(pending), Some(place)) = (pending, self.places.remove(&ask)) {
            pending.remove(&(place, ask));
        }
        let was_large = self.large.remove(&ask);
        self.first.remove(&ask);
        if now_ms < self.from_ms {
            return;
        }
        match was_large {
            Some(Some(wait)) => {
                self.first_to_placed_ms.saturating_record(now_ms - wait.since_ms);
                self.at_head_ms.saturating_record(wait.all_at_head_ms(now_ms));
            }
            Some(None) => self.placed_at_once += 1,
            None => {}
        }
    }

    fn quiet(&mut self, now_ms: u64) {
        let heads = self.pending.values().filter_map(|pending| Some(pending.first()?.1));
        let first: FxHashSet<AskId> = heads.filter(|ask| self.large.contains_key(ask)).collect();
        for ask in self.first.difference(&first) {
            if let Some(Some(wait)) = self.large.get_mut(ask) {
                wait.at_head_ms = wait.all_at_head_ms(now_ms);
                wait.head_since_ms = None;
            }
        }
        for ask in first.difference(&self.first) {
            if let Some(wait) = self.large.get_mut(ask) {
                wait.get_or_insert(Wait { since_ms: now_ms, ..Wait::default() }).head_since_ms = Some(now_ms);
            }
        }
        self.first = first;
    }
}

#[cfg(test)]
mod tests {
    use apportion::Resources;

    use super::*;

    /// The identifiers that an engine gives to this many asks.
    fn ids(count: usize) -> Vec<AskId> {
        (0..count).map(|number| format!("ask-{number}").parse().unwrap()).collect()
    }

    #[test]
    fn time_at_the_head_stops_while_another_is_first() {
        let application = |name: &str| ApplicationSpec::new(name, "root.leaf", "user");
        let mut heads = Heads::new(&[application("early"), application("late")], 0).unwrap();
        let mut kinds = Kinds::default();
        let kind = kinds.number_of(AskSpec::new(Resources::new(&[1, LARGE_MILLI]), 1));
        let (early, late) = (Task { application: 0, kind }, Task { application: 1, kind });
        let asks = ids(2);
        heads.asked(asks[0], late, &kinds);
        heads.quiet(1_000);
        heads.asked(asks[1], early, &kinds);
        heads.quiet(3_000);
        heads.placed(asks[1], early, 7_000, &kinds);
        heads.quiet(7_000);
        heads.placed(asks[0], late, 8_000, &kinds);
        let waits =
            |of: &Histogram<u64>| of.iter_recorded().map(|v| v.value_iterated_to()).collect::<Vec<_>>();
        assert_eq!(waits(&heads.first_to_placed_ms), [4_001, 7_003], "to three digits");
        assert_eq!(waits(&heads.at_head_ms), [3_001, 4_001]);
        assert_eq!(heads.end(9_000), (0, 0));
    }
}
