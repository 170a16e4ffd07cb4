//! Shapes: the common part of equal asks. Work that depends only on the shape is done once for all of these asks.

mod image;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::borrowed::Borrowing;
use super::rule::Rule;
use super::tags::TagCap;
use crate::ids::{AskKindId, PartitionId, ShapeId};
use crate::resource::Need;
pub(super) use image::ShapesImage;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) need: Need,
    pub(crate) partition: PartitionId,
    pub(crate) rule: Option<Box<Rule>>,
    /// Whether asks of this shape name hosts or racks.
    pub(crate) has_locality: bool,
    pub(crate) borrowing: Borrowing,
}

impl Shape {
    /// The place among the recent shapes: mostly, shapes that are in use together differ in their first amounts.
    fn recent_place(&self) -> usize {
        let Self { need, partition, has_locality, .. } = self;
        let mixed = (need.resources[0] ^ need.resources[1].rotate_left(32)).wrapping_mul(SPREAD);
        ((mixed >> 40) as usize ^ partition.index() ^ (usize::from(*has_locality) << 4)) & (RECENT - 1)
    }

    /// Its limits on tagged containers at the place of a new one.
    pub(crate) fn caps(&self) -> &[TagCap] {
        self.rule.as_ref().map_or(&[], |rule| &rule.caps)
    }

    /// The tags of its containers, in order.
    #[inline]
    pub(crate) fn tags(&self) -> &[Arc<str>] {
        self.rule.as_ref().map_or(&[], |rule| &rule.tags)
    }
}

/// All shapes in use, each once. A shape lives as long as an ask, container or reservation has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shapes {
    entries: Vec<Entry>,
    by_content: FxHashMap<Shape, ShapeId>,
    /// The shapes interned last, to be compared with before `by_content` is asked. An entry may be outdated.
    recent: Box<[Option<ShapeId>; RECENT]>,
    /// By kind of asks: the shape that its last ask got.
    last_of_kind: Vec<Option<KindShape>>,
    /// The number of shapes made so far.
    made: u64,
    vacant: Vec<ShapeId>,
    /// Shapes that have a cap on the tag.
    capped: FxHashMap<Arc<str>, Vec<ShapeId>>,
}

/// A shape, and the partition and number that it has.
#[derive(Clone, Copy, Debug)]
struct KindShape {
    partition: PartitionId,
    id: ShapeId,
    number: u64,
}

/// An odd number with irregular bits, so that products differ in their upper bits.
const SPREAD: i64 = 0x5851_f42d_4c95_7f2d;
/// A power of two.
const RECENT: usize = 32;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    shape: Shape,
    users: usize,
    /// Which of all shapes made this is, 0 if it was read. Tells it from later ones in the slot.
    #[serde(skip)]
    number: u64,
    /// The borrowed variants. The shape is a user of each.
    variants: SmallVec<[ShapeId; 1]>,
}

impl Shapes {
    /// The number of shape slots, including vacant ones.
    pub(crate) fn slots(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn at(&self, id: ShapeId) -> &Shape {
        &self.entries[id.index()].shape
    }

    /// Returns the shape's identifier and whether it is new. The caller becomes a user of it.
    pub(crate) fn intern(&mut self, shape: &Shape) -> (ShapeId, bool) {
        let recent = shape.recent_place();
        if let Some(id) = self.recent[recent]
            && let entry = &mut self.entries[id.index()]
            && entry.users > 0
            && entry.shape == *shape
        {
            entry.users += 1;
            return (id, false);
        }
        if let Some(&id) = self.by_content.get(shape) {
            self.entries[id.index()].users += 1;
            self.recent[recent] = Some(id);
            return (id, false);
        }
        self.made += 1;
        let entry = Entry { shape: shape.clone(), users: 1, number: self.made, variants: SmallVec::new() };
        let id = self.vacant.pop().unwrap_or(ShapeId(self.entries.len() as u32));
        if id.index() == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[id.index()] = entry;
        }
        self.by_content.insert(shape.clone(), id);
        self.recent[recent] = Some(id);
        self.list_caps(id);
        (id, true)
    }

    /// Returns the shape that the last ask of the kind got, if that was in this partition and is in use. The caller
    /// becomes a user of it.
    pub(crate) fn intern_of_kind(&mut self, kind: AskKindId, partition: PartitionId) -> Option<ShapeId> {
        let last = (*self.last_of_kind.get(kind.index())?)?;
        let entry = &mut self.entries[last.id.index()];
        let is_in_use = entry.users > 0 && entry.number == last.number;
        if !is_in_use || last.partition != partition {
            return None;
        }
        entry.users += 1;
        Some(last.id)
    }

    /// Records the shape that an ask of the kind got in this partition.
    pub(crate) fn record_kind(&mut self, kind: AskKindId, partition: PartitionId, id: ShapeId) {
        if self.last_of_kind.len() <= kind.index() {
            self.last_of_kind.resize(kind.index() + 1, None);
        }
        let number = self.entries[id.index()].number;
        self.last_of_kind[kind.index()] = Some(KindShape { partition, id, number });
    }

    pub(crate) fn add_user(&mut self, id: ShapeId) {
        self.entries[id.index()].users += 1;
    }

    /// Ends one use. Returns whether it was the last and the shape is gone.
    #[inline]
    pub(crate) fn remove_user(&mut self, id: ShapeId) -> bool {
        let entry = &mut self.entries[id.index()];
        entry.users -= 1;
        let is_last = entry.users == 0;
        if is_last {
            self.vacate(id);
        }
        is_last
    }

    #[inline(never)]
    fn vacate(&mut self, id: ShapeId) {
        self.by_content.remove(&self.entries[id.index()].shape);
        self.vacant.push(id);
        self.unlist_caps(id);
        for variant in std::mem::take(&mut self.entries[id.index()].variants) {
            self.remove_user(variant);
        }
    }

    /// The borrowed variants of the shape.
    pub(crate) fn variants_of(&self, id: ShapeId) -> &[ShapeId] {
        &self.entries[id.index()].variants
    }

    /// The borrowed variant of the shape in the partition, if there is one.
    pub(crate) fn variant_in(&self, id: ShapeId, partition: PartitionId) -> Option<ShapeId> {
        self.variants_of(id).iter().copied().find(|variant| self.at(*variant).partition == partition)
    }

    /// Adds a borrowed variant, of which the shape has become a user.
    pub(crate) fn add_variant(&mut self, id: ShapeId, variant: ShapeId) {
        self.entries[id.index()].variants.push(variant);
    }

    /// Shapes that have a cap on the tag.
    pub(crate) fn capped_by(&self, tag: &str) -> &[ShapeId] {
        self.capped.get(tag).map_or(&[], Vec::as_slice)
    }

    fn list_caps(&mut self, id: ShapeId) {
        let Self { entries, capped, .. } = self;
        for cap in entries[id.index()].shape.caps() {
            let shapes = capped.entry(Arc::clone(&cap.tag)).or_default();
            if !shapes.contains(&id) {
                shapes.push(id);
            }
        }
    }

    fn unlist_caps(&mut self, id: ShapeId) {
        let Self { entries, capped, .. } = self;
        for cap in entries[id.index()].shape.caps() {
            let Some(shapes) = capped.get_mut(&cap.tag) else { continue };
            shapes.retain(|other| *other != id);
            if shapes.is_empty() {
                capped.remove(&cap.tag);
            }
        }
    }

    /// The shapes in use, with the number of users of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ShapeId, &Shape, usize)> {
        self.entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.users > 0)
            .map(|(index, entry)| (ShapeId(index as u32), &entry.shape, entry.users))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tags::{TagCap, TagScope};
    use crate::resource::Resources;

    fn capped(size: i64, tags: &[&str]) -> Shape {
        let cap =
            |tag: &&str| TagCap { tag: Arc::from(*tag), before_max: 0, scope: TagScope::Node, of: None };
        let rule = Rule { caps: tags.iter().map(cap).collect(), ..Rule::default() };
        let need = Need { resources: Resources::new(&[size]), devices: None };
        Shape::own(need, PartitionId::DEFAULT, rule.boxed())
    }

    /// Also if a cap is there twice, and for the next shape in the slot.
    #[test]
    fn a_shape_in_use_is_listed_also_at_the_tags_that_it_caps() {
        let mut shapes = Shapes::default();
        let (both, _) = shapes.intern(&capped(1, &["web", "web", "db"]));
        let (one, _) = shapes.intern(&capped(2, &["web"]));
        assert_eq!(shapes.intern(&capped(2, &["web"])), (one, false));
        assert_eq!((shapes.capped_by("web"), shapes.capped_by("db")), (&[both, one][..], &[both][..]));
        let in_use = |shapes: &Shapes| shapes.iter().map(|(id, _, users)| (id, users)).collect::<Vec<_>>();
        assert_eq!(in_use(&shapes), [(both, 1), (one, 2)]);
        assert!(shapes.remove_user(both));
        assert_eq!(in_use(&shapes), [(one, 2)]);
        assert_eq!((shapes.capped_by("web"), shapes.capped_by("db")), (&[one][..], &[][..]));
        assert!(!shapes.remove_user(one), "it has another user");
        assert_eq!(shapes.capped_by("web"), [one]);
        assert_eq!(shapes.intern(&capped(3, &[])), (both, true), "the slot is used again");
        assert!(shapes.remove_user(one));
        assert!(shapes.capped.is_empty(), "no tag stays behind: {:?}", shapes.capped);
        assert_eq!(shapes.intern(&capped(2, &["web"])), (one, true), "it was gone");
        assert_eq!(shapes.capped_by("web"), [one]);
    }
}
