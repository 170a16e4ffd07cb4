//! Gangs: asks of one application that start together or not at all.
//!
//! An application submits a gang with [`Handle::submit_gang`](crate::Handle::submit_gang): roles, each with an ask and a
//! minimum. Its asks are *held*: they are pending, but nothing is placed or reserved for them. A proposer looks for nodes
//! for the minimum of all roles, and sends it as one commit request. The committer applies all of it or nothing, and rejects
//! a request with only a part of a gang. After the start, the units above the minimum are ordinary asks.
//!
//! # Gathering
//!
//! A gang that finds no room for its minimum *gathers*, unless its description says otherwise: each member gets a place on a
//! node, and what is free there is held for it. As containers end on these nodes, the committer holds the room in the
//! same group, before any pass sees it. When all is held, the gang starts: one request gives the held room back and
//! places the containers. Held room is no container and no reservation. The rest of the node serves other asks.
//!
//! # Invariants
//!
//! * A gang that has not started has no container, no reservation and no amount in flight.
//! * I18: in each partition at most one gang holds room, and never one behind an earlier gang that could gather there. So a
//!   gang waits for room of earlier gangs only, and two gangs cannot block each other, however large they are.
//!
//! The audit checks both, and that no gang waits which could start. `propose/gather.rs` says why there is no deadlock.
//!
//! # When a gang is looked for
//!
//! After each group of commits that changed the state while gangs wait, at most one proposer looks at the gangs, once. A gang
//! that found no room is left out until some node gains room. An engine without gangs looks at one word for each pass.
//!
//! # What is not there
//!
//! Preemption does nothing for held asks.

pub use crate::change::{GangRole, GangSpec, InvalidGang};
pub use crate::facts::{GangEnd, GangStyle, GangTopology};
