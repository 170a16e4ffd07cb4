//! Reads requests from the store in pages. One transaction answers a page before any of its requests is
//! carried out.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::translate::translate;
use super::validate::{Taken, Verdict};
use super::{ControlPlane, Open};
use crate::control::action::{ActionName, JobAction, JobRequest};
use crate::control::metadata_store::{
    BadEntry, Change, ControlStoreError, Page, PlacementRequest, PlacementResponse, StatusCode,
};

/// The most requests read and answered in one transaction.
pub(super) const PAGE: usize = 256;
/// The decisions about a page.
#[derive(Debug, Default)]
struct Decisions {
    changes: Vec<Change>,
    accepted: Vec<(PlacementRequest, JobRequest)>,
    /// Final answers, by action.
    ended: Vec<(Option<ActionName>, StatusCode)>,
    decided: BTreeSet<Uuid>,
    /// Number of unreadable values.
    unreadable: u64,
}

impl Decisions {
    fn answer(&mut self, request: &PlacementRequest, status: StatusCode, why: &str, now_ms: u64) {
        self.decided.insert(request.uuid);
        self.changes.push(Change::PutResponse(request.answer(status, why, now_ms)));
        self.changes.push(Change::DeleteRequest(request.uuid));
    }

    fn end(
        &mut self,
        request: &PlacementRequest,
        action: Option<ActionName>,
        status: StatusCode,
        why: &str,
        now_ms: u64,
    ) {
        self.answer(request, status, why, now_ms);
        self.ended.push((action, status));
    }
}

impl ControlPlane {
    /// Accepts the requests in the store, oldest first, while there is room.
    pub(super) fn take_in(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let written = self.store.written();
        if written == self.seen && !self.has_backlog {
            return Ok(());
        }
        if written == self.seen && self.room() == 0 {
            return self.look_again_for_urgent(now_ms);
        }
        // Set before reading: a write that comes from now on counts as a later one.
        self.seen = written;
        self.has_backlog = true;
        self.resolve_doubts(now_ms)?;
        self.drop_superseded()?;
        let mut after = None;
        while self.room() > 0 {
            let page = self.store.requests(after, self.room().min(PAGE))?;
            let (next, has_bad) = (page.next, !page.bad.is_empty());
            self.take_page(page, now_ms)?;
            if next.is_none() && !has_bad {
                self.has_backlog = false;
                return Ok(());
            }
            after = if has_bad { None } else { next };
            self.urgent.looked_at = self.urgent.looked_at.max(after);
        }
        self.take_in_urgent(now_ms)
    }

    pub(super) fn room(&self) -> usize {
        self.settings.accepted_max.saturating_sub(self.open.len())
    }

    /// Resolves requests whose accepting transaction ended with an unknown result. If it was made, they go
    /// to their job. Otherwise they are still in the store.
    fn resolve_doubts(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        while let Some((request, _)) = self.doubtful.front() {
            let answer = self.store.response(request.uuid)?;
            let is_accepted = answer.is_some_and(|answer| answer.status_code == StatusCode::Accepted);
            let Some((request, asked)) = self.doubtful.pop_front().filter(|_| is_accepted) else { continue };
            self.hand_over(request, asked, now_ms);
        }
        Ok(())
    }

    /// Answers all requests of a page in one transaction, then carries out the accepted ones.
    pub(super) fn take_page(&mut self, mut page: Page, now_ms: u64) -> Result<(), ControlStoreError> {
        let mut taken = Taken { room: self.room(), ..Taken::default() };
        let mut decisions = Decisions { unreadable: page.bad.len() as u64, ..Decisions::default() };
        // A cancel with the same timestamp as its request comes after it, whichever uuid is lower.
        let is_cancel =
            |request: &PlacementRequest| request.action.as_deref() == Some(ActionName::Cancel.as_str());
        page.requests.sort_by_key(|request| (request.timestamp_ms, is_cancel(request)));
        for bad in page.bad {
            self.refuse_bad(bad, now_ms, &mut decisions.changes)?;
        }
        for request in page.requests {
            if !decisions.decided.contains(&request.uuid) {
                self.decide(request, &mut taken, &mut decisions, now_ms)?;
            }
        }
        self.carry_out(decisions, now_ms)
    }

    fn decide(
        &self,
        request: PlacementRequest,
        taken: &mut Taken,
        decisions: &mut Decisions,
        now_ms: u64,
    ) -> Result<(), ControlStoreError> {
        match self.validate(&request, taken, now_ms)? {
            Verdict::Leave => {}
            Verdict::Refuse { action, status, why } => {
                decisions.end(&request, action, status, &why, now_ms);
            }
            Verdict::Accept(asked) => match self.waits_in_store(&request, &asked, &decisions.decided)? {
                Some(waits) => {
                    let its = translate(&waits).ok().map(|asked| asked.action.name());
                    decisions.end(
                        &waits,
                        its,
                        StatusCode::Cancelled,
                        "it was taken back before its turn",
                        now_ms,
                    );
                    let why = format!("request {} is taken back", waits.uuid);
                    let cancel = Some(ActionName::Cancel);
                    decisions.end(&request, cancel, StatusCode::Succeeded, &why, now_ms);
                }
                None => {
                    decisions.answer(&request, StatusCode::Accepted, "it waits for its turn", now_ms);
                    decisions.accepted.push((request, asked));
                }
            },
        }
        Ok(())
    }

    fn carry_out(&mut self, decisions: Decisions, now_ms: u64) -> Result<(), ControlStoreError> {
        let Decisions { changes, accepted, ended, unreadable, .. } = decisions;
        if !changes.is_empty()
            && let Err(error) = self.store.apply(&changes)
        {
            if matches!(error, ControlStoreError::Storage { .. }) {
                self.doubtful.extend(accepted);
            }
            return Err(error);
        }
        self.metrics.unreadable += unreadable;
        for (action, status) in ended {
            self.metrics.ended(action, status, 0);
        }
        for (request, asked) in accepted {
            self.hand_over(request, asked, now_ms);
        }
        Ok(())
    }

    /// Returns the request that a cancel names, if no control plane has read it yet.
    fn waits_in_store(
        &self,
        cancel: &PlacementRequest,
        asked: &JobRequest,
        decided: &BTreeSet<Uuid>,
    ) -> Result<Option<PlacementRequest>, ControlStoreError> {
        let JobAction::Cancel { request } = &asked.action else { return Ok(None) };
        if decided.contains(request) || self.open.contains_key(request) {
            return Ok(None);
        }
        let waits = self.store.request(*request)?;
        Ok(waits.filter(|waits| waits.deployment_id == cancel.deployment_id && waits.uuid != cancel.uuid))
    }

    /// Deletes an unreadable value, and answers its uuid if that is known and not used otherwise.
    fn refuse_bad(
        &self,
        bad: BadEntry,
        now_ms: u64,
        changes: &mut Vec<Change>,
    ) -> Result<(), ControlStoreError> {
        let unanswered = match bad.uuid {
            Some(uuid) if self.store.response(uuid)?.is_none() && self.store.request(uuid)?.is_none() => {
                Some(uuid)
            }
            _ => None,
        };
        changes.push(Change::DeleteBad(bad.key));
        if let Some(uuid) = unanswered {
            changes.push(Change::PutResponse(PlacementResponse {
                uuid,
                deployment_id: bad.deployment_id,
                processor_id: bad.processor_id,
                destination_host: String::new(),
                request_expiry_ms: None,
                timestamp_ms: now_ms,
                action: None,
                parameters: serde_json::Map::new(),
                principal: None,
                status_code: StatusCode::BadRequest,
                response_message: format!("it cannot be read: {}", bad.error),
            }));
        }
        Ok(())
    }

    fn hand_over(&mut self, request: PlacementRequest, asked: JobRequest, now_ms: u64) {
        let Some(deployed) = self.jobs.get_mut(&request.deployment_id) else { return };
        let (uuid, action) = (request.uuid, asked.action.name());
        self.open.insert(uuid, Open { request, action, accepted_ms: now_ms });
        self.metrics.accepted += 1;
        self.metrics.open_max = self.metrics.open_max.max(self.open.len());
        deployed.job.submit(uuid, asked, now_ms);
    }
}
