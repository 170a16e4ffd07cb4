//! The words users say.

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
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The word for it.
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
    /// Saves it and starts it.
    Create = "create",
    /// Replaces a definition.
    Update = "update",
    /// Runs an instance.
    Start = "start",
    /// Ends it.
    Stop = "stop",
    /// Changes how many instances components have.
    Flex = "flex",
    /// Removes an instance.
    Destroy = "destroy",
    /// Lists instances.
    List = "list",
    /// Asks whether one is there.
    Exists = "exists",
    /// Asks how one stands.
    Status = "status",
    /// Ends a container.
    KillContainer = "kill-container",
    /// Ends the master.
    KillMaster = "am-suicide",
    /// Lists nodes.
    Nodes = "nodes",
    /// Looks at everything.
    Diagnostics = "diagnostics",
    /// Says what this is.
    Version = "version",
    /// Says what there is.
    Help = "help",
}

/// No word users can say.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerbError {
    /// Nothing was said.
    #[error("the command is missing; `help` lists all")]
    Missing,
    /// Something else was said.
    #[error("unknown action `{word}`{}", hint(nearest.as_deref()))]
    Unknown {
        /// What.
        word: String,
        /// The nearest known name.
        nearest: Option<String>,
    },
}

impl VerbError {
    /// The number a command ends with for it.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Missing => ExitCode::Usage,
            Self::Unknown { .. } => ExitCode::Unimplemented,
        }
    }
}

impl Verb {
    /// The verb of this word; the words of Slider's first papers, `thaw` and `freeze`, are understood too.
    ///
    /// # Errors
    /// When it is missing, or no verb.
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
