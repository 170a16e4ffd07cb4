//! Instructions per container, counted by callgrind: the same number on every run, so CI uses it as a gate.
//!
//! `cargo bench -p apportion-load --bench instructions` compares with `instructions.json` next to this file. It exits
//! with 1 if a workload takes over 2 % more than the file says. `-- --save` writes the new numbers, for the commit that
//! changes them. An engine in serial mode does the same work each time. Setup costs the same in two runs of
//! different length, so the difference of the runs excludes it. The audit at the end is not counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, bail};
use apportion::Mode;
use apportion_load::{Churn, ClusterShape, Profile, Setup, fill};

const WORKLOADS: [&str; 3] = ["fill", "churn", "constrained"];
/// Number of containers in the two runs.
const LENGTHS: [usize; 2] = [2_000, 6_000];
/// Containers that complete together.
const STEP: usize = 500;
/// A count above this factor is a regression; below its inverse, the saved number is out of date.
const TOLERANCE: f64 = 1.02;
const SHAPE: ClusterShape = ClusterShape { nodes: 500, leaves: 20, applications: 100 };

/// Runs the counted work.
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

/// Counts all instructions of a run of this program as the subject.
fn count(workload: &str, containers: usize) -> anyhow::Result<u64> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("callgrind.out");
    let output = Command::new("valgrind")
        // The order matters: --toggle-collect turns off collection at the start.
        .args(["--tool=callgrind", "--toggle-collect=apportion::engine::Engine::audit"])
        .arg("--collect-atstart=yes")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(env::current_exe()?)
        .args(["--subject", workload, &containers.to_string()])
        .output()?;
    if !output.status.success() {
        bail!("{workload} of {containers}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = fs::read_to_string(&file)?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.context("callgrind wrote no totals")?.trim().parse()?)
}

fn per_container(workload: &str) -> anyhow::Result<u64> {
    let [short, long] = LENGTHS;
    let more = count(workload, long)?.saturating_sub(count(workload, short)?);
    Ok(more / (long - short) as u64)
}

fn saved_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.json")
}

fn compare(is_saving: bool) -> anyhow::Result<bool> {
    let file = saved_file();
    let saved: BTreeMap<String, u64> = match fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text).with_context(|| file.display().to_string())?,
        Err(_) if is_saving => BTreeMap::new(),
        Err(error) => bail!("{}: {error}; `-- --save` writes the file", file.display()),
    };
    let (mut now, mut is_fine) = (BTreeMap::new(), true);
    for workload in WORKLOADS {
        let count = per_container(workload)?;
        let before = saved.get(workload).copied();
        let ratio = before.map_or(1.0, |before| count as f64 / before as f64);
        let verdict = match ratio {
            _ if is_saving => "saved",
            ratio if ratio > TOLERANCE => "a regression",
            ratio if ratio < 1.0 / TOLERANCE => "better; save the new number",
            _ => "as before",
        };
        is_fine &= is_saving || ratio <= TOLERANCE;
        let before = before.map_or_else(|| "unknown".to_owned(), |before| before.to_string());
        println!(
            "{workload:12} {count:6} instructions a container, {before:>7} before: {ratio:.3}, {verdict}"
        );
        now.insert(workload, count);
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
