//! Proposing: from a read-only view of the state to commit requests.
//!
//! A pass reads the state, one placement set and its own working memory, and returns values. The only shared data that
//! it changes are the units and amounts in flight.
//!
//! `pass.rs` runs a pass: `queue_walk.rs` and `leaf_walk.rs` find the next ask, `pick.rs` a node for it. `reserve.rs`
//! tells when a pass reserves a node instead, and `fulfil.rs` how a reservation becomes a container.

mod amounts;
mod at_once;
mod batch;
mod borrowed;
mod demand_priority;
mod fair;
mod fulfil;
mod gang;
mod gather;
mod headroom;
mod leaf_walk;
mod level;
mod locality;
mod member_walk;
mod nearest_racks;
mod pass;
mod pick;
mod queue_walk;
mod reserve;
mod scope;
mod scratch;
mod starved;
#[cfg(test)]
mod tests;
mod turn_end;
mod user_limits;

pub(crate) use amounts::{Amount, Amounts};
pub use batch::ProposalBatch;
pub(crate) use batch::{BatchOwner, GangSearch, Observation, Proposals, RoundStep, Work};
pub(crate) use gang::{find_nodes, propose_gang, search_for_gangs};
pub(crate) use gather::{Gathering, plan_places};
pub(crate) use pass::{PassLimits, run_pass};
pub use scope::PassScope;
pub(crate) use scratch::Scratch;
pub(crate) use starved::propose_for_starved;
pub(crate) use turn_end::TurnEnd;
