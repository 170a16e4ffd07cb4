//! Shapes: what equal asks have in common. Work that depends only on the shape is done once for all of them.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::node::NodeAttributes;
use crate::ids::{PartitionId, ShapeId};
use crate::resource::{Need, Room, fits};

/// A hard condition on a node's attributes: the attribute is there and has one of these values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttributeRule {
    /// The attribute's name.
    pub attribute: String,
    /// The values that will do.
    pub one_of: Vec<String>,
}

impl AttributeRule {
    /// Whether a node with these attributes will do.
    #[must_use]
    pub fn holds(&self, attributes: &NodeAttributes) -> bool {
        attributes.get(&self.attribute).is_some_and(|value| self.one_of.contains(value))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) need: Need,
    pub(crate) partition: PartitionId,
    pub(crate) rule: Option<Box<AttributeRule>>,
    /// Asks of this shape name hosts or racks.
    pub(crate) located: bool,
}

impl Shape {
    /// Whether a node with this room and these attributes can take one container of this shape now.
    pub(crate) fn fits_on(&self, room: &Room, attributes: &NodeAttributes) -> bool {
        fits(&self.need, room) && self.meets_rule(attributes)
    }

    /// Whether the rule, if there is one, holds on a node with these attributes.
    pub(crate) fn meets_rule(&self, attributes: &NodeAttributes) -> bool {
        self.rule.as_ref().is_none_or(|rule| rule.holds(attributes))
    }
}

/// All shapes in use, each once. A shape lives as long as an ask, container or reservation has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    entries: Vec<Entry>,
    by_content: FxHashMap<Shape, ShapeId>,
    vacant: Vec<ShapeId>,
}

#[derive(Clone, Debug)]
struct Entry {
    shape: Shape,
    users: usize,
}

impl Shapes {
    /// How many shapes have slots, vacant ones included.
    pub(crate) fn slots(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn at(&self, id: ShapeId) -> &Shape {
        &self.entries[id.index()].shape
    }

    /// The shape's identifier, and whether it is new. The caller becomes a user of it.
    pub(crate) fn intern(&mut self, shape: &Shape) -> (ShapeId, bool) {
        if let Some(&id) = self.by_content.get(shape) {
            self.entries[id.index()].users += 1;
            return (id, false);
        }
        let entry = Entry { shape: shape.clone(), users: 1 };
        let id = self.vacant.pop().unwrap_or(ShapeId(self.entries.len() as u32));
        if id.index() == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[id.index()] = entry;
        }
        self.by_content.insert(shape.clone(), id);
        (id, true)
    }

    pub(crate) fn add_user(&mut self, id: ShapeId) {
        self.entries[id.index()].users += 1;
    }

    /// Ends one use; true if it was the last and the shape is gone.
    pub(crate) fn remove_user(&mut self, id: ShapeId) -> bool {
        let entry = &mut self.entries[id.index()];
        entry.users -= 1;
        if entry.users > 0 {
            return false;
        }
        self.by_content.remove(&entry.shape);
        self.vacant.push(id);
        true
    }

    /// The shapes in use with how many use each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ShapeId, &Shape, usize)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.users > 0)
            .map(|(index, entry)| (ShapeId(index as u32), &entry.shape, entry.users))
    }
}
