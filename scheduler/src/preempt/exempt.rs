//! Exemptions from preemption: queues, applications and tagged containers that the policy names, and containers with
//! the cost `Never`.

use std::collections::BTreeSet;

use super::{PreemptionPolicy, UnknownQueue};
use crate::facts::{Application, Facts, Queue, Shape};
use crate::ids::{ContainerId, PartitionId};
use crate::nearest::nearest;
use crate::resource::Resources;

/// The applications and containers that lose nothing.
#[derive(Clone, Copy)]
pub(super) struct Exemptions<'a> {
    facts: &'a Facts,
    policy: &'a PreemptionPolicy,
}

impl<'a> Exemptions<'a> {
    pub(super) fn new(facts: &'a Facts, policy: &'a PreemptionPolicy) -> Self {
        Self { facts, policy }
    }

    pub(super) fn application(&self, application: &Application) -> bool {
        self.policy.exempt_applications.contains(&*application.name)
    }

    /// Whether a container of this shape is exempt by one of its tags.
    pub(super) fn shape(&self, shape: &Shape) -> bool {
        let tags = &self.policy.exempt_tags;
        !tags.is_empty() && shape.tags().iter().any(|tag| tags.contains(&**tag))
    }

    /// Whether the container is exempt by its cost.
    pub(super) fn container(&self, id: ContainerId) -> bool {
        !self.facts.disruption.may_be_victim(id)
    }

    /// The use of each leaf by exempt containers.
    pub(super) fn exempt_use(&self, partition: PartitionId) -> Vec<Resources> {
        let mut exempt_use = vec![Resources::ZERO; self.facts.tree.queues.len()];
        let is_policy_empty =
            self.policy.exempt_applications.is_empty() && self.policy.exempt_tags.is_empty();
        if is_policy_empty && !self.facts.disruption.has_costs() {
            return exempt_use;
        }
        for (_, application) in self.facts.applications.iter() {
            let is_exempt = self.application(application);
            for container in application.containers.iter(&self.facts.containers) {
                let shape = self.facts.shapes.at(self.facts.containers.at(container).shape);
                let is_here = shape.partition == partition && !self.facts.stopping.contains_key(&container);
                if is_here && (is_exempt || self.shape(shape) || self.container(container)) {
                    exempt_use[application.leaf.index()] += shape.need.resources;
                }
            }
        }
        exempt_use
    }
}

/// Whether the queue or one above it has one of the paths.
pub(super) fn is_below(facts: &Facts, queue: &Queue, paths: &BTreeSet<String>) -> bool {
    !paths.is_empty() && queue.chain.iter().any(|above| paths.contains(&*facts.queue(*above).path))
}

/// The paths in the policy that no queue has.
pub(super) fn unknown_exempt(facts: &Facts, policy: &PreemptionPolicy) -> Vec<UnknownQueue> {
    let known: BTreeSet<&str> =
        facts.tree.queues.iter().filter(|queue| queue.is_present).map(|queue| &*queue.path).collect();
    let within = policy.within_queue.iter().flat_map(|within| &within.exempt);
    let paths: BTreeSet<&String> = policy.exempt.iter().chain(within).collect();
    let unknown = paths.into_iter().filter(|path| !known.contains(path.as_str()));
    unknown
        .map(|path| UnknownQueue { path: path.clone(), nearest: nearest(path, known.iter().copied()) })
        .collect()
}
