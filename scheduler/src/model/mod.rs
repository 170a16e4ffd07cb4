//! Concurrency tests of an embedder's program together with the engine, under a model checker.
//!
//! A model is a closure that creates an engine and the embedder's own parts, and lets a few threads race. A model
//! checker runs it in many orders of its steps:
//!
//! | checker | orders |
//! |---|---|
//! | [`Loom`](Checker::Loom) | all up to a bound of preemptions, with every value that the memory orderings allow |
//! | [`Shuttle`](Checker::Shuttle) | 1,000 random ones, the same each time; atomics are sequentially consistent |
//! | [`Once`](Checker::Once) | one, on real threads |
//!
//! # One command
//!
//! In the embedder's crate, a test target without the default harness lists the models. The crate depends on the
//! engine with the feature `model`.
//!
//! ```toml
//! [[test]]
//! name = "models"
//! harness = false
//! ```
//!
//! ```
//! // tests/models.rs
//! use std::process::ExitCode;
//! use std::sync::Arc;
//!
//! use apportion::model::{Model, run};
//! use apportion::sync::{AtomicU64, Ordering, Thread};
//!
//! fn two_threads_count() {
//!     let count = Arc::new(AtomicU64::new(0));
//!     let other = Arc::clone(&count);
//!     let thread = Thread::start("other".into(), move || {
//!         other.fetch_add(1, Ordering::Relaxed);
//!     });
//!     count.fetch_add(1, Ordering::Relaxed);
//!     thread.expect("a thread").join().expect("no panic");
//!     assert_eq!(count.load(Ordering::Relaxed), 2);
//! }
//!
//! fn main() -> ExitCode {
//!     # if true { two_threads_count(); return ExitCode::SUCCESS; }
//!     run([Model::new("two_threads_count", two_threads_count)])
//! }
//! ```
//!
//! `cargo test --test models` checks all models under loom, and `cargo test --test models -- --help` lists the
//! options. The program builds itself once more with the checker's flags, optimisation level 1 and a target folder
//! of its own, and runs what it built. Each model runs in a process of its own, so that one failure hides no other.
//! An example or a binary can call [`run`](fn@run) in the same way.
//!
//! # A failing order
//!
//! A failure names the order and the command that replays it: `cargo test --test models -- --loom --replay <model>`.
//! The replay runs this order alone. With loom the message then has the places of the steps in the code.
//! An order belongs to the steps of the program that recorded it: after a repair, check the model again.
//!
//! # Without the runner
//!
//! [`check`](fn@check) also runs in an ordinary test or program. It explores orders only in a build for a checker.
//! Such a build needs these lines in the crate's `.cargo/config.toml`, after which the command is `cargo loom`:
//!
//! ```toml
//! [alias]
//! loom = [
//!   "--config=build.rustflags=['--cfg', 'apportion_loom']", "--config=build.target-dir='target/loom'",
//!   "--config=profile.dev.opt-level=1", "test", "--test", "models",
//! ]
//! ```
//!
//! # Rules for models
//!
//! * A model creates everything that it uses, including engines and the primitives of [`sync`](crate::sync).
//! * It does the same each time: no real time, no randomness, no `HashMap` with a random seed.
//! * It holds no lock of another crate across a step of the engine. All threads of a model run on one thread of the
//!   operating system, which would wait for itself.
//! * Under loom it starts at most three threads. A wait with a time limit never ends by itself, and a busy-waiting
//!   loop is reported as too long. A panic of any thread fails the model.
//! * It is small: two threads, one or two nodes, a few calls. The number of orders grows fast.
//!
//! Threads have a stack of 1 MiB; the environment variable `RUST_MIN_STACK` sets another number of bytes.

mod cargo;
mod check;
#[cfg_attr(apportion_loom, path = "with_loom.rs")]
#[cfg_attr(apportion_shuttle, path = "with_shuttle.rs")]
#[cfg_attr(not(any(apportion_loom, apportion_shuttle)), path = "with_neither.rs")]
mod checker;
mod options;
mod order;
mod run;
mod supervise;

pub use check::{Checker, Report, check};
pub use run::{Model, run};
