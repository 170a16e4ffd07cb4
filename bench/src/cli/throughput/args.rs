//! The command line of `throughput`.

use apportion_load::{ClusterShape, Profile, Room, Setup};
use clap::{Args, ValueEnum};

use super::super::Failure;
use super::super::limit::seconds;
use super::super::mode::ModeArg;
use super::super::outputs::Outputs;
use crate::report::ThroughputParameters;

/// The workload of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WorkloadName {
    /// Asks for one container each, one call per ask, into an empty cluster.
    Fill,
    /// A cluster that is 85 % busy, where each completed container is asked for again.
    Churn,
    /// The same, where six of ten asks name three hosts.
    Constrained,
    /// The same, where every ask names one of ten nodes.
    ConflictStorm,
    /// The same with a million nodes and ten containers on each.
    Scale,
    /// A full cluster, with asks for five times its room; some containers take most of a node.
    BacklogS,
    /// The same with more nodes and far more applications.
    BacklogL,
    /// A full cluster with a deep tree of unequal queues.
    WideTree,
}

/// Throughput on the machine's own clock.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples: the shape at which YuniKorn's core was fastest, and a busy cluster, each compared with \
                  both yardsticks\n  \
apportion-bench throughput --workload fill --nodes 5000 --asks 20000 --leaves 2 --apps 20 --with-limit\n  \
apportion-bench throughput --workload churn --nodes 10000 --with-limit\n\nHow long 100,000 asks a second wait for their containers:\n  \
apportion-bench throughput --workload churn --rate 100000 --seconds 2"
)]
pub(in crate::cli) struct ThroughputArgs {
    /// The workload of the engine.
    #[arg(long, value_enum, default_value_t = WorkloadName::Churn)]
    pub(super) workload: WorkloadName,
    /// Number of nodes, a tenth in another partition [default: 5000 for fill and backlog-s, 20000 for
    /// backlog-l, 2000 for wide-tree, 1000000 for scale, 10000 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(10..=10_000_000))]
    nodes: Option<u32>,
    /// Number of applications [default: 20 for fill, 1000 for scale, 2000 for backlog-s, 47000 for backlog-l, 20000 for
    /// wide-tree, 200 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    apps: Option<u32>,
    /// Number of leaf queues [default: 2 for fill, 1000 for wide-tree, 20 otherwise].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    leaves: Option<u32>,
    /// Number of asks, only for fill [default: 20000], backlog-s [default: 1000000], backlog-l [default: 1880000] and
    /// wide-tree [default: 800000].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    asks: Option<u32>,
    /// Duration of a run in seconds, for all workloads except fill [default: 1].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(super) seconds: Option<f64>,
    /// Submit this many asks per second, however long the answers take, and report the latency. Not for fill.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100_000_000), conflicts_with = "with_limit")]
    pub(super) rate: Option<u32>,
    /// Which threads do the engine's work [default: background; parallel with --proposers].
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// Number of proposer threads; parallel mode only [default: 2].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=apportion::engine::PROPOSERS_MAX as i64))]
    proposers: Option<u32>,
    /// The most requests in a batch [default: the engine's].
    #[arg(long, value_name = "B", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: Option<u32>,
    /// Number of runs; their median counts.
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(super) repeat: u32,
    /// Alternate runs with both yardsticks (see `limit`), and report the ratio to the rate of each.
    #[arg(long)]
    pub(super) with_limit: bool,
    /// Seed of all random values.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) outputs: Outputs,
}

/// The defaults of a workload.
struct Defaults {
    shape: ClusterShape,
    /// `None` if the workload has no number of asks.
    asks: Option<u32>,
}

impl WorkloadName {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    fn defaults(self) -> Defaults {
        let ([nodes, applications, leaves], asks) = match self {
            Self::Fill => ([5_000, 20, 2], Some(20_000)),
            Self::Churn | Self::Constrained | Self::ConflictStorm => ([10_000, 200, 20], None),
            Self::Scale => ([1_000_000, 1_000, 20], None),
            Self::BacklogS => ([5_000, 2_000, 20], Some(1_000_000)),
            Self::BacklogL => ([20_000, 47_000, 20], Some(1_880_000)),
            Self::WideTree => ([2_000, 20_000, 1_000], Some(800_000)),
        };
        Defaults { shape: ClusterShape { nodes, leaves, applications }, asks }
    }

    fn profile(self, asks: usize) -> Profile {
        match self {
            Self::Fill | Self::Churn => Profile::CHURN,
            Self::Constrained => Profile::CONSTRAINED,
            Self::ConflictStorm => Profile::conflict_storm(Room::Ample),
            Self::Scale => Profile::SCALE,
            Self::BacklogS => Profile::backlog_s(asks),
            Self::BacklogL => Profile::backlog_l(asks),
            Self::WideTree => Profile::wide_tree(asks),
        }
    }
}

impl ThroughputArgs {
    /// The number of asks, if the workload has one.
    pub(super) fn asks(&self) -> Option<u32> {
        self.workload.defaults().asks.map(|asks| self.asks.unwrap_or(asks))
    }

    /// Checks that every option applies to the workload.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let is_fill = self.workload == WorkloadName::Fill;
        let in_vain = [
            ("--asks", self.asks.is_some() && self.asks().is_none()),
            ("--seconds", self.seconds.is_some() && is_fill),
            ("--rate", self.rate.is_some() && is_fill),
        ];
        if let Some((option, _)) = in_vain.iter().find(|(_, is_in_vain)| *is_in_vain) {
            let name = self.workload.name();
            return Err(Failure::input(format!("{option} does not apply to the workload {name}")));
        }
        Ok(())
    }

    pub(super) fn setup(&self) -> Result<Setup, Failure> {
        let default = self.workload.defaults().shape;
        let or = |given: Option<u32>, default| given.map_or(default, |given| given as usize);
        let shape = ClusterShape {
            nodes: or(self.nodes, default.nodes),
            leaves: or(self.leaves, default.leaves),
            applications: or(self.apps, default.applications),
        };
        Ok(Setup {
            shape,
            mode: ModeArg::or(self.mode, self.proposers, ModeArg::Background)?,
            profile: self.workload.profile(self.asks().unwrap_or_default() as usize),
            batch_requests: self.batch.map(|batch| batch as usize),
            seed: self.seed,
        })
    }

    pub(super) fn parameters(&self, setup: &Setup) -> ThroughputParameters {
        ThroughputParameters {
            workload: self.workload.name(),
            shape: setup.shape,
            asks: self.asks(),
            rate: self.rate,
            mode: setup.mode,
            seed: self.seed,
        }
    }
}
