//! Admits asks: decides whether an application may submit an ask now.
//!
//! The committer admits an ask under the write guard, before it applies the ask. Limits of queues and users do not
//! matter yet: they are checked when a proposal for the ask is [accepted](super::accept). An ask is refused if it would
//! break a sum, or if its application is ending. So is an ask for a rack or partition that is unknown or closed to the
//! leaf.

use crate::change::AskSpec;
use crate::event::Refusal;
use crate::facts::{Application, ExecutionType, Facts, Queue, Quota};
use crate::ids::{ApplicationId, AskId, PartitionId};
use crate::resource::Resources;

/// The most that one leaf may have pending of one resource type: sums over thousands of leaves do not overflow.
pub(super) const PENDING_MAX: i64 = 1 << 50;

/// Whether the application may submit the ask.
#[inline]
pub(super) fn admit_described_ask(
    facts: &Facts,
    ask: AskId,
    application: ApplicationId,
    spec: &AskSpec,
) -> Result<(), Refusal> {
    if facts.is_ask_vacant(ask) {
        check_ask(facts, spec)?;
    }
    admit_ask(facts, ask, application, spec, spec.count)
}

/// Whether partition and amounts of an ask are in range. A [handle](crate::Handle) sends no other asks.
fn check_ask(facts: &Facts, spec: &AskSpec) -> Result<(), Refusal> {
    spec.partition.map_or(Ok(()), |partition| check_partition(facts, partition))?;
    let is_in_range = spec.count > 0
        && spec.devices.is_none_or(|need| need.is_valid())
        && facts.config.resources.is_counted(&spec.size, spec.devices_milli());
    ok(is_in_range, Refusal::OutOfRange)?;
    ok(facts.config.allocation.admits(&spec.size), Refusal::EmptyContainer)
}

/// Whether the application may submit a valid ask for this many containers.
pub(super) fn admit_ask(
    facts: &Facts,
    ask: AskId,
    application: ApplicationId,
    spec: &AskSpec,
    count: u32,
) -> Result<(), Refusal> {
    ok(facts.is_ask_vacant(ask), Refusal::IdentifierTaken)?;
    let mut racks = spec.preference.racks.iter();
    ok(racks.all(|rack| rack.index() < facts.racks.len()), Refusal::UnknownRack)?;
    let application = unended(facts, application)?;
    if spec.execution_type == ExecutionType::Opportunistic {
        admit_opportunistic(facts, spec)?;
    }
    let leaf = facts.queue(application.leaf);
    let partition = partition_for(leaf, spec);
    ok(pending_stays_countable(leaf.quota(partition), &spec.size, count), Refusal::OutOfRange)?;
    ok(leaf.may_use(partition), Refusal::PartitionNotAccessible)
}

/// Whether the engine queues opportunistic containers, and the ask may be opportunistic.
#[cold]
fn admit_opportunistic(facts: &Facts, spec: &AskSpec) -> Result<(), Refusal> {
    ok(facts.config.opportunistic.is_some(), Refusal::NoOpportunistic)?;
    ok(!spec.is_master, Refusal::OpportunisticMaster)
}

/// The application, unless it has ended or is ending.
pub(super) fn unended(facts: &Facts, id: ApplicationId) -> Result<&Application, Refusal> {
    let application = facts.applications.get(id).ok_or(Refusal::ApplicationEnded)?;
    if application.ending.is_none() { Ok(application) } else { Err(Refusal::ApplicationEnding) }
}

pub(super) fn check_partition(facts: &Facts, partition: PartitionId) -> Result<(), Refusal> {
    ok(partition.index() < facts.tree.partitions.len(), Refusal::UnknownPartition)
}

/// The partition that the ask is for.
pub(super) fn partition_for(leaf: &Queue, spec: &AskSpec) -> PartitionId {
    spec.partition.unwrap_or(leaf.default_partition)
}

/// Whether the leaf's pending amounts stay below [`PENDING_MAX`] with this ask, for the types that it wants. The ask's
/// size is that of one container.
fn pending_stays_countable(quota: &Quota, size: &Resources, count: u32) -> bool {
    let count = i64::from(count);
    size.types().all(|i| size[i] == 0 || size[i].saturating_mul(count) <= PENDING_MAX - quota.pending[i])
}

pub(super) fn ok(condition: bool, refusal: Refusal) -> Result<(), Refusal> {
    if condition { Ok(()) } else { Err(refusal) }
}
