//! Runs a model once, on real threads.

use super::Checker;
use super::order::{Order, Place};

pub(super) const CHECKER: Checker = Checker::Once;

pub(super) fn explore(_: &Place, body: impl Fn() + Send + Sync + 'static) {
    body();
}

/// Only a build for a checker replays.
pub(super) fn replay(place: &Place, _: Order, body: impl Fn() + Send + Sync + 'static) {
    explore(place, body);
}
