//! Why and when a container is preempted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ids::AskId;
use crate::label::seconds;

/// A container is to end, and when, for whom and by which rule. It may still be spared: if its application gives back
/// enough other containers, or the beneficiary no longer needs the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PreemptionNotice {
    /// The ask that it would make room for; for a gang, the ask of its first role. A later round may give the room to
    /// another.
    pub ask: AskId,
    /// Why the ask may have the room.
    pub rule: PreemptionRule,
    /// When the container may be ended, in the engine's time.
    pub kill_ms: u64,
}

/// `to make room for ask-3 at 15 s`.
impl fmt::Display for PreemptionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to make room for {} at {}", self.ask, seconds(self.kill_ms))
    }
}

/// Why a beneficiary may have the room of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreemptionRule {
    /// Its leaf uses less than its guarantee.
    Guarantee,
    /// Its leaf has its guarantee, and a smaller share of the rest than others.
    Balance,
    /// Within its leaf: it has a higher priority than the applications that lose containers.
    ApplicationPriority,
    /// Within its leaf: its user is within the user limit, and the users that lose containers exceed theirs.
    UserLimit,
}
