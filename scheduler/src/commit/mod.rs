//! Committing: one thread decides, one request after another, under the write guard.

mod accept;
mod admit;
mod apply;
mod committer;
mod configure;
mod destination;
mod fetch;
mod moving;
mod observe;
mod outcome;
mod request;
mod resizing;

pub(crate) use apply::Effects;
pub(crate) use committer::Committer;
pub use committer::ResourceAllocationCommitter;
pub(crate) use configure::{check_configuration, check_reconfiguration};
pub use outcome::{CommitOutcome, CommitSeq, RejectReason};
pub use request::{AllocationProposal, ReservationProposal, ResourceAllocationCommitRequest};
