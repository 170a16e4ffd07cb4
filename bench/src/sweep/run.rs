//! One simulation of a sweep.

use std::ops::ControlFlow;

use apportion::Mode;
use apportion::config::EngineConfig;

use super::case::Case;
use super::point::Figures;
use crate::sim::{Progress, RunRecord, SimError, SimOptions, simulate};
use crate::synthetic::SteadyStream;
use crate::workload::Workload;

/// What a sweep simulates again and again.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Where cases get their workload from.
    pub source: Source,
    /// The engine's configuration but for what a case decides.
    pub config: EngineConfig,
    /// The step of virtual time.
    pub tick_ms: u64,
}

/// Where cases get their workload from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Drawn anew for each, with the case's seed.
    Drawn(SteadyStream),
    /// Read before, for each seed.
    Read(Vec<(u64, Workload)>),
}

/// What is compared of a simulation; there may be many.
#[derive(Clone, Copy, Debug)]
pub struct SweepRun {
    /// What was simulated.
    pub case: Case,
    /// What came of it.
    pub figures: Figures,
}

impl Subject {
    /// The workload of a case. A larger cluster gets more at a time, so that it is as busy as a smaller one.
    ///
    /// # Panics
    /// When no workload was read for the case's seed.
    #[must_use]
    pub fn workload(&self, case: &Case) -> Workload {
        match &self.source {
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
        }
    }

    /// Simulates a case in serial mode: but for wall time, what comes of it is the same however many run beside it.
    ///
    /// # Errors
    /// As for [`simulate`].
    pub fn simulate(
        &self,
        case: &Case,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunRecord, SimError> {
        let config = case.policy.applied_to(self.config.clone());
        let options = SimOptions { config, mode: Mode::Serial, tick_ms: self.tick_ms, sink: None };
        simulate(&self.workload(case), options, progress)
    }
}
