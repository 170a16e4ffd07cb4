//! `fill`: asks for one container each, one call per ask, into an empty cluster.

use anyhow::{Context, bail};
use apportion::event::EventKind;
use apportion::{AskSpec, EventStream, Resources};

use crate::cluster::{Cluster, Setup};
use crate::meter::{Meter, Record};

/// The part of the cluster that containers of mean size fill at most, in percent.
const FULL_PERCENT: i64 = 60;
/// Mean size of a container: MiB and thousandths of a vcore.
const MEAN_SIZE: [i64; 2] = [8_520, 2_390];
/// The smallest node: four of the largest containers, so that one of them finds room next to others.
const NODE_MIN: [i64; 2] = [256 * 1024, 64_000];

/// Fills an empty cluster once: timed from the first call to the last commit.
///
/// # Errors
/// When the engine does not start or ends early, a container is not placed, or the audit finds a violation.
pub fn fill(setup: &Setup, asks: usize) -> anyhow::Result<Record> {
    let capacity = node_capacity(setup.shape.nodes, asks);
    let mut cluster = setup.start(|_| capacity, asks + setup.shape.applications + 1_024)?;
    let specs: Vec<AskSpec> = (0..asks).map(|_| cluster.draw_ask()).collect();
    let asked_vcores_milli: i64 = specs.iter().map(|spec| spec.size[1]).sum();
    cluster.memory.before_fill();
    let Cluster { engine, handle, applications, events, .. } = &cluster;
    let meter = Meter::start(engine);
    for (application, spec) in applications.iter().cycle().zip(specs) {
        handle.submit_ask(*application, spec)?;
    }
    engine.run_until_quiet();
    let record = meter.stop(engine, asks as u64);
    let placed = count_placed(events)?;
    if placed < asks {
        bail!("{placed} of {asks} containers were placed; the others find no room with these sizes");
    }
    cluster.expect_sound()?;
    cluster.memory.record_fill(asks);
    let used_part = asked_vcores_milli as f64 / (capacity[1] * setup.shape.nodes as i64) as f64;
    Ok(Record { memory: cluster.memory, used_part, ..record })
}

/// Number of asks that were answered by a container.
fn count_placed(events: &EventStream) -> anyhow::Result<usize> {
    let mut placed = 0;
    while let Some(event) = events.try_next().context("an event was lost")? {
        match event.kind {
            EventKind::Allocated { .. } => placed += 1,
            EventKind::AskRefused { refusal, .. } => bail!("an ask was refused: {refusal}"),
            _ => {}
        }
    }
    Ok(placed)
}

/// The capacity of nodes that this many containers of mean size fill to at most 60 %.
#[must_use]
pub fn node_capacity(nodes: usize, asks: usize) -> Resources {
    let amount = |place: usize| {
        (MEAN_SIZE[place] * asks as i64 * 100 / FULL_PERCENT / nodes as i64).max(NODE_MIN[place])
    };
    Resources::new(&[amount(0), amount(1)])
}

#[cfg(test)]
mod tests {
    use apportion::Mode;

    use super::super::cluster::ClusterShape;
    use super::*;

    #[test]
    fn everything_is_placed() {
        let shape = ClusterShape { nodes: 50, leaves: 3, applications: 7 };
        let record = fill(&Setup::new(shape, Mode::Parallel { proposers: 2 }), 500).unwrap();
        assert_eq!((record.placed, record.committed), (500, 500));
    }
}
