//! Validates a request: accepts it, refuses it, or leaves it to another control plane.

use std::collections::BTreeMap;

use super::ControlPlane;
use super::conflict::conflict;
use super::translate::translate;
use crate::control::action::{ActionName, JobAction, JobRequest};
use crate::control::metadata_store::{ControlStoreError, PlacementRequest, StatusCode};
use crate::control::processor::ProcessorId;

/// The verdict on a request.
pub(super) enum Verdict {
    Accept(JobRequest),
    Refuse {
        /// `None` if the message is not a valid request.
        action: Option<ActionName>,
        status: StatusCode,
        why: String,
    },
    /// It stays in the store: there is no room, or another control plane on the same store runs its job.
    Leave,
}

/// The requests of a page that were accepted but not yet submitted, and the room for further ones.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) room: usize,
    /// Counts by deployment and processor.
    pub(super) groups: BTreeMap<(String, ProcessorId), usize>,
    /// Counts by deployment: requests about many containers, and all requests.
    pub(super) batches: BTreeMap<String, usize>,
    pub(super) all: BTreeMap<String, usize>,
}

impl Taken {
    fn count(&mut self, deployment: &str, action: &JobAction) {
        self.room = self.room.saturating_sub(1);
        *self.all.entry(deployment.to_owned()).or_default() += 1;
        let count = match action.processor() {
            Some(processor) => self.groups.entry((deployment.to_owned(), processor.active())).or_default(),
            None => self.batches.entry(deployment.to_owned()).or_default(),
        };
        *count += 1;
    }
}

impl ControlPlane {
    pub(super) fn validate(
        &self,
        request: &PlacementRequest,
        taken: &mut Taken,
        now_ms: u64,
    ) -> Result<Verdict, ControlStoreError> {
        let refuse = |action, status, why| Ok(Verdict::Refuse { action, status, why });
        let asked = translate(request);
        let action = asked.as_ref().ok().map(|asked| asked.action.name());
        let Some(deployed) = self.jobs.get(&request.deployment_id) else {
            return self.validate_foreign(request, action, now_ms);
        };
        let asked = match asked {
            Ok(asked) => asked,
            Err(why) => return refuse(action, StatusCode::BadRequest, why),
        };
        let waited_ms = now_ms.saturating_sub(request.timestamp_ms);
        if waited_ms > self.settings.age_max_ms {
            let why = format!(
                "it waited for {waited_ms} ms in the store; the limit is {} ms",
                self.settings.age_max_ms
            );
            return refuse(action, StatusCode::Failed, why);
        }
        if let Some(why) = self.is_ahead(request, now_ms) {
            return refuse(action, StatusCode::BadRequest, why);
        }
        if let Err(why) = deployed.authoriser.authorise(request.principal.as_deref(), &asked.action) {
            return refuse(action, StatusCode::Unauthorized, why);
        }
        let is_unknown = |processor: &&ProcessorId| !deployed.job.has_processor(processor);
        if let Some(processor) = asked.action.processor().filter(is_unknown) {
            return refuse(action, StatusCode::BadRequest, format!("the job has no processor `{processor}`"));
        }
        if asked.action.makes_room() {
            return Ok(Verdict::Accept(asked));
        }
        if taken.room == 0 {
            return Ok(Verdict::Leave);
        }
        if let Some(why) = conflict(deployed, &request.deployment_id, &asked.action, taken) {
            return refuse(action, StatusCode::Conflict, why);
        }
        taken.count(&request.deployment_id, &asked.action);
        Ok(Verdict::Accept(asked))
    }

    /// Rejects a request far ahead of the clock: requests are read in time order, so it would stay last for
    /// long.
    fn is_ahead(&self, request: &PlacementRequest, now_ms: u64) -> Option<String> {
        let ahead_ms = request.timestamp_ms.saturating_sub(now_ms);
        let why = || format!("timestamp: it is {ahead_ms} ms ahead of the control plane's clock");
        (ahead_ms > self.settings.age_max_ms).then(why)
    }

    fn validate_foreign(
        &self,
        request: &PlacementRequest,
        action: Option<ActionName>,
        now_ms: u64,
    ) -> Result<Verdict, ControlStoreError> {
        let id = &request.deployment_id;
        let waited_ms = now_ms.saturating_sub(request.timestamp_ms);
        let (status, why) = match self.store.deployment(id)? {
            Some(_) if let Some(why) = self.is_ahead(request, now_ms) => (StatusCode::BadRequest, why),
            Some(known) if known.is_current && waited_ms <= self.settings.age_max_ms => {
                return Ok(Verdict::Leave);
            }
            Some(known) if known.is_current => {
                let why =
                    format!("no control plane has read it for {waited_ms} ms; does job `{}` run?", known.job);
                (StatusCode::Failed, why)
            }
            Some(known) => {
                let why = format!("deployment `{id}` of job `{}` is over; ask the running one", known.job);
                (StatusCode::Failed, why)
            }
            None => (StatusCode::BadRequest, format!("there is no deployment `{id}`")),
        };
        Ok(Verdict::Refuse { action, status, why })
    }
}
