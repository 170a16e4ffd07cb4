//! Every lock, atomic, channel and concurrent map of the engine, in one place.
//!
//! The rest of the crate names concurrency primitives only through this module (`clippy.toml` forbids the
//! raw types elsewhere). `real.rs` holds the bodies of the shipped build; with `--cfg apportion_loom` or
//! `--cfg apportion_shuttle` those in `model/` stand behind the same names, and everything else is as shipped.
//!
//! The shapes are `parking_lot`'s: guards without poisoning. Maps and channels hand out values, never guards.

mod channel;
mod in_flight;
#[cfg_attr(any(apportion_loom, apportion_shuttle), path = "model/map.rs")]
mod map;
#[cfg(any(apportion_loom, apportion_shuttle))]
mod model;
mod primitive;
#[cfg(not(any(apportion_loom, apportion_shuttle)))]
mod real;
mod signal;

#[cfg(any(apportion_loom, apportion_shuttle))]
use model as backend;
#[cfg(not(any(apportion_loom, apportion_shuttle)))]
use real as backend;

pub use channel::Ticket;
pub(crate) use channel::{Inbox, Nothing, Outbox, Promise, channel};
pub(crate) use in_flight::{InFlightResources, InFlightUnits};
pub(crate) use map::NameMap;
pub(crate) use primitive::{AtomicU64, Condvar, Mutex, Ordering, RwLock, Thread};
pub(crate) use signal::Signal;
