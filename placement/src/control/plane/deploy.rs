//! Adds jobs to a control plane and removes them.

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

/// A job that a control plane did not accept.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct NotDeployed<J: fmt::Debug> {
    /// The reason.
    pub error: DeployError,
    /// The job, which runs on unchanged.
    pub job: Box<J>,
}

/// Why a control plane did not accept a job.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The id was used before. Old requests would be carried out again if two deployments shared one.
    #[error("there was a deployment `{0}` already: each start of a job's coordinator needs a new id")]
    Known(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] ControlStoreError),
}

impl ControlPlane {
    /// Applies the job's records in the store: standbys, versions, sizes and drained hosts that requests
    /// left before the last coordinator ended. For [`Job::start`](super::super::Job::start) and
    /// [`Job::restart`](super::super::Job::restart).
    ///
    /// # Errors
    /// If the store fails.
    pub fn restored(&self, spec: JobSpec) -> Result<JobSpec, ControlStoreError> {
        let records = self.store.job_records(&spec.name)?;
        Ok(spec.with_records(&records))
    }

    /// Adds a job under the id of its deployment. Every principal may ask, and requests queue. Open requests
    /// of earlier deployments of a job with this name are answered as failed now.
    ///
    /// If the job differs from a record in the store, the record is deleted. To keep the records, pass the
    /// [`restored`](Self::restored) job. A job of the same name in this control plane is removed, so jobs
    /// that run side by side need different names.
    ///
    /// # Errors
    /// If the id was used before, or the store fails. The error returns the job, which can be deployed
    /// again.
    pub fn deploy<J: ControlledJob + 'static>(
        &mut self,
        deployment: &str,
        job: J,
        now_ms: u64,
    ) -> Result<(), NotDeployed<J>> {
        self.deploy_with(deployment, job, ConflictPolicy::default(), AllowAll, now_ms)
    }

    /// Adds a job like [`deploy`](Self::deploy), with this conflict policy and this authoriser.
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

    /// Registers the deployment in the store in place of the earlier ones of its job.
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
        let records = self.drop_contradicted_records(id, spec)?;
        let closed = earlier.into_iter().map(|known| Deployment { is_current: false, ..known });
        let (id, job) = (id.to_owned(), spec.name.clone());
        let opened = Deployment { id, job, started_ms: now_ms, is_current: true };
        let deployments = closed.chain([opened]).map(Change::PutDeployment);
        self.store.apply(&deployments.chain(records).collect::<Vec<_>>())?;
        for (_, mut deployed) in self.jobs.extract_if(.., |id, _| superseded.contains(id)) {
            // The old and the new deployment may share one job.
            deployed.job.end_requests(&why, now_ms);
            deployed.job.take_answers();
        }
        Ok(())
    }

    /// Returns the changes that delete the records that contradict the job.
    fn drop_contradicted_records(&self, id: &str, spec: &JobSpec) -> Result<Vec<Change>, ControlStoreError> {
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

    /// Removes a job, for instance because it ended, and returns it; `None` if the id is unknown. Open
    /// requests are answered as failed, and their actions are cancelled in case the job runs on elsewhere.
    ///
    /// # Errors
    /// If the store fails; the caller can retry.
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

    /// Drops the jobs whose deployment another control plane has superseded.
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

    /// Returns whether a job runs under this id.
    #[must_use]
    pub fn is_deployed(&self, deployment: &str) -> bool {
        self.jobs.contains_key(deployment)
    }
}
