//! The numbers of racks and partitions.

use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::change::Change;
use crate::ids::{PartitionId, RackId};
use crate::nearest::nearest;
use crate::sync::{Mutex, MutexGuard, NameMap};

/// Racks by name. A caller can find a number only once a message that names the rack is in the inbox. So the log names
/// a rack before any change refers to it.
#[derive(Debug)]
pub(crate) struct Racks {
    numbers: NameMap<RackId>,
    /// How many numbers are given. Locked from the choice of a number until its rack's first message is sent.
    given: Mutex<u32>,
}

/// The number of a rack. A new one counts only once it is [published](Self::publish).
#[derive(Debug)]
pub(super) struct NumberedRack<'a> {
    pub(super) number: RackId,
    new: Option<(&'a NameMap<RackId>, MutexGuard<'a, u32>)>,
}

impl Racks {
    /// The racks with these names, by number.
    pub(crate) fn new(names: &[String]) -> Self {
        let numbers = NameMap::new();
        for (number, name) in (0..).zip(names) {
            numbers.set(name, Some(RackId(number)));
        }
        Self { numbers, given: Mutex::new(names.len() as u32) }
    }

    /// The number of the rack. For a new rack, the caller sends a message that names it and then publishes the number.
    pub(super) fn number(&self, name: &str) -> NumberedRack<'_> {
        let known = || self.numbers.get(name).map(|number| NumberedRack { number, new: None });
        known().unwrap_or_else(|| {
            let given = self.given.lock();
            // Another caller may have been quicker.
            known()
                .unwrap_or_else(|| NumberedRack { number: RackId(*given), new: Some((&self.numbers, given)) })
        })
    }
}

impl NumberedRack<'_> {
    pub(super) fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// Lets other callers find the number, now that a message which names the rack is sent.
    pub(super) fn publish(self, name: &str) {
        if let Some((numbers, mut given)) = self.new {
            *given += 1;
            numbers.set(name, Some(self.number));
        }
    }
}

/// # Racks and partitions
///
/// A [`RackId`] and a [`PartitionId`] are numbers, known as long as the engine exists. The calls that take an unknown
/// one say what happens.
impl Handle {
    /// The partition with this name; the default partition has the empty name.
    ///
    /// # Errors
    /// If there is no such partition; the error names the nearest one.
    pub fn partition(&self, name: &str) -> Result<PartitionId, SubmitError> {
        let names = &self.shared.config.partitions;
        if name.is_empty() {
            return Ok(PartitionId::DEFAULT);
        }
        let place = names.iter().position(|known| known == name);
        place.map(|place| PartitionId(place as u32 + 1)).ok_or_else(|| SubmitError::UnknownPartition {
            name: name.to_owned(),
            nearest: nearest(name, names.iter().map(String::as_str)),
        })
    }

    /// The number of the rack with this name, whether or not it has a node yet.
    #[must_use]
    pub fn rack(&self, name: &str) -> RackId {
        let rack = self.shared.names.racks.number(name);
        let number = rack.number;
        if rack.is_new() {
            let change = Change::RackNamed { rack: number, name: name.into() };
            // An engine that is shut down takes no asks for the rack either.
            let _ = self.send(change);
            rack.publish(name);
        }
        number
    }
}
