//! One simulation of a sweep.

use std::ops::ControlFlow;
use std::sync::Arc;

use apportion::Mode;
use apportion::config::EngineConfig;

use super::case::Case;
use super::point::Figures;
use crate::sim::{Progress, RunRecord, SimError, SimOptions, simulate};
use crate::synthetic::SteadyStream;
use crate::workload::Workload;

/// The subject that a sweep simulates again and again.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The source of the cases' workloads.
    pub source: Source,
    /// The engine's configurations, except the settings of a case; at least one.
    pub variants: Vec<Variant>,
    /// The step of virtual time.
    pub tick_ms: u64,
    /// The divisor of durations.
    pub compress_durations: f64,
}

/// One of the compared configurations.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name of the queue file, if there is one.
    pub queues: Option<Arc<str>>,
    /// The configuration.
    pub config: EngineConfig,
}

/// The source of the cases' workloads.
#[derive(Clone, Debug)]
pub enum Source {
    /// Drawn for each case, with its seed.
    Drawn(SteadyStream),
    /// Read in advance, for each seed.
    Read(Vec<(u64, Workload)>),
}

/// The compared results of a simulation; kept small, since there may be many.
#[derive(Clone, Debug)]
pub struct SweepRun {
    /// The simulated case.
    pub case: Case,
    /// Its figures.
    pub figures: Figures,
}

impl Subject {
    /// The workload of a case. A larger cluster gets more load, so that it is as busy as a smaller one.
    ///
    /// # Panics
    /// When no workload was read for the case's seed.
    #[must_use]
    pub fn workload(&self, case: &Case) -> Workload {
        let mut workload = match &self.source {
            Source::Drawn(stream) => {
                let nodes = (stream.nodes as f64 * case.size).round().max(1.0) as usize;
                let mut workload = SteadyStream { nodes, seed: case.seed, ..*stream }.workload();
                workload.compress(case.compress);
                workload
            }
            Source::Read(workloads) => {
                let of_seed = workloads.iter().find(|(seed, _)| *seed == case.seed);
                let mut workload = of_seed.expect("a workload was read for each seed").1.clone();
                workload.resize(case.size);
                workload.compress(case.size * case.compress);
                workload
            }
        };
        workload.compress_durations(self.compress_durations);
        workload
    }

    /// Simulates a case in serial mode. Except for wall time, the result does not depend on parallel runs.
    ///
    /// # Errors
    /// As for [`simulate`].
    ///
    /// # Panics
    /// When no variant has the case's name.
    pub fn simulate(
        &self,
        case: &Case,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunRecord, SimError> {
        let variant = self.variants.iter().find(|variant| variant.queues == case.policy.queues);
        let config = variant.expect("each case is of a variant").config.clone();
        let config = case.policy.applied_to(config);
        let options = SimOptions {
            config,
            mode: Mode::Serial,
            tick_ms: self.tick_ms,
            sink: None,
            with_containers: false,
            as_gangs: true,
        };
        simulate(&self.workload(case), options, progress)
    }
}
