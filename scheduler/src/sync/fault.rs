//! Panics on demand, for tests.
//!
//! Every operation on a lock, condition variable, atomic or channel is a step at which a test can ask for a panic.
//! So is taking a unit in flight. Statistics, amounts in flight, directories, `take_back` and the close of an inbox are
//! no steps. Between two steps a thread changes nothing that others can see, so panics at all steps cover panics at
//! any point.
//!
//! A build without `cfg(test)` and without `--cfg apportion_faults` has no steps.

#[cfg(not(any(test, apportion_faults)))]
#[inline(always)]
pub(super) fn step() {}

#[cfg(any(test, apportion_faults))]
pub(super) use asked::step;
#[cfg(any(test, apportion_faults))]
pub use asked::{ask_for_panic, ask_for_panics, withdraw};

#[cfg(any(test, apportion_faults))]
#[allow(clippy::missing_const_for_thread_local, reason = "loom's macro takes no constants")]
mod asked {
    use std::cell::Cell;

    use crate::sync::backend;

    backend::thread_local! {
        /// The steps of this thread before it panics.
        static LEFT: Cell<Option<u64>> = Cell::new(None);
        /// The range of steps before the next panic, and the seed of the random number; 0 for no panic.
        static NEXT: Cell<(u64, u64)> = Cell::new((0, 0));
    }

    /// Makes this thread panic at its `steps`-th step from now on, counted from 0.
    pub fn ask_for_panic(steps: u64) {
        LEFT.with(|left| left.set(Some(steps)));
    }

    /// Makes this thread panic repeatedly, each time after fewer than `range` steps, drawn at random from `seed`.
    pub fn ask_for_panics(seed: u64, range: u64) {
        NEXT.with(|next| next.set((range, seed)));
        ask_for_next();
    }

    /// Cancels the request; returns whether a panic was still due.
    pub fn withdraw() -> bool {
        NEXT.with(|next| next.set((0, 0)));
        LEFT.with(|left| left.take().is_some())
    }

    fn ask_for_next() {
        let (range, seed) = NEXT.with(Cell::get);
        if range > 0 {
            // Knuth's linear congruential generator (MMIX).
            let seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            NEXT.with(|next| next.set((range, seed)));
            ask_for_panic((seed >> 33) % range);
        }
    }

    /// Takes one step. A thread that is unwinding does not panic again.
    pub(in crate::sync) fn step() {
        let is_due = LEFT.with(|left| match left.get() {
            Some(0) if !std::thread::panicking() => left.take().is_some(),
            Some(more @ 1..) => {
                left.set(Some(more - 1));
                false
            }
            _ => false,
        });
        if is_due {
            ask_for_next();
            // Skips the panic hook, because the panic is expected.
            std::panic::resume_unwind(Box::new("a panic that a test asked for"));
        }
    }
}
