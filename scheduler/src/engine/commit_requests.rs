//! Commit requests made outside the engine.

use super::answered_call::AnsweredCall;
use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::request::{CommitOutcome, ResourceAllocationCommitRequest};
use crate::sync::Ticket;

/// # Commit requests
///
/// A [`ReservationId`](crate::ReservationId) is unknown once the reservation is fulfilled or dropped, also if another
/// one has its slot.
impl Handle {
    /// Submits a commit request made outside the engine; the ticket has the outcome. A request with an unknown ask,
    /// node, container or reservation is rejected as a whole; the [reason](crate::request::RejectReason) says which.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn commit(
        &self,
        request: ResourceAllocationCommitRequest,
    ) -> Result<Ticket<CommitOutcome>, SubmitError> {
        self.send_for_answer(|answer| AnsweredCall::Request { request, answer })
    }
}
