//! The store as external controllers use it.

use std::cmp::Reverse;
use std::sync::Arc;

use uuid::Uuid;

use super::message::{PlacementRequest, PlacementResponse};
use super::store::{Change, ControlStore, ControlStoreError, Counts};
use crate::control::action::ActionName;

/// How much is read or deleted at a time.
const PAGE: usize = 1_024;

/// Asks for placements, and finds out what became of them. Clones use the same store.
#[derive(Clone, Debug)]
pub struct PlacementClient {
    store: Arc<dyn ControlStore>,
}

/// Messages that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The requests that are not answered yet, newest first.
    pub requests: Vec<PlacementRequest>,
    /// The responses, newest first.
    pub responses: Vec<PlacementResponse>,
}

impl PlacementClient {
    /// A client of this store.
    #[must_use]
    pub fn new(store: Arc<dyn ControlStore>) -> Self {
        Self { store }
    }

    /// Asks for a processor of a deployment to be moved to a host, or restarted if it is there, and returns the uuid
    /// under which the [`outcome`](Self::outcome) will be. `request_expiry_ms` is how long getting the place may take,
    /// `now_ms` the time since the epoch, both in milliseconds.
    ///
    /// # Errors
    /// If a text is too long, the expiry is 0, or the store is full or fails.
    pub fn request(
        &self,
        deployment_id: &str,
        processor_id: &str,
        destination_host: &str,
        request_expiry_ms: Option<u64>,
        now_ms: u64,
    ) -> Result<Uuid, ControlStoreError> {
        let request = PlacementRequest::new(deployment_id, ActionName::Move, now_ms);
        let request = request.about(processor_id).on_host(destination_host);
        self.submit(PlacementRequest { request_expiry_ms, ..request })
    }

    /// Hands in a request for [whatever there is to ask](PlacementRequest::new), and returns its uuid. Handing it in
    /// again is refused, so after an error of the store that leaves open what happened it can be tried again.
    ///
    /// # Errors
    /// If there is a request or response of its uuid, it breaks a bound, or the store is full or fails.
    pub fn submit(&self, request: PlacementRequest) -> Result<Uuid, ControlStoreError> {
        let uuid = request.uuid;
        self.store.apply(&[Change::PutRequest(request)])?;
        Ok(uuid)
    }

    /// How far a request has come; none before anybody has looked at it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn outcome(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError> {
        self.store.response(uuid)
    }

    /// What was asked about one processor or standby of a deployment, and answered. Requests about many containers name
    /// none: these are in the [`list`](Self::list), and which of them goes on with a processor now its job says
    /// ([`ProcessorStatus::request`](crate::control::ProcessorStatus::request)). It reads the whole store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn by_processor(
        &self,
        deployment_id: &str,
        processor_id: &str,
    ) -> Result<Listing, ControlStoreError> {
        self.listing(|deployment, processor| deployment == deployment_id && processor == processor_id)
    }

    /// What was asked about a deployment, and answered. It reads the whole store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, deployment_id: &str) -> Result<Listing, ControlStoreError> {
        self.listing(|deployment, _| deployment == deployment_id)
    }

    /// Requests are read first: one that is answered meanwhile may be found twice, but never not at all.
    fn listing(&self, is_wanted: impl Fn(&str, &str) -> bool) -> Result<Listing, ControlStoreError> {
        let mut listing = Listing::default();
        self.each_page_of_requests(|requests| {
            let wanted = requests.into_iter().filter(|one| is_wanted(&one.deployment_id, &one.processor_id));
            listing.requests.extend(wanted);
            Ok(())
        })?;
        self.each_page_of_responses(|responses| {
            let wanted = responses.into_iter().filter(|one| is_wanted(&one.deployment_id, &one.processor_id));
            listing.responses.extend(wanted);
            Ok(())
        })?;
        listing.requests.sort_by_key(|one| Reverse((one.timestamp_ms, one.uuid)));
        listing.responses.sort_by_key(|one| Reverse((one.timestamp_ms, one.uuid)));
        Ok(listing)
    }

    /// Deletes all requests, responses and unreadable values, and says how many these were. Deployments stay, and so
    /// may what comes meanwhile.
    ///
    /// # Errors
    /// If the store cannot be read or written. Some are deleted then, and it can be tried again.
    pub fn delete_all(&self) -> Result<Counts, ControlStoreError> {
        let mut deleted = Counts { bad: self.delete_bad()?, ..Counts::default() };
        self.each_page_of_requests(|requests| {
            deleted.requests += requests.len() as u64;
            self.delete(requests.iter().map(|request| Change::DeleteRequest(request.uuid)))
        })?;
        self.each_page_of_responses(|responses| {
            deleted.responses += responses.len() as u64;
            self.delete(responses.iter().map(|response| Change::DeleteResponse(response.uuid)))
        })?;
        Ok(deleted)
    }

    /// No more than there were at the beginning, so that nobody who goes on writing keeps it from its end.
    fn delete_bad(&self) -> Result<u64, ControlStoreError> {
        let (all, mut deleted) = (self.store.counts()?.bad, 0);
        while deleted < all {
            let bad = self.store.requests(None, PAGE)?.bad;
            if bad.is_empty() {
                break;
            }
            deleted += bad.len() as u64;
            self.delete(bad.into_iter().map(|entry| Change::DeleteBad(entry.key)))?;
        }
        Ok(deleted)
    }

    fn delete(&self, changes: impl Iterator<Item = Change>) -> Result<(), ControlStoreError> {
        self.store.apply(&changes.collect::<Vec<_>>())
    }

    fn each_page_of_requests(
        &self,
        mut visit: impl FnMut(Vec<PlacementRequest>) -> Result<(), ControlStoreError>,
    ) -> Result<(), ControlStoreError> {
        let mut after = None;
        loop {
            let page = self.store.requests(after, PAGE)?;
            visit(page.requests)?;
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn each_page_of_responses(
        &self,
        mut visit: impl FnMut(Vec<PlacementResponse>) -> Result<(), ControlStoreError>,
    ) -> Result<(), ControlStoreError> {
        let mut after = None;
        loop {
            let responses = self.store.responses(after, PAGE)?;
            after = responses.last().map(|last| last.uuid);
            let is_last = responses.len() < PAGE;
            visit(responses)?;
            if is_last {
                return Ok(());
            }
        }
    }
}
