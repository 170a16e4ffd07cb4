//! Interns the shapes of asks and containers, and makes the rules in them.

use super::Applier;
use crate::change::AskSpec;
use crate::facts::{AskTags, Facts, Rule, Shape, TagCap};
use crate::ids::{ApplicationId, ShapeId};

impl Applier<'_> {
    /// Returns the id of the shape, and counts one more user of it.
    pub(super) fn intern(&mut self, shape: &Shape) -> ShapeId {
        let state = &mut *self.state;
        let (id, is_new) = state.facts.shapes.intern(shape);
        if is_new {
            let sets = state.node_shards.sets(shape.partition);
            state.backlog.reset_shape(id, shape.partition, sets, state.version);
            for variant in state.facts.new_variants(shape) {
                let variant = self.intern(&variant);
                self.state.facts.shapes.add_variant(id, variant);
                self.state.backlog.link_variant(id, variant);
            }
        }
        id
    }
}

/// The conditions on nodes of the ask and its application.
#[inline(always)]
pub(super) fn rule_of(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> Option<Box<Rule>> {
    let shunned = &facts.applications.at(application).blacklist;
    let attributes = spec.rule.as_ref().filter(|rule| !rule.conditions.is_empty());
    if attributes.is_none() && shunned.is_none() && spec.tags.is_none() {
        return None;
    }
    let names = spec.tags.as_ref().map_or(&[][..], |tags| &tags.names);
    let mut rule = Rule { attributes: attributes.cloned(), shunned: shunned.clone(), ..Rule::of_tags(names) };
    if let Some(AskTags { limits, .. }) = spec.tags.as_deref() {
        rule.caps = limits.iter().map(|limit| TagCap::new(limit, &rule.tags, application)).collect();
    }
    rule.boxed()
}
