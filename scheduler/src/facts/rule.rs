//! Rules: the conditions other than room that a node must meet to take containers of a shape. Proposers and the
//! committer use this one test.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Facts;
use super::attribute_rule::AttributeRule;
use super::blacklist::Blacklist;
use super::node::Node;
use super::shape::Shape;
use super::tags::{TagCap, TagCounts};
use crate::resource::fits;

/// Hard conditions on nodes, and the tags that conditions of other asks count. Asks that share a shape share its rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Rule {
    pub(crate) attributes: Option<Box<AttributeRule>>,
    /// The application's blacklist.
    pub(crate) shunned: Option<Arc<Blacklist>>,
    /// Limits on the tagged containers at the place of a new container.
    pub(crate) caps: Vec<TagCap>,
    /// The tags of the shape's containers, in order.
    pub(crate) tags: Vec<Arc<str>>,
}

/// The part of a rule that a node does not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    /// Its attributes do not meet the attribute rule.
    Attributes,
    /// The application's blacklist names it or its rack.
    Shunned,
    /// It or its rack has the maximum of containers with a tag.
    TagLimit,
}

impl Rule {
    /// A rule with these container tags, sorted and without duplicates, so that equal rules share a shape.
    pub(crate) fn of_tags(names: &[String]) -> Self {
        let mut tags: Vec<Arc<str>> = names.iter().map(|tag| tag.as_str().into()).collect();
        tags.sort_unstable();
        tags.dedup();
        Self { tags, ..Self::default() }
    }

    /// The rule, or `None` if it is empty.
    pub(crate) fn boxed(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }

    fn breach(&self, facts: &Facts, node: &Node, more: Option<&TagCounts>) -> Option<Breach> {
        if self.attributes.as_ref().is_some_and(|rule| !rule.holds(&node.attributes)) {
            return Some(Breach::Attributes);
        }
        let is_shunned = |list: &Arc<Blacklist>| list.shuns(&node.name, &facts.racks[node.rack.index()]);
        if self.shunned.as_ref().is_some_and(is_shunned) {
            return Some(Breach::Shunned);
        }
        let is_reached = |cap: &TagCap| {
            let more = more.map_or(0, |more| more.count(cap, node));
            facts.tags.count(cap, node) + more > cap.before_max
        };
        self.caps.iter().any(is_reached).then_some(Breach::TagLimit)
    }
}

impl Facts {
    /// The part of the shape's rule that the node does not meet; `None` if it meets all of it.
    #[inline]
    pub(crate) fn breach(&self, shape: &Shape, node: &Node) -> Option<Breach> {
        self.breach_with(shape, node, None)
    }

    /// The same, with the tagged containers `more` on top.
    #[inline]
    pub(crate) fn breach_with(&self, shape: &Shape, node: &Node, more: Option<&TagCounts>) -> Option<Breach> {
        shape.rule.as_ref()?.breach(self, node, more)
    }

    /// Whether the node could hold a container of the shape if no container ran anywhere.
    pub(crate) fn could_hold(&self, shape: &Shape, node: &Node) -> bool {
        fits(&shape.need, &node.empty_room())
            && matches!(self.breach(shape, node), None | Some(Breach::TagLimit))
    }

    /// Whether the shape's rule, if there is one, holds on the node.
    #[inline]
    pub(crate) fn meets_rule(&self, shape: &Shape, node: &Node) -> bool {
        self.breach(shape, node).is_none()
    }

    /// Whether a container of this shape may be placed on the node now, by an ask that holds no reservation on it.
    #[inline]
    pub(crate) fn can_take(&self, shape: &Shape, node: &Node) -> bool {
        node.is_open()
            && node.partition == shape.partition
            && fits(&shape.need, &node.room)
            && self.meets_rule(shape, node)
    }
}
