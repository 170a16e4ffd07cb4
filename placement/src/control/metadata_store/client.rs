//! The client side of a store, for external controllers.

use std::cmp::Reverse;
use std::sync::Arc;

use uuid::Uuid;

use super::message::{PlacementRequest, PlacementResponse};
use super::store::{Change, ControlStore, ControlStoreError, Counts};
use crate::control::action::ActionName;

/// Values read or deleted per call.
const PAGE: usize = 1_024;

/// Writes placement requests, and reads their outcomes. Clones use the same store.
#[derive(Clone, Debug)]
pub struct PlacementClient {
    store: Arc<dyn ControlStore>,
}

/// Requests and responses that match one filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Requests without a final answer, newest first.
    pub requests: Vec<PlacementRequest>,
    /// The responses, newest first.
    pub responses: Vec<PlacementResponse>,
}

impl PlacementClient {
    /// Creates a client of this store.
    #[must_use]
    pub fn new(store: Arc<dyn ControlStore>) -> Self {
        Self { store }
    }

    /// Requests that a processor of a deployment move to a host, or restart if it is there already. Returns
    /// the uuid under which [`outcome`](Self::outcome) finds the answer. `request_expiry_ms` limits the
    /// search for a place; `now_ms` is the time since the epoch. Both are milliseconds.
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

    /// Submits any request ([`PlacementRequest::new`]), and returns its uuid. The store refuses a second
    /// submission, so the caller can safely retry after an error that leaves the outcome open.
    ///
    /// # Errors
    /// If a request or response with this uuid exists, the request breaks a bound, or the store is full or
    /// fails.
    pub fn submit(&self, request: PlacementRequest) -> Result<Uuid, ControlStoreError> {
        let uuid = request.uuid;
        self.store.apply(&[Change::PutRequest(request)])?;
        Ok(uuid)
    }

    /// Returns the progress of a request; `None` before a control plane has read it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn outcome(&self, uuid: Uuid) -> Result<Option<PlacementResponse>, ControlStoreError> {
        self.store.response(uuid)
    }

    /// Returns the requests and responses about one processor or standby of a deployment. Requests about
    /// many containers name no processor, so they are only in the [`list`](Self::list). The job knows which
    /// request works on a processor now
    /// ([`ProcessorStatus::request`](crate::control::ProcessorStatus::request)). Reads the whole store.
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

    /// Returns the requests and responses of a deployment. Reads the whole store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self, deployment_id: &str) -> Result<Listing, ControlStoreError> {
        self.listing(|deployment, _| deployment == deployment_id)
    }

    /// Reads requests first. A request that is answered meanwhile may then appear twice, but it is never
    /// missed.
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

    /// Deletes all requests, responses and unreadable values, and returns how many there were. Deployments
    /// stay. Values written meanwhile may stay.
    ///
    /// # Errors
    /// If the store cannot be read or written. Some values are deleted by then; the caller can retry.
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

    /// Deletes at most the count at the beginning, so that a busy writer cannot keep this from ending.
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
