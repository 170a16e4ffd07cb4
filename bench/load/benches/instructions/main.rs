//! Instructions per container and step, counted by callgrind: the same number on every run, so a gate in CI.
//!
//! `cargo bench -p apportion-load --bench instructions` compares with `instructions.json` in the folder above. It ends
//! with 1 if a workload takes over 2 % more than the file says, or one of its steps over 4 % more; `-- --save` writes the
//! new numbers, for the commit that changes them. An engine in serial mode does the same work each time. Two runs of
//! different length share the setting up, and their difference has none of it. The audit at the end is not counted.
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

const WORKLOADS: [&str; 3] = ["fill", "churn", "constrained"];
/// Containers of the two runs.
const LENGTHS: [usize; 2] = [2_000, 6_000];
/// Containers that complete together.
const STEP: usize = 500;
const SHAPE: ClusterShape = ClusterShape { nodes: 500, leaves: 20, applications: 100 };

/// The work that is counted.
fn subject(workload: &str, containers: usize) -> anyhow::Result<()> {
    let profile = if workload == "constrained" { Profile::CONSTRAINED } else { Profile::CHURN };
    let setup = Setup { profile, ..Setup::new(SHAPE, Mode::Serial) };
    if workload == "fill" {
        fill(&setup, containers)?;
        return Ok(());
    }
    let mut churn = Churn::new(&setup)?;
    (0..containers / STEP).try_for_each(|_| churn.step(STEP))
}

fn per_container(workload: &str) -> anyhow::Result<Steps> {
    let [short, long] = LENGTHS;
    let [before, after] = [short, long].map(|containers| callgrind::count(workload, containers));
    Steps::of(&before?, &after?, (long - short) as u64)
}

fn saved_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json")
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
        let steps = per_container(workload)?;
        is_fine &= print(workload, &steps, saved.get(workload));
        now.insert(workload, steps.into_map());
    }
    if is_saving {
        fs::write(&file, serde_json::to_string_pretty(&now)? + "\n")?;
    }
    Ok(is_fine)
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
        [] | ["--save"] if Command::new("valgrind").arg("--version").output().is_err() => {
            bail!("valgrind, which counts the instructions, is not installed")
        }
        [] => compare(false),
        ["--save"] => compare(true),
        _ => bail!("unexpected arguments {arguments:?}; give none, or --save to keep the new numbers"),
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
