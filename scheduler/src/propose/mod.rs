//! Proposing: from a read-only view of the state to commit requests.
//!
//! A pass reads the state, one placement set and its own working memory, and returns values. The only shared data that
//! it changes are the units and amounts in flight.
//!
//! # Reservations
//!
//! When a shape is closed in every set of its partition, asks whose wait exceeds the delay may reserve. The first such
//! ask in order reserves the node that lacks least. `reserved_nodes_max` bounds the reserved nodes of a partition. A
//! pass looks for such an ask again when:
//!
//! * a reservation ends, or an ask may reserve one more node than before;
//! * a node becomes a candidate or grows;
//! * a lane of such a shape is woken.
//!
//! A reserved node is not a candidate for other asks. The reservation is charged to queue and user, not to the node.
//! When the node has room the reservation is *ready*, and the next pass over the set fulfils it in one request.
//! `fulfil.rs` says what happens if another node has room first. With `continue_looking` off, a reservation is only
//! fulfilled on its own node.
//!
//! In the compatible mode, a pass confined to one node reserves it even if other nodes have room. Any other pass
//! reserves the last node in order. After the reservations, the walk looks at unreserved units only. In the compatible
//! mode it also looks at asks whose re-reservations let them reserve one more node. A shape with reservations is wanted
//! in every set in which it is open, whether or not its lanes are parked. The committer drops a reservation with its
//! ask, by age, or when the node stops being a candidate or can never serve the ask.

mod amounts;
mod at_once;
mod batch;
mod borrowed;
mod demand_priority;
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
pub(crate) use batch::{BatchOwner, GangLook, Observation, RoundStep, Work};
pub(crate) use gang::{find_nodes, look_for_gangs, propose_gang};
pub(crate) use gather::{Gathering, plan_places};
pub(crate) use pass::{PassLimits, run_pass};
pub use scope::PassScope;
pub(crate) use scratch::Scratch;
pub(crate) use starved::propose_for_starved;
pub(crate) use turn_end::TurnEnd;
