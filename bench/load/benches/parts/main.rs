//! The engine's parts, each by itself: fit, order, index, propose, commit, log.
//!
//! Everything goes through the public API. An engine whose threads are the caller's own ([`Engine::assemble`]
//! (apportion::Engine::assemble)) has one proposer to be asked for one pass and one committer to be asked for one
//! group, so what is timed is the shipped code and nothing else of it; a cluster is made so that one part of a pass
//! outweighs the others. Only the stretch in question is timed: what leads to it, and what undoes it, is not.

mod cluster;
mod commit;
mod fit;
mod index;
mod log;
mod order;
mod propose;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

/// `cargo test --benches` only wants to see it run: one size will do, and the smallest.
fn sizes(all: &[usize]) -> &[usize] {
    if std::env::args().any(|argument| argument == "--bench") { all } else { &all[..1] }
}

/// Enough for medians that repeat to a few percent.
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
