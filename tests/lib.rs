//! Support for the tests: a small language for clusters, and a sequential model to compare an engine with.
//!
//! [`support::cluster`] drives one engine. [`support::oracle`] is a second, naive scheduler written from the
//! semantics alone: it keeps no sums and adds everything up again for each decision. [`support::check`] checks an
//! engine after each step. [`support::mutants`] reads the deliberate defects with which the tests are tried.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

/// Modules that all test binaries share.
pub mod support {
    pub mod appending;
    mod by_kind;
    pub mod check;
    pub mod cluster;
    pub mod crowd;
    pub mod every_change;
    pub mod mutants;
    pub mod oracle;
    pub mod seeded_steps;
    mod watch;
}
