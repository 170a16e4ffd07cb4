//! Scenarios as data: a cluster, its events step by step, and the expectations, in a YAML file each.
//!
//! `tests/scenarios/README.md` describes the format. A file is read as a whole ([`form`] defines its content), then run
//! once for each of its modes. Every step is sent to an engine on virtual time, and the expectations of a step are
//! compared with the engine's state.

mod amounts;
mod cluster;
mod commit;
mod compare;
mod configuration;
mod containers;
mod expect;
mod find;
mod form;
mod gangs;
mod names;
mod preempt;
mod problem;
mod read;
mod run;
mod state;
mod steps;
mod submit;

pub use find::find_files;
pub use problem::BadScenario;
pub use read::{Scenario, read_file};
pub use run::{Failure, RunSetting, ScenarioRun, run};
