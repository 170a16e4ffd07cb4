//! Every lock, atomic, channel and concurrent map of the engine, in one place.
//!
//! The rest of the crate uses concurrency primitives only through this module; `clippy.toml` forbids the raw types
//! elsewhere. Three builds share the same names; all other code is as shipped:
//!
//! | build | bodies |
//! |---|---|
//! | ordinary | parking_lot, crossbeam, dashmap, the standard library's atomics and threads |
//! | `--cfg apportion_loom` | loom's |
//! | `--cfg apportion_shuttle` | shuttle's |
//!
//! The interfaces are `parking_lot`'s: guards without poisoning. Maps and channels return values, never guards.
//!
//! # Models of an embedder's program
//!
//! An embedder can check its own code together with the engine: a cache that follows events, or a second queue in
//! front of the handle. Its code then uses this module's primitives, takes the working parts from
//! [`Engine::assemble`](crate::Engine::assemble), and gives each part to a thread or steps it by hand. The module
//! `model`, with the feature of the same name, runs all of it in many orders.
//!
//! # Atomics
//!
//! | word | written by | read by | ordering |
//! |---|---|---|---|
//! | `InFlightUnits`, `InFlightResources` (`InFlightList` has a mutex) | proposers add under the read guard, the committer takes back under the write guard | the same | relaxed: the lock orders proposers against the committer, and between proposers only totals matter |
//! | `Leases::wanted` | a thread with the write guard (the committer, or a thread that drops a batch) swaps it in; taking a set clears its bit | proposers, `is_idle`, `takeable`, the committer's report, health | acquire-release on every change: a thread that sees a bit gone sees the count of the thread that took it |
//! | `Leases::gangs_wanted` | the committer, and a thread that drops a search for gangs; a search clears it | as `wanted` | as `wanted` |
//! | `Leases::checked_out` | taking, and giving back | `is_idle`, `is_stalled`, `take_wanted`, `takeable`, health | taking acquires and releases, giving back releases, looks acquire: a drop's publication of wanted sets happens before the count it releases |
//! | `Leases::checked_out_max` | the committer | `take_wanted`, `takeable` | relaxed: one set more for a moment does no harm |
//! | the gate | senders count; shutdown, or the committer's end, closes | shutdown (the number of messages that passed), `run_until_quiet`, health | acquire-release on one word |
//! | `ManualClock` | the thread that sets it, forward only | the committer | release, acquire: a thread that sees the time also sees the work done before it was set |
//! | `Shared::ends_after` | shutdown, before it wakes the committer | the committer, after each group | release, acquire |
//! | a channel's `closed` | the inbox, before its last look | outboxes, after a send | sequentially consistent: either the last look finds a message, or its sender sees the word and drops it |
//! | `Round::phase` | the committer wants and ends a round of preemption; a proposer takes it. A thread that drops its batch wants it again, or ends it after a panic | proposers, the committer, waiting callers, health | wanting releases, taking acquires, ending does both: from wanted to ended it is busy, so the engine does not look quiet |
//! | `Round::due_ms` | the committer, under the write guard | `Engine::next_timer_ms` | release, acquire: a caller that sees the engine quiet sees the time too |
//! | `Counter`, `Figures` | any thread | any thread | relaxed, or a mutex of its own: statistics, recorded outside every other lock |
//!
//! # What each checker covers
//!
//! `cargo loom` runs the models of `scheduler/src/engine/models/`: a few steps of two threads, in every order up to
//! two preemptions. The three longest have one. With `APPORTION_MODELS=deep` 100 of 117 run without a bound.
//! The table beside the models lists the bug that each would catch. It also lists the properties of the real locks,
//! channels and maps that the model does not prove. `cargo shuttle` runs the whole engine under 1,000 schedules per
//! test: random plans against the sequential model, and a crowd of 12 threads. Shuttle treats every atomic as
//! sequentially consistent, so only loom checks orderings.
//!
//! The shipped locks run in the crowd of `cargo soak`, and in the same crowd under ThreadSanitizer (`cargo +nightly
//! tsan`). They also run in unit tests under Miri (`cargo +nightly miri test -p apportion --lib --
//! engine::tests::late`). The last two need a nightly toolchain with `rust-src` and `miri`.

mod channel;
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
mod ticket;

#[cfg(any(apportion_loom, apportion_shuttle))]
use model as backend;
#[cfg(any(apportion_loom, apportion_shuttle))]
pub(crate) use model::stack_bytes;
#[cfg(not(any(apportion_loom, apportion_shuttle)))]
use real as backend;

pub use channel::{Inbox, Nothing, Outbox, channel};
pub(crate) use figures::{Counter, Figures};
pub(crate) use in_flight::{InFlightList, InFlightResources, InFlightUnits};
pub use map::NameMap;
pub use primitive::{AtomicU64, Condvar, Mutex, MutexGuard, Ordering, ReadGuard, RwLock, Thread, WriteGuard};
pub use signal::Signal;
pub use ticket::{Promise, Ticket};
