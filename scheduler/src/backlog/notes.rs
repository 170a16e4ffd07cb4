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
pub(super) struct AskClass {
    /// The application's.
    pub(super) slot: u32,
    pub(super) shape: ShapeId,
}

/// By host or rack, and there by class. No entry is empty.
#[derive(Clone, Debug)]
pub(super) struct Notes<K>(FxHashMap<K, BTreeMap<AskClass, BTreeSet<PendingAsk>>>);

impl AskClass {
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
    pub(super) fn add(&mut self, at: K, class: AskClass, pending: PendingAsk) {
        self.0.entry(at).or_default().entry(class).or_default().insert(pending);
    }

    pub(super) fn remove(&mut self, at: K, class: AskClass, pending: PendingAsk) {
        let Entry::Occupied(mut classes) = self.0.entry(at) else { return };
        let Some(asks) = classes.get_mut().get_mut(&class) else { return };
        asks.remove(&pending);
        if asks.is_empty() {
            classes.get_mut().remove(&class);
        }
        if classes.get().is_empty() {
            classes.remove();
        }
    }

    /// Whether anything is noted there.
    pub(super) fn is_noted(&self, at: K) -> bool {
        self.0.contains_key(&at)
    }

    /// The classes of which something is noted there.
    pub(super) fn classes_at(&self, at: K) -> impl Iterator<Item = AskClass> {
        self.0.get(&at).into_iter().flat_map(|classes| classes.keys().copied())
    }

    /// The class's asks that are noted there, in order; never none.
    pub(super) fn at(&self, at: K, class: AskClass) -> Option<&BTreeSet<PendingAsk>> {
        self.0.get(&at)?.get(&class)
    }

    /// Every ask noted anywhere, some of them repeatedly.
    pub(super) fn asks(&self) -> impl Iterator<Item = AskId> {
        self.0.values().flat_map(BTreeMap::values).flatten().map(|pending| pending.ask)
    }
}
