//! Committing: one thread decides, one request after another, under the write guard.

mod accept;
mod admit;
mod apply;
mod committer;
mod fetch;
mod observe;
mod outcome;
mod request;

pub(crate) use admit::admit;
pub(crate) use apply::Effects;
pub(crate) use committer::Committer;
pub use committer::ResourceAllocationCommitter;
pub use outcome::{CommitOutcome, CommitSeq, RejectReason};
pub use request::{AllocationProposal, ReservationProposal, ResourceAllocationCommitRequest};
