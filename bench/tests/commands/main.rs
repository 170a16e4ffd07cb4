//! The program from the command line, one module for each command.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod case;
mod compacted;
#[cfg(unix)]
mod compare;
mod config;
mod control;
mod explain;
mod gangs;
mod long_plan;
mod next_round;
mod philly;
mod policy;
mod preempt;
mod program;
mod rates;
mod report;
mod scenarios;
mod services;
mod traces;
