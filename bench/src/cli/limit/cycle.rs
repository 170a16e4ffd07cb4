//! `apportion-bench limit --cycle`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use apportion::Mode;
use apportion_load::{ClusterShape, CycleRate, CycleYardstick, Setup};
use serde::Serialize;

use super::{LimitArgs, slices};
use crate::cli::Failure;
use crate::interrupt::Interruption;
use crate::output::OutputFile;
use crate::report::{count_text, counted, interrupted_line, leaves_text};

/// The default number of applications.
const APPLICATIONS: u32 = 200;

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct CycleReport {
    nodes: u32,
    leaves: u32,
    apps: u32,
    asks: Option<u32>,
    seed: u64,
    allocations: u64,
    elapsed_s: f64,
    cycle_allocations_per_second: f64,
    cpu_ns_per_allocation: Option<f64>,
    placements_digest: String,
    interrupted_at_s: Option<Interruption>,
}

pub(super) fn run(args: &LimitArgs, json: Option<OutputFile>) -> Result<(), Failure> {
    let apps = args.apps.unwrap_or(APPLICATIONS);
    let [nodes, leaves, applications] = [args.nodes, args.leaves, apps].map(|count| count as usize);
    let shape = ClusterShape { nodes, leaves, applications };
    let setup = Setup { seed: args.seed, ..Setup::new(shape, Mode::Serial) };
    let yardstick = match args.asks {
        Some(asks) => CycleYardstick::fill(&setup, asks as usize),
        None => CycleYardstick::churn(&setup),
    };
    let mut yardstick = yardstick.map_err(Failure::input)?;
    let slice = Duration::from_secs_f64(args.seconds);
    let (mut rates, interruption) = slices(args.repeat, |go_on| yardstick.run_while(slice, go_on));
    rates.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
    let middle: CycleRate = rates[rates.len() / 2];
    let report = CycleReport {
        nodes: args.nodes,
        leaves: args.leaves,
        apps,
        asks: args.asks,
        seed: args.seed,
        allocations: rates.iter().map(|rate| rate.placed).sum(),
        elapsed_s: rates.iter().map(|rate| rate.elapsed.as_secs_f64()).sum(),
        cycle_allocations_per_second: middle.per_second(),
        cpu_ns_per_allocation: middle.cpu_ns_per_container(),
        placements_digest: format!("{:016x}", yardstick.digest()),
        interrupted_at_s: interruption,
    };
    if let Some(file) = json {
        file.write_text(&serde_json::to_string_pretty(&report).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        writeln!(std::io::stdout(), "{}", report.to_text()).map_err(Failure::output)?;
    }
    Failure::of_interruption(interruption)
}

impl CycleReport {
    fn to_text(&self) -> String {
        let cpu = self.cpu_ns_per_allocation;
        let cpu = cpu
            .map_or_else(String::new, |ns| format!("{} ns of processor time each, ", count_text(ns as u64)));
        format!(
            "{}{} allocations per second through the full cycle, one thread, {cpu}{}, {}, {}\n\
             digest of the placements: {}",
            interrupted_line(self.interrupted_at_s),
            count_text(self.cycle_allocations_per_second as u64),
            counted(self.nodes.into(), "node"),
            leaves_text(self.leaves.into()),
            counted(self.apps.into(), "application"),
            self.placements_digest,
        )
    }
}
