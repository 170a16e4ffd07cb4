//! The containers that may be taken, in the order in which they are taken.

use super::cost::ByCost;
use super::exempt::Exemptions;
use crate::facts::{Application, Facts};
use crate::ids::{ApplicationId, ContainerId, NodeId, PartitionId, QueueId, ShapeId};
use crate::resource::DeviceMask;
use crate::state::State;

/// A container that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) container: ContainerId,
    pub(super) application: ApplicationId,
    pub(super) leaf: QueueId,
    pub(super) shape: ShapeId,
    pub(super) devices: DeviceMask,
    /// Its place among all candidates. The first is taken first.
    pub(super) rank: u32,
    pub(super) is_master: bool,
}

/// A class of containers. An earlier one is taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Announced as a victim, so that rounds in turn name the same containers.
    Announced,
    /// Room that no real container uses: no work is lost.
    Placeholder,
    /// Charged for their devices only.
    Opportunistic,
    /// Of an ask for the default partition, on a node that this partition lends.
    Borrowed,
    /// Of an ask for this partition.
    Own,
}

/// Lists the containers of leaves that `may_lose` some, with their nodes: announced victims first, then placeholders,
/// then opportunistic containers, then borrowed ones. Within each class the cheapest comes first, then that of the
/// application with the lowest priority, then of the latest application, then the newest. Masters come last.
pub(super) fn candidates(
    state: &State,
    partition: PartitionId,
    exemptions: Exemptions<'_>,
    may_lose: impl Fn(QueueId) -> bool,
    mut list: impl FnMut(NodeId, Candidate),
) {
    let facts = &state.facts;
    let is_open = |(_, application): &(ApplicationId, &Application)| {
        may_lose(application.leaf) && !exemptions.application(application)
    };
    let mut applications: Vec<(ApplicationId, &Application)> =
        facts.applications.iter().filter(is_open).collect();
    applications.sort_by_key(|(_, application)| (application.priority, u64::MAX - application.submitted));
    let mut rank = 0;
    let mut list = |node, candidate: Candidate| {
        rank += 1;
        list(node, Candidate { rank, ..candidate });
    };
    let mut masters = Vec::new();
    let mut listed = ByCost::new(facts);
    for class in classes(facts, partition) {
        for (id, application) in &applications {
            let containers = || application.containers.iter(&facts.containers);
            let master = facts.master_container(application);
            let of_class = containers()
                .rev()
                .filter(|container| class_of(facts, partition, exemptions, *container) == Some(class));
            for container in of_class {
                let (node, candidate) = candidate(facts, *id, container, master);
                if candidate.is_master {
                    masters.push((node, candidate));
                } else if let Some((node, candidate)) = listed.keep(node, candidate) {
                    list(node, candidate);
                }
            }
        }
        listed.give(&mut list);
    }
    for (node, master) in masters {
        if let Some((node, master)) = listed.keep(node, master) {
            list(node, master);
        }
    }
    listed.give(&mut list);
}

/// The classes that the partition may have.
fn classes(facts: &Facts, partition: PartitionId) -> impl Iterator<Item = Class> {
    let classes = [
        (Class::Announced, !facts.notices.is_empty()),
        (Class::Placeholder, facts.placeholders.any_run()),
        (Class::Opportunistic, !facts.opportunistic.is_empty()),
        (Class::Borrowed, facts.lends(partition)),
        (Class::Own, true),
    ];
    classes.into_iter().filter(|(_, may_be_here)| *may_be_here).map(|(class, _)| class)
}

/// The class of a container; none if it is in another partition, is exempt or is being stopped.
fn class_of(
    facts: &Facts,
    partition: PartitionId,
    exemptions: Exemptions<'_>,
    container: ContainerId,
) -> Option<Class> {
    let shape = facts.shapes.at(facts.containers.at(container).shape);
    let is_stopping = !facts.stopping.is_empty() && facts.stopping.contains_key(&container);
    let is_exempt = exemptions.shape(shape) || exemptions.container(container);
    if shape.partition != partition || is_stopping || is_exempt {
        return None;
    }
    if !facts.notices.is_empty() && facts.notices.contains_key(&container) {
        return Some(Class::Announced);
    }
    if facts.placeholders.of(container).is_some() {
        return Some(Class::Placeholder);
    }
    let is_opportunistic = !facts.opportunistic.is_empty() && facts.opportunistic.contains_key(&container);
    Some(match (is_opportunistic, shape.share().is_borrowed) {
        (true, _) => Class::Opportunistic,
        (false, true) => Class::Borrowed,
        (false, false) => Class::Own,
    })
}

fn candidate(
    facts: &Facts,
    application: ApplicationId,
    container: ContainerId,
    master: Option<ContainerId>,
) -> (NodeId, Candidate) {
    let placed = facts.containers.at(container);
    let candidate = Candidate {
        container,
        application,
        leaf: facts.applications.at(application).leaf,
        shape: placed.shape,
        devices: placed.devices,
        rank: 0,
        is_master: master == Some(container),
    };
    (placed.node, candidate)
}
