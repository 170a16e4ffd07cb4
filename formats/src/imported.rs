//! The result of importing another scheduler's configuration.

use apportion::config::EngineConfig;

/// An imported configuration and a report of the settings left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The settings that were carried over; all others are as in [`EngineConfig::new`]. It passes
    /// [`EngineConfig::validate`].
    pub config: EngineConfig,
    /// The settings that were not carried over, in the order of the files.
    pub not_carried_over: Vec<NotCarriedOver>,
}

impl From<EngineConfig> for Imported {
    /// Every setting is carried over.
    fn from(config: EngineConfig) -> Self {
        Self { config, not_carried_over: Vec::new() }
    }
}

/// A setting without effect on the engine, or with another effect than on the original scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCarriedOver {
    /// The file of the setting, by the name that the importer was given.
    pub file_name: String,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// The full key.
    pub key: String,
    /// The value as written, trimmed.
    pub value: String,
    /// The reason, in words for the owner of the file.
    pub reason: String,
}

/// `capacity-scheduler.xml:12: yarn.key = value: the reason`.
impl std::fmt::Display for NotCarriedOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file_name, line, key, value, reason } = self;
        write!(f, "{file_name}:{line}: {key} = {value}: {reason}")
    }
}
