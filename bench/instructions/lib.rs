//! The bench `instructions` has a crate of its own, so that CI builds few dependencies for it: `benches/main.rs`.

#![forbid(unsafe_code)]
