//! Panics on demand, for tests.
//!
//! Every lock, atomic, channel and signal operation of the engine is a step at which a test can ask for a panic,
//! and so is taking a unit in flight. Between two steps a thread changes nothing that others can see, so panics at all
//! steps stand for panics at any point.
//!
//! In a build without `cfg(test)` and without `--cfg apportion_faults` there are no steps and nothing to ask with.

#[cfg(not(any(test, apportion_faults)))]
#[inline(always)]
pub(super) fn step() {}

#[cfg(any(test, apportion_faults))]
pub(super) use asked::step;
#[cfg(any(test, apportion_faults))]
pub use asked::{ask_for_panic, withdraw};

#[cfg(any(test, apportion_faults))]
mod asked {
    use std::cell::Cell;

    use crate::sync::backend;

    backend::thread_local! {
        /// How many more steps this thread takes until it panics.
        static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    }

    /// Lets this thread panic at its `steps`-th step from now on, the first being number 0.
    pub fn ask_for_panic(steps: u64) {
        LEFT.with(|left| left.set(Some(steps)));
    }

    /// Takes the wish back; true if the thread had not come so far.
    pub fn withdraw() -> bool {
        LEFT.with(|left| left.take().is_some())
    }

    /// One step. A thread that is unwinding has panicked already.
    pub(in crate::sync) fn step() {
        let is_due = LEFT.with(|left| match left.get() {
            Some(0) if !std::thread::panicking() => left.take().is_some(),
            Some(more @ 1..) => {
                left.set(Some(more - 1));
                false
            }
            _ => false,
        });
        assert!(!is_due, "a panic that a test asked for");
    }
}
