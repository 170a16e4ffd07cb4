//! Workloads, trace readers, simulation on virtual time, and reports for the Apportion engine.

#![forbid(unsafe_code)]

pub mod cli;
pub mod compare;
pub mod control;
pub mod interrupt;
pub mod output;
pub mod pending;
pub mod process;
pub mod report;
pub mod scenario;
pub mod services;
pub mod sim;
pub mod statistics;
pub mod steady;
pub mod sweep;
pub mod synthetic;
pub mod text;
pub mod throughput;
pub mod trace;
pub mod workload;
pub mod yardstick;
