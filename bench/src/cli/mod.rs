//! The program `apportion-bench`.

mod compare;
mod completions;
mod config;
mod control;
mod demo;
mod explain;
mod failure;
mod latency;
mod limit;
mod log;
mod log_input;
mod mode;
mod outputs;
mod plan;
mod preempt;
mod preemption;
mod progress;
mod queues;
mod replay;
mod run;
mod scenario;
mod services;
mod steady;
mod sweep;
mod sweep_input;
mod throughput;
mod trace;
mod verify;

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

pub use failure::Failure;

use crate::output::check_distinct;

/// Replays cluster traces through the Apportion engine on virtual time, and reports the results.
///
/// Without a command it runs `demo`.
#[derive(Debug, Parser)]
#[command(name = "apportion-bench", version, max_term_width = 100)]
#[command(
    after_help = "Exit codes:\n  0 success\n  1 the run or a scenario failed, the audit found a violation, or `compare` found a difference\n  \
2 wrong input or a wrong command line\n  130, 143, 129 interrupted (INT, TERM, HUP)\n\
Interrupted runs report their results so far; a second signal ends the program at once."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a built-in synthetic cluster and workload: a few seconds, a table, and a report with plots, written
    /// to `report.html` unless `--report` names another file.
    Demo(demo::DemoArgs),
    /// Replays a trace.
    Replay(Box<replay::ReplayArgs>),
    /// Simulates a trace or the demo many times in parallel, to compare policies, sizes, loads and seeds.
    Sweep(Box<sweep::SweepArgs>),
    /// Reports the differences beyond noise between two results of `replay`, `demo` or `sweep`.
    Compare(compare::CompareArgs),
    /// Measures how fast plain arrays on one thread make the same decisions: the yardstick for the engine's rates.
    Limit(limit::LimitArgs),
    /// Measures allocations per second on the machine's own clock.
    Throughput(Box<throughput::ThroughputArgs>),
    /// Measures on the machine's own clock how long asks wait for their containers, at several rates and in several
    /// modes.
    Latency(Box<latency::LatencyArgs>),
    /// Measures on virtual time how far the leaves of a wide queue tree are from their fair shares.
    #[command(mut_args(steady::explained_fairness))]
    Fairness(steady::SteadyArgs),
    /// Measures on virtual time how long large containers wait in a full cluster, with and without reservations.
    #[command(mut_args(steady::explained_starvation))]
    Starvation(steady::SteadyArgs),
    /// Measures on virtual time how soon leaves that return to a full cluster have their fair shares, with and without
    /// preemption.
    #[command(mut_args(steady::explained_reclaim))]
    Reclaim(Box<steady::ReclaimArgs>),
    /// Simulates a year of a service that is stopped and started, crashes and loses hosts: with its history, without
    /// it, and in strict mode.
    Services(services::ServicesArgs),
    /// Simulates drains, a rolling restart and the relief of hot hosts, without and with faults: how many containers
    /// are down meanwhile?
    Control(control::ControlArgs),
    /// Runs scenarios: files that describe events in a cluster and the expected outcome.
    Scenario(scenario::ScenarioArgs),
    /// Replays a log written with `--log`, checks every change again, and prints the state's digest.
    Verify(verify::VerifyArgs),
    /// Explains why an ask of a log written with `--log` was pending at some change, or how it ended.
    Explain(explain::ExplainArgs),
    /// Plans a round of preemption for the state in a log, and changes nothing. Who would lose which containers, for
    /// whom, and who is owed more but cannot be helped?
    Preempt(Box<preempt::PreemptArgs>),
    /// Lists the changes of a log written with `--log`, with their events: all, or those about a job, a node, a queue.
    Log(log::LogArgs),
    /// Checks and converts configurations: native TOML, YARN's and YuniKorn's.
    Config(config::ConfigArgs),
    /// Prints shell completions.
    Completions {
        /// The shell to complete for.
        shell: Shell,
    },
}

/// The output files.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// Write the figures as JSON to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE|-")]
    json: Option<std::path::PathBuf>,
    /// Write a report with plots, one HTML file that opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<std::path::PathBuf>,
    /// Write the engine's log, for `verify`, `explain`, `preempt` and `log`.
    #[arg(long, value_name = "FILE")]
    log: Option<std::path::PathBuf>,
    /// Write a row for each job as CSV: times of submission, start and end, slowdown, waiting time; `-` prints the rows
    /// instead of the table.
    #[arg(long, value_name = "FILE|-")]
    jobs_csv: Option<std::path::PathBuf>,
    /// Write a row for each container placed as CSV: owner, node, times of ask, start and end; `-` prints the rows
    /// instead of the table.
    #[arg(long, value_name = "FILE|-")]
    containers_csv: Option<std::path::PathBuf>,
}

impl OutputArgs {
    /// Whether figures go to standard output in place of the table.
    fn replaces_table(&self) -> bool {
        let all = [&self.json, &self.jobs_csv, &self.containers_csv];
        all.into_iter().any(|path| path.as_deref() == Some(Path::new("-")))
    }

    /// Checks that no output overwrites an input or another output.
    fn check_distinct(&self, inputs: &[(&str, &Path)]) -> Result<(), Failure> {
        let all = [
            ("--json", &self.json),
            ("--report", &self.report),
            ("--log", &self.log),
            ("--jobs-csv", &self.jobs_csv),
            ("--containers-csv", &self.containers_csv),
        ];
        let given: Vec<(&str, &Path)> =
            all.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect();
        check_distinct(&given, inputs).map_err(Failure::input)
    }
}

/// Writes a note to standard error; a closed standard error is not a failure.
pub fn note(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

impl Cli {
    /// Reads the command line. Requested help is printed and ends the program if printing succeeds.
    ///
    /// # Errors
    /// When help cannot be printed.
    pub fn from_arguments() -> Result<Self, Failure> {
        let error = match Self::try_parse() {
            Ok(cli) => return Ok(cli),
            Err(error) => error,
        };
        if error.use_stderr() {
            error.exit();
        }
        let printed = error.print().and_then(|()| io::stdout().flush());
        printed.map_err(Failure::output)?;
        std::process::exit(0)
    }

    /// Runs the command of the command line.
    ///
    /// # Errors
    /// The exit code and the message to end with.
    pub fn run(self) -> Result<(), Failure> {
        match self.command.unwrap_or_else(|| Command::Demo(demo::DemoArgs::default())) {
            Command::Demo(args) => demo::run(&args),
            Command::Replay(args) => replay::run(&args),
            Command::Sweep(args) => sweep::run(&args),
            Command::Compare(args) => compare::run(&args),
            Command::Limit(args) => limit::run(&args),
            Command::Throughput(args) => throughput::run(&args),
            Command::Latency(args) => latency::run(&args),
            Command::Fairness(args) => steady::run_fairness(&args),
            Command::Starvation(args) => steady::run_starvation(&args),
            Command::Reclaim(args) => steady::run_reclaim(&args),
            Command::Services(args) => services::run(&args),
            Command::Control(args) => control::run(&args),
            Command::Scenario(args) => scenario::run(&args),
            Command::Verify(args) => verify::run(&args),
            Command::Explain(args) => explain::run(&args),
            Command::Preempt(args) => preempt::run(&args),
            Command::Log(args) => log::run(&args),
            Command::Config(args) => config::run(&args),
            Command::Completions { shell } => completions::run(shell, Self::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
