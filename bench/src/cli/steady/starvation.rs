//! `apportion-bench starvation`.

use apportion_load::{ClusterShape, Profile};
use hdrhistogram::Histogram;
use serde::Serialize;

use super::{Defaults, Plan, RunKeys, SteadyArgs, time_bar};
use crate::cli::Failure;
use crate::interrupt::{Interruptible, Interruption};
use crate::report::{count_text, counted, duration_text};
use crate::steady::{MEAN_LIFE_MS, Starvation, WARM_UP_MS, measure_starvation};

/// W2 of `docs/workloads.md`, for ten mean lives.
const DEFAULTS: Defaults = Defaults {
    shape: ClusterShape { nodes: 5_000, leaves: 20, applications: 2_000 },
    asks: 1_000_000,
    seconds: 1_200.0,
    profile: Profile::backlog_s,
};

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct StarvationReport {
    #[serde(flatten)]
    run: RunKeys,
    mean_life_s: f64,
    with_reservations: Outcome,
    /// Null if a signal came before its measurement began.
    without_reservations: Option<Outcome>,
    /// The part of the vcores that reservations cost; null if a signal cut either run short.
    used_part_lost: Option<f64>,
    audit_violations: usize,
}

#[derive(Debug, Serialize)]
struct Outcome {
    interrupted_at_s: Option<Interruption>,
    placed: u64,
    /// Null if none was placed.
    first_to_placed_s: Option<Quantiles>,
    at_head_s: Quantiles,
    /// 99 of 100 were at the head for at most this many mean lives.
    at_head_p99_mean_lives: f64,
    large_waited: u64,
    large_placed_at_once: u64,
    large_still_waiting: u64,
    longest_still_waiting_s: f64,
    /// Null if a signal came before the measured window.
    used_part: Option<f64>,
    kept_free_part: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Quantiles {
    p50: f64,
    p99: f64,
    max: f64,
}

impl Quantiles {
    fn of(waits_ms: &Histogram<u64>) -> Self {
        let seconds = |quantile| waits_ms.value_at_quantile(quantile) as f64 / 1e3;
        Self { p50: seconds(0.5), p99: seconds(0.99), max: seconds(1.0) }
    }
}

/// The wait that 99 of 100 did not exceed, in mean lives.
fn mean_lives(waits_ms: &Histogram<u64>) -> f64 {
    waits_ms.value_at_quantile(0.99) as f64 / MEAN_LIFE_MS as f64
}

impl From<&Starvation> for Outcome {
    fn from(one: &Starvation) -> Self {
        Self {
            interrupted_at_s: one.interrupted,
            placed: one.placed,
            first_to_placed_s: (!one.first_to_placed_ms.is_empty())
                .then(|| Quantiles::of(&one.first_to_placed_ms)),
            at_head_s: Quantiles::of(&one.at_head_ms),
            at_head_p99_mean_lives: mean_lives(&one.at_head_ms),
            large_waited: one.first_to_placed_ms.len(),
            large_placed_at_once: one.placed_at_once,
            large_still_waiting: one.still_waiting,
            longest_still_waiting_s: one.longest_still_waiting_ms as f64 / 1e3,
            used_part: one.used_part,
            kept_free_part: one.kept_free_part,
        }
    }
}

/// Adds the default of this command to the option's help.
pub(in crate::cli) fn explained(option: clap::Arg) -> clap::Arg {
    DEFAULTS.explained(option)
}

pub(in crate::cli) fn run(args: &SteadyArgs) -> Result<(), Failure> {
    let plan = args.plan(&DEFAULTS)?;
    if plan.end_ms <= WARM_UP_MS {
        return Err(Failure::input(format!(
            "--seconds: the first {} s are not counted, so nothing would be measured; give more",
            WARM_UP_MS / 1_000
        )));
    }
    let file = args.output()?;
    let with = measure(&plan, true)?;
    if with.at_head_ms.is_empty() && with.interrupted.is_some() {
        return Err(Failure::nothing_to_report(
            "a large container waited at the head of its queue and counted",
        ));
    }
    let (without, interruption) = match with.interrupted {
        None => without_reservations(&plan)?,
        interruption => (None, interruption),
    };
    let outcomes = [Some(&with), without.as_ref()].into_iter().flatten();
    if outcomes.clone().any(|one| one.at_head_ms.is_empty()) {
        return Err(Failure::input(
            "no large container came to wait at the head of its queue, so nothing was measured. Ask for more than the \
             nodes hold with --asks, or let more time pass with --seconds",
        ));
    }
    let text = outcomes.map(to_text).collect::<Vec<_>>().join("\n");
    args.hand_out(file, &report(args, &plan, &with, without.as_ref(), interruption), &text, interruption)
}

/// The second run, if its measurement began, and the point at which a signal stopped it.
fn without_reservations(plan: &Plan) -> Result<(Option<Starvation>, Option<Interruption>), Failure> {
    if Interruptible::begin().is_stopped() {
        return Ok((None, Some(Interruption::Virtual(0))));
    }
    let one = measure(plan, false)?;
    let interruption = one.interrupted;
    Ok((Some(one).filter(|one| interruption.is_none() || !one.at_head_ms.is_empty()), interruption))
}

fn measure(plan: &Plan, reservations: bool) -> Result<Starvation, Failure> {
    let bar = time_bar(plan.end_ms);
    let progress = &mut |now_ms| {
        bar.set_position(now_ms);
        Interruptible::begin().flow()
    };
    let one = measure_starvation(&plan.setup, plan.asks, reservations, plan.end_ms, progress)?;
    bar.finish_and_clear();
    Ok(one)
}

fn report(
    args: &SteadyArgs,
    plan: &Plan,
    with: &Starvation,
    without: Option<&Starvation>,
    interruption: Option<Interruption>,
) -> StarvationReport {
    let whole = without.filter(|_| interruption.is_none());
    StarvationReport {
        run: args.run_keys(plan, with.end_ms, interruption),
        mean_life_s: MEAN_LIFE_MS as f64 / 1e3,
        with_reservations: Outcome::from(with),
        without_reservations: without.map(Outcome::from),
        used_part_lost: whole.and_then(|without| Some(without.used_part? - with.used_part?)),
        audit_violations: 0,
    }
}

fn to_text(one: &Starvation) -> String {
    format!(
        "{} reservations{}: first in their queue and placed later: {}, {} at once; still waiting: {}\n  \
         at the head, those that still wait included: {}\n  \
         from first to placed: {}; the longest that waits was first {} ago\n  \
         {}; {} placed, audit: nothing found",
        if one.reservations { "with" } else { "without" },
        one.interrupted.map_or_else(String::new, |interruption| format!(", {interruption}")),
        counted(one.first_to_placed_ms.len(), "large container"),
        count_text(one.placed_at_once),
        count_text(one.still_waiting),
        waits_text(&one.at_head_ms),
        waits_text(&one.first_to_placed_ms),
        duration_text(one.longest_still_waiting_ms),
        use_text(one),
        counted(one.placed, "container"),
    )
}

fn waits_text(waits_ms: &Histogram<u64>) -> String {
    if waits_ms.is_empty() {
        return "not yet".to_owned();
    }
    let at = |quantile| duration_text(waits_ms.value_at_quantile(quantile));
    format!("median {}, 99 % {}, {:.2} mean lives", at(0.5), at(0.99), mean_lives(waits_ms))
}

fn use_text(one: &Starvation) -> String {
    let Some((used, free)) = one.used_part.zip(one.kept_free_part) else {
        return format!("not yet measured: the first {} are not counted", duration_text(WARM_UP_MS));
    };
    format!("{:.2} % of the vcores in use, {:.2} % free on reserved nodes", 100.0 * used, 100.0 * free)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use apportion::Mode;
    use apportion_load::Setup;

    use super::*;

    #[test]
    fn a_run_that_ends_before_the_measured_window_has_no_figures_of_it() {
        let shape = ClusterShape { nodes: 40, leaves: 4, applications: 40 };
        let setup = Setup { profile: Profile::backlog_s(8_000), ..Setup::new(shape, Mode::Serial) };
        let mut ticks = 0;
        let one = measure_starvation(&setup, 8_000, true, 2 * WARM_UP_MS, &mut |_| {
            ticks += 1;
            if ticks == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let one = one.unwrap();
        assert!(one.still_waiting > 0);
        let text = to_text(&one);
        let expected =
            ["from first to placed: not yet;", "\n  not yet measured: the first 4.0 min are not counted;"];
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
        let outcome = serde_json::to_value(Outcome::from(&one)).unwrap();
        for key in ["first_to_placed_s", "used_part", "kept_free_part"] {
            assert!(outcome[key].is_null(), "{key}: {outcome}");
        }
        assert!(outcome["at_head_s"]["max"].as_f64().unwrap() > 0.0, "{outcome}");
    }
}
