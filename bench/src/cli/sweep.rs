//! `apportion-bench sweep`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use apportion::Mode;
use apportion::config::ApplicationOrdering;
use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use rayon::prelude::*;

use super::Failure;
use super::preemption::PreemptionArg;
use super::run::{check_record, to_failure};
use super::sweep_input::{Input, WorkloadArgs};
use super::trace::{NodeOrderArg, compression};
use crate::interrupt::{self, Interruptible};
use crate::output::{OutputFile, check_distinct};
use crate::report::counted;
use crate::report::{
    JsonReport, RunParameters, to_json_text, to_sweep_html, to_sweep_policy_table, to_sweep_table,
};
use crate::sweep::{Case, Figures, Grid, Policy, SweepPoint, SweepRun, Variant};

/// Simulates a trace, or the demo, many times.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "All listed values are combined: two policies at three sizes with five seeds are thirty simulations. The \
table has a row for each policy, size and load, with the median over the seeds. The report has a dot for each row and a \
line for each policy.\n\nExamples:\n  How does the cost of a decision grow with the cluster?\n    apportion-bench sweep --demo \
--sizes 0.5,1,2,4 --node-orders spread,pack --seeds 1,2,3 --report sweep.html\n  At what load do pods begin to wait?\n    \
apportion-bench sweep --format openb --nodes nodes.csv.gz --workload pods.csv.gz --compress 1000,10000,100000\n  \
What would other queues do to jobs and users?\n    apportion-bench sweep --format synth --workload jobs.json --queues \
today.xml --queues tomorrow.xml --seeds 1,2,3,4,5"
)]
pub(super) struct SweepArgs {
    #[command(flatten)]
    workload: WorkloadArgs,
    /// Divisors of submission times. Durations stay; see --compress-durations.
    #[arg(long, value_name = "X,X,..", default_value = "1", value_delimiter = ',', value_parser = compression)]
    compress: Vec<f64>,
    /// Divisor of all container durations, at every point.
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = compression)]
    compress_durations: f64,
    /// Factors on the number of nodes. The frequency of arrivals has the same factor, so that a larger cluster is as
    /// busy as a smaller one.
    #[arg(long, value_name = "X,X,..", default_value = "1", value_delimiter = ',', value_parser = size)]
    sizes: Vec<f64>,
    /// Which of the fitting nodes comes first; by default as in the file given with --queues, or spread.
    #[arg(long, alias = "node-order", value_name = "ORDER,..", value_delimiter = ',')]
    node_orders: Vec<NodeOrderArg>,
    /// The order in which all leaves serve their applications; by default as the queues are configured.
    #[arg(long, value_name = "ORDER,..", value_delimiter = ',')]
    application_orders: Vec<ApplicationOrderArg>,
    /// Whether the engine preempts containers; by default as in the file given with --queues. `on` takes the settings
    /// of that file, or YARN's defaults if it has none.
    #[arg(long, value_name = "ON|OFF,..", value_delimiter = ',')]
    preemption: Vec<PreemptionArg>,
    /// Seeds of the random values: everything in the demo; task counts and times (synth), sizes and times (swim),
    /// times (philly).
    #[arg(long, alias = "seed", value_name = "N,N,..", default_value = "0", value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Number of runs at a time; by default the number of processors.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Write the runs' figures as a JSON array to this file; `-` prints them instead of the table.
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// Write a report with plots, one HTML file that opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApplicationOrderArg {
    Fifo,
    Fair,
    FairBySize,
}

/// The output of a simulation; kept small, since there may be many.
struct Run {
    /// `None` for a simulation that a signal stopped: it has only JSON, since its figures are not comparable.
    whole: Option<SweepRun>,
    json: JsonReport,
}

pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let given = [("--json", &args.json), ("--report", &args.report)];
    let given: Vec<(&str, &Path)> =
        given.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect();
    check_distinct(&given, &args.workload.inputs()).map_err(Failure::input)?;
    args.check_lists()?;
    let open = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::create).transpose();
    let json = open(&args.json).map_err(Failure::input)?;
    let report = open(&args.report).map_err(Failure::input)?;
    let mut input = args.workload.read(&args.seeds, &args.sizes)?;
    input.subject.compress_durations = args.compress_durations;
    let grid = args.grid(&input);
    let cases = grid.cases();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0) as usize);
    let pool = pool.build().map_err(Failure::run)?;
    let bar = ProgressBar::new(cases.len() as u64);
    let one = |case: &Case| {
        let run = match interrupt::signal() {
            Some(_) => None,
            None => Some(simulate(&input, case)),
        };
        bar.inc(1);
        run.transpose()
    };
    let runs: Result<Vec<Option<Run>>, Failure> = pool.install(|| cases.par_iter().map(one).collect());
    bar.finish_and_clear();
    let runs = runs?;
    let not_begun = cases.iter().zip(&runs).find(|(_, run)| run.is_none()).map(|(case, _)| case);
    let (whole, mut stopped): (Vec<Run>, Vec<Run>) =
        runs.into_iter().flatten().partition(|run| run.whole.is_some());
    if whole.len() == cases.len() {
        hand_out(args, &input, &whole, &[], None, Files { json, report })?;
        return Failure::of_interruption(None);
    }
    if whole.is_empty() {
        return Err(Failure::nothing_to_report(format!(
            "the first of {} simulations had ended",
            cases.len()
        )));
    }
    if let (Some(case), []) = (not_begun, stopped.as_slice()) {
        // The signal came between two simulations. The next simulation stops at its first step and says so in the JSON.
        stopped.push(simulate(&input, case)?);
    }
    let points = SweepPoint::all(&whole.iter().filter_map(|run| run.whole.clone()).collect::<Vec<_>>());
    let missing: String =
        grid.none_ended(&points).iter().map(|name| format!("; {name}: none ended")).collect();
    let interrupted = format!("interrupted after {} of {} simulations{missing}", whole.len(), cases.len());
    hand_out(args, &input, &whole, &stopped, Some(&interrupted), Files { json, report })?;
    Err(Failure::interrupted(interrupted))
}

/// The output files.
struct Files {
    json: Option<OutputFile>,
    report: Option<OutputFile>,
}

impl SweepArgs {
    /// Refuses values that are named twice, since they would count twice.
    fn check_lists(&self) -> Result<(), Failure> {
        fn check<T>(option: &str, values: &[T], text: impl Fn(&T) -> String) -> Result<(), Failure> {
            let mut seen = BTreeSet::new();
            match values.iter().map(text).find(|value| !seen.insert(value.clone())) {
                Some(twice) => {
                    Err(Failure::input(format!("{option}: {twice} is named twice; once is enough")))
                }
                None => Ok(()),
            }
        }
        check("--compress", &self.compress, f64::to_string)?;
        check("--sizes", &self.sizes, f64::to_string)?;
        check("--seeds", &self.seeds, u64::to_string)?;
        check("--queues", self.workload.queues(), |path| path.display().to_string())?;
        check("--node-orders", &self.node_orders, |order| format!("{order:?}").to_lowercase())?;
        check("--application-orders", &self.application_orders, |order| format!("{order:?}").to_lowercase())?;
        check("--preemption", &self.preemption, |preemption| format!("{preemption:?}").to_lowercase())
    }

    fn grid(&self, input: &Input) -> Grid {
        let mut application_orders: Vec<_> =
            self.application_orders.iter().map(|order| Some(order.kind())).collect();
        if application_orders.is_empty() {
            application_orders.push(None);
        }
        let mut preemptions: Vec<_> = self.preemption.iter().map(|one| Some(one.kind())).collect();
        if preemptions.is_empty() {
            preemptions.push(None);
        }
        let mut policies = Vec::new();
        for Variant { queues, config } in &input.subject.variants {
            let mut node_orders: Vec<_> = self.node_orders.iter().map(|order| order.kind()).collect();
            if node_orders.is_empty() {
                node_orders.push(config.node_order);
            }
            for node_order in node_orders {
                for &application_order in &application_orders {
                    let policy = |&preemption: &_| Policy {
                        queues: queues.clone(),
                        node_order,
                        application_order,
                        preemption,
                    };
                    policies.extend(preemptions.iter().map(policy));
                }
            }
        }
        Grid {
            policies,
            sizes: self.sizes.clone(),
            compressions: self.compress.clone(),
            seeds: self.seeds.clone(),
        }
    }
}

impl ApplicationOrderArg {
    fn kind(self) -> ApplicationOrdering {
        match self {
            Self::Fifo => ApplicationOrdering::Fifo,
            Self::Fair => ApplicationOrdering::Fair,
            Self::FairBySize => ApplicationOrdering::FairBySize,
        }
    }
}

/// Runs a case until its end or a signal.
fn simulate(input: &Input, case: &Case) -> Result<Run, Failure> {
    let interruptible = Interruptible::begin();
    let go_on = |_| interruptible.flow();
    let record = input.subject.simulate(case, &mut { go_on }).map_err(|error| match &case.policy.queues {
        Some(queues) => to_failure(&format!("{} with {queues}", input.name), error),
        None => to_failure(&input.name, error),
    })?;
    if record.asks == 0 {
        return Err(Failure::input(format!(
            "--demo, --sizes: no job arrives for {} with seed {}, so there is nothing to compare; give more nodes",
            counted(record.nodes as u64, "node"),
            case.seed
        )));
    }
    check_record(&record)?;
    let parameters = RunParameters {
        format: input.format.clone(),
        mode: Mode::Serial,
        seed: case.seed,
        compress: case.compress,
        compress_durations: input.subject.compress_durations,
        tick_ms: input.subject.tick_ms,
    };
    let json = JsonReport::new(&parameters, &record).of_case(case);
    let is_whole = record.interrupted.is_none();
    let whole = is_whole.then(|| SweepRun { case: case.clone(), figures: Figures::of(&record) });
    Ok(Run { whole, json })
}

fn hand_out(
    args: &SweepArgs,
    input: &Input,
    whole: &[Run],
    stopped: &[Run],
    interrupted: Option<&str>,
    files: Files,
) -> Result<(), Failure> {
    let points = SweepPoint::all(&whole.iter().filter_map(|run| run.whole.clone()).collect::<Vec<_>>());
    if let Some(file) = files.report {
        let name = interrupted.map_or_else(|| input.format.clone(), |why| format!("{}, {why}", input.format));
        file.write_text(&to_sweep_html(&name, &points).map_err(Failure::run)?)?;
    }
    if let Some(file) = files.json {
        let of_run = points.iter().flat_map(|point| std::iter::repeat_n(point, point.figures.len()));
        let whole = of_run.zip(whole).map(|(point, run)| run.json.clone().of_point(point));
        let reports = whole.chain(stopped.iter().map(|run| run.json.clone()));
        file.write_text(&to_json_text(&reports.collect::<Vec<_>>()).map_err(Failure::run)?)?;
    }
    if args.json.as_deref() != Some(Path::new("-")) {
        let table = format!("{}\n{}", to_sweep_table(&points), to_sweep_policy_table(&points));
        let text = interrupted.map_or(table.clone(), |interrupted| format!("{table}\n{interrupted}"));
        writeln!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    }
    Ok(())
}

/// Parses a factor for the number of nodes.
fn size(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.001..=1_000.0).contains(&factor) => Ok(factor),
        _ => Err("a number from 0.001 to 1000 is needed, 0.5 for instance".into()),
    }
}
