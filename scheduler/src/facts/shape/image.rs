//! Shapes as they are written and read.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{Entry, Shape, Shapes};
use crate::ids::{PartitionId, ShapeId};
use crate::resource::{Need, ResourceTypes, Resources};

impl Entry {
    fn vacant() -> Self {
        let need = Need { resources: Resources::ZERO, devices: None };
        Self {
            shape: Shape::own(need, PartitionId::DEFAULT, None),
            users: 0,
            number: 0,
            variants: SmallVec::new(),
        }
    }
}

/// Shapes with their numbers, to be written and read.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::facts) struct ShapesImage {
    /// `None` for vacant numbers.
    entries: Vec<Option<Entry>>,
    vacant: Vec<ShapeId>,
}

impl ShapesImage {
    pub(in crate::facts) fn is_in_use(&self, id: ShapeId) -> bool {
        self.entries.get(id.index()).is_some_and(Option::is_some)
    }

    /// Whether all variants are in it, all partitions are known, all amounts are in range, and each vacant number is
    /// listed once.
    pub(in crate::facts) fn is_coherent(
        &self,
        has_partition: impl Fn(PartitionId) -> bool,
        types: &ResourceTypes,
    ) -> bool {
        let mut entries = self.entries.iter().flatten();
        self.lists_vacant_numbers()
            && entries.all(|entry| {
                entry.users > 0
                    && has_partition(entry.shape.partition)
                    && types.check(&entry.shape.need.resources).is_ok()
                    && entry.variants.iter().all(|id| self.is_in_use(*id))
            })
    }

    /// Whether the list of vacant numbers has each of them once, and no other.
    fn lists_vacant_numbers(&self) -> bool {
        let mut listed = self.vacant.clone();
        listed.sort_unstable();
        let vacant = (0..).zip(&self.entries).filter(|(_, entry)| entry.is_none());
        vacant.map(|(number, _)| ShapeId(number)).eq(listed)
    }
}

impl Shapes {
    pub(in crate::facts) fn image(&self) -> ShapesImage {
        let entries = self.entries.iter().map(|entry| (entry.users > 0).then(|| entry.clone()));
        ShapesImage { entries: entries.collect(), vacant: self.vacant.clone() }
    }

    /// The shapes of an image.
    pub(in crate::facts) fn of_image(image: ShapesImage) -> Self {
        let mut shapes = Self { vacant: image.vacant, ..Self::default() };
        for (index, entry) in (0..).zip(image.entries) {
            let is_in_use = entry.is_some();
            shapes.entries.push(entry.unwrap_or_else(Entry::vacant));
            if is_in_use {
                shapes.by_content.insert(shapes.at(ShapeId(index)).clone(), ShapeId(index));
                shapes.list_caps(ShapeId(index));
            }
        }
        shapes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two shapes in use, and a vacant number between them.
    fn image() -> ShapesImage {
        let mut shapes = Shapes::default();
        let shape = |size| {
            let need = Need { resources: Resources::new(&[size]), devices: None };
            Shape { need, ..Entry::vacant().shape }
        };
        let ids = [1, 2, 3].map(|size| shapes.intern(&shape(size)).0);
        assert!(shapes.remove_user(ids[1]));
        shapes.image()
    }

    #[test]
    fn vacant_numbers_of_shapes_are_listed_once() {
        let types = ResourceTypes::memory_and_vcores();
        let is_coherent = |image: &ShapesImage| image.is_coherent(|_| true, &types);
        assert!(is_coherent(&image()));
        for (vacant, damage) in [
            (vec![ShapeId(7)], "a number beyond the list"),
            (vec![ShapeId(0)], "a number in use"),
            (vec![ShapeId(1), ShapeId(1)], "a number twice"),
            (vec![], "no number"),
        ] {
            assert!(!is_coherent(&ShapesImage { vacant, ..image() }), "{damage}");
        }
        let mut unused = image();
        unused.entries[0].as_mut().unwrap().users = 0;
        assert!(!is_coherent(&unused), "a shape without users");
    }
}
