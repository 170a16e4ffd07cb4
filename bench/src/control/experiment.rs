//! The experiments: the requests to a job, and the job.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use apportion::config::NodeOrderKind;
use apportion_placement::ComponentChange;
use apportion_placement::control::{JobAction, JobSpec, Pace, ProcessorSpec, RollingRestart};

use crate::services::cluster::host;
use crate::services::jobs::slots_of;

/// The cluster and the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlShape {
    /// Number of nodes, of 16 slots each.
    pub nodes: u32,
    /// Number of processors of the job, of one slot each.
    pub processors: u32,
    /// Where faults are injected, the percentage of starts and stops of containers that fail.
    pub fault_percent: u32,
    /// Where faults are injected, the number of lost nodes that run containers of the job.
    pub lost_nodes: u32,
}

impl Default for ControlShape {
    fn default() -> Self {
        Self { nodes: 500, processors: 1_000, fault_percent: 8, lost_nodes: 3 }
    }
}

/// The kind of experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Experiment {
    /// Drains a tenth of the hosts, all at once. A tenth of the processors has state and a standby.
    Drain,
    /// Restarts all processors with another version and another size, 20 of them first.
    RollingRestart,
    /// Relieves the tenth of the nodes with most containers of the job of half of these containers.
    Rebalance,
}

impl Experiment {
    /// All experiments.
    pub const ALL: [Self; 3] = [Self::Drain, Self::RollingRestart, Self::Rebalance];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::RollingRestart => "rolling_restart",
            Self::Rebalance => "rebalance",
        }
    }

    /// Number of containers handled at once, and number that may be down.
    #[must_use]
    pub fn pace(self) -> Pace {
        let (at_once, budget) = match self {
            Self::Drain => (10, 20),
            Self::RollingRestart => (50, 50),
            Self::Rebalance => (10, 10),
        };
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Pace { at_once: number(at_once), disruption_budget: number(budget) }
    }

    /// The order of nodes. Filling one node after the other makes hot hosts.
    pub(super) fn node_order(self) -> NodeOrderKind {
        if self == Self::Rebalance { NodeOrderKind::Pack } else { NodeOrderKind::Spread }
    }

    pub(super) fn job(self, shape: &ControlShape) -> anyhow::Result<JobSpec> {
        let processor = |number: u32| {
            let with_standby = self == Self::Drain && number.is_multiple_of(10);
            let spec = ProcessorSpec::new(number.to_string().parse()?, slots_of(1));
            let standbys: BTreeSet<u32> = with_standby.then_some(0).into_iter().collect();
            anyhow::Ok(ProcessorSpec { is_stateful: with_standby, standbys, ..spec })
        };
        let processors = (0..shape.processors).map(processor).collect::<anyhow::Result<Vec<_>>>()?;
        // The job must not give up before the end of the injected faults.
        Ok(JobSpec { failures_max: None, ..JobSpec::new("job", processors) })
    }

    /// The requests. `by_host` gives the number of the job's containers on each host, the busiest first.
    pub(super) fn actions(self, shape: &ControlShape, by_host: &[(String, u32)]) -> Vec<JobAction> {
        let pace = self.pace();
        match self {
            Self::Drain => {
                let tenth = (0..shape.nodes).filter(|node| node.is_multiple_of(10));
                tenth.map(|node| JobAction::DrainHost { host: host(node).into(), pace }).collect()
            }
            Self::RollingRestart => vec![JobAction::RollingRestart(RollingRestart {
                processors: None,
                pace,
                canaries: 20,
                canary_wait_ms: 60_000,
                stops_first: false,
                change: ComponentChange { version: Some("v2".to_owned()), size: Some(slots_of(2)) },
            })],
            Self::Rebalance => {
                let hot = by_host.iter().take((shape.nodes / 10) as usize);
                let relief = |(host, count): &(String, u32)| {
                    let containers = count.div_ceil(2);
                    JobAction::RelieveHost { host: host.as_str().into(), containers, pace }
                };
                hot.map(relief).collect()
            }
        }
    }
}
