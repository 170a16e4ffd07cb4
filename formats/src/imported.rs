//! What an importer makes of another scheduler's configuration.

use apportion::config::EngineConfig;

/// What other schedulers' files say to this engine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// What could be carried over, and for the rest what [`EngineConfig::new`] takes. It passes
    /// [`EngineConfig::validate`].
    pub config: EngineConfig,
    /// What the files say besides, in their order.
    pub not_carried_over: Vec<NotCarriedOver>,
}

impl From<EngineConfig> for Imported {
    /// All of it is carried over.
    fn from(config: EngineConfig) -> Self {
        Self { config, not_carried_over: Vec::new() }
    }
}

/// A setting that has no effect on the engine, or not the one it has on the scheduler it was written for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCarriedOver {
    /// The file it stands in, by the name the importer was given.
    pub file_name: String,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// The whole key.
    pub key: String,
    /// The value as it is written, trimmed.
    pub value: String,
    /// Why, in words for the file's owner.
    pub reason: String,
}
