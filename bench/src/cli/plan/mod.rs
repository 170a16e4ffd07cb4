//! Plans of preemption: asks that get room, and containers that end, as text and as JSON with the names of hosts.

mod helped;
mod losses;
mod named;
mod text;

pub(super) use helped::{Beneficiary, because, helped};
pub(super) use named::{Gangs, json};
pub(super) use text::{limited, text};
