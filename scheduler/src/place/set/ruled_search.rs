//! Conditions on a node other than room: rules of shapes, and the most off-switch containers per node and pass.
//! Containers that the present pass proposes count, in any set.

use rustc_hash::FxHashMap;

use super::{Found, PlacementSet};
use crate::facts::{Node, Shape, TagCounts};
use crate::ids::{ApplicationId, NodeId};
use crate::place::Nodes;

/// The containers of the current pass that rules count.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Tagged containers, in any set.
    tags: TagCounts,
    /// Off-switch containers by position, if the configuration limits them.
    off_switch: FxHashMap<usize, u32>,
}

impl Given {
    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.off_switch.clear();
    }
}

impl PlacementSet {
    /// Searches for a shape with a rule, or if off-switch containers are limited.
    pub(super) fn search_ruled(&mut self, nodes: Nodes<'_>, shape: &Shape, visits: &mut usize) -> Found {
        let Self { candidates, given, .. } = self;
        let off_switch_max = nodes.facts.config.limits.off_switch_per_pass;
        let mut is_held_back = false;
        let suits = |position: usize, id: NodeId| {
            let tags = Some(&given.tags);
            let breaks_rule = || nodes.facts.breach_with(shape, nodes.facts.nodes.at(id), tags).is_some();
            if shape.rule.is_some() && breaks_rule() {
                return false;
            }
            let Some(most) = off_switch_max else { return true };
            let has_enough = given.off_switch.get(&position).is_some_and(|given| *given >= most);
            is_held_back |= has_enough;
            !has_enough
        };
        match candidates.search(&shape.need, suits, visits) {
            Some(position) => Found::At(position),
            None if is_held_back => Found::NextPass,
            None => Found::Nothing,
        }
    }

    /// Whether the node at this position is a candidate on which `shape` fits, by this view.
    pub(crate) fn fits_at(&self, nodes: Nodes<'_>, position: usize, shape: &Shape) -> bool {
        if position >= self.candidates.len() {
            return false;
        }
        let node = self.candidates.node_with_room(position, &shape.need);
        node.and_then(|id| nodes.facts.nodes.get(id))
            .is_some_and(|node| nodes.facts.breach_with(shape, node, Some(&self.given.tags)).is_none())
    }

    /// Containers with tags that the present pass proposed.
    pub(crate) fn given_tags(&self) -> &TagCounts {
        &self.given.tags
    }

    /// Counts the tags of a container that the current pass proposes on the node.
    pub(crate) fn give_tags(&mut self, shape: &Shape, node: &Node, application: ApplicationId) {
        self.given.tags.add(shape.tags(), node, application, 1);
    }

    /// Counts an off-switch container that the current pass proposes at a position. Called only if these are limited.
    pub(crate) fn give_off_switch(&mut self, position: usize) {
        *self.given.off_switch.entry(position).or_default() += 1;
    }
}
