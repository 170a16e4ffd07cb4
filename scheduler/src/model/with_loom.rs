//! Runs a model under loom: every order of steps, up to a bound of preemptions.

use std::sync::Arc;

use super::Checker;
use super::order::{Order, Place, SAVED_EVERY};
use crate::sync::stack_bytes;

pub(super) const CHECKER: Checker = Checker::Loom;

pub(super) fn explore(place: &Place, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = builder(place);
    builder.checkpoint_interval = usize::try_from(SAVED_EVERY).unwrap_or(usize::MAX);
    run(&builder, body);
}

/// Loom begins with the progress saved. It saves each order before it runs it, and so ends with the failing one.
pub(super) fn replay(place: &Place, failing: Order, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = builder(place);
    builder.checkpoint_interval = 1;
    // Loom compares this with the number of the order that would come next.
    builder.max_permutations = usize::try_from(failing.before + 2).ok();
    builder.location = true;
    run(&builder, body);
}

fn builder(place: &Place) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.max_branches = builder.max_branches.max(100_000);
    builder.checkpoint_file = Some(place.progress());
    builder
}

/// Loom's first thread has a stack of 32 KiB, which is too small for an engine. It starts the thread that runs the
/// body, does nothing more, and so adds no order.
fn run(builder: &loom::model::Builder, body: impl Fn() + Send + Sync + 'static) {
    let body = Arc::new(body);
    builder.check(move || {
        let body = Arc::clone(&body);
        let thread = loom::thread::Builder::new().name("model".to_owned()).stack_size(stack_bytes());
        drop(thread.spawn(move || body()).expect("loom starts a thread"));
    });
}
