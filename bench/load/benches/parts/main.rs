//! The engine's parts, each by itself: fit, order, index, propose, commit, log.
//!
//! Everything goes through the public API. The caller provides the threads of the engine:
//! [`Engine::assemble`](apportion::Engine::assemble). It asks one proposer for one pass and one committer for one
//! group, so the bench times only shipped code. Each cluster is shaped so that one part of a pass
//! outweighs the others. Preparation and cleanup are not timed.

mod cluster;
mod commit;
mod fit;
mod index;
mod log;
mod order;
mod propose;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// The sizes to measure. `cargo test --benches` only checks that the bench runs, so it takes only the smallest.
fn sizes(all: &[usize]) -> &[usize] {
    if std::env::args().any(|argument| argument == "--bench") { all } else { &all[..1] }
}

/// Enough samples for medians that repeat to a few percent.
fn config() -> Criterion {
    let seconds = Duration::from_secs;
    Criterion::default().sample_size(30).warm_up_time(seconds(1)).measurement_time(seconds(2))
}

criterion_group! {
    name = parts;
    config = config();
    targets = fit::bench, order::bench, index::bench, propose::bench, commit::bench, log::bench
}
criterion_main!(parts);
