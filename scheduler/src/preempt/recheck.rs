//! The committer's checks before it ends victims: the plan may be stale.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::PreemptionRule;
use super::amounts::keeps_guarantee;
use super::tree::stopping;
use crate::facts::{DisruptionGroup, Facts};
use crate::ids::{ContainerId, PartitionId, QueueId};
use crate::request::ResourceAllocationCommitRequest;
use crate::resource::Resources;

/// Checks the victims of one step after another. It knows sums of the state and subtracts what each step takes, so that
/// a step costs no look at all containers. It is made again after anything else has changed the state.
#[derive(Debug, Default)]
pub(crate) struct Recheck {
    /// The amounts of the containers that are being stopped, by queue, for partitions that a step has asked for.
    stopping: FxHashMap<PartitionId, Vec<Resources>>,
    /// The containers of each group that may be taken, for groups that a step has asked for.
    spare: FxHashMap<DisruptionGroup, u32>,
}

impl Recheck {
    /// Whether the beneficiary's leaf is still below its guarantee, if the victims' room is taken for that reason. The
    /// leaf may have got other containers since the plan. Only partitions with victims are checked.
    pub(crate) fn is_owed(
        &mut self,
        facts: &Facts,
        request: &ResourceAllocationCommitRequest,
        rule: PreemptionRule,
    ) -> bool {
        let asks = || request.allocate.iter().filter_map(|proposal| facts.asks.get(proposal.ask));
        let Some(ask) = asks().next().filter(|_| rule == PreemptionRule::Guarantee) else { return true };
        let leaf = facts.applications.at(ask.application).leaf;
        let victims = request.release.iter().filter_map(|id| facts.containers.get(*id));
        let partition_of = |shape| facts.shapes.at(shape).partition;
        let mut partitions: SmallVec<[PartitionId; 2]> =
            victims.map(|victim| partition_of(victim.shape)).collect();
        partitions.sort_unstable();
        partitions.dedup();
        partitions.into_iter().all(|partition| {
            let of_partition = asks().filter(|ask| partition_of(ask.shape) == partition);
            let more = of_partition.map(|ask| facts.shapes.at(ask.shape).need.resources).sum();
            let guaranteed = &facts.queue(leaf).quota(partition).guaranteed;
            self.running(facts, leaf, partition).can_grow(&more, guaranteed)
        })
    }

    /// Whether the victims may end. If so, they count as ended.
    pub(crate) fn admits(
        &mut self,
        facts: &Facts,
        request: &ResourceAllocationCommitRequest,
        rule: PreemptionRule,
    ) -> bool {
        may_all_be_victims(facts, request)
            && self.keeps_guarantees(facts, request, rule)
            && (!facts.disruption.has_groups() || self.keeps_budgets(facts, request))
    }

    /// Whether no queue falls below its guarantee by these victims. The plan saw to that, but containers may have
    /// ended since. A queue above both victims and beneficiary keeps the room. So does a leaf whose applications take
    /// from each other.
    fn keeps_guarantees(
        &mut self,
        facts: &Facts,
        request: &ResourceAllocationCommitRequest,
        rule: PreemptionRule,
    ) -> bool {
        if matches!(rule, PreemptionRule::ApplicationPriority | PreemptionRule::UserLimit) {
            return are_of_one_leaf(facts, request);
        }
        let lost = losses(facts, request);
        lost.iter().all(|((queue, partition), lost)| {
            let guaranteed = &facts.queue(*queue).quota(*partition).guaranteed;
            let running = self.running(facts, *queue, *partition);
            keeps_guarantee(guaranteed, &running, &Resources::ZERO, lost)
        })
    }

    /// The queue's use by containers, without those that are being stopped, and without reservations.
    fn running(&mut self, facts: &Facts, queue: QueueId, partition: PartitionId) -> Resources {
        let stopping = self.stopping.entry(partition).or_insert_with(|| stopping(facts, partition));
        let quota = facts.queue(queue).quota(partition);
        quota.used - quota.reserved - stopping[queue.index()]
    }

    /// Whether every budget is met without these victims. Some of them may be unavailable already.
    #[cold]
    fn keeps_budgets(&mut self, facts: &Facts, request: &ResourceAllocationCommitRequest) -> bool {
        let mut lost: FxHashMap<DisruptionGroup, u32> = FxHashMap::default();
        for group in request.release.iter().flat_map(|id| facts.groups_of(*id)) {
            *lost.entry(group).or_default() += 1;
        }
        let has_spare = |(group, lost): (&DisruptionGroup, &u32)| {
            *self.spare.entry(*group).or_insert_with(|| facts.spare_in(*group)) >= *lost
                || takes_whole_gang(facts, request, *group)
        };
        if !lost.iter().all(has_spare) {
            return false;
        }
        for (group, lost) in lost {
            self.spare.entry(group).and_modify(|spare| *spare = spare.saturating_sub(lost));
        }
        true
    }
}

/// Whether the group is a role of a gang that ends as a whole.
fn takes_whole_gang(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
    group: DisruptionGroup,
) -> bool {
    let DisruptionGroup::Role(gang, _) = group else { return false };
    let ends = |id: ContainerId| facts.stopping.contains_key(&id) || request.release.contains(&id);
    facts.disruption.started_gang(gang).is_some_and(|gang| gang.members().all(ends))
}

/// Whether the embedder lets preemption take all of these victims.
fn may_all_be_victims(facts: &Facts, request: &ResourceAllocationCommitRequest) -> bool {
    !facts.disruption.has_costs() || request.release.iter().all(|id| facts.disruption.may_be_victim(*id))
}

/// Whether all victims are still in the beneficiary's leaf. Applications may have moved since the plan.
fn are_of_one_leaf(facts: &Facts, request: &ResourceAllocationCommitRequest) -> bool {
    let leaf = |application| facts.applications.at(application).leaf;
    let mut asks = request.allocate.iter().filter_map(|proposal| facts.asks.get(proposal.ask));
    let victims = request.release.iter().filter_map(|id| facts.containers.get(*id));
    let mut victims = victims.map(|victim| leaf(victim.application));
    asks.next().is_some_and(|ask| victims.all(|of_victim| of_victim == leaf(ask.application)))
}

type Losses = SmallVec<[((QueueId, PartitionId), Resources); 8]>;

/// The loss of each queue that is not above the beneficiary.
fn losses(facts: &Facts, request: &ResourceAllocationCommitRequest) -> Losses {
    let mut losses = Losses::new();
    let beneficiary = request.allocate.first().and_then(|proposal| facts.asks.get(proposal.ask));
    let to = beneficiary.map(|ask| facts.applications.at(ask.application).leaf);
    let keeps_room = |queue: QueueId| {
        facts.queue(queue).parent.is_none()
            || to.is_some_and(|to| to != queue && facts.queue(to).chain.contains(&queue))
    };
    for container in request.release.iter().filter_map(|id| facts.containers.get(*id)) {
        let shape = facts.shapes.at(container.shape);
        let chain = &facts.queue(facts.applications.at(container.application).leaf).chain;
        for queue in chain.iter().filter(|queue| !keeps_room(**queue)) {
            let (place, size) = ((*queue, shape.partition), shape.need.resources);
            match losses.iter_mut().find(|(of, _)| *of == place) {
                Some((_, sum)) => *sum += size,
                None => losses.push((place, size)),
            }
        }
    }
    losses.retain(|(_, lost)| lost.types().any(|index| lost[index] > 0));
    losses
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::ManualClock;
    use crate::config::{Capacity, EngineConfig, Percent, QueueConfig};
    use crate::engine::{Engine, Mode};
    use crate::ids::{AskId, SlotId};
    use crate::resource::ResourceTypes;
    use crate::{ApplicationSpec, AskSpec, NodeSpec};

    /// Such a container may be a member of a gang that ends as a whole, alone in its partition.
    #[test]
    fn no_guarantee_keeps_a_container_without_any_amount() {
        let leaf = |name| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
        let queues = QueueConfig::root([leaf("a"), leaf("b")]);
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), queues);
        config.allocation.allow_empty = true;
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let node = handle.add_node(NodeSpec::new("n0", Resources::new(&[4]))).unwrap();
        let submit = |queue: &str, size: i64| -> AskId {
            let spec = ApplicationSpec::new("job", queue, "ann");
            let job = handle.submit_application(spec, &handle.event_stream(100)).unwrap();
            handle.submit_ask(job, AskSpec::new(Resources::new(&[size]), 1)).unwrap()
        };
        for (size, may_end) in [(0, true), (1, false)] {
            submit("root.b", size);
            engine.run_until_quiet();
            let ask = submit("root.a", 5);
            engine.run_until_quiet();
            let facts = &engine.shared_state().facts;
            let mut request = ResourceAllocationCommitRequest::allocate(ask, node);
            let newest = facts.containers.iter().map(|(id, _)| id).max_by_key(|id| id.index());
            request.release = newest.into_iter().collect();
            assert_eq!(Recheck::default().admits(facts, &request, PreemptionRule::Guarantee), may_end);
        }
    }
}
