//! A directory as a map under a lock.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RwLock;

/// A map from names to copyable values, with the same guarantees as the shipped one.
#[derive(Debug)]
pub struct NameMap<V>(RwLock<BTreeMap<Arc<str>, V>>);

impl<V: Copy + Eq> Default for NameMap<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Copy + Eq> NameMap<V> {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<V> {
        self.0.read().get(name).copied()
    }

    /// Adds `make()` under `name` unless the name is taken. Returns the present value and whether it is new.
    pub fn get_or_insert_with(&self, name: &str, make: impl FnOnce() -> V) -> (V, bool) {
        let mut map = self.0.write();
        if let Some(value) = map.get(name) {
            return (*value, false);
        }
        let value = make();
        map.insert(name.into(), value);
        (value, true)
    }

    /// Sets the value of `name`, or removes it.
    pub fn set(&self, name: &str, value: Option<V>) {
        match value {
            Some(value) => drop(self.0.write().insert(name.into(), value)),
            None => drop(self.0.write().remove(name)),
        }
    }

    /// Removes `name` if its value is still `value`.
    pub fn remove(&self, name: &str, value: V) {
        let mut map = self.0.write();
        if map.get(name) == Some(&value) {
            map.remove(name);
        }
    }

    /// All names, in no particular order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.0.read().keys().cloned().collect()
    }
}
