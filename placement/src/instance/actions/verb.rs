//! The verbs of the command line.

use apportion::nearest::nearest;
use thiserror::Error;

use crate::instance::ExitCode;
use crate::instance::definition::hint;

macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// The commands on instances.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Verb {
            $($(#[$doc])* $name,)*
        }

        impl Verb {
            /// Every verb.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns its word.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

verbs! {
    /// Saves a definition.
    Build = "build",
    /// Saves a definition and starts the instance.
    Create = "create",
    /// Replaces a definition.
    Update = "update",
    /// Runs an instance.
    Start = "start",
    /// Stops an instance.
    Stop = "stop",
    /// Changes numbers of instances.
    Flex = "flex",
    /// Removes an instance.
    Destroy = "destroy",
    /// Lists instances.
    List = "list",
    /// Asks whether an instance exists.
    Exists = "exists",
    /// Asks for the status of an instance.
    Status = "status",
    /// Ends a container.
    KillContainer = "kill-container",
    /// Ends the master.
    KillMaster = "am-suicide",
    /// Lists nodes.
    Nodes = "nodes",
    /// Collects all facts about an instance.
    Diagnostics = "diagnostics",
    /// Asks for the version.
    Version = "version",
    /// Asks for the list of commands.
    Help = "help",
}

/// A word that is not a verb.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerbError {
    /// The word is missing.
    #[error("the command is missing; `help` lists all")]
    Missing,
    /// The word is unknown.
    #[error("unknown action `{word}`{}", hint(nearest.as_deref()))]
    Unknown {
        /// The word.
        word: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
}

impl VerbError {
    /// Returns the exit code of the command.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Missing => ExitCode::Usage,
            Self::Unknown { .. } => ExitCode::Unimplemented,
        }
    }
}

impl Verb {
    /// Returns the verb of this word. Accepts Slider's older words `thaw` and `freeze` too.
    ///
    /// # Errors
    /// If the word is missing or unknown.
    pub fn parse(word: Option<&str>) -> Result<Self, VerbError> {
        let word = match word {
            None | Some("") => return Err(VerbError::Missing),
            Some("thaw") => "start",
            Some("freeze") => "stop",
            Some(word) => word,
        };
        let found = Self::ALL.iter().copied().find(|verb| verb.word() == word);
        found.ok_or_else(|| VerbError::Unknown {
            word: word.to_owned(),
            nearest: nearest(word, Self::ALL.iter().map(|verb| verb.word())),
        })
    }
}
