//! `apportion-bench fairness`, `starvation` and `reclaim`: overloaded clusters on virtual time.

mod fairness;
mod reclaim;
mod starvation;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use apportion_load::{ClusterShape, Profile, Setup};
use clap::{Arg, Args};
use indicatif::ProgressBar;
use serde::Serialize;

pub(super) use fairness::{explained as explained_fairness, run as run_fairness};
pub(super) use reclaim::{ReclaimArgs, explained as explained_reclaim, run as run_reclaim};
pub(super) use starvation::{explained as explained_starvation, run as run_starvation};

use super::Failure;
use super::limit::seconds;
use super::mode::ModeArg;
use super::progress::parts_bar;
use crate::interrupt::Interruption;
use crate::output::OutputFile;
use crate::report::interrupted_line;

/// A cluster on virtual time.
#[derive(Clone, Debug, Args)]
pub(super) struct SteadyArgs {
    /// Number of nodes, a tenth of them in a separate partition.
    #[arg(long, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    nodes: Option<u32>,
    /// Number of applications.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    apps: Option<u32>,
    /// Number of leaf queues.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    leaves: Option<u32>,
    /// Number of containers that the applications ask for, again and again.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    asks: Option<u32>,
    /// Virtual time of the run, in seconds.
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Which threads do the engine's work.
    #[arg(long, value_enum, default_value_t = ModeArg::Serial)]
    mode: ModeArg,
    /// Number of proposer threads; parallel mode only [default: 2].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=apportion::engine::PROPOSERS_MAX as i64))]
    proposers: Option<u32>,
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures as JSON to this file; `-` prints them instead of the lines of text.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// The defaults of a command.
struct Defaults {
    shape: ClusterShape,
    asks: u32,
    seconds: f64,
    profile: fn(usize) -> Profile,
}

impl Defaults {
    /// Adds the default to the option's help.
    fn explained(&self, option: Arg) -> Arg {
        let ClusterShape { nodes, leaves, applications } = self.shape;
        let value = match option.get_id().as_str() {
            "nodes" => nodes.to_string(),
            "apps" => applications.to_string(),
            "leaves" => leaves.to_string(),
            "asks" => self.asks.to_string(),
            "seconds" => self.seconds.to_string(),
            _ => return option,
        };
        let help = option.get_help().map(ToString::to_string).unwrap_or_default();
        option.help(format!("{help} [default: {value}]"))
    }
}

/// The parameters of a measurement.
struct Plan {
    setup: Setup,
    asks: usize,
    end_ms: u64,
}

/// The run's settings: keys that are in all commands' `--json`.
#[derive(Debug, Serialize)]
struct RunKeys {
    mode: &'static str,
    nodes: usize,
    apps: usize,
    leaves: usize,
    asks: usize,
    seed: u64,
    virtual_s: f64,
    interrupted_at_s: Option<Interruption>,
}

impl SteadyArgs {
    fn plan(&self, defaults: &Defaults) -> Result<Plan, Failure> {
        let or = |given: Option<u32>, default| given.map_or(default, |given| given as usize);
        let shape = ClusterShape {
            nodes: or(self.nodes, defaults.shape.nodes),
            leaves: or(self.leaves, defaults.shape.leaves),
            applications: or(self.apps, defaults.shape.applications),
        };
        let mode = self.mode.with(self.proposers)?;
        let asks = self.asks.unwrap_or(defaults.asks) as usize;
        let seconds = Duration::from_secs_f64(self.seconds.unwrap_or(defaults.seconds));
        let setup = Setup { profile: (defaults.profile)(asks), seed: self.seed, ..Setup::new(shape, mode) };
        Ok(Plan { setup, asks, end_ms: seconds.as_millis() as u64 })
    }

    fn run_keys(&self, plan: &Plan, virtual_ms: u64, interruption: Option<Interruption>) -> RunKeys {
        let ClusterShape { nodes, leaves, applications } = plan.setup.shape;
        RunKeys {
            mode: plan.setup.mode.name(),
            nodes,
            apps: applications,
            leaves,
            asks: plan.asks,
            seed: self.seed,
            virtual_s: virtual_ms as f64 / 1e3,
            interrupted_at_s: interruption,
        }
    }

    /// The JSON file, opened before anything runs.
    fn output(&self) -> Result<Option<OutputFile>, Failure> {
        self.json.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)
    }

    fn hand_out(
        &self,
        file: Option<OutputFile>,
        report: &impl Serialize,
        text: &str,
        interruption: Option<Interruption>,
    ) -> Result<(), Failure> {
        if let Some(file) = file {
            file.write_text(&serde_json::to_string_pretty(report).map_err(Failure::run)?)?;
        }
        if self.json.as_deref() != Some(Path::new("-")) {
            let interrupted = interrupted_line(interruption);
            writeln!(std::io::stdout(), "{interrupted}{text}").map_err(Failure::output)?;
        }
        Failure::of_interruption(interruption)
    }
}

/// A progress bar over virtual time.
fn time_bar(end_ms: u64) -> ProgressBar {
    let bar = parts_bar("virtual time");
    bar.set_length(end_ms);
    bar
}
