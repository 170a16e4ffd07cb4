//! Checks whether a container may change its size.

use super::accept::{check_active, check_limit_usage, check_queue_limit, check_unreserved, check_user_limit};
use crate::facts::{Facts, PartitionShare, Shape};
use crate::ids::ContainerId;
use crate::request::RejectReason;
use crate::resource::{Need, Resources, fits};

/// The container's shape with this size. Its devices stay, and so does the amount of the device type.
pub(super) fn resized(facts: &Facts, id: ContainerId, mut size: Resources) -> Shape {
    let shape = facts.shapes.at(facts.containers.at(id).shape);
    if let Some(device_type) = facts.config.resources.device_type() {
        size.set(device_type, shape.need.resources[device_type]);
    }
    Shape { need: Need { resources: size, ..shape.need }, ..shape.clone() }
}

/// Whether the container may grow by the difference: a container of that size could be placed for its application on
/// its node. Shrinking is always permitted. Limits must be computed.
pub(super) fn may_resize(facts: &Facts, id: ContainerId, size: Resources) -> Result<(), RejectReason> {
    let target = resized(facts, id, size).need.resources;
    may_become(facts, id, Need { resources: target, devices: None })
}

/// The same for an opportunistic container that becomes guaranteed. If it waits, it takes its devices, too.
pub(crate) fn may_promote(facts: &Facts, id: ContainerId) -> Result<(), RejectReason> {
    let need = facts.opportunistic_need(id);
    let devices = need.devices.filter(|_| facts.is_waiting(id));
    may_become(facts, id, Need { devices, ..need })
}

/// Whether the container may be charged these resources in all, and take these devices.
fn may_become(facts: &Facts, id: ContainerId, target: Need) -> Result<(), RejectReason> {
    let container = facts.containers.at(id);
    let shape = facts.shapes.at(container.shape);
    let change = target.resources - shape.need.resources;
    let more = change.max(&Resources::ZERO);
    if more.is_zero() {
        return Ok(());
    }
    let node = facts.nodes.at(container.node);
    if !node.is_candidate() {
        return Err(RejectReason::NodeNotCandidate);
    }
    check_unreserved(node, &[])?;
    if !fits(&Need { resources: more, ..target }, &node.room) {
        return Err(RejectReason::NodeFull);
    }
    may_charge(facts, id, &change)
}

/// Whether the queues and the user may be charged this much more for the container. Limits must be computed.
pub(super) fn may_charge(facts: &Facts, id: ContainerId, change: &Resources) -> Result<(), RejectReason> {
    let container = facts.containers.at(id);
    let shape = facts.shapes.at(container.shape);
    let application = facts.applications.at(container.application);
    check_active(application)?;
    // A borrowed container grows only within the limits of the partition's own containers.
    let own = PartitionShare::own(shape.partition);
    for queue in &facts.queue(application.leaf).chain {
        check_queue_limit(facts, *queue, own, change)?;
    }
    for limit_usage in &facts.user(application.user).limit_usages {
        check_limit_usage(facts, *limit_usage, own.partition, change)?;
    }
    check_user_limit(facts, application.user, own, change, &change.max(&Resources::ZERO))
}
