//! Counters that proposers change under the read guard: proposed amounts that are not yet decided.
//!
//! All accesses happen under the state's lock, which orders proposers against the committer. Between proposers that
//! hold read guards at the same time only totals matter, so every operation is `Relaxed`. Giving back needs `&mut`,
//! so the write guard, under which no other thread changes the counter. A load and a store suffice there, without
//! the cost of an atomic read-modify-write.
//!
//! A proposer that takes a unit or adds an amount records it in its batch at once. No step at which a
//! [panic](super::fault) could be asked for lies between the two, and nothing there panics.

#![allow(clippy::disallowed_types, reason = "this module is where the raw types are named")]

use super::backend::Mutex;
use super::backend::atomic::{AtomicI64, AtomicU32, Ordering};
use super::fault;
use crate::resource::{RESOURCE_TYPES_MAX, Resources};

/// A count of things in flight: units of one ask, picks, or listed amounts.
#[derive(Debug, Default)]
pub(crate) struct InFlightUnits(AtomicU32);

impl InFlightUnits {
    pub(crate) fn load(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds one unit unless that would exceed `outstanding` (I4).
    pub(crate) fn try_add(&self, outstanding: u32) -> bool {
        fault::step();
        let mut seen = self.0.load(Ordering::Relaxed);
        while seen < outstanding {
            match self.0.compare_exchange_weak(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Adds one unit without a bound.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn give_back(&mut self) {
        let before = self.load();
        debug_assert!(before > 0, "more units given back than were in flight");
        self.0.store(before - 1, Ordering::Relaxed);
    }
}

impl Clone for InFlightUnits {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.load()))
    }
}

/// Units in flight in the order taken. While proposers hold the read guard the list only grows, so each proposer
/// goes on after the units that it has counted.
#[derive(Debug)]
pub(crate) struct InFlightList<T> {
    length: InFlightUnits,
    units: Mutex<Vec<T>>,
}

impl<T> Default for InFlightList<T> {
    fn default() -> Self {
        Self { length: InFlightUnits::default(), units: Mutex::new(Vec::new()) }
    }
}

impl<T: Copy + PartialEq> InFlightList<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.length.load() == 0
    }

    pub(crate) fn add(&self, unit: T) {
        let mut units = self.units.lock();
        units.push(unit);
        self.length.add();
    }

    /// The units after the first `seen`.
    pub(crate) fn behind(&self, seen: usize) -> Vec<T> {
        if self.length.load() as usize <= seen { Vec::new() } else { self.units.lock()[seen..].to_vec() }
    }

    /// Removes each of these units once. Units are usually given back in the order taken.
    pub(crate) fn give_back(&mut self, given: &[T]) {
        let mut units = self.units.lock();
        for unit in given {
            let place = units.iter().position(|listed| listed == unit);
            debug_assert!(place.is_some(), "a unit is given back that was not in flight");
            if let Some(place) = place {
                units.remove(place);
                self.length.give_back();
            }
        }
    }
}

impl<T: Clone> Clone for InFlightList<T> {
    fn clone(&self) -> Self {
        Self { length: self.length.clone(), units: Mutex::new(self.units.lock().clone()) }
    }
}

/// The amounts of one queue, user or node in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlightResources([AtomicI64; RESOURCE_TYPES_MAX]);

impl InFlightResources {
    pub(crate) fn load(&self) -> Resources {
        let mut amounts = [0; RESOURCE_TYPES_MAX];
        for (amount, counter) in amounts.iter_mut().zip(&self.0) {
            *amount = counter.load(Ordering::Relaxed);
        }
        Resources::new(&amounts)
    }

    pub(crate) fn add(&self, resources: &Resources) {
        for (counter, &amount) in self.0.iter().zip(resources.amounts()) {
            if amount != 0 {
                counter.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn give_back(&mut self, resources: &Resources) {
        for (counter, &amount) in self.0.iter().zip(resources.amounts()) {
            if amount != 0 {
                counter.store(counter.load(Ordering::Relaxed) - amount, Ordering::Relaxed);
            }
        }
        debug_assert!(Resources::ZERO.within(&self.load()), "more resources given back than were in flight");
    }
}

impl Clone for InFlightResources {
    fn clone(&self) -> Self {
        let copy = Self::default();
        copy.add(&self.load());
        copy
    }
}
