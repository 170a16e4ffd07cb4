//! Requests from the store: which are taken on, and which are answered at once.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::conflict::conflict;
use super::translate::translate;
use super::{ControlPlane, Open};
use crate::control::action::{ActionName, JobAction, JobRequest};
use crate::control::metadata_store::{
    BadEntry, Change, ControlStoreError, Page, PlacementRequest, PlacementResponse, StatusCode,
};
use crate::control::processor::ProcessorId;

/// How many requests are read and answered in one transaction.
pub(super) const PAGE: usize = 256;

/// What is to be done about a request.
enum Verdict {
    Accept(JobRequest),
    Refuse {
        action: &'static str,
        status: StatusCode,
        why: String,
    },
    /// It is for a job of somebody else who uses the same store.
    Leave,
}

/// What was accepted of a page so far, and is not in the jobs yet.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) room: usize,
    /// By deployment and processor.
    pub(super) groups: BTreeMap<(String, ProcessorId), usize>,
    /// By deployment: requests that concern many containers, and all.
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
    /// Takes on what waits in the store, oldest first, as far as there is room.
    pub(super) fn take_in(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        let written = self.store.written();
        if written == self.seen && !self.has_backlog {
            return Ok(());
        }
        if written == self.seen && self.room() == 0 {
            return self.look_again_for_urgent(now_ms);
        }
        // A write that comes from now on is a later one.
        self.seen = written;
        self.has_backlog = true;
        self.settle_doubts(now_ms)?;
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

    /// Requests that were accepted by a transaction of which nobody knew whether it was made are handed over if it was.
    /// Otherwise they are still in the store.
    fn settle_doubts(&mut self, now_ms: u64) -> Result<(), ControlStoreError> {
        while let Some((request, _)) = self.doubtful.front() {
            let answer = self.store.response(request.uuid)?;
            let is_accepted = answer.is_some_and(|answer| answer.status_code == StatusCode::Accepted);
            let Some((request, asked)) = self.doubtful.pop_front().filter(|_| is_accepted) else { continue };
            self.hand_over(request, asked, now_ms);
        }
        Ok(())
    }

    /// All of a page is answered in one transaction, before anything is done about it.
    pub(super) fn take_page(&mut self, mut page: Page, now_ms: u64) -> Result<(), ControlStoreError> {
        let mut changes = Vec::new();
        let mut accepted: Vec<(PlacementRequest, JobRequest)> = Vec::new();
        let mut refused = Vec::new();
        let mut taken = Taken { room: self.room(), ..Taken::default() };
        // What is taken back in the moment in which it was asked for is so whatever their uuids.
        let is_cancel =
            |request: &PlacementRequest| request.action.as_deref() == Some(ActionName::Cancel.as_str());
        page.requests.sort_by_key(|request| (request.timestamp_ms, is_cancel(request)));
        let unreadable = page.bad.len() as u64;
        for bad in page.bad {
            self.refuse_bad(bad, now_ms, &mut changes)?;
        }
        let mut decided = BTreeSet::new();
        for request in page.requests {
            if decided.contains(&request.uuid) {
                continue;
            }
            let (status, why) = match self.judge(&request, &mut taken, now_ms)? {
                Verdict::Leave => continue,
                Verdict::Accept(asked)
                    if let Some(waits) = self.waits_in_store(&request, &asked, &decided)? =>
                {
                    decided.insert(waits.uuid);
                    changes.push(Change::DeleteRequest(waits.uuid));
                    let why = "it was taken back before its turn";
                    changes.push(Change::PutResponse(waits.answer(StatusCode::Cancelled, why, now_ms)));
                    refused.push((ActionName::Cancel.as_str(), StatusCode::Succeeded));
                    (StatusCode::Succeeded, format!("request {} is taken back", waits.uuid))
                }
                Verdict::Accept(asked) => {
                    accepted.push((request.clone(), asked));
                    (StatusCode::Accepted, "it waits for its turn".to_owned())
                }
                Verdict::Refuse { action, status, why } => {
                    refused.push((action, status));
                    (status, why)
                }
            };
            decided.insert(request.uuid);
            changes.push(Change::PutResponse(request.answer(status, &why, now_ms)));
            changes.push(Change::DeleteRequest(request.uuid));
        }
        if !changes.is_empty()
            && let Err(error) = self.store.apply(&changes)
        {
            if matches!(error, ControlStoreError::Storage { .. }) {
                self.doubtful.extend(accepted);
            }
            return Err(error);
        }
        self.metrics.unreadable += unreadable;
        for (action, status) in refused {
            self.metrics.ended(action, status, 0);
        }
        for (request, asked) in accepted {
            self.hand_over(request, asked, now_ms);
        }
        Ok(())
    }

    /// What a cancel is about, if nobody has looked at that yet.
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

    /// A value that is no request goes, and whoever wrote it is told if they can be.
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
                deployment_id: String::new(),
                processor_id: String::new(),
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

    fn judge(
        &self,
        request: &PlacementRequest,
        taken: &mut Taken,
        now_ms: u64,
    ) -> Result<Verdict, ControlStoreError> {
        let refuse = |action, status, why| Ok(Verdict::Refuse { action, status, why });
        let Some(deployed) = self.jobs.get(&request.deployment_id) else {
            return self.judge_foreign(request, now_ms);
        };
        let asked = match translate(request) {
            Ok(asked) => asked,
            Err(why) => return refuse("UNKNOWN", StatusCode::BadRequest, why),
        };
        let action = asked.action.name().as_str();
        let waited_ms = now_ms.saturating_sub(request.timestamp_ms);
        if waited_ms > self.settings.age_max_ms {
            let why =
                format!("it waited for {waited_ms} ms, and may wait for {} ms", self.settings.age_max_ms);
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

    /// Requests are read in the order of their times: one that is far ahead would be so for long.
    fn is_ahead(&self, request: &PlacementRequest, now_ms: u64) -> Option<String> {
        let ahead_ms = request.timestamp_ms.saturating_sub(now_ms);
        let why = || format!("timestamp: it is {ahead_ms} ms ahead of the control plane's clock");
        (ahead_ms > self.settings.age_max_ms).then(why)
    }

    fn judge_foreign(&self, request: &PlacementRequest, now_ms: u64) -> Result<Verdict, ControlStoreError> {
        let id = &request.deployment_id;
        let waited_ms = now_ms.saturating_sub(request.timestamp_ms);
        let (status, why) = match self.store.deployment(id)? {
            Some(_) if let Some(why) = self.is_ahead(request, now_ms) => (StatusCode::BadRequest, why),
            Some(known) if known.is_current && waited_ms <= self.settings.age_max_ms => {
                return Ok(Verdict::Leave);
            }
            Some(known) if known.is_current => {
                let why =
                    format!("nobody has looked at it for {waited_ms} ms; does job `{}` run?", known.job);
                (StatusCode::Failed, why)
            }
            Some(known) => {
                let why =
                    format!("deployment `{id}` of job `{}` is over; ask the one that goes on", known.job);
                (StatusCode::Failed, why)
            }
            None => (StatusCode::BadRequest, format!("there is no deployment `{id}`")),
        };
        Ok(Verdict::Refuse { action: "UNKNOWN", status, why })
    }

    fn hand_over(&mut self, request: PlacementRequest, asked: JobRequest, now_ms: u64) {
        let Some(deployed) = self.jobs.get_mut(&request.deployment_id) else { return };
        let (uuid, action): (Uuid, &'static str) = (request.uuid, asked.action.name().as_str());
        self.open.insert(uuid, Open { request, action, accepted_ms: now_ms });
        self.metrics.accepted += 1;
        self.metrics.open_max = self.metrics.open_max.max(self.open.len());
        deployed.job.act(uuid, asked, now_ms);
    }
}
