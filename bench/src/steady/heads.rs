//! Who is first in each queue, and for how long.

use std::collections::BTreeSet;

use apportion::{ApplicationSpec, AskId, PartitionId};
use hdrhistogram::{CreationError, Histogram};
use rustc_hash::FxHashMap;

use super::driver::Watch;
use crate::throughput::{Kinds, Task};

/// A container is large if it needs at least this many thousandths of a vcore.
const LARGE_MILLI: i64 = 48_000;
/// Longer waits count as this one.
const LONGEST_MS: u64 = 1 << 32;

/// A place in a leaf's order, smaller first: that of the application, by priority and number, then the ask's priority,
/// then when it was asked for.
type Place = ([u32; 3], u64);

/// Follows the large asks that come to the head of their queue.
///
/// *First* is the pending ask of a leaf and partition that is before all others that are pending when the engine is
/// quiet, in the order of leaves that serve first in, first out. An ask that has been first once is followed until it
/// is placed, whatever is asked before it later. Asks that wait at a limit would hide others behind them, but in a
/// backlog where users may have as much as their leaf no limit is reached.
pub(super) struct Heads {
    /// By application: its leaf, and where it stands in that.
    applications: Vec<(u32, [u32; 2])>,
    pending: FxHashMap<(u32, PartitionId), BTreeSet<(Place, AskId)>>,
    places: FxHashMap<AskId, Place>,
    large: FxHashMap<AskId, Option<u64>>,
    asked: u64,
    from_ms: u64,
    pub(super) first_to_placed_ms: Histogram<u64>,
    pub(super) placed_at_once: u64,
}

impl Heads {
    /// Notes what is placed from `from_ms` on.
    pub(super) fn new(applications: &[ApplicationSpec], from_ms: u64) -> Result<Self, CreationError> {
        let mut leaves: Vec<&str> = applications.iter().map(|spec| spec.queue.as_str()).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let place = |(number, spec): (usize, &ApplicationSpec)| {
            let leaf = leaves.binary_search(&spec.queue.as_str()).unwrap_or_default();
            (leaf as u32, [u32::MAX - spec.priority, number as u32])
        };
        Ok(Self {
            applications: applications.iter().enumerate().map(place).collect(),
            pending: FxHashMap::default(),
            places: FxHashMap::default(),
            large: FxHashMap::default(),
            asked: 0,
            from_ms,
            first_to_placed_ms: Histogram::new_with_max(LONGEST_MS, 3)?,
            placed_at_once: 0,
        })
    }

    /// How many have been first and still wait.
    pub(super) fn still_waiting(&self) -> u64 {
        self.large.values().flatten().count() as u64
    }

    /// How long ago the first of those was first.
    pub(super) fn longest_still_waiting_ms(&self, now_ms: u64) -> u64 {
        self.large.values().flatten().map(|since_ms| now_ms - since_ms).max().unwrap_or(0)
    }
}

impl Watch for Heads {
    fn asked(&mut self, ask: AskId, task: Task, kinds: &Kinds) {
        let spec = kinds.of(task);
        let (leaf, [rank, number]) = self.applications[task.application as usize];
        let place = ([rank, number, spec.priority], self.asked);
        self.asked += 1;
        self.places.insert(ask, place);
        self.pending.entry((leaf, spec.partition)).or_default().insert((place, ask));
        if spec.size[1] >= LARGE_MILLI {
            self.large.insert(ask, None);
        }
    }

    fn placed(&mut self, ask: AskId, task: Task, now_ms: u64, kinds: &Kinds) {
        let (leaf, _) = self.applications[task.application as usize];
        let pending = self.pending.get_mut(&(leaf, kinds.of(task).partition));
        if let (Some(pending), Some(place)) = (pending, self.places.remove(&ask)) {
            pending.remove(&(place, ask));
        }
        let was_large = self.large.remove(&ask);
        if now_ms < self.from_ms {
            return;
        }
        match was_large {
            Some(Some(since_ms)) => self.first_to_placed_ms.saturating_record(now_ms - since_ms),
            Some(None) => self.placed_at_once += 1,
            None => {}
        }
    }

    fn quiet(&mut self, now_ms: u64) {
        for pending in self.pending.values() {
            if let Some((_, ask)) = pending.first()
                && let Some(since_ms @ None) = self.large.get_mut(ask)
            {
                *since_ms = Some(now_ms);
            }
        }
    }
}
