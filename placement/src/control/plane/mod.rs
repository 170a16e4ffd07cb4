//! The control plane of jobs: takes requests from a store, passes them to the jobs, and stores the answers.
//!
//! One transaction accepts a request and removes it from the store, before the request is carried out.
//! After a crash before that transaction, the next control plane reads the request. After a later crash, the
//! job's next deployment answers the request as failed. No request is carried out twice.

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

use super::action::{ActionName, JobRequest};
use super::metadata_store::{Change, ControlStore, ControlStoreError, PlacementRequest};
use urgent::Urgent;

/// The control plane of some jobs.
#[derive(Debug)]
pub struct ControlPlane {
    store: Arc<dyn ControlStore>,
    settings: ControlSettings,
    /// Jobs by deployment.
    jobs: BTreeMap<String, Deployed>,
    open: BTreeMap<Uuid, Open>,
    /// Records and answers that the store does not have yet, in order. The records of a turn come before
    /// its answers.
    unsaved: Vec<Change>,
    /// Requests whose accepting transaction failed with an unknown result.
    doubtful: VecDeque<(PlacementRequest, JobRequest)>,
    /// The store's write count at the last read.
    seen: u64,
    /// Whether older requests may still wait in the store.
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

/// A request that was accepted and is still open.
#[derive(Debug)]
struct Open {
    request: PlacementRequest,
    action: ActionName,
    accepted_ms: u64,
}

impl ControlPlane {
    /// Creates a control plane without jobs on this store. The first [`turn`](Self::turn) reads the
    /// requests that wait there.
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

    /// Accepts new requests, advances the jobs, and stores their answers. Returns the next time at which it
    /// must be called. Call it as well when the store [is written to](ControlStore::wait_for_write), and
    /// when a job's cluster manager has events.
    ///
    /// # Errors
    /// If the store fails. Nothing is lost: the next turn reads and stores the rest.
    pub fn turn(&mut self, now_ms: u64) -> Result<Option<u64>, ControlStoreError> {
        let taken = self.take_in(now_ms);
        let deadlines: Vec<u64> =
            self.jobs.values_mut().filter_map(|deployed| deployed.job.tick(now_ms)).collect();
        let saved = self.save_answers(now_ms);
        let swept = self.sweep(now_ms);
        let done = taken.and(saved).and(swept);
        self.metrics.store_errors += u64::from(done.is_err());
        done?;
        // Requests that stayed in the store for lack of room can be read now.
        let at_once = (self.has_backlog && self.open.len() < self.settings.accepted_max).then_some(now_ms);
        Ok(deadlines.into_iter().chain(at_once).chain([self.next_sweep_ms]).min())
    }

    /// Returns the counters of its work so far.
    #[must_use]
    pub fn metrics(&self) -> &ControlMetrics {
        &self.metrics
    }

    /// Counts the open requests.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Returns the store's write count at the last read. Wait for a higher count.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns its store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ControlStore> {
        &self.store
    }
}
