//! Accept: decides whether a request may be applied to the present state.
//!
//! Every fact about ask and node is looked up again for each request: the proposer's view does not count. Limits are
//! checked once for a whole batch, and for each request only if the batch does not surely fit. A request for one
//! container of an ask without reservations is checked without sums; `sums` checks all others. The committer calls
//! [`accept_plain`] first, and [`accept`] for every request that it does not accept.

use super::gangs::check_starts;
use super::sums::accept_sums;
use crate::facts::{Application, Ask, Breach, Facts, Node, PartitionShare, Shape, TagCounts};
use crate::ids::{AskId, LeafUserId, LimitUsageId, NodeId, PartitionId, QueueId, ReservationId};
use crate::propose::{Amount, Amounts};
use crate::request::{AllocationProposal, RejectReason, ResourceAllocationCommitRequest};
use crate::resource::{Resources, fits};

/// Whether all additions of a batch together stay within the limits of queues and users. Then any part of them does.
/// False where users have shares, because shares move with each part. `amounts` are those that the pass put in flight:
/// all additions of its requests.
pub(super) fn is_batch_within_limits(facts: &Facts, amounts: &Amounts) -> bool {
    let queues = amounts
        .queues
        .iter()
        .all(|&Amount { of, share, ref resources }| check_queue_limit(facts, of, share, resources).is_ok());
    let users = amounts.users.iter().all(|&Amount { of, share, ref resources }| {
        !facts.queue(facts.user(of).leaf).shares_among_users()
            && check_user_limit(facts, of, share, resources, resources).is_ok()
    });
    let limit_usages = amounts.limit_usages.iter().all(|&Amount { of, share, ref resources }| {
        check_limit_usage(facts, of, share.partition, resources).is_ok()
    });
    queues && users && limit_usages
}

/// Whether all of `request` may be applied. With `is_batch_within_limits`, the request cannot exceed limits of queues
/// or users, and they are not checked.
pub(super) fn accept(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
    is_batch_within_limits: bool,
) -> Result<(), RejectReason> {
    if request.is_empty() {
        return Err(RejectReason::Empty);
    }
    if !facts.gangs.is_empty() {
        check_starts(facts, request)?;
        if request.allocate.first().is_some_and(|first| facts.gang_of(first.ask).is_some()) {
            return accept_sums(facts, request);
        }
    }
    let Some(proposal) = request.as_single() else { return accept_sums(facts, request) };
    let candidate = candidate(facts, proposal.ask, proposal.node, None)?;
    if !candidate.ask.reservations().is_empty() {
        return accept_sums(facts, request);
    }
    let verdict = accept_single(facts, &candidate, is_batch_within_limits);
    debug_assert_eq!(verdict, accept_sums(facts, request), "a single container is not a special case");
    verdict
}

/// Whether a pass's proposal is for a plain ask, on a node of the ask's partition, and acceptable. The caller knows
/// that there are no gangs.
pub(super) fn accept_plain(
    facts: &Facts,
    proposal: &AllocationProposal,
    is_batch_within_limits: bool,
) -> bool {
    facts.asks.get(proposal.ask).is_some_and(Ask::is_plain)
        && candidate(facts, proposal.ask, proposal.node, None).is_ok_and(|candidate| {
            // A container on a borrowed node has another shape than its ask.
            facts.shapes.at(candidate.ask.shape).partition == candidate.node.partition
                && accept_single(facts, &candidate, is_batch_within_limits).is_ok()
        })
}

/// Decides as [`accept_sums`], but without sums, for one container of an ask without reservations.
fn accept_single(
    facts: &Facts,
    Candidate { ask, node, shape }: &Candidate<'_>,
    is_batch_within_limits: bool,
) -> Result<(), RejectReason> {
    check_unreserved(node, &[])?;
    if !fits(&shape.need, &node.room) {
        return Err(RejectReason::NodeFull);
    }
    if ask.outstanding() == 0 {
        return Err(RejectReason::NothingOutstanding);
    }
    if is_batch_within_limits {
        // Only batches of passes have this flag. Passes see only active applications, and these stay active.
        return Ok(());
    }
    let (size, application) = (&shape.need.resources, facts.applications.at(ask.application));
    check_active(application)?;
    for queue in &facts.queue(application.leaf).chain {
        check_queue_limit(facts, *queue, shape.share(), size)?;
    }
    for limit_usage in &facts.user(application.user).limit_usages {
        check_limit_usage(facts, *limit_usage, shape.partition, size)?;
    }
    check_user_limit(facts, application.user, shape.share(), size, size)
}

/// Whether the queue's use may change by `change`.
pub(super) fn check_queue_limit(
    facts: &Facts,
    queue: QueueId,
    share: PartitionShare,
    change: &Resources,
) -> Result<(), RejectReason> {
    let used = &facts.queue(queue).quota(share.partition).used;
    if facts.tree.queue_admits(queue, share, used, change) { Ok(()) } else { Err(RejectReason::QueueLimit) }
}

/// Whether the use that counts for a user or a group may change by `change`.
pub(super) fn check_limit_usage(
    facts: &Facts,
    limit_usage: LimitUsageId,
    partition: PartitionId,
    change: &Resources,
) -> Result<(), RejectReason> {
    let limit_usage = facts.tree.limit_usage(limit_usage);
    if limit_usage.admits(&limit_usage.used[partition.index()], change) {
        Ok(())
    } else {
        Err(RejectReason::UserLimit)
    }
}

/// Whether the user's use may change by `change`, if its largest container has size `largest`.
pub(super) fn check_user_limit(
    facts: &Facts,
    user: LeafUserId,
    share: PartitionShare,
    change: &Resources,
    largest: &Resources,
) -> Result<(), RejectReason> {
    if facts.tree.user_may_use(user, share, change, largest) { Ok(()) } else { Err(RejectReason::UserLimit) }
}

/// An inactive application gets nothing.
pub(super) fn check_active(application: &Application) -> Result<(), RejectReason> {
    if application.is_active { Ok(()) } else { Err(RejectReason::ApplicationInactive) }
}

/// A reserved node takes a container only if the same request ends the reservation.
pub(super) fn check_unreserved(node: &Node, ended: &[ReservationId]) -> Result<(), RejectReason> {
    match node.reservation {
        Some(reservation) if !ended.contains(&reservation) => Err(RejectReason::NodeReserved),
        _ => Ok(()),
    }
}

/// An ask and a node that may serve it.
pub(super) struct Candidate<'a> {
    pub(super) ask: &'a Ask,
    pub(super) node: &'a Node,
    /// The shape that the container would have.
    pub(super) shape: &'a Shape,
}

/// The ask and node of a proposal, and the shape that the container would have. Fails if the node may not serve the ask
/// at all, with `tags` on top of the present tags.
pub(super) fn candidate<'a>(
    facts: &'a Facts,
    ask_id: AskId,
    node_id: NodeId,
    tags: Option<&TagCounts>,
) -> Result<Candidate<'a>, RejectReason> {
    let ask = facts.asks.get(ask_id).ok_or(RejectReason::UnknownAsk)?;
    let node = facts.nodes.get(node_id).ok_or(RejectReason::UnknownNode)?;
    if !node.is_candidate() {
        return Err(RejectReason::NodeNotCandidate);
    }
    let shape = facts.shapes.at(facts.shape_on(ask.shape, node).ok_or(RejectReason::WrongPartition)?);
    if !ask.preference().will_do(node_id, node.rack) {
        return Err(RejectReason::ConstraintViolated);
    }
    match facts.breach_with(shape, node, tags) {
        None => Ok(Candidate { ask, node, shape }),
        Some(Breach::Attributes) => Err(RejectReason::ConstraintViolated),
        Some(Breach::Shunned) => Err(RejectReason::NodeBlacklisted),
        Some(Breach::TagLimit) => Err(RejectReason::TagLimit),
    }
}
