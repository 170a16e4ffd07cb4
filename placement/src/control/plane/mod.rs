//! The control plane of jobs: takes requests from a store, has the jobs carry them out, and leaves the answers there.
//!
//! A request is accepted and taken out of the store in one transaction, before anything is done about it. So a crash
//! leaves it either as it was, and the next control plane takes it on, or accepted without a last word, and that is
//! said when the job's next deployment is registered. Nothing is done twice.

mod answers;
mod authorise;
mod conflict;
mod controlled_job;
mod deploy;
mod intake;
mod metrics;
mod parameters;
mod settings;
mod sweep;
mod thread;
mod translate;
mod urgent;
mod validate;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use uuid::Uuid;

pub use authorise::{AllowAll, AllowPrincipals, Authoriser, Permission};
pub use controlled_job::ControlledJob;
pub use deploy::{DeployError, NotDeployed};
pub use metrics::{ControlMetrics, OutcomeTally};
pub use settings::{ConflictPolicy, ControlSettings};
pub use thread::ControlThread;

use super::action::JobRequest;
use super::metadata_store::{Change, ControlStore, ControlStoreError, PlacementRequest};
use urgent::Urgent;

/// The control plane of some jobs.
#[derive(Debug)]
pub struct ControlPlane {
    store: Arc<dyn ControlStore>,
    settings: ControlSettings,
    /// By deployment.
    jobs: BTreeMap<String, Deployed>,
    open: BTreeMap<Uuid, Open>,
    /// What jobs have said and the store has not got yet, in order: what requests left of a job comes before the
    /// answers.
    unsaved: Vec<Change>,
    /// Requests of which the store did not say whether they were taken out of it.
    doubtful: VecDeque<(PlacementRequest, JobRequest)>,
    /// As of the store when requests were read last.
    seen: u64,
    /// Whether requests may wait in the store that were there then.
    has_backlog: bool,
    urgent: Urgent,
    next_sweep_ms: u64,
    metrics: ControlMetrics,
}

/// A job with its deployment's rules.
#[derive(Debug)]
struct Deployed {
    job: Box<dyn ControlledJob>,
    conflicts: ConflictPolicy,
    authoriser: Box<dyn Authoriser>,
}

/// A request that was accepted and is not over.
#[derive(Debug)]
struct Open {
    request: PlacementRequest,
    action: &'static str,
    accepted_ms: u64,
}

impl ControlPlane {
    /// A control plane without jobs on this store. Requests that wait there are looked at with the first
    /// [`turn`](Self::turn).
    #[must_use]
    pub fn new(store: Arc<dyn ControlStore>, mut settings: ControlSettings) -> Self {
        settings.accepted_max = settings.accepted_max.max(1);
        settings.sweep_every_ms = settings.sweep_every_ms.max(1_000);
        Self {
            store,
            settings,
            jobs: BTreeMap::new(),
            open: BTreeMap::new(),
            unsaved: Vec::new(),
            doubtful: VecDeque::new(),
            seen: 0,
            has_backlog: true,
            urgent: Urgent::default(),
            next_sweep_ms: 0,
            metrics: ControlMetrics::default(),
        }
    }

    /// Takes on what was asked since, lets the jobs go on, and saves what became of it. Says when it wants to be called
    /// again even if nothing happens; besides when the store [is written to](ControlStore::wait_for_write) and when a
    /// job's cluster manager has something to tell.
    ///
    /// # Errors
    /// When the store does not work. Nothing is lost by it: what was not read is read, and what was not saved is saved,
    /// by the next turn.
    pub fn turn(&mut self, now_ms: u64) -> Result<Option<u64>, ControlStoreError> {
        let taken = self.take_in(now_ms);
        let deadlines: Vec<u64> =
            self.jobs.values_mut().filter_map(|deployed| deployed.job.tick(now_ms)).collect();
        let saved = self.save_answers(now_ms);
        let swept = self.sweep(now_ms);
        let done = taken.and(saved).and(swept);
        self.metrics.store_errors += u64::from(done.is_err());
        done?;
        // There is room again for what had to stay in the store.
        let at_once = (self.has_backlog && self.open.len() < self.settings.accepted_max).then_some(now_ms);
        Ok(deadlines.into_iter().chain(at_once).chain([self.next_sweep_ms]).min())
    }

    /// Counts of its work so far.
    #[must_use]
    pub fn metrics(&self) -> &ControlMetrics {
        &self.metrics
    }

    /// How many requests were accepted and are not over.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// As of the store when requests were read last: whoever waits for a write waits for a later one.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The store that it works on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ControlStore> {
        &self.store
    }
}
