//! A conflict storm: every ask names one of ten nodes. Many proposers must keep most of one proposer's rate.
//!
//! After the measurements, rounds of one proposer and of many take turns, so that other work on the machine affects
//! both alike. If many proposers keep less than [`KEPT_PERCENT_MIN`] of the rate of one, the bench fails.

use std::process::ExitCode;
use std::time::Instant;

use apportion::Mode;
use apportion_load::{Churn, ClusterShape, Profile, Room, Setup};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};

const SHAPE: ClusterShape = ClusterShape { nodes: 10_000, leaves: 20, applications: 100 };
/// The least part of one proposer's rate that many proposers must keep.
const KEPT_PERCENT_MIN: f64 = 70.0;
/// Number of compared rounds of each.
const ROUNDS: usize = 31;
/// A round places at least this many containers.
const CONTAINERS: usize = 10_000;

fn storm(proposers: usize, room: Room) -> Churn {
    let profile = Profile::conflict_storm(room);
    let setup = Setup { profile, ..Setup::new(SHAPE, Mode::Parallel { proposers }) };
    let mut storm = Churn::new(&setup).expect("all containers that have room are placed");
    // The limit on leased sets has to become steady first.
    replace_until_placed(&mut storm);
    storm
}

/// Lets all containers complete at once, and asks for them again, until enough have been placed.
fn replace_until_placed(storm: &mut Churn) {
    let mut placed = 0;
    while placed < CONTAINERS {
        let running = storm.running();
        storm.step(running).expect("what had room has room again");
        placed += running;
    }
}

const ROOMS: [(Room, &str); 2] = [(Room::Ample, "ample room"), (Room::Tight, "little room")];

fn measure(criterion: &mut Criterion) {
    for (room, name) in ROOMS {
        let mut group = criterion.benchmark_group(format!("10,000 containers pinned to 10 nodes, {name}"));
        group.throughput(Throughput::Elements(CONTAINERS as u64)).sample_size(20);
        for proposers in [1, 2, 4, 8] {
            let id = BenchmarkId::new("proposers", proposers);
            group.bench_with_input(id, &proposers, |bencher, proposers| {
                bencher.iter_batched_ref(
                    || storm(*proposers, room),
                    replace_until_placed,
                    BatchSize::PerIteration,
                );
            });
        }
        group.finish();
    }
}

/// The rate of `proposers` as a percentage of one proposer's rate, by the medians of alternating rounds. The second
/// number is the percentage of their proposals that is rejected.
fn kept_and_rejected_percent(proposers: usize, room: Room) -> (f64, f64) {
    let (mut one, mut many) = (storm(1, room), storm(proposers, room));
    let mut seconds = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (storm, seconds) in [&mut one, &mut many].into_iter().zip(&mut seconds) {
            let begun = Instant::now();
            replace_until_placed(storm);
            seconds.push(begun.elapsed().as_secs_f64());
        }
    }
    let [one_s, many_s] = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        seconds[ROUNDS / 2]
    });
    (100.0 * one_s / many_s, 100.0 * many.rejected_fraction())
}

/// Prints the rates that many proposers keep, and returns whether they are enough.
fn is_enough_kept() -> bool {
    let mut is_enough = true;
    for (room, name) in ROOMS {
        for proposers in [2, 4, 8] {
            let (kept, rejected) = kept_and_rejected_percent(proposers, room);
            let verdict = if kept < KEPT_PERCENT_MIN { "TOO LITTLE" } else { "enough" };
            println!(
                "{name}: {proposers} proposers keep {kept:.0} % of the rate of one ({rejected:.2} % rejected): {verdict}"
            );
            is_enough &= kept >= KEPT_PERCENT_MIN;
        }
    }
    is_enough
}

fn main() -> ExitCode {
    let mut criterion = Criterion::default().configure_from_args();
    measure(&mut criterion);
    criterion.final_summary();
    // `cargo test --benches` only checks that the bench runs.
    let is_measuring = std::env::args().any(|argument| argument == "--bench");
    if is_measuring && !is_enough_kept() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
