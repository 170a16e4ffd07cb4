//! Passes answers of jobs to the store.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{ControlPlane, Deployed};
use crate::application::ActionStatus;
use crate::control::job::JobAnswer;
use crate::control::metadata_store::{Change, ControlStoreError, PlacementResponse, StatusCode};

/// The most changes per transaction.
const CHANGES_PER_WRITE: usize = 256;

impl ControlPlane {
    /// Stores answers and records of the jobs. If the store fails, they are kept for the next try.
    pub(super) fn save_answers(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let mut said: Vec<JobAnswer> = Vec::new();
        for (deployment, Deployed { job, .. }) in &mut self.jobs {
            // Answers are taken before records. If another thread drives a shared job in between, the records
            // still cover these answers.
            said.extend(job.take_answers());
            let records = job.take_records().into_iter();
            let change = |record| Change::PutJobRecord { deployment: deployment.clone(), record };
            self.unsaved.extend(records.map(change));
        }
        self.record_answers(said, now_ms);
        while !self.unsaved.is_empty() {
            let batch = self.unsaved.len().min(CHANGES_PER_WRITE);
            self.store.apply(&self.unsaved[..batch])?;
            self.unsaved.drain(..batch);
        }
        Ok(())
    }

    /// Queues the last answer to each request; earlier ones are not worth storing.
    fn record_answers(&mut self, said: Vec<JobAnswer>, now_ms: u64) {
        let mut last: BTreeMap<Uuid, PlacementResponse> = BTreeMap::new();
        for JobAnswer { request, status, message, .. } in said {
            let Some(open) = self.open.get(&request) else { continue };
            let status = status_code(status);
            last.insert(request, open.request.answer(status, &message, now_ms));
            if status.is_terminal() {
                let took_ms = now_ms.saturating_sub(open.accepted_ms);
                self.metrics.ended(Some(open.action), status, took_ms);
                self.open.remove(&request);
            }
        }
        // The intake has stored `Accepted` already.
        let is_news = |response: &PlacementResponse| response.status_code != StatusCode::Accepted;
        self.unsaved.extend(last.into_values().filter(is_news).map(Change::PutResponse));
    }
}

fn status_code(status: ActionStatus) -> StatusCode {
    match status {
        ActionStatus::Accepted => StatusCode::Accepted,
        ActionStatus::BadRequest => StatusCode::BadRequest,
        ActionStatus::InProgress => StatusCode::InProgress,
        ActionStatus::Succeeded => StatusCode::Succeeded,
        ActionStatus::Failed => StatusCode::Failed,
        ActionStatus::Cancelled => StatusCode::Cancelled,
    }
}
