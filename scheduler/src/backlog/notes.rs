//! Notes at hosts and racks: which asks wait for them, in the order in which they are served.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::PendingAsk;
use crate::facts::Ask;
use crate::ids::{AskId, ShapeId, SlotId};

/// One application's asks of one shape: a node that takes one of them takes any, and they are served in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// The application's.
    pub(super) slot: u32,
    pub(super) shape: ShapeId,
}

/// By host or rack, and there by group. No entry is empty.
#[derive(Clone, Debug)]
pub(super) struct Notes<K>(FxHashMap<K, BTreeMap<Group, BTreeSet<PendingAsk>>>);

impl Group {
    pub(super) fn of(ask: &Ask) -> Self {
        Self { slot: ask.application.index() as u32, shape: ask.shape }
    }
}

impl<K> Default for Notes<K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Copy + Eq + Hash> Notes<K> {
    pub(super) fn add(&mut self, at: K, group: Group, pending: PendingAsk) {
        self.0.entry(at).or_default().entry(group).or_default().insert(pending);
    }

    pub(super) fn remove(&mut self, at: K, group: Group, pending: PendingAsk) {
        let Entry::Occupied(mut groups) = self.0.entry(at) else { return };
        let Some(asks) = groups.get_mut().get_mut(&group) else { return };
        asks.remove(&pending);
        if asks.is_empty() {
            groups.get_mut().remove(&group);
        }
        if groups.get().is_empty() {
            groups.remove();
        }
    }

    /// Whether anything is noted there.
    pub(super) fn is_noted(&self, at: K) -> bool {
        self.0.contains_key(&at)
    }

    /// The groups of which something is noted there.
    pub(super) fn groups_at(&self, at: K) -> impl Iterator<Item = Group> {
        self.0.get(&at).into_iter().flat_map(|groups| groups.keys().copied())
    }

    /// The group's asks that are noted there, in order.
    pub(super) fn asks_at(&self, at: K, group: Group) -> impl Iterator<Item = PendingAsk> {
        self.0.get(&at).and_then(|groups| groups.get(&group)).into_iter().flatten().copied()
    }

    /// Every ask noted anywhere, some of them repeatedly.
    pub(super) fn asks(&self) -> impl Iterator<Item = AskId> {
        self.0.values().flat_map(BTreeMap::values).flatten().map(|pending| pending.ask)
    }
}
