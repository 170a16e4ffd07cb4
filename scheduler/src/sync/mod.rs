//! Every lock, atomic, channel and concurrent map of the engine, in one place.
//!
//! The rest of the crate names concurrency primitives only through this module (`clippy.toml` forbids the
//! raw types elsewhere). Three builds stand behind the same names, and everything else is as shipped:
//!
//! | build | bodies | what [`check`](fn@check) does |
//! |---|---|---|
//! | ordinary | parking_lot, crossbeam, dashmap, the standard library's atomics and threads | runs the body once |
//! | `--cfg apportion_loom` | loom's | runs it in every order of steps, up to a bound of preemptions |
//! | `--cfg apportion_shuttle` | shuttle's | runs it under 1,000 random schedules |
//!
//! The shapes are `parking_lot`'s: guards without poisoning. Maps and channels hand out values, never guards.
//!
//! # One model of two programs
//!
//! An embedder who writes code around an engine (a cache that events keep up to date, a second queue in front of the
//! handle) can have it checked together with the engine: name primitives through this module, take the engine's
//! working parts from [`Engine::assemble`](crate::Engine::assemble), give each to a thread or step them by hand, and
//! put all of it into [`check`](fn@check). `scheduler/examples/model.rs` is one such program, and says how it is run.
//!
//! What must not happen in a model: a raw lock of another crate that is held across a step of the engine (all model
//! threads run on one thread of the system, which would wait for itself), and anything that differs from run to
//! run (time, chance, the order of a `HashMap` with a random seed).

mod channel;
mod check;
pub mod fault;
mod figures;
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

pub use channel::{Inbox, Nothing, Outbox, Promise, Ticket, channel};
pub use check::check;
pub(crate) use figures::{Counter, Figures};
pub(crate) use in_flight::{InFlightList, InFlightResources, InFlightUnits};
pub use map::NameMap;
pub use primitive::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering, ReadGuard, RwLock, Thread, WriteGuard};
pub use signal::Signal;
