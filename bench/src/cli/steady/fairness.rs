//! `apportion-bench fairness`.

use apportion::Mode;
use apportion_load::{ClusterShape, Profile};
use serde::Serialize;

use super::{Defaults, Plan, RunKeys, SteadyArgs, time_bar};
use crate::cli::Failure;
use crate::interrupt::Interruptible;
use crate::report::{count_text, counted};
use crate::steady::{Fairness, LeafShare, Shares, measure_fairness};

/// W3 of `docs/workloads.md`, a moment before its first step.
const DEFAULTS: Defaults = Defaults {
    shape: ClusterShape { nodes: 2_000, leaves: 1_000, applications: 20_000 },
    asks: 800_000,
    seconds: 290.0,
    profile: Profile::wide_tree,
};

/// The keys of `--json`, documented in `docs/json.md`.
#[derive(Debug, Serialize)]
struct FairnessReport {
    #[serde(flatten)]
    run: RunKeys,
    placed: u64,
    resource: String,
    used_part: f64,
    any_size: SharesOut,
    smallest: SharesOut,
    audit_violations: usize,
}

#[derive(Debug, Serialize)]
struct SharesOut {
    leaves_with_pending: usize,
    unfair: Vec<Leaf>,
    furthest: Option<Leaf>,
}

impl From<&Shares> for SharesOut {
    fn from(shares: &Shares) -> Self {
        Self {
            leaves_with_pending: shares.0.len(),
            unfair: shares.unfair().map(Leaf::from).collect(),
            furthest: shares.furthest().map(Leaf::from),
        }
    }
}

#[derive(Debug, Serialize)]
struct Leaf {
    path: String,
    partition: String,
    used_share: f64,
    fair_share: f64,
    tolerance: f64,
}

impl From<&LeafShare> for Leaf {
    fn from(leaf: &LeafShare) -> Self {
        Self {
            path: leaf.path.clone(),
            partition: leaf.partition.to_string(),
            used_share: leaf.used,
            fair_share: leaf.fair,
            tolerance: leaf.tolerance,
        }
    }
}

/// Adds the default of this command to the option's help.
pub(in crate::cli) fn explained(option: clap::Arg) -> clap::Arg {
    DEFAULTS.explained(option)
}

pub(in crate::cli) fn run(args: &SteadyArgs) -> Result<(), Failure> {
    let plan = args.plan(&DEFAULTS)?;
    let file = args.output()?;
    let bar = time_bar(plan.end_ms);
    let fairness = measure_fairness(&plan.setup, plan.asks, plan.end_ms, &mut |now_ms| {
        bar.set_position(now_ms);
        Interruptible::begin().flow()
    })?;
    bar.finish_and_clear();
    if fairness.any_size.0.is_empty() && fairness.interrupted.is_some() {
        return Err(Failure::nothing_to_report("any leaf waited for anything"));
    }
    if fairness.any_size.0.is_empty() {
        return Err(Failure::input(format!(
            "after {:.3} s no leaf waits for a container, so no share was measured. Ask for more than the nodes hold \
             with --asks, or let more time pass with --seconds",
            fairness.at_ms as f64 / 1e3
        )));
    }
    args.hand_out(
        file,
        &report(args, &plan, &fairness),
        &to_text(plan.setup.mode, &fairness),
        fairness.interrupted,
    )
}

fn report(args: &SteadyArgs, plan: &Plan, fairness: &Fairness) -> FairnessReport {
    FairnessReport {
        run: args.run_keys(plan, fairness.at_ms, fairness.interrupted),
        placed: fairness.placed,
        resource: fairness.resource.clone(),
        used_part: fairness.used_part,
        any_size: SharesOut::from(&fairness.any_size),
        smallest: SharesOut::from(&fairness.smallest),
        audit_violations: 0,
    }
}

fn to_text(mode: Mode, fairness: &Fairness) -> String {
    format!(
        "{} mode, {} placed in {:.0} s of virtual time, {:.1} % of {} in use, audit: nothing found\n\
         leaves within 2 %, or one of the largest containers, of their fair share:\n  \
         of those that wait for containers of the smallest size {}\n  \
         of those that wait for any, the largest of which have to wait for room on one node, {}",
        mode.name(),
        counted(fairness.placed, "container"),
        fairness.at_ms as f64 / 1e3,
        100.0 * fairness.used_part,
        fairness.resource,
        shares_text(&fairness.smallest),
        shares_text(&fairness.any_size),
    )
}

fn shares_text(shares: &Shares) -> String {
    let all = shares.0.len();
    if all == 0 {
        return "not known: no leaf waits for them".to_owned();
    }
    let fair = count_text((all - shares.unfair().count()) as u64);
    let furthest = shares.furthest().map_or_else(String::new, |leaf| {
        format!(
            "; furthest is {} in {}: {:.4} % of it, fair were {:.4} %, {:.2} times as far as it may be",
            leaf.path,
            leaf.partition,
            100.0 * leaf.used,
            100.0 * leaf.fair,
            leaf.distance(),
        )
    });
    format!("{fair} of {}{furthest}", count_text(all as u64))
}
