//! Instructions per container and step, counted by callgrind: the same number on every run, so a gate in CI.
//!
//! `cargo bench -p apportion-instructions` compares with `instructions.json` in the folder above. It
//! ends with 1 if a workload takes over 2 % more than the file says, or one of its steps over 4 % more. `-- --save`
//! writes the new numbers, for the commit that changes them. An engine in serial mode does the same work each time.
//! Two runs of different length have the same setup, so their difference excludes it. The audit at the end is not
//! counted.
//!
//! `-- --misses` prints the misses of simulated caches instead, for `churn` in a large cluster. They depend on
//! addresses, so no number is saved and nothing fails.
//!
//! The steps are the calls of the functions in [`Steps::of`]. The budgets are aims and fail nothing.

mod callgrind;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, bail};
use apportion::Mode;
use apportion_load::{Churn, ClusterShape, Profile, Setup, fill};
use table::{Steps, print};

/// `bursts` is `churn` in a large cluster with many containers that complete together.
const WORKLOADS: [&str; 4] = ["fill", "churn", "constrained", "bursts"];
/// The workload whose misses are counted.
const LARGE_CHURN: &str = "large";
/// Containers of the two runs.
const LENGTHS: [usize; 2] = [2_000, 6_000];
const SMALL: ClusterShape = ClusterShape { nodes: 500, leaves: 20, applications: 100 };
/// A cluster whose nodes are in no cache.
const LARGE: ClusterShape = ClusterShape { nodes: 10_000, leaves: 20, applications: 1_000 };

/// The cluster of a workload, and how many containers complete together.
fn shape_and_step(workload: &str) -> (ClusterShape, usize) {
    match workload {
        "bursts" => (LARGE, 2_000),
        LARGE_CHURN => (LARGE, 500),
        _ => (SMALL, 500),
    }
}

/// The work that is counted.
fn subject(workload: &str, containers: usize) -> anyhow::Result<()> {
    let profile = if workload == "constrained" { Profile::CONSTRAINED } else { Profile::CHURN };
    let (shape, step) = shape_and_step(workload);
    let setup = Setup { profile, ..Setup::new(shape, Mode::Serial) };
    if workload == "fill" {
        fill(&setup, containers)?;
        return Ok(());
    }
    let mut churn = Churn::new(&setup)?;
    (0..containers / step).try_for_each(|_| churn.step(step))
}

/// The profiles of both runs, as callgrind wrote them.
fn profiles(workload: &str, simulates_caches: bool) -> anyhow::Result<[String; 2]> {
    let count = |containers: usize| {
        callgrind::count(&["--subject", workload, &containers.to_string()], simulates_caches)
    };
    Ok([count(LENGTHS[0])?, count(LENGTHS[1])?])
}

fn per_container(profiles: &[String; 2], events: &[&str]) -> anyhow::Result<Steps> {
    let [before, after] = profiles.each_ref().map(|text| callgrind::Profile::read(text, events));
    Steps::of(&before?, &after?, (LENGTHS[1] - LENGTHS[0]) as u64)
}

fn saved_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

fn read_saved(file: &Path) -> anyhow::Result<BTreeMap<String, Steps>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("{}; `-- --save` makes it", file.display()))?;
    let saved: BTreeMap<String, BTreeMap<String, u64>> =
        serde_json::from_str(&text).with_context(|| file.display().to_string())?;
    Ok(saved.into_iter().map(|(workload, steps)| (workload, Steps::from(steps))).collect())
}

/// Prints the table as it grows. Returns whether nothing got worse.
fn compare(is_saving: bool) -> anyhow::Result<bool> {
    let file = saved_file();
    let saved = if is_saving { BTreeMap::new() } else { read_saved(&file)? };
    let (mut now, mut is_fine) = (BTreeMap::new(), true);
    table::print_head();
    for workload in WORKLOADS {
        let steps = per_container(&profiles(workload, false)?, callgrind::INSTRUCTIONS)?;
        is_fine &= print(workload, &steps, saved.get(workload));
        now.insert(workload, steps.into_map());
    }
    if is_saving {
        fs::write(&file, serde_json::to_string_pretty(&now)? + "\n")?;
    }
    Ok(is_fine)
}

/// Prints the misses by step.
fn print_misses() -> anyhow::Result<()> {
    let profiles = profiles(LARGE_CHURN, true)?;
    let events = [callgrind::INSTRUCTIONS, callgrind::FIRST_LEVEL_MISSES, callgrind::SECOND_LEVEL_MISSES];
    let [instructions, first, second] = events.map(|events| per_container(&profiles, events));
    table::print_misses(&instructions?, &first?, &second?);
    Ok(())
}

fn run() -> anyhow::Result<bool> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let is_measuring = arguments.iter().any(|argument| argument == "--bench");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| *a != "--bench").collect();
    match arguments[..] {
        ["--subject", workload, containers] => subject(workload, containers.parse()?).map(|()| true),
        // `cargo test --benches` only checks that the bench runs, and its build takes three times as many instructions.
        _ if !is_measuring => {
            callgrind::check_reader()?;
            WORKLOADS.iter().try_for_each(|workload| subject(workload, LENGTHS[0])).map(|()| true)
        }
        [] | ["--save" | "--misses"] if Command::new("valgrind").arg("--version").output().is_err() => {
            bail!("valgrind, which counts the instructions, is not installed")
        }
        [] => compare(false),
        ["--save"] => compare(true),
        ["--misses"] => print_misses().map(|()| true),
        _ => bail!(
            "unexpected arguments {arguments:?}; give none, --save to keep the new numbers, or --misses for the misses of caches"
        ),
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("instructions: {error:#}");
            ExitCode::from(2)
        }
    }
}
