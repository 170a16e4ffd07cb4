//! Whether preemption will help an ask.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::ids::AskId;
use crate::label::{counted, seconds};

/// What rounds of preemption do for a pending ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreemptionOutlook {
    /// Containers are announced to end for it. Fewer may be needed in the end.
    Announced {
        /// The number of containers.
        victims: u32,
        /// When the first of them may end.
        kill_ms: u64,
    },
    /// The last round planned some of its containers in place of others. They may have started since.
    Planned {
        /// When that round was.
        at_ms: u64,
        /// The number of these containers, over all roles if a gang waits.
        containers: u32,
        /// Why the round did nothing for the others that its queue is owed, if there are any.
        rest: Option<UnhelpedReason>,
    },
    /// The last round did nothing for it, although its queue is owed more.
    Unhelped {
        /// When that round was.
        at_ms: u64,
        /// Why it did nothing.
        reason: UnhelpedReason,
    },
}

/// Why a round does nothing for an ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnhelpedReason {
    /// A limit of a queue, a user or a group leaves no room for one more container.
    Limit,
    /// No node that could hold the container meets its conditions.
    NoNode,
    /// Its queue is owed less than one container.
    LessThanOneContainer,
    /// Its queue is owed less than the minimum of the gang, which gets all or nothing.
    LessThanMinimum,
    /// No queue uses more than its fair amount of what the ask lacks.
    NothingToTake,
    /// Only queues in the dead zone use more than their fair amount of what the ask lacks.
    DeadZone,
    /// Only exempt queues use more than their fair amount of what the ask lacks.
    Exempt,
    /// The round takes no more of what the ask lacks.
    RoundSpent,
    /// On no node do the containers that may be taken leave enough room.
    NoVictims,
    /// Some node would have enough room if no disruption budget or minimum of a gang kept the containers there.
    DisruptionBudget,
}

/// The announced victims for the ask, if there are any.
pub(super) fn outlook(facts: &Facts, ask: AskId) -> Option<PreemptionOutlook> {
    let beneficiary = facts.beneficiary(ask);
    let notices = facts.notices.values().filter(|notice| notice.ask == beneficiary);
    let (victims, kill_ms) =
        notices.fold((0, u64::MAX), |(count, first), notice| (count + 1, first.min(notice.kill_ms)));
    (victims > 0).then_some(PreemptionOutlook::Announced { victims, kill_ms })
}

impl Display for PreemptionOutlook {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Announced { victims, kill_ms } => {
                let victims = counted((*victims).into(), "container");
                write!(
                    f,
                    "Preemption: {victims} may end for it from {} on, if no later round changes that.",
                    seconds(*kill_ms)
                )
            }
            Self::Planned { at_ms, containers, rest } => {
                let containers = counted((*containers).into(), "container");
                write!(
                    f,
                    "Preemption: the round at {} planned to start {containers} of it",
                    seconds(*at_ms)
                )?;
                match rest {
                    Some(reason) => write!(f, ", and nothing for the rest. {reason}"),
                    None => f.write_str("."),
                }
            }
            Self::Unhelped { at_ms, reason } => {
                write!(f, "Preemption: the round at {} did nothing for it. {reason}", seconds(*at_ms))
            }
        }
    }
}

impl Display for UnhelpedReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "A limit of a queue, a user or a group leaves no room for one more.",
            Self::NoNode => "No node that could hold it meets its conditions.",
            Self::LessThanOneContainer => "Its queue is owed less than one container.",
            Self::LessThanMinimum => "Its queue is owed less than the minimum of the gang.",
            Self::NothingToTake => "No queue uses more than its fair amount of what it lacks.",
            Self::DeadZone => {
                "Only queues in the dead zone use more than their fair amount of what it lacks."
            }
            Self::Exempt => "Only exempt queues use more than their fair amount of what it lacks.",
            Self::RoundSpent => "This round takes no more of what it lacks.",
            Self::NoVictims => "On no node do the containers that may be taken leave enough room.",
            Self::DisruptionBudget => {
                "Disruption budgets or minima of gangs keep the containers that would leave enough room."
            }
        })
    }
}
