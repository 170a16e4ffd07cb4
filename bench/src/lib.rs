//! Workloads, trace readers, simulation on virtual time, and reports for the Apportion engine.
//!
//! | module | purpose |
//! |---|---|
//! | `cli` | the commands |
//! | `workload`, `trace` | the input of a simulation; its readers, one for each trace format |
//! | `synthetic` | draws the demo's workload |
//! | `sim` | runs the loop on virtual time and records; jobs, queues and users in `sim/metrics` |
//! | `sweep`, `compare` | runs many simulations; compares two results beyond noise |
//! | `statistics` | percentiles, Jain's index, Student's t |
//! | `pending` | explains the asks that stay pending |
//! | `yardstick` | measures the speed of this machine; the load of `throughput` is the crate `apportion-load` |
//! | `steady` | full clusters on virtual time: fairness, starvation, and reclaiming by preemption |
//! | `services`, `control` | a year of a service; drains, rolling restarts and hot hosts, on virtual time |
//! | `scenario` | files of `tests/scenarios`: events in a cluster, and the expected outcome |
//! | `report` | table, JSON and HTML; in `report/plot` the plots, a still SVG and the same data with uPlot |
//! | `output`, `interrupt`, `text`, `amounts` | complete result files; signals; text files; amounts of resources |

#![forbid(unsafe_code)]

mod amounts;
pub mod cli;
pub mod compare;
pub mod control;
pub mod interrupt;
pub mod output;
pub mod pending;
pub mod report;
pub mod scenario;
pub mod services;
pub mod sim;
pub mod statistics;
pub mod steady;
pub mod sweep;
pub mod synthetic;
pub mod text;
pub mod trace;
pub mod workload;
pub mod yardstick;
