//! Decides about asks of task groups and their placeholders.

use super::accept::candidate;
use super::admit_ask::admit_described_ask;
use super::gangs::not_due;
use crate::change::{AskSpec, GangRole, GangSpec};
use crate::event::{GangRefusal, Refusal};
use crate::facts::{ExecutionType, Facts, TagCounts, TaskGroup};
use crate::ids::{ApplicationId, AskId, ContainerId, GangId};
use crate::resource::fits;

/// Whether the application may ask for real containers of the task group.
pub(super) fn admit_ask_of_group(
    facts: &Facts,
    ask: AskId,
    application: ApplicationId,
    group: &str,
    spec: &AskSpec,
) -> Result<(), Refusal> {
    admit_described_ask(facts, ask, application, spec)?;
    if spec.execution_type == ExecutionType::Opportunistic {
        return Err(Refusal::OpportunisticTaskGroup);
    }
    if facts.placeholders.knows(application, group) { Ok(()) } else { Err(Refusal::UnknownTaskGroup) }
}

/// Whether no other gang of the application waits or has placeholders with these names, so that a real ask names one
/// task group.
pub(super) fn check_group_names(facts: &Facts, spec: &GangSpec) -> Result<(), GangRefusal> {
    let mut groups = spec.roles.iter().filter(|role| role.is_placeholder);
    let used =
        groups.find_map(|role| Some((role, facts.placeholders.group(spec.application, &role.name)?.0)));
    let Some((GangRole { name, .. }, gang)) = used else { return Ok(()) };
    let of_group = |group: &TaskGroup| {
        let pending = facts.asks.get(group.ask).map_or(0, |ask| ask.outstanding());
        group.running.len() as u64 + u64::from(pending)
    };
    let groups = facts.placeholders.gang(gang).into_iter().flat_map(|gang| &gang.groups);
    let (placeholders, is_waiting) = (groups.map(of_group).sum(), facts.gangs.contains_key(&gang));
    Err(GangRefusal::TaskGroupInUse { name: name.clone(), gang, placeholders, is_waiting })
}

/// Whether the placeholders of the gang have waited for too long.
pub(super) fn have_timed_out(facts: &Facts, gang: GangId) -> Result<(), Refusal> {
    let until_ms = facts.placeholders.gang(gang).and_then(|gang| gang.until_ms);
    if until_ms.is_some_and(|until_ms| until_ms <= facts.now_ms) { Ok(()) } else { Err(not_due(facts, gang)) }
}

/// Whether a container of the ask may replace the placeholder: the node may serve the ask, and no type needs more. So
/// no use grows, and limits and the node's reservation need no check.
pub(super) fn may_replace(facts: &Facts, placeholder: ContainerId, ask: AskId) -> bool {
    let placeholder = facts.containers.at(placeholder);
    let held = facts.shapes.at(placeholder.shape);
    let Some(node) = facts.nodes.get(placeholder.node) else { return false };
    let mut tags = TagCounts::default();
    tags.add(held.tags(), node, placeholder.application, -1);
    let Ok(candidate) = candidate(facts, ask, placeholder.node, Some(&tags)) else { return false };
    let real = candidate.shape;
    let mut room = node.room;
    room.free += held.need.resources;
    if let Some(need) = held.need.devices {
        room.devices.give(placeholder.devices, need.milli);
    }
    // A node that shrank has less than nothing free, and nothing is added to it.
    let is_within = real.need.resources.within(&held.need.resources);
    let fits_devices = real.need.devices.is_none_or(|need| room.devices.choose(need).is_some());
    let is_same_share = real.share() == held.share();
    is_within && is_same_share && fits_devices && (node.overcommitted || fits(&real.need, &room))
}
