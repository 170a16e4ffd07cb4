//! The kinds of events.

use super::EventKind;
use crate::label::labels;

labels! { EventKind {
    Allocated => "allocated",
    ContainerRecovered => "container_recovered",
    ContainerResized => "container_resized",
    ExecutionTypeChanged => "execution_type_changed",
    ContainerStopping => "container_stopping",
    ContainerEnded => "container_ended",
    AskCancelled => "ask_cancelled",
    Reserved => "reserved",
    Unreserved => "unreserved",
    ApplicationActivated => "application_activated",
    ApplicationEnding => "application_ending",
    ApplicationEnded => "application_ended",
    ApplicationRefused => "application_refused",
    AskRefused => "ask_refused",
    PreemptionAnnounced => "preemption_announced",
    PreemptionWithdrawn => "preemption_withdrawn",
    GangStarted => "gang_started",
    GangEnded => "gang_ended",
    GangTurnEnded => "gang_turn_ended",
    GangRefused => "gang_refused",
    PlaceholdersTimedOut => "placeholders_timed_out",
    OpportunisticAllocated => "opportunistic_allocated",
    OpportunisticStarted => "opportunistic_started",
} }
