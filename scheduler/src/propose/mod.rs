//! Proposing: from a read-only view of the state to commit requests.
//!
//! A pass is given the state, one placement set and its own working memory, and returns values. It cannot
//! change anything but the amounts in flight.

mod at_once;
mod batch;
mod claim;
mod demand_priority;
mod guests;
mod kept;
mod leaf_walk;
mod pass;
mod pick;
mod queue_walk;
mod rescue;
mod scratch;
mod settle;
mod shares;

pub use batch::ProposalBatch;
pub(crate) use batch::{Amounts, BatchHome, Observation};
pub use pass::PassScope;
pub(crate) use pass::{PassLimits, run_pass};
pub(crate) use rescue::propose_rescue;
pub(crate) use scratch::Scratch;
