//! Identifiers: small integers, with types so that one kind cannot stand for another.
//!
//! Identifiers of nodes, applications, asks, gangs, containers and reservations carry a generation. Once a successor
//! has the slot, the former identifier no longer resolves. So a stale proposal is an ordinary rejection and never hits
//! the wrong target (YARN-5195, YARN-8127).

pub(crate) mod form;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::bits::ones;

macro_rules! generational_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            index: u32,
            generation: u32,
        }

        impl SlotId for $name {
            fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }
            fn index(self) -> usize {
                self.index as usize
            }
            fn generation(self) -> u32 {
                self.generation
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.index)?;
                if self.generation > 0 { write!(f, ".{}", self.generation) } else { Ok(()) }
            }
        }

        form::generational_form!($name, $prefix);
    };
}

macro_rules! dense_id {
    ($(#[$doc:meta])* $visibility:vis $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility struct $name(pub(crate) u32);

        impl $name {
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl DenseId for $name {
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        form::dense_form!($name, $prefix);
    };
}

/// A text that is not an identifier.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not an identifier; write it like {example}")]
pub struct InvalidId {
    text: String,
    example: &'static str,
}

impl ContainerId {
    /// The slot and its generation as one number, unique among all containers of the engine. A later container of the
    /// slot has a greater number.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The container with this [`number`](Self::number).
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self { index: number as u32, generation: (number >> 32) as u32 }
    }
}

impl GangId {
    /// The gang whose first role has this ask. No other gang has this identifier, because no other ask has that one.
    pub(crate) fn with_first(ask: AskId) -> Self {
        Self { index: ask.index, generation: ask.generation }
    }
}

/// An identifier that is a place in a table.
pub(crate) trait DenseId: Copy {
    fn index(self) -> usize;
}

/// An identifier made of a slot and the slot's generation.
pub(crate) trait SlotId: Copy + Eq + fmt::Debug {
    fn new(index: u32, generation: u32) -> Self;
    fn index(self) -> usize;
    fn generation(self) -> u32;

    /// The identifier of the slot's next value.
    fn successor(self) -> Self {
        Self::new(self.index() as u32, self.generation().wrapping_add(1))
    }
}

generational_id!(
    /// A node, for as long as it is registered.
    NodeId, "node-");
generational_id!(
    /// An application, from submission to its end.
    ApplicationId, "app-");
generational_id!(
    /// An ask, until its last container is placed or it is cancelled.
    AskId, "ask-");
generational_id!(
    /// A gang, before and after its start. It has the numbers of its first role's ask.
    GangId, "gang-");
generational_id!(
    /// A container, from its allocation or recovery to its end.
    ContainerId, "container-");
generational_id!(
    /// A reservation, until it is fulfilled, swapped or dropped.
    ReservationId, "reservation-");
dense_id!(
    /// A queue, parent or leaf.
    pub QueueId, "queue-");
dense_id!(
    /// A partition (node label); 0 is the default partition.
    pub PartitionId, "partition-");
dense_id!(
    /// A rack.
    pub RackId, "rack-");
dense_id!(
    /// A user within one leaf queue.
    pub(crate) LeafUserId, "user-");
dense_id!(
    /// The use of a user or a group in one queue that limits it.
    pub(crate) LimitUsageId, "limit_usage-");
dense_id!(
    /// A placement set: a shard of one partition's nodes.
    pub SetId, "set-");
dense_id!(
    /// A shape: the size, partition, rule and tags that equal asks share.
    pub(crate) ShapeId, "shape-");
dense_id!(
    /// The pending asks of one user with one shape.
    pub(crate) LaneId, "lane-");

dense_id!(
    /// A [registered](crate::Handle::register_ask_kind) kind of asks.
    pub AskKindId, "kind-");

impl QueueId {
    /// The root of the queue tree.
    pub(crate) const ROOT: Self = Self(0);
}

impl PartitionId {
    /// The partition of nodes without a label.
    pub const DEFAULT: Self = Self(0);
}

impl SetId {
    pub(crate) fn new(partition: PartitionId, number: u32) -> Self {
        debug_assert!((number as usize) < SETS_MAX);
        Self(partition.0 * SETS_MAX as u32 + number)
    }

    pub(crate) fn partition(self) -> PartitionId {
        PartitionId(self.0 / SETS_MAX as u32)
    }

    /// The set's number within its partition.
    pub(crate) fn number(self) -> u32 {
        self.0 % SETS_MAX as u32
    }

    /// The set's bit in a word of its partition's sets.
    pub(crate) fn bit(self) -> u64 {
        1 << self.number()
    }

    /// The sets of a partition whose bits are set.
    pub(crate) fn from_bits(partition: PartitionId, bits: u64) -> impl Iterator<Item = Self> {
        ones(bits).map(move |number| Self::new(partition, number))
    }
}

/// The most placement sets in one partition: they are bits of one word.
pub(crate) const SETS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_read_as_they_are_displayed() {
        for id in [AskId::new(12, 0), AskId::new(0, 3), AskId::new(u32::MAX, u32::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!("7.2".parse(), Ok(AskId::new(7, 2)));
        for wrong in ["", "ask-", "app-1", "ask-1.", "ask-+1", "ask-1.2.3", "4294967296", "-1"] {
            let error = wrong.parse::<AskId>().unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("`ask-12.3`"), "{error}");
        }
        assert_eq!(RackId(7).to_string().parse(), Ok(RackId(7)));
        let error = "rack-1.2".parse::<RackId>().unwrap_err().to_string();
        assert_eq!(error, "`rack-1.2` is not an identifier; write it like `rack-12`");
    }
}
