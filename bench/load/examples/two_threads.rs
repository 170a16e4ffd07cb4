//! Compares the full-cycle yardstick on one thread with the same on two: one that proposes and one that commits.
//!
//! ```text
//! cargo run --release -p apportion-load --example two_threads
//! cargo run --release -p apportion-load --example two_threads -- 500
//! ```
//!
//! The argument is the number of nodes. Each round measures the plain yardstick, then the work by messages on one
//! thread and on two, in changing order. `docs/performance.md` has the result.

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
    if std::thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        eprintln!("two_threads needs two processors; this machine lets it use one");
        return ExitCode::from(2);
    }
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
    writeln!(
        out,
        "containers a second; ratio of two threads to one, both by messages; needs two idle processors"
    )?;
    writeln!(out, "round       plain  one thread  two threads  ratio")?;
    let mut rounds = Vec::new();
    for round in 1..=ROUNDS {
        let mut yardstick = CycleYardstick::churn(&Setup::new(shape, Mode::Serial))?;
        let plain = yardstick.run_while(SLICE, &|| ControlFlow::Continue(())).per_second();
        let mut one = 0.0;
        let mut two = 0.0;
        for is_two in [round % 2 == 0, round % 2 == 1] {
            if is_two {
                two = yardstick.run_on_two_threads(SLICE)?.per_second();
            } else {
                one = yardstick.run_by_messages_on_one_thread(SLICE)?.per_second();
            }
        }
        writeln!(out, "{round:5}  {plain:10.0}  {one:10.0}  {two:11.0}  {:5.2}", two / one)?;
        rounds.push([plain, one, two, two / one]);
    }
    let [plain, one, two, ratio] = [0, 1, 2, 3].map(|column| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[column]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    });
    writeln!(out, "median {plain:10.0}  {one:10.0}  {two:11.0}  {ratio:5.2}")?;
    Ok(())
}
