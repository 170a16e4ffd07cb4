//! Shapes as they are written and read.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::{Entry, Shape, Shapes};
use crate::facts::Borrowing;
use crate::ids::{PartitionId, ShapeId};
use crate::resource::{Need, ResourceTypes, Resources};

impl Entry {
    fn vacant() -> Self {
        let need = Need { resources: Resources::ZERO, devices: None };
        let (partition, borrowing) = (PartitionId::DEFAULT, Borrowing::None);
        let shape = Shape { need, partition, rule: None, has_locality: false, borrowing };
        Self { shape, users: 0, variants: SmallVec::new() }
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

    /// Whether all variants are in it, all partitions are known, and all amounts are in range.
    pub(in crate::facts) fn is_coherent(
        &self,
        has_partition: impl Fn(PartitionId) -> bool,
        types: &ResourceTypes,
    ) -> bool {
        let mut entries = self.entries.iter().flatten();
        entries.all(|entry| {
            entry.users > 0
                && has_partition(entry.shape.partition)
                && types.check(&entry.shape.need.resources).is_ok()
                && entry.variants.iter().all(|id| self.is_in_use(*id))
        })
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
