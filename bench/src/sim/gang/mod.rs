//! Jobs whose containers start together: gangs, or, for comparison, plain asks whose members wait for each other.
//!
//! A stage of such a job begins when all of its containers run, and ends for all of them at the same time. When one
//! is preempted, the work of all is lost. The others are given back, and the stage is asked for again at once, from
//! its beginning.

mod drive;
mod record;
mod room;
#[cfg(test)]
mod tests;
mod watch;

pub(super) use self::drive::{Attempt, AwaitedGang};
pub use self::record::{GangFigure, GangGroup, GangJob, GangRecord, WaitReason};
pub(super) use self::watch::Watch;
