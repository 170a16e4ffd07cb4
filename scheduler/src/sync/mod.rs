//! Every lock, atomic, channel and concurrent map of the engine, in one place.
//!
//! The rest of the crate names concurrency primitives only through this module (`clippy.toml` forbids the
//! raw types elsewhere), so that a model checker can put its own bodies behind the same names.
//!
//! The shapes are `parking_lot`'s: guards without poisoning. Maps and channels hand out values, never guards.

mod channel;
mod in_flight;
mod map;
mod primitive;
mod signal;

pub use channel::Ticket;
pub(crate) use channel::{Inbox, Nothing, Outbox, Promise, channel};
pub(crate) use in_flight::{InFlightResources, InFlightUnits};
pub(crate) use map::NameMap;
pub(crate) use primitive::{AtomicU64, Condvar, Mutex, Ordering, RwLock};
pub(crate) use signal::Signal;
