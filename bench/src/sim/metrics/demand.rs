//! Which containers count as demand: those that some node could hold.

use apportion::resource::{DeviceNeed, Need, Room, fits};
use apportion::{AttributeRule, Resources};
use rustc_hash::FxHashMap;

use crate::workload::{Tasks, Workload};

/// Remembers for each size whether any node could ever hold it.
#[derive(Debug, Default)]
pub(super) struct Demand {
    known: FxHashMap<(Resources, Option<DeviceNeed>), bool>,
}

impl Demand {
    /// Whether a container of these tasks, or a master of this size, could run on an empty node of the cluster.
    pub(super) fn is_placeable(
        &mut self,
        workload: &Workload,
        size: &Resources,
        tasks: Option<&Tasks>,
    ) -> bool {
        let mut amounts = *size.amounts();
        if let Some(devices) = workload.resources.device_type() {
            // The amount of this type follows from a node's devices.
            amounts[devices] = 0;
        }
        let need =
            Need { resources: Resources::new(&amounts), devices: tasks.and_then(|tasks| tasks.devices) };
        let mut nodes = workload.nodes.iter();
        let mut some_node = |rule: Option<&AttributeRule>| {
            nodes.any(|node| {
                rule.is_none_or(|rule| rule.holds(&node.attributes))
                    && fits(&need, &Room::empty_node(node.capacity, node.devices))
            })
        };
        match tasks.and_then(|tasks| tasks.rule.as_ref()) {
            Some(rule) => some_node(Some(rule)),
            None => *self.known.entry((*size, need.devices)).or_insert_with(|| some_node(None)),
        }
    }
}
