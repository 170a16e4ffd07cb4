//! The kinds of changes.

use super::Change;
use crate::label::labels;

labels! { Change {
    Configured => "configured",
    TimeAdvanced => "time_advanced",
    NodeAdded => "node_added",
    NodeUpdated => "node_updated",
    NodePartitionSet => "node_partition_set",
    NodeStateSet => "node_state_set",
    NodeSilenceSet => "node_silence_set",
    NodeRemoved => "node_removed",
    Heartbeats => "heartbeats",
    ApplicationSubmitted => "application_submitted",
    ApplicationEnded => "application_ended",
    BlacklistUpdated => "blacklist_updated",
    ApplicationMoved => "application_moved",
    ApplicationPrioritySet => "application_priority_set",
    AskSubmitted => "ask_submitted",
    AskCancelled => "ask_cancelled",
    ContainerRecovered => "container_recovered",
    ContainerResized => "container_resized",
    ExecutionTypeSet => "execution_type_set",
    OpportunitiesMissed => "opportunities_missed",
    ReservedAgain => "reserved_again",
    ContainerStopping => "container_stopping",
    ContainerEnded => "container_ended",
    QueueUpdated => "queue_updated",
    Reconfigured => "reconfigured",
    QueueExpired => "queue_expired",
    ReservationExpired => "reservation_expired",
    Committed => "committed",
    RackNamed => "rack_named",
    PreemptionAnnounced => "preemption_announced",
    PreemptionWithdrawn => "preemption_withdrawn",
} }
