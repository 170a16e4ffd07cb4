//! Ends requests of earlier deployments, and deletes old outcomes (`samza.md` Z13).

use std::collections::BTreeSet;

use super::ControlPlane;
use crate::control::metadata_store::{Change, ControlStoreError, Deployment, PlacementResponse, StatusCode};

/// Responses read per call.
const PAGE: usize = 256;

impl ControlPlane {
    /// Answers the open requests of these deployments as failed: their control plane is gone.
    pub(super) fn end_orphans(
        &mut self,
        deployments: &BTreeSet<String>,
        why: &str,
        now_ms: u64,
    ) -> Result<(), ControlStoreError> {
        if deployments.is_empty() {
            return Ok(());
        }
        let is_orphan = |response: &PlacementResponse| {
            !response.status_code.is_terminal() && deployments.contains(&response.deployment_id)
        };
        self.each_page(|responses| {
            let ended = responses.into_iter().filter(is_orphan).map(|response| {
                let (status_code, response_message) = (StatusCode::Failed, why.to_owned());
                Change::PutResponse(PlacementResponse {
                    status_code,
                    response_message,
                    timestamp_ms: now_ms,
                    ..response
                })
            });
            ended.collect()
        })
        .map(|ended| self.metrics.orphans += ended)?;
        self.forget_requests_of(deployments);
        Ok(())
    }

    pub(super) fn forget_requests_of(&mut self, deployments: &BTreeSet<String>) {
        self.open.retain(|_, open| !deployments.contains(&open.request.deployment_id));
        let is_superseded = |change: &Change| matches!(change, Change::PutResponse(answer) if deployments.contains(&answer.deployment_id));
        self.unsaved.retain(|change| !is_superseded(change));
        self.doubtful.retain(|(request, _)| !deployments.contains(&request.deployment_id));
    }

    /// Deletes old outcomes, past deployments without outcomes, and the records of jobs without a
    /// deployment.
    pub(super) fn sweep(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        if now_ms < self.next_sweep_ms {
            return Ok(());
        }
        self.drop_superseded()?;
        // Requests in the store may have become too old meanwhile.
        self.has_backlog = true;
        // A repeated request finds its first outcome as long as its own age allows it to run.
        let kept_ms = self.settings.retention_ms.max(self.settings.age_max_ms.saturating_mul(2));
        let oldest_ms = now_ms.saturating_sub(kept_ms);
        let is_old = |response: &PlacementResponse| {
            response.status_code.is_terminal() && response.timestamp_ms < oldest_ms
        };
        let mut kept = BTreeSet::new();
        let deleted = self.each_page(|responses| {
            let (old, young): (Vec<_>, Vec<_>) = responses.into_iter().partition(is_old);
            kept.extend(young.into_iter().map(|response| response.deployment_id));
            old.into_iter().map(|response| Change::DeleteResponse(response.uuid)).collect()
        })?;
        self.metrics.aged_out += deleted;
        let (over, stay): (Vec<Deployment>, Vec<Deployment>) =
            self.store.deployments()?.into_iter().partition(|known| {
                !known.is_current && known.started_ms < oldest_ms && !kept.contains(&known.id)
            });
        let jobs: BTreeSet<String> = stay.into_iter().map(|known| known.job).collect();
        let gone: BTreeSet<String> =
            over.iter().map(|known| known.job.clone()).filter(|job| !jobs.contains(job)).collect();
        let changes: Vec<Change> = over
            .into_iter()
            .map(|known| Change::DeleteDeployment(known.id))
            .chain(gone.into_iter().map(Change::DeleteJobRecords))
            .collect();
        if !changes.is_empty() {
            self.store.apply(&changes)?;
        }
        self.next_sweep_ms = now_ms.saturating_add(self.settings.sweep_every_ms);
        Ok(())
    }

    /// Applies the changes that `changes_of` returns for each page of responses. Returns the number of
    /// changes.
    fn each_page(
        &self,
        mut changes_of: impl FnMut(Vec<PlacementResponse>) -> Vec<Change>,
    ) -> Result<u64, ControlStoreError> {
        let (mut after, mut done) = (None, 0);
        loop {
            let page = self.store.responses(after, PAGE)?;
            let Some(last) = page.last().map(|response| response.uuid) else { return Ok(done) };
            after = Some(last);
            let changes = changes_of(page);
            if !changes.is_empty() {
                done += changes.len() as u64;
                self.store.apply(&changes)?;
            }
        }
    }
}
