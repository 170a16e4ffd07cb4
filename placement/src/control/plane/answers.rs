//! Answers of jobs to requests, on their way to the store.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{ControlPlane, Deployed};
use crate::application::ActionStatus;
use crate::control::job::JobAnswer;
use crate::control::metadata_store::{Change, ControlStoreError, PlacementResponse, StatusCode};

/// How many changes are saved in one transaction.
const CHANGES_PER_WRITE: usize = 256;

impl ControlPlane {
    /// Saves what the jobs have said. What cannot be saved is kept, and saved later.
    pub(super) fn save_answers(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let mut said: Vec<JobAnswer> = Vec::new();
        for (deployment, Deployed { job, .. }) in &mut self.jobs {
            // Whoever else drives the job meanwhile may change it, but what these answers tell of is in its records.
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

    /// Of several answers to one request the last one is worth saving.
    fn record_answers(&mut self, said: Vec<JobAnswer>, now_ms: u64) {
        let mut last: BTreeMap<Uuid, PlacementResponse> = BTreeMap::new();
        for JobAnswer { request, status, message, .. } in said {
            let Some(open) = self.open.get(&request) else { continue };
            let status = status_code(status);
            last.insert(request, open.request.answer(status, &message, now_ms));
            if status.is_terminal() {
                let took_ms = now_ms.saturating_sub(open.accepted_ms);
                self.metrics.ended(open.action, status, took_ms);
                self.open.remove(&request);
            }
        }
        // That it was accepted is in the store.
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
