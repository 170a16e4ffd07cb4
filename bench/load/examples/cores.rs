//! Prints what a model of the engine's threads says about machines with more cores (`docs/performance.md`).
//!
//! ```text
//! cargo run --release -p apportion-load --example cores
//! cargo run --release -p apportion-load --example cores -- 500 650 70 830 200 330
//! ```
//!
//! The six numbers are nanoseconds for one container. They are: proposing under the read guard, proposing without it,
//! the commit of the placement, taking the ask and the completion in, publishing, the caller. Without them the model
//! takes those measured for `churn` (`throughput` prints the times under the guards; the gate of instructions divides
//! them into steps).

use std::io::{self, Write};
use std::process::ExitCode;

use apportion_load::{ModelMachine, StepTimes, simulate};

/// On 2026-11-28; `docs/performance.md` says how.
const MEASURED: [f64; 6] = [543.0, 0.0, 336.0, 399.0, 100.0, 110.0];
const USAGE: &str = "usage: cores [PROPOSE SEARCH COMMIT INTAKE PUBLISH CALLER], each in ns for one container: a number \
                     from 0 to 1e9, and not all 0. SEARCH is the part of proposing that needs no guard.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let numbers: Vec<f64> = arguments.iter().filter_map(|text| text.parse().ok()).collect();
    let are_valid =
        numbers.iter().all(|number| (0.0..1e9).contains(number)) && numbers.iter().any(|n| *n > 0.0);
    let steps = match (arguments.len(), <[f64; 6]>::try_from(numbers)) {
        (0, _) => MEASURED,
        (6, Ok(steps)) if are_valid => steps,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match print(steps) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cores: {error}");
            ExitCode::FAILURE
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn print(steps: [f64; 6]) -> io::Result<()> {
    let [propose_ns, search_ns, commit_ns, intake_ns, publish_ns, caller_ns] = steps;
    let times = StepTimes { propose_ns, search_ns, commit_ns, intake_ns, publish_ns, caller_ns };
    let mut out = io::stdout();
    writeln!(out, "cores  proposers  containers/s  write guard held  committer waits  cores busy  batch")?;
    for (cores, proposers) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2), (8, 4), (8, 6), (16, 8), (16, 14)] {
        let machine = ModelMachine { cores, proposers, batch: 256, sets: 16, asks: 2048 };
        let outcome = simulate(times, machine, 1_000_000);
        writeln!(
            out,
            "{cores:5}  {proposers:9}  {:12.0}  {:14.0} %  {:13.0} %  {:10.2}  {:5.0}",
            outcome.per_second,
            outcome.written * 100.0,
            outcome.excluded * 100.0,
            outcome.busy_cores,
            outcome.batch,
        )?;
    }
    Ok(())
}
