//! Opportunistic containers: the check of their asks, demotion, and promotion at once or when room is left over.

use super::group::{GroupCommitter, find_work_for_passes};
use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::change::{AskSpec, Change};
use crate::config::EngineConfig;
use crate::event::Refusal;
use crate::facts::ExecutionType;
use crate::ids::{ContainerId, PartitionId, SetId};
use crate::request::CommitSeq;
use crate::state::State;
use crate::sync::Ticket;

/// # Opportunistic containers
///
/// They are asked for with [`ExecutionType::Opportunistic`], or demoted. Ordinary asks come first.
impl Handle {
    /// Makes a container opportunistic: it runs on leftover capacity of its node. Its room is free at once, and it
    /// is charged nothing but its devices. It still counts in limits on its tags, and ends as other containers do.
    /// An engine that [queues](crate::config::EngineConfig::opportunistic) opportunistic containers ends it when
    /// guaranteed ones need its room. Otherwise the node has to ensure that running containers fit. The ticket refuses
    /// a container that is unknown or opportunistic already.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn demote_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let execution_type = ExecutionType::Opportunistic;
        self.send_answered(Change::ExecutionTypeSet { container, execution_type })
    }

    /// Guarantees an opportunistic container its size again. The ticket tells whether its node, the queues and the
    /// user have room for all of it, as for a new container of that size. If not, it names the obstacle and the
    /// container stays as it is. A borrowed container is promoted, as it grows, only as far as the partition's own
    /// containers allow. The engine queues nothing: after a refusal the caller may try again, or
    /// [request](Self::request_promotion) the promotion. A container that waits in its node's queue starts with its
    /// promotion. The ticket refuses an unknown container.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn promote_container(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        let execution_type = ExecutionType::Guaranteed;
        self.send_answered(Change::ExecutionTypeSet { container, execution_type })
    }

    /// Wants an opportunistic container promoted as soon as there is room. Then its application gets
    /// [`ExecutionTypeChanged`](crate::event::EventKind::ExecutionTypeChanged). Until then it waits or runs as before,
    /// and it may end for guaranteed containers. [`promote_container`](Self::promote_container) decides at once
    /// instead.
    ///
    /// Requests are looked at in their order, and a request that finds no room holds up no other. Ordinary asks come
    /// first: a container is promoted only while no pass over its partition could place any. Pending asks at a limit
    /// do not count. The ticket refuses a container that is unknown, guaranteed or being stopped.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn request_promotion(
        &self,
        container: ContainerId,
    ) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError> {
        self.send_answered(Change::PromotionRequested { container })
    }
}

/// Whether the engine can queue the containers of an opportunistic ask.
#[cold]
pub(super) fn check_opportunistic(config: &EngineConfig, spec: &AskSpec) -> Result<(), SubmitError> {
    match (&config.opportunistic, spec.is_master) {
        (None, _) => Err(SubmitError::NoOpportunistic),
        (Some(_), true) => Err(SubmitError::OpportunisticMaster),
        (Some(_), false) => Ok(()),
    }
}

impl GroupCommitter {
    /// Promotes the containers that can be promoted, in the order of the requests. Ordinary asks come first: passes
    /// over the container's partition must have nothing to do, and the node's room must not be in flight.
    pub(super) fn promote_requested(&mut self, state: &mut State) {
        if state.facts.node_queues.promotions.is_empty() {
            return;
        }
        // An ask that waited for headroom or may reserve a node now is work for a pass.
        find_work_for_passes(state);
        for container in state.facts.node_queues.promotions.clone() {
            if !is_left_over(state, container) {
                continue;
            }
            let change = Change::ExecutionTypeSet { container, execution_type: ExecutionType::Guaranteed };
            let mut committer = self.committer(state);
            if committer.admit(&change).is_ok() {
                committer.apply(change);
            }
        }
    }
}

/// Whether no ordinary ask could use the room of the container's node.
fn is_left_over(state: &State, container: ContainerId) -> bool {
    let Some(container) = state.facts.containers.get(container) else { return false };
    let node = state.facts.nodes.at(container.node);
    !may_pass_place(state, node.partition) && state.nodes().room_left(container.node, node) == node.room
}

/// Whether a pass over some set of the partition may place or reserve something, also if the set is paused.
fn may_pass_place(state: &State, partition: PartitionId) -> bool {
    let sets = state.node_shards.sets(partition);
    (0..sets).any(|number| state.backlog.count_wanted(SetId::new(partition, number)) > 0)
}
