//! Which changes are checked against limits.

use crate::change::Change;

/// Whether [`admit`](super::admit::admit) compares the change with limits, which must be computed then.
#[inline]
pub(super) const fn needs_limits(change: &Change) -> bool {
    match change {
        Change::ApplicationMoved { .. }
        | Change::ContainerResized { .. }
        | Change::ExecutionTypeSet { .. }
        | Change::GangSubmitted { .. }
        | Change::RoomHeld { .. } => true,
        // The committer computes them itself before it decides a request.
        Change::Committed { .. }
        | Change::Configured { .. }
        | Change::TimeAdvanced { .. }
        | Change::NodeAdded { .. }
        | Change::NodeUpdated { .. }
        | Change::NodePartitionSet { .. }
        | Change::NodeStateSet { .. }
        | Change::NodeSilenceSet { .. }
        | Change::NodeRemoved { .. }
        | Change::Heartbeats { .. }
        | Change::ApplicationSubmitted { .. }
        | Change::ApplicationEnded { .. }
        | Change::BlacklistUpdated { .. }
        | Change::ApplicationPrioritySet { .. }
        | Change::AskSubmitted { .. }
        | Change::AskCancelled { .. }
        | Change::ContainerRecovered { .. }
        | Change::OpportunitiesMissed { .. }
        | Change::ReservedAgain { .. }
        | Change::ContainerStopping { .. }
        | Change::ContainerEnded { .. }
        | Change::QueueUpdated { .. }
        | Change::Reconfigured { .. }
        | Change::QueueExpired { .. }
        | Change::ReservationExpired { .. }
        | Change::RackNamed { .. }
        | Change::PreemptionAnnounced { .. }
        | Change::PreemptionWithdrawn { .. }
        | Change::GangEnded { .. }
        | Change::PreemptionCostSet { .. }
        | Change::PreemptionConfirmed { .. }
        | Change::DisruptionBudgetsSet { .. }
        | Change::TaskGroupAskSubmitted { .. }
        | Change::PlaceholdersTimedOut { .. }
        | Change::PromotionRequested { .. }
        | Change::RoomGivenBack { .. }
        | Change::GangTurnEnded { .. } => false,
    }
}
