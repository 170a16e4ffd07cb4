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
    let container = facts.containers.at(id);
    let shape = facts.shapes.at(container.shape);
    let change = resized(facts, id, size).need.resources - shape.need.resources;
    let more = change.max(&Resources::ZERO);
    if more.is_zero() {
        return Ok(());
    }
    let node = facts.nodes.at(container.node);
    if !node.is_candidate() {
        return Err(RejectReason::NodeNotCandidate);
    }
    check_unreserved(node, &[])?;
    if !fits(&Need { resources: more, devices: None }, &node.room) {
        return Err(RejectReason::NodeFull);
    }
    let application = facts.applications.at(container.application);
    check_active(application)?;
    // A borrowed container grows only within the limits of the partition's own containers.
    let own = PartitionShare::own(shape.partition);
    for queue in &facts.queue(application.leaf).chain {
        check_queue_limit(facts, *queue, own, &change)?;
    }
    for limit_usage in &facts.user(application.user).limit_usages {
        check_limit_usage(facts, *limit_usage, own.partition, &change)?;
    }
    check_user_limit(facts, application.user, own, &change, &more)
}
