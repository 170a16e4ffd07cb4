//! Configuration files for the engine: its [own](toml), [YARN's](capacity_scheduler) and [YuniKorn's](yunikorn).
//!
//! Each reader turns text into the engine's [`EngineConfig`](apportion::config::EngineConfig) and validates it. An
//! error names the file, the line and the column. The importers also list each setting that they could not carry
//! over.

#![forbid(unsafe_code)]

mod billionths;
pub mod capacity_scheduler;
#[cfg(test)]
mod damage;
mod exempt;
mod file;
mod imported;
pub mod toml;
pub mod yunikorn;

pub use file::{ConfigFileError, ConfigFileProblem};
pub use imported::{Imported, NotCarriedOver};
