//! Where containers can go: node orders, placement sets, their index and their leases.
//!
//! # Leases
//!
//! A [`PlacementSet`] is a value that rests in a pool (`lease.rs`). Taking the value out of the pool takes its lease.
//! The value travels in the batch and comes back when the batch is decided or dropped. So two passes never choose
//! among the nodes of one set from independent views. Optimistic proposers lose most of their work that way.
//!
//! Leases are an optimisation: the committer never relies on them. A host that an ask names may be in any set. Picks of
//! such hosts are added to the node's amount in flight, which every proposer sees.
//!
//! Taking a set clears its wanted bit in the same atomic step. So a proposer never takes a set that the
//! committer has declared unwanted since. `engine/concurrency_limit.rs` decides how many sets may be checked out.
//!
//! # Views
//!
//! A set's view follows the state through a ring of changes (`ring.rs`). A view that was away for longer than the ring
//! is rebuilt. For an ended container without devices, the ring holds the freed amounts, so the view need not
//! fetch the node. Other changes name only the position; the view looks these up after it has added all freed amounts.
//!
//! A batch debits its own set's view. If the whole batch was accepted, the view already contains its changes. Otherwise
//! the next pass looks these positions up again, so a dropped or rejected batch leaves no trace.

mod candidate_list;
mod candidates;
mod gang_search;
mod index;
mod lease;
mod node_shards;
mod nodes;
mod order;
mod ring;
mod set;

pub(crate) use gang_search::{GangMemory, Restart};
pub(crate) use lease::{Checkout, Leases};
pub(crate) use node_shards::{NodeShards, NodeShardsImage};
pub(crate) use nodes::Nodes;
pub(crate) use order::{ScoredNode, score};
pub(crate) use set::Found;
pub use set::PlacementSet;
