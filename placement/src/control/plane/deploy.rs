//! Jobs that come into a control plane and leave it.

use std::collections::BTreeSet;
use std::fmt;

use thiserror::Error;

use super::authorise::{AllowAll, Authoriser};
use super::controlled_job::ControlledJob;
use super::settings::ConflictPolicy;
use super::{ControlPlane, Deployed};
use crate::control::job_record::JobRecord;
use crate::control::job_spec::JobSpec;
use crate::control::metadata_store::{Change, ControlStoreError, Deployment};

/// A job that was not taken into a control plane.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct NotDeployed<J: fmt::Debug> {
    /// Why.
    pub error: DeployError,
    /// The job, which goes on as before.
    pub job: Box<J>,
}

/// Why a job was not taken into a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeployError {
    /// Each start of a coordinator is a deployment of its own, or old requests would be carried out again.
    #[error("there was a deployment `{0}` already: each start of a job's coordinator needs a new id")]
    Known(String),
    /// The store does not work.
    #[error(transparent)]
    Store(#[from] ControlStoreError),
}

impl ControlPlane {
    /// This job as requests have left it: with the standbys, the versions, the sizes and the drained hosts that came of
    /// them, before and after whatever ended its last coordinator. For [`Job::start`](super::super::Job::start) and
    /// [`Job::restart`](super::super::Job::restart).
    ///
    /// # Errors
    /// When the store does not work.
    pub fn restored(&self, spec: JobSpec) -> Result<JobSpec, ControlStoreError> {
        let records = self.store.job_records(&spec.name)?;
        Ok(spec.with_records(&records))
    }

    /// Takes a job in under the id of its deployment, with everybody allowed to ask and requests that wait for each
    /// other. What was accepted for earlier deployments of a job of this name and has no last word gets it now. What
    /// requests have left of the job, and is otherwise in the one that comes now, is forgotten: whoever wants to keep
    /// it gives the [`restored`](Self::restored) job. One of the same name that this control plane has is taken out, so
    /// jobs that go on beside each other need names of their own.
    ///
    /// # Errors
    /// When the id was used before, or the store does not work; the job comes back, and can be taken in again.
    pub fn deploy<J: ControlledJob + 'static>(
        &mut self,
        deployment: &str,
        job: J,
        now_ms: u64,
    ) -> Result<(), NotDeployed<J>> {
        self.deploy_with(deployment, job, ConflictPolicy::default(), AllowAll, now_ms)
    }

    /// The same with these rules.
    ///
    /// # Errors
    /// As [`deploy`](Self::deploy).
    pub fn deploy_with<J: ControlledJob + 'static>(
        &mut self,
        deployment: &str,
        job: J,
        conflicts: ConflictPolicy,
        authoriser: impl Authoriser + 'static,
        now_ms: u64,
    ) -> Result<(), NotDeployed<J>> {
        let spec = job.spec();
        if let Err(error) = self.register(deployment, &spec, now_ms) {
            return Err(NotDeployed { error, job: Box::new(job) });
        }
        let (job, authoriser) = (Box::new(job), Box::new(authoriser));
        self.jobs.insert(deployment.to_owned(), Deployed { job, conflicts, authoriser });
        self.has_backlog = true;
        Ok(())
    }

    /// The store knows the deployment, as the one that takes the place of those before.
    fn register(&mut self, id: &str, spec: &JobSpec, now_ms: u64) -> Result<(), DeployError> {
        if self.store.deployment(id)?.is_some() {
            return Err(DeployError::Known(id.to_owned()));
        }
        self.save_answers(now_ms)?;
        let known = self.store.deployments()?.into_iter();
        let earlier: Vec<Deployment> =
            known.filter(|known| known.is_current && known.job == spec.name).collect();
        let superseded: BTreeSet<String> = earlier.iter().map(|known| known.id.clone()).collect();
        let why = format!("the job's coordinator ended before it was done; the next deployment is {id}");
        self.end_orphans(&superseded, &why, now_ms)?;
        let records = self.records_that_hold(id, spec)?;
        let closed = earlier.into_iter().map(|known| Deployment { is_current: false, ..known });
        let (id, job) = (id.to_owned(), spec.name.clone());
        let opened = Deployment { id, job, started_ms: now_ms, is_current: true };
        let deployments = closed.chain([opened]).map(Change::PutDeployment);
        self.store.apply(&deployments.chain(records).collect::<Vec<_>>())?;
        for (_, mut deployed) in self.jobs.extract_if(.., |id, _| superseded.contains(id)) {
            // It may be the one that is taken in anew.
            deployed.job.end_requests(&why, now_ms);
            deployed.job.take_answers();
        }
        Ok(())
    }

    /// What the store says of the job is what the job is.
    fn records_that_hold(&self, id: &str, spec: &JobSpec) -> Result<Vec<Change>, ControlStoreError> {
        let records = self.store.job_records(&spec.name)?;
        let places = spec.places();
        let holds = |record: &JobRecord| record.holds(spec, &places);
        if records.iter().all(holds) {
            return Ok(Vec::new());
        }
        let kept = records.into_iter().filter(holds);
        let kept = kept.map(|record| Change::PutJobRecord { deployment: id.to_owned(), record });
        Ok(std::iter::once(Change::DeleteJobRecords(spec.name.clone())).chain(kept).collect())
    }

    /// Takes a job out, for instance because it ended, and gives it back; `None` if there is none under this id. What
    /// is open gets its last word; what is being done about it comes to an end if the job goes on under somebody else.
    ///
    /// # Errors
    /// When the store does not work; then it can be tried again.
    pub fn retire(
        &mut self,
        deployment: &str,
        now_ms: u64,
    ) -> Result<Option<Box<dyn ControlledJob>>, ControlStoreError> {
        if let Some(deployed) = self.jobs.get_mut(deployment) {
            deployed.job.end_requests("the job was taken out of its control plane", now_ms);
        }
        self.save_answers(now_ms)?;
        let ids = BTreeSet::from([deployment.to_owned()]);
        self.end_orphans(&ids, "the job was taken out of its control plane", now_ms)?;
        if let Some(known) = self.store.deployment(deployment)? {
            self.store.apply(&[Change::PutDeployment(Deployment { is_current: false, ..known })])?;
        }
        Ok(self.jobs.remove(deployment).map(|deployed| deployed.job))
    }

    /// Jobs that another control plane has taken in since are its own.
    pub(super) fn drop_superseded(&mut self) -> Result<(), ControlStoreError> {
        let known = self.store.deployments()?;
        let current: BTreeSet<&str> =
            known.iter().filter(|known| known.is_current).map(|known| known.id.as_str()).collect();
        let is_over = |id: &&String| !current.contains(id.as_str());
        let superseded: BTreeSet<String> = self.jobs.keys().filter(is_over).cloned().collect();
        if !superseded.is_empty() {
            self.jobs.retain(|id, _| !superseded.contains(id));
            self.forget_requests_of(&superseded);
        }
        Ok(())
    }

    /// Whether a job goes on under this id.
    #[must_use]
    pub fn is_deployed(&self, deployment: &str) -> bool {
        self.jobs.contains_key(deployment)
    }
}
