//! `apportion-bench starvation`.

use serde::Serialize;

use super::{Defaults, Plan, SteadyArgs, time_bar};
use crate::cli::Failure;
use crate::report::{count_text, duration_text};
use crate::steady::{MEAN_LIFE_MS, Starvation, measure_starvation};
use crate::throughput::{ClusterShape, Profile};

/// W2 of `workloads.md`, for ten mean lives.
const DEFAULTS: Defaults = Defaults {
    shape: ClusterShape { nodes: 5_000, leaves: 20, applications: 2_000 },
    asks: 1_000_000,
    seconds: 1_200.0,
    profile: Profile::backlog_s,
};

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct StarvationReport {
    mode: &'static str,
    nodes: usize,
    apps: usize,
    leaves: usize,
    asks: usize,
    seed: u64,
    virtual_s: f64,
    mean_life_s: f64,
    with_reservations: Outcome,
    without_reservations: Outcome,
    /// What reservations cost of the vcores.
    used_part_lost: f64,
    audit_violations: usize,
}

#[derive(Debug, Serialize)]
struct Outcome {
    placed: u64,
    first_to_placed_s: Quantiles,
    /// 99 of 100 waited at most this many mean lives.
    p99_mean_lives: f64,
    large_waited: u64,
    large_placed_at_once: u64,
    large_still_waiting: u64,
    longest_still_waiting_s: f64,
    used_part: f64,
    kept_free_part: f64,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    p50: f64,
    p99: f64,
    max: f64,
}

impl From<&Starvation> for Outcome {
    fn from(one: &Starvation) -> Self {
        let waits = &one.first_to_placed_ms;
        let seconds = |quantile| waits.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            placed: one.placed,
            first_to_placed_s: Quantiles { p50: seconds(0.5), p99: seconds(0.99), max: seconds(1.0) },
            p99_mean_lives: seconds(0.99) * 1e3 / MEAN_LIFE_MS as f64,
            large_waited: waits.len(),
            large_placed_at_once: one.placed_at_once,
            large_still_waiting: one.still_waiting,
            longest_still_waiting_s: one.longest_still_waiting_ms as f64 / 1e3,
            used_part: one.used_part,
            kept_free_part: one.kept_free_part,
        }
    }
}

pub(in crate::cli) fn run(args: &SteadyArgs) -> Result<(), Failure> {
    let file = args.output()?;
    let plan = args.plan(&DEFAULTS);
    let with = measure(&plan, true)?;
    let without = measure(&plan, false)?;
    let text = format!("{}\n{}", to_text(&with), to_text(&without));
    args.hand_out(file, &report(args, &plan, &with, &without), &text)
}

fn measure(plan: &Plan, reservations: bool) -> Result<Starvation, Failure> {
    let bar = time_bar(plan.end_ms);
    let progress = &mut |now_ms| bar.set_position(now_ms);
    let one = measure_starvation(&plan.setup, plan.asks, reservations, plan.end_ms, progress)?;
    bar.finish_and_clear();
    Ok(one)
}

fn report(args: &SteadyArgs, plan: &Plan, with: &Starvation, without: &Starvation) -> StarvationReport {
    let shape = plan.setup.shape;
    StarvationReport {
        mode: args.mode_name(),
        nodes: shape.nodes,
        apps: shape.applications,
        leaves: shape.leaves,
        asks: plan.asks,
        seed: args.seed,
        virtual_s: with.end_ms as f64 / 1e3,
        mean_life_s: MEAN_LIFE_MS as f64 / 1e3,
        with_reservations: Outcome::from(with),
        without_reservations: Outcome::from(without),
        used_part_lost: without.used_part - with.used_part,
        audit_violations: 0,
    }
}

fn to_text(one: &Starvation) -> String {
    let wait = |quantile| duration_text(one.first_to_placed_ms.value_at_quantile(quantile));
    format!(
        "{} reservations: {} large containers waited as the first of their queue, half of them up to {}, 99 % up to {}, \
         {:.1} mean lives; {} had no need to\n  {} still wait, for up to {}; {:.2} % of the vcores in use, {:.2} % free on \
         claimed nodes; {} containers placed, audit: nothing found",
        if one.reservations { "with" } else { "without" },
        count_text(one.first_to_placed_ms.len()),
        wait(0.5),
        wait(0.99),
        one.first_to_placed_ms.value_at_quantile(0.99) as f64 / MEAN_LIFE_MS as f64,
        count_text(one.placed_at_once),
        count_text(one.still_waiting),
        duration_text(one.longest_still_waiting_ms),
        100.0 * one.used_part,
        100.0 * one.kept_free_part,
        count_text(one.placed),
    )
}
