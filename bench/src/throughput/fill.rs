//! `fill`: so many asks for one container each, by so many calls, into an empty cluster.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use apportion::{Engine, EngineStats, EventKind, EventStream, ManualClock, Mode, Resources};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::cluster::{Asks, ClusterShape};
use super::cpu::process_cpu_ns;

/// How full the cluster is in the end at most, in percent.
const FULL_PERCENT: i64 = 60;
/// Mean size of a container: MiB and thousandths of a vcore.
const MEAN_SIZE: [i64; 2] = [8_520, 2_390];
/// No node is smaller than four of the largest containers, so that one of them finds room beside others.
const NODE_MIN: [i64; 2] = [256 * 1024, 64_000];

/// What one run came to.
#[derive(Clone, Debug)]
pub struct FillRecord {
    /// Containers placed: all that were asked for.
    pub placed: u64,
    /// From the first call to the last commit.
    pub elapsed: Duration,
    /// Processor time of all threads meanwhile, if the system says.
    pub cpu_ns: Option<u64>,
    /// The engine's counters at the end.
    pub stats: EngineStats,
    /// What the audit found.
    pub audit_violations: usize,
}

/// Fills an empty cluster once.
///
/// # Errors
/// When the engine does not start or ends early, or not everything is placed.
pub fn fill(shape: &ClusterShape, asks: usize, proposers: usize, seed: u64) -> anyhow::Result<FillRecord> {
    if [shape.nodes, shape.leaves, shape.applications].contains(&0) {
        bail!("a cluster has at least one node, leaf and application, not {shape:?}");
    }
    let engine =
        Engine::start(shape.config(), Mode::Parallel { proposers }, Arc::new(ManualClock::new()), None)?;
    let handle = engine.handle();
    shape.add_nodes(&handle, node_capacity(shape.nodes, asks))?;
    let events = handle.event_stream(asks + shape.applications + 1_024);
    let applications = shape.submit_applications(&handle, &events)?;
    engine.run_until_quiet();
    let mut draw = Asks::new(&handle, Pcg64Mcg::seed_from_u64(seed))?;
    let specs: Vec<_> =
        (0..asks).map(|number| (applications[number % applications.len()], draw.next())).collect();
    let (begun, cpu_before_ns) = (Instant::now(), process_cpu_ns());
    for (application, spec) in specs {
        handle.submit_ask(application, spec)?;
    }
    engine.run_until_quiet();
    let elapsed = begun.elapsed();
    let cpu_ns = process_cpu_ns().zip(cpu_before_ns).map(|(after, before)| after.saturating_sub(before));
    let placed = count_placed(&events)?;
    if placed < asks {
        bail!("{placed} of {asks} containers were placed; with these sizes the rest finds no room");
    }
    let audit_violations = engine.audit().violations.len();
    Ok(FillRecord { placed: placed as u64, elapsed, cpu_ns, stats: engine.stats(), audit_violations })
}

/// How many asks were answered by a container.
fn count_placed(events: &EventStream) -> anyhow::Result<usize> {
    let mut placed = 0;
    while let Some(event) = events.try_next().context("an event was left out")? {
        match event.kind {
            EventKind::Allocated { .. } => placed += 1,
            EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
            _ => {}
        }
    }
    Ok(placed)
}

/// Nodes that so many containers fill to 60 % at most.
fn node_capacity(nodes: usize, asks: usize) -> Resources {
    let amount = |place: usize| {
        (MEAN_SIZE[place] * asks as i64 * 100 / FULL_PERCENT / nodes as i64).max(NODE_MIN[place])
    };
    Resources::new(&[amount(0), amount(1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_placed() {
        let shape = ClusterShape { nodes: 50, leaves: 3, applications: 7 };
        let record = fill(&shape, 500, 2, 1).unwrap();
        assert_eq!((record.placed, record.audit_violations), (500, 0));
        assert_eq!(record.stats.allocated, 500);
    }
}
