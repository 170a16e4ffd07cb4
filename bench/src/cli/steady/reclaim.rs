//! `apportion-bench reclaim`.

mod json;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use apportion::config::{PreemptionPolicy, PreemptionRounds};
use apportion_load::{ClusterShape, Profile};
use clap::Args;
use rayon::prelude::*;

use self::json::ReclaimJson;
use super::{Defaults, Plan, SteadyArgs, time_bar};
use crate::cli::Failure;
use crate::cli::limit::seconds;
use crate::cli::preemption::RoundAmounts;
use crate::interrupt::Interruptible;
use crate::output::{OutputFile, check_distinct};
use crate::report::{ReclaimReport, to_reclaim_html, to_reclaim_text};
use crate::steady::{Reclaim, ReclaimPlan, measure_reclaim};

/// W3 of `docs/workloads.md`.
const DEFAULTS: Defaults = Defaults {
    shape: ClusterShape { nodes: 2_000, leaves: 1_000, applications: 20_000 },
    asks: 800_000,
    seconds: 900.0,
    profile: Profile::wide_tree,
};

/// A cluster on virtual time, the life of its containers, and the rounds of preemption. The default rounds are YARN's.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A tenth of the leaves end their containers and withdraw their asks after a third of the time, and ask \
again after two thirds. Two runs are made, with preemption and without. The leaves have converged when they miss at most 5 % of \
their fair shares, for a minute. Percentages are written 20% or 20.\n\nExamples:\n  How soon do leaves have their shares if \
containers live for an hour?\n    apportion-bench reclaim --mean-life 3600 --report reclaim.html\n  And if rounds take all \
that is owed at once?\n    apportion-bench reclaim --mean-life 3600 --natural-termination 100% --per-round 100%"
)]
pub(in crate::cli) struct ReclaimArgs {
    #[command(flatten)]
    steady: SteadyArgs,
    /// Mean life of a container, in seconds.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    mean_life: f64,
    /// The time between two rounds of preemption.
    #[arg(long, value_name = "MS", default_value_t = PreemptionRounds::default().interval_ms)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    interval: u64,
    /// The time between the announcement of a victim and its end.
    #[arg(long, value_name = "MS", default_value_t = PreemptionRounds::default().max_wait_before_kill_ms)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=86_400_000))]
    wait: u64,
    #[command(flatten)]
    amounts: RoundAmounts,
    /// Write a report with plots, one HTML file that opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// Adds the default of this command to the option's help.
pub(in crate::cli) fn explained(option: clap::Arg) -> clap::Arg {
    let policy = PreemptionPolicy::default();
    let value = match option.get_id().as_str() {
        "dead_zone" => policy.dead_zone,
        "natural_termination" => policy.natural_termination,
        "per_round" => policy.per_round,
        _ => return DEFAULTS.explained(option),
    };
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    option.help(format!("{help} [default: {value}]"))
}

pub(in crate::cli) fn run(args: &ReclaimArgs) -> Result<(), Failure> {
    let plan = args.steady.plan(&DEFAULTS)?;
    let outputs = [("--json", &args.steady.json), ("--report", &args.report)];
    let given: Vec<(&str, &Path)> =
        outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?))).collect();
    check_distinct(&given, &[]).map_err(Failure::input)?;
    let json = args.steady.output()?;
    let html = args.report.as_deref().map(OutputFile::create).transpose().map_err(Failure::input)?;
    let [with, without] = args.measure(&plan)?;
    let report = ReclaimReport {
        nodes: plan.setup.shape.nodes,
        leaves: plan.setup.shape.leaves,
        mode: plan.setup.mode,
        seed: plan.setup.seed,
        mean_life_ms: args.mean_life_ms(),
        with,
        without,
    };
    let interruption = report.with.interrupted.max(report.without.interrupted);
    if report.with.has_not_returned() || report.without.has_not_returned() {
        return Err(if interruption.is_some() {
            Failure::nothing_to_report("the leaves returned")
        } else {
            Failure::input(
                "no leaf that returned was owed anything, so nothing was measured; ask for more than the nodes hold with --asks",
            )
        });
    }
    if let Some(file) = html {
        file.write_text(&to_reclaim_html(&report).map_err(Failure::run)?)?;
    }
    let run = args.steady.run_keys(&plan, report.with.end_ms, interruption);
    let figures = ReclaimJson::new(run, args.rounds(), &report);
    args.steady.hand_out(json, &figures, &to_reclaim_text(&report), interruption)
}

impl ReclaimArgs {
    fn mean_life_ms(&self) -> u64 {
        (self.mean_life * 1e3).round().max(1.0) as u64
    }

    fn rounds(&self) -> PreemptionRounds {
        PreemptionRounds {
            policy: self.amounts.applied_to(PreemptionPolicy::default()),
            interval_ms: self.interval,
            max_wait_before_kill_ms: self.wait,
            observe_only: false,
        }
    }

    /// Runs with preemption and without, side by side.
    fn measure(&self, plan: &Plan) -> Result<[Reclaim; 2], Failure> {
        let bar = time_bar(2 * plan.end_ms);
        let passed: [AtomicU64; 2] = Default::default();
        let one = |(number, preemption): (usize, Option<PreemptionRounds>)| {
            let plan_of_run = ReclaimPlan {
                containers: plan.asks,
                mean_life_ms: self.mean_life_ms(),
                end_ms: plan.end_ms,
                preemption,
            };
            measure_reclaim(&plan.setup, &plan_of_run, &mut |now_ms| {
                passed[number].store(now_ms, Ordering::Relaxed);
                bar.set_position(passed.iter().map(|passed| passed.load(Ordering::Relaxed)).sum());
                Interruptible::begin().flow()
            })
        };
        let runs = [Some(self.rounds()), None].into_par_iter().enumerate().map(one);
        let runs: anyhow::Result<Vec<Reclaim>> = runs.collect();
        bar.finish_and_clear();
        let runs = runs.map_err(|error| Failure::run(format!("{error:#}")))?;
        runs.try_into().map_err(|_| Failure::run("two runs were to be made"))
    }
}
