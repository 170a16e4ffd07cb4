//! `apportion-bench services`.

use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use rayon::prelude::*;

use super::Failure;
use super::outputs::Outputs;
use super::progress::parts_bar;
use super::trace::NodeOrderArg;
use crate::interrupt::{self, Interruptible};
use crate::report::counted;
use crate::report::{ServicesReport, to_services_html, to_services_text};
use crate::services::{Placement, YearRecord, YearShape, run_year};

/// Simulates a year of a service on a cluster that other jobs keep busy: do its instances return to their hosts?
#[derive(Clone, Debug, Args)]
pub(super) struct ServicesArgs {
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of days.
    #[arg(long, default_value_t = YearShape::default().days, value_parser = clap::value_parser!(u64).range(7..=3_650))]
    days: u64,
    /// Number of nodes, of 16 slots each.
    #[arg(long, default_value_t = YearShape::default().nodes, value_parser = clap::value_parser!(u32).range(20..=10_000))]
    nodes: u32,
    /// Number of region servers, of 4 slots each; at most one per node on average.
    #[arg(long, default_value_t = YearShape::default().region_servers, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    region_servers: u32,
    /// Number of full restarts of the service, at most one a day [default: 12, or the number of days if that is less].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    restarts: Option<u32>,
    /// Number of container crashes.
    #[arg(long, default_value_t = YearShape::default().crashes, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    crashes: u32,
    /// The order in which the engine takes nodes: spread leaves room on all of them, pack fills one after the other.
    #[arg(long, value_enum, default_value_t = NodeOrderArg::Spread)]
    node_order: NodeOrderArg,
    #[command(flatten)]
    outputs: Outputs,
}

pub(super) fn run(args: &ServicesArgs) -> Result<(), Failure> {
    let shape = args.shape()?;
    let outputs = args.outputs.open()?;
    let report = ServicesReport::new(shape, args.seed, simulate(&shape, args.seed)?);
    if report.interruption().is_some() && report.years.iter().all(|year| year.could_return() == 0) {
        return Err(Failure::nothing_to_report("any region server could return to its host"));
    }
    outputs.write(&report.to_json(), || to_services_html(&report), || to_services_text(&report))?;
    let violations: usize = report.years.iter().map(|year| year.audit_violations).sum();
    let together: u64 = report.years.iter().map(|year| year.anti_affinity_violations).sum();
    match (violations, together) {
        (0, 0) => Failure::of_interruption(report.interruption()),
        (0, _) => Err(Failure::run(format!("two masters were on one host; times: {together}"))),
        _ => Err(Failure::run(format!("the audit found {}", counted(violations as u64, "violation")))),
    }
}

/// Runs the same year in parallel for each way of placing. A signal stops the years where they are.
fn simulate(shape: &YearShape, seed: u64) -> Result<[YearRecord; 3], Failure> {
    let bar = parts_bar("three runs side by side");
    let passed: [AtomicU64; 3] = Default::default();
    let end_ms = shape.days * 86_400_000;
    let one = |(number, placement): (usize, &Placement)| {
        if interrupt::signal().is_some() {
            return Ok(YearRecord::not_begun());
        }
        run_year(shape, *placement, seed, &mut |now_ms| {
            passed[number].store(now_ms, Ordering::Relaxed);
            let all: u64 = passed.iter().map(|passed| passed.load(Ordering::Relaxed)).sum();
            bar.set_position(all * 1_000 / (3 * end_ms));
            Interruptible::begin().flow()
        })
    };
    let years: anyhow::Result<Vec<YearRecord>> = Placement::ALL.par_iter().enumerate().map(one).collect();
    bar.finish_and_clear();
    let years = years.map_err(|error| Failure::run(format!("{error:#}")))?;
    years.try_into().map_err(|_| Failure::run("three runs were to be simulated"))
}

impl ServicesArgs {
    fn shape(&self) -> Result<YearShape, Failure> {
        let usual = u64::from(YearShape::default().restarts).min(self.days);
        let restarts = self.restarts.unwrap_or(u32::try_from(usual).unwrap_or(u32::MAX));
        let shape = YearShape {
            days: self.days,
            nodes: self.nodes,
            region_servers: self.region_servers,
            restarts,
            crashes: self.crashes,
            node_order: self.node_order.kind(),
            ..YearShape::default()
        };
        if shape.region_servers > shape.nodes {
            return Err(Failure::input(format!(
                "--region-servers {}: each needs a node, because the cluster is 60 % busy, and the cluster has {}",
                shape.region_servers,
                counted(shape.nodes.into(), "node")
            )));
        }
        if u64::from(shape.restarts) > shape.days {
            return Err(Failure::input(format!(
                "--restarts {}: at most one a day is possible, {} in total",
                shape.restarts, shape.days
            )));
        }
        Ok(shape)
    }
}
