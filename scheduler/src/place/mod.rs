//! Where containers can go: node orders, placement sets, their index and their leases.

mod index;
mod lease;
mod order;
mod ring;
mod roster;
mod set;

pub(crate) use lease::{Leases, Look};
pub use order::{BUCKETS, NodeOrder, NodeOrderKind, ScoredNode};
pub(crate) use roster::Roster;
pub use set::PlacementSet;
pub(crate) use set::{Found, Nodes};
