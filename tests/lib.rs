//! Support for the tests: a small language for clusters, and a sequential model to compare an engine with.
//!
//! [`support::cluster`] drives one engine. [`support::oracle`] is a second, naive scheduler written from the
//! semantics alone: it keeps no sums, only what exists, and adds up everything anew for each decision.
//! [`support::check`] says what must hold after each step. [`support::mutants`] reads the defects on which the tests
//! are tried.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

/// What all test binaries share.
pub mod support {
    pub mod check;
    pub mod cluster;
    pub mod crowd;
    pub mod mutants;
    pub mod oracle;
    mod watch;
}
