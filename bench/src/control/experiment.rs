//! What is asked of a job, and of which job.

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
    /// How many nodes, of 16 slots each.
    pub nodes: u32,
    /// How many processors the job has, of one slot each.
    pub processors: u32,
    /// Of the starts and stops of containers so many in a hundred fail, where faults are injected.
    pub fault_percent: u32,
    /// So many nodes that run containers of the job are lost, where faults are injected.
    pub lost_nodes: u32,
}

impl Default for ControlShape {
    fn default() -> Self {
        Self { nodes: 500, processors: 1_000, fault_percent: 8, lost_nodes: 3 }
    }
}

/// What is done with the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Experiment {
    /// A tenth of the hosts is drained, all at once. A tenth of the processors has state and a standby.
    Drain,
    /// All processors start anew with another version and another size, 20 of them first.
    RollingRestart,
    /// The tenth of the nodes that run most of the job's containers is relieved of half of them.
    Rebalance,
}

impl Experiment {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Drain, Self::RollingRestart, Self::Rebalance];

    /// What it is called in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Drain => "drain",
            Self::RollingRestart => "rolling_restart",
            Self::Rebalance => "rebalance",
        }
    }

    /// How many containers at once, and how many may be down.
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

    /// Hot hosts come about where nodes are filled one after the other.
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
        // What was injected is to be seen to its end.
        Ok(JobSpec { failures_max: None, ..JobSpec::new("job", processors) })
    }

    /// What is asked for. `by_host` says how many of the job's containers each host runs, the busiest first.
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
