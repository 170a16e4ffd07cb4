//! Compares the full-cycle yardstick on one thread with the same on two: one that proposes and one that commits.
//!
//! ```text
//! cargo run --release -p apportion-load --example two_threads
//! cargo run --release -p apportion-load --example two_threads -- 500
//! ```
//!
//! The number is that of nodes. `docs/performance.md` has the result.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use apportion::Mode;
use apportion_load::{ClusterShape, CycleYardstick, Setup};

const USAGE: &str = "usage: two_threads [NODES], from 10 to 1000000 nodes; 10000 if none are given";
const NODES: usize = 10_000;
const ROUNDS: usize = 9;
const SLICE: Duration = Duration::from_millis(1_000);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let nodes = match &arguments[..] {
        [] => Some(NODES),
        [help] if help == "--help" => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [nodes] => nodes.parse().ok().filter(|nodes| (10..=1_000_000).contains(nodes)),
        _ => None,
    };
    let Some(nodes) = nodes else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match compare(nodes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(nodes: usize) -> anyhow::Result<()> {
    let shape = ClusterShape { nodes, leaves: 20, applications: 200 };
    let mut out = io::stdout().lock();
    let mut rounds = Vec::new();
    writeln!(out, "round  one thread, containers/s  two threads, containers/s  ratio")?;
    for round in 1..=ROUNDS {
        let mut yardstick = CycleYardstick::churn(&Setup::new(shape, Mode::Serial))?;
        let one = yardstick.run_while(SLICE, &|| ControlFlow::Continue(())).per_second();
        let two = yardstick.run_on_two_threads(SLICE)?.per_second();
        writeln!(out, "{round:5}  {one:24.0}  {two:25.0}  {:5.2}", two / one)?;
        rounds.push([one, two, two / one]);
    }
    let [one, two, ratio] = [0, 1, 2].map(|column| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    });
    writeln!(out, "median {one:24.0}  {two:25.0}  {ratio:5.2}")?;
    Ok(())
}
