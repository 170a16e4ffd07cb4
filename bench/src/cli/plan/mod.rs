//! Plans of preemption: who gets the room of which containers, as text and as JSON with the names of hosts.

mod helped;
mod losses;
mod named;
mod text;

pub(super) use helped::{Beneficiary, because, helped};
pub(super) use named::{Gangs, json};
pub(super) use text::{limited, text};
