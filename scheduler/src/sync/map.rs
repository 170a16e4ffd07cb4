//! Concurrent maps from names to identifiers.
#![expect(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use std::hash::BuildHasherDefault;
use std::sync::Arc;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use rustc_hash::FxHasher;

/// A map from names to copyable values. No guard leaves it, so no caller can hold one part of the map while it
/// waits for another.
#[derive(Debug)]
pub struct NameMap<V>(DashMap<Arc<str>, V, BuildHasherDefault<FxHasher>>);

impl<V: Copy + Eq> Default for NameMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Copy + Eq> NameMap<V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self(DashMap::default())
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<V> {
        self.0.get(name).map(|value| *value)
    }

    /// Adds `make()` under `name` unless the name is taken. Returns the present value and whether it is new. `make`
    /// must not access the map.
    pub fn get_or_insert_with(&self, name: &str, make: impl FnOnce() -> V) -> (V, bool) {
        match self.0.entry(name.into()) {
            Entry::Occupied(entry) => (*entry.get(), false),
            Entry::Vacant(entry) => (*entry.insert(make()), true),
        }
    }

    /// Sets the value of `name`, or removes it.
    pub fn set(&self, name: &str, value: Option<V>) {
        match value {
            Some(value) => drop(self.0.insert(name.into(), value)),
            None => drop(self.0.remove(name)),
        }
    }

    /// Removes `name` if its value is still `value`.
    pub fn remove(&self, name: &str, value: V) {
        self.0.remove_if(name, |_, current| *current == value);
    }

    /// All names, in no particular order.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|entry| Arc::clone(entry.key())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_removed_only_while_it_stands_for_the_value() {
        let map = NameMap::new();
        assert_eq!(map.get_or_insert_with("n1", || 1), (1, true));
        map.remove("n1", 1);
        assert_eq!(map.get_or_insert_with("n1", || 2), (2, true));
        map.remove("n1", 1);
        assert_eq!(map.get("n1"), Some(2), "the successor stays");
    }
}
