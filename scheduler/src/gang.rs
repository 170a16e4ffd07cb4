//! Gangs: asks of one application that start together or not at all.
//!
//! An application submits a gang with [`Handle::submit_gang`](crate::Handle::submit_gang): roles, each with an ask
//! and a minimum. Its asks are *held*: they are pending, but in no lane, so nothing is placed or reserved for them. A
//! proposer looks for nodes for the minimum of all roles, and sends it as one commit request. The committer applies all
//! of it or nothing, and rejects a request with only a part of a gang. After the start, the units above the minimum
//! are ordinary asks.
//!
//! # Gathering
//!
//! In each partition, the first gang in order that finds no room for its minimum *gathers*. A gang that a limit stops
//! does not begin to. One that was submitted `without_gathering` never does. Other gangs wait and hold nothing. Each
//! member gets a place on a node, and the committer holds the free room there for it. As containers end on these nodes,
//! the committer adds their room in the same group, before any pass sees it. When all is held, the gang starts: one
//! request gives the held room back and places the containers. Held room is not a container or a reservation. Other
//! asks use the rest.
//!
//! # Turns
//!
//! A gang's turn begins when it first holds room, and lasts until the gang starts. It ends earlier if the held room
//! has not grown for `gather_limit_ms`, and the end would help some gang (`facts/turn.rs`). A gang stops waiting when
//! it starts, at its timeout ([`GangStyle`]), when it is cancelled, and when its application ends.
//!
//! # Invariants
//!
//! * A gang that has not started has no container, no reservation and no amount in flight.
//! * I18: in each partition at most one gang holds room. It is the first gang that could gather when its turn began,
//!   or one that was submitted since and precedes that gang. A gang that holds room waits for room of earlier gangs,
//!   or for the end of a later gang's turn. So two gangs cannot block each other, however large they are.
//!
//! The audit checks both, and that no gang waits which could start. `propose/gather.rs` says why there is no deadlock.
//!
//! # Files
//!
//! | step | files |
//! |---|---|
//! | what waits and what is held | `facts/gang.rs`, `facts/held_room.rs`, `facts/turn.rs` |
//! | find nodes, plan places, end turns | `propose/gang.rs`, `propose/gather.rs`, `propose/turn_end.rs` |
//! | check and apply | `commit/gangs.rs`, `commit/gather.rs`, `commit/apply/gangs.rs`, `commit/apply/held_room.rs` |
//! | start searches, answer callers | `engine/gangs.rs` |
//!
//! # When a gang is looked for
//!
//! After each group of commits that changed the state while gangs wait, at most one proposer looks at the gangs,
//! once. A gang that found no room is left out until some node gains room. An engine without gangs looks at one word
//! for each pass.
//!
//! # Gangs as victims of preemption
//!
//! The engine remembers a started gang while one of its members runs. Members are the containers of its asks: a
//! container that the application asks for later, in place of a lost one, is none. [Preemption](crate::preempt) takes
//! members above a role's minimum as other containers. The rest of the gang ends as a whole or not at all, and only if
//! no other victims help.
//!
//! # Placeholders
//!
//! A role may be a *task group*: its members are placeholders, as in YuniKorn. They start with the gang and are
//! charged. [`Handle::submit_ask_of_group`](crate::Handle::submit_ask_of_group) asks for real containers, and each of
//! them takes the place of one placeholder, in the change that submits the ask. Placeholders that are left after a
//! timeout are given up. A placeholder is room, not a process: no node is told to start it, and a round of preemption
//! takes it before containers that work.
//!
//! # Places
//!
//! [`GangTopology`] says where the members start: anywhere, on one rack, or on as few racks as a greedy choice finds. A
//! partition for all members is the partition of each role's ask.
//!
//! # Gangs as beneficiaries
//!
//! A round of [preemption](crate::preempt) gets a waiting gang room for its whole minimum, in all partitions of its
//! roles, or nothing.

pub use crate::change::{GangRole, GangSpec, InvalidGang};
pub use crate::facts::{GangEnd, GangStyle, GangTopology, Placeholder};
