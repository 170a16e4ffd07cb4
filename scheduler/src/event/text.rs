//! Events as one line for people.

use std::fmt::{self, Display, Formatter};

use super::{Event, EventKind};
use crate::facts::{ApplicationEnd, EndCause, ExecutionType, GangEnd, GangStyle, Locality};
use crate::label::{counted, seconds};

/// `app-0: container-5 of ask-0 is allocated on node-1, a host that it named`.
impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.application, self.kind)
    }
}

impl Display for EventKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocated { ask, container, node, locality, .. } => {
                write!(f, "{container} of {ask} is allocated on {node}{}", locality_words(*locality))
            }
            Self::ContainerRecovered { container, node, .. } => write!(f, "{container} was found on {node}"),
            Self::ContainerResized { container } => write!(f, "{container} has another size"),
            Self::ExecutionTypeChanged { container, execution_type: ExecutionType::Guaranteed } => {
                write!(f, "{container} is guaranteed now")
            }
            Self::ExecutionTypeChanged { container, execution_type: ExecutionType::Opportunistic } => {
                write!(f, "{container} is opportunistic now")
            }
            Self::ContainerStopping { container, node, until_ms, cause } => {
                let until = seconds(*until_ms);
                write!(f, "{container} on {node} has to stop by {until}: {cause}")
            }
            Self::ContainerEnded { container, cause, .. } => {
                write!(f, "{container} ended: {cause}")
            }
            Self::AskCancelled { ask, units } => {
                write!(f, "{} of {ask} cancelled", counted((*units).into(), "container"))
            }
            Self::Reserved { ask, node } => write!(f, "{node} is reserved for {ask}"),
            Self::Unreserved { ask, node } => write!(f, "{node} is no longer reserved for {ask}"),
            Self::ApplicationActivated => f.write_str("activated"),
            Self::ApplicationEnding { end } => {
                write!(f, "{end}, and its last containers are being stopped")
            }
            Self::ApplicationEnded { end } => write!(f, "{end}, and nothing of it runs"),
            Self::ApplicationRefused { refusal } => write!(f, "refused: {refusal}"),
            Self::AskRefused { ask, refusal } => write!(f, "{ask} is refused: {refusal}"),
            Self::PreemptionAnnounced { container, notice } => write!(f, "{container} is to end {notice}"),
            Self::PreemptionWithdrawn { container } => write!(f, "{container} is not needed and runs on"),
            Self::GangStarted { gang } => write!(f, "{gang} has started"),
            Self::GangTurnEnded { gang, .. } => {
                write!(f, "{gang} gives back the room it held, because that does not grow")
            }
            Self::GangEnded { gang, end, style } => {
                let falls_back = (*end, *style) == (GangEnd::TimedOut, GangStyle::Soft);
                write!(f, "{gang} {end}{}", if falls_back { ", its asks go on one by one" } else { "" })
            }
            Self::PlaceholdersTimedOut { gang, style } => {
                let fails = if *style == GangStyle::Hard { " and fails" } else { "" };
                write!(f, "{gang} gives up its placeholders{fails}")
            }
            Self::GangRefused { gang, refusal } => write!(f, "{gang} is refused: {refusal}"),
            Self::OpportunisticAllocated { ask, container, node, locality, .. } => {
                let locality = locality_words(*locality);
                write!(f, "{container} of {ask} waits in the queue of {node}{locality}")
            }
            Self::OpportunisticStarted { container, node, .. } => {
                write!(f, "{container} is opportunistic and starts on {node}")
            }
        }
    }
}

const fn locality_words(locality: Locality) -> &'static str {
    match locality {
        Locality::NodeLocal => ", a host that it named",
        Locality::RackLocal => ", in a rack that it named",
        Locality::OffSwitch => "",
    }
}

impl Display for EndCause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Released => "released by its application",
            Self::NodeLost => "lost with its node",
            Self::ApplicationEnded => "its application has ended",
            Self::Preempted => "preempted",
            Self::StopTimedOut => "its stop was not confirmed in time",
            Self::Replaced => "a real container took its place",
            Self::PlaceholderReleased => "a placeholder that is not needed",
            Self::OpportunisticPreempted => {
                "guaranteed containers need the room, or its node or a limit is too small for it now"
            }
        })
    }
}

impl Display for GangEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "did not start in time",
            Self::Cancelled => "is cancelled",
            Self::ApplicationEnded => "ends with its application",
        })
    }
}

impl Display for ApplicationEnd {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished",
            Self::Killed => "killed",
            Self::Expired => "expired",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Refusal;
    use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, SlotId};
    use crate::request::CommitSeq;

    #[test]
    fn events_are_sentences() {
        let (ask, container, node) = (AskId::new(0, 0), ContainerId::new(5, 0), NodeId::new(1, 0));
        let (cause, allocation_request_id) = (EndCause::Released, 0);
        let text =
            |kind| Event { seq: CommitSeq(1), application: ApplicationId::new(7, 0), kind }.to_string();
        for (kind, expected) in [
            (
                EventKind::Allocated {
                    ask,
                    container,
                    node,
                    locality: Locality::NodeLocal,
                    allocation_request_id,
                },
                "app-7: container-5 of ask-0 is allocated on node-1, a host that it named",
            ),
            (
                EventKind::ContainerStopping { container, node, until_ms: 61_500, cause },
                "app-7: container-5 on node-1 has to stop by 61.500 s: released by its application",
            ),
            (
                EventKind::ContainerEnded { container, cause, allocation_request_id },
                "app-7: container-5 ended: released by its application",
            ),
            (EventKind::AskCancelled { ask, units: 2 }, "app-7: 2 containers of ask-0 cancelled"),
            (EventKind::Reserved { ask, node }, "app-7: node-1 is reserved for ask-0"),
            (
                EventKind::AskRefused { ask, refusal: Refusal::UnknownPartition },
                "app-7: ask-0 is refused: the configuration has no such partition",
            ),
            (
                EventKind::ApplicationEnded { end: ApplicationEnd::Killed },
                "app-7: killed, and nothing of it runs",
            ),
        ] {
            assert_eq!(text(kind), expected);
        }
    }
}
