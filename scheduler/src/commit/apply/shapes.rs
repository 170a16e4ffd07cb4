//! Interns the shapes of asks and containers, and makes the rules in them.

use super::Applier;
use crate::change::AskSpec;
use crate::commit::admit_ask::partition_for;
use crate::facts::{Application, AskTags, Facts, Rule, Shape, TagCap};
use crate::ids::{ApplicationId, AskKindId, ShapeId};
use crate::resource::Need;

impl Applier<'_> {
    /// Returns the id of the ask's shape, and counts one more user of it. Asks of a registered kind have one shape in
    /// each partition, unless it has a rule. So the shape of the kind's last ask is looked up by the kind's number.
    #[inline]
    pub(super) fn intern_shape_of(
        &mut self,
        application: ApplicationId,
        spec: &AskSpec,
        kind: Option<AskKindId>,
    ) -> ShapeId {
        let Some(kind) = kind else { return self.intern(&shape_for(&self.state.facts, application, spec)) };
        let facts = &mut self.state.facts;
        let Application { leaf, blacklist, .. } = facts.applications.at(application);
        let partition = partition_for(facts.tree.queue(*leaf), spec);
        // A blacklist makes a rule.
        if blacklist.is_none()
            && let Some(id) = facts.shapes.intern_of_kind(kind, partition)
        {
            debug_assert_eq!(
                *facts.shapes.at(id),
                shape_for(facts, application, spec),
                "the shape of {kind:?}"
            );
            return id;
        }
        let shape = shape_for(&self.state.facts, application, spec);
        let id = self.intern(&shape);
        // A rule may depend on the application.
        if shape.rule.is_none() {
            self.state.facts.shapes.record_kind(kind, partition, id);
        }
        id
    }

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

/// The shape of an ask that the application submits now.
// Inlined, because a shape is more to move than to make.
#[inline(always)]
pub(in crate::commit) fn shape_for(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> Shape {
    let leaf = facts.applications.at(application).leaf;
    let partition = partition_for(facts.queue(leaf), spec);
    let has_locality = !spec.preference.is_empty();
    let borrowing = facts.borrowing_of(partition, has_locality, spec.is_master);
    let rule = rule_of(facts, application, spec);
    let need = Need { resources: spec.size, devices: spec.devices };
    Shape { need, partition, rule, has_locality, borrowing }
}

/// The conditions on nodes of the ask and its application.
#[inline(always)]
fn rule_of(facts: &Facts, application: ApplicationId, spec: &AskSpec) -> Option<Box<Rule>> {
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
