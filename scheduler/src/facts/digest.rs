//! The facts as canonical bytes, and their digest.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

use super::application::{Application, LeafUser};
use super::ask::{Ask, Container, Reservation, Stopping};
use super::node::Node;
use super::shape::Shape;
use super::{Facts, LaterFacts, PartitionTotals, Queue, Table};
use crate::config::{QueueMapping, gather_limit_ms};
use crate::ids::form;
use crate::ids::{ApplicationId, AskId, ContainerId, NodeId, ReservationId};
use crate::resource::Resources;

/// Identifies a state: equal states have equal digests, on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateDigest(pub u128);

impl fmt::Display for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Parses the displayed form: hexadecimal digits.
impl FromStr for StateDigest {
    type Err = ParseIntError;
    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

impl Serialize for StateDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        form::serialize(self, self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for StateDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        form::deserialize(deserializer, Self)
    }
}

impl fmt::Debug for StateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Most facts in a fixed order; the configuration stands before them, newer features behind them. Vacant slots and
/// the numbers of shapes are not facts.
#[derive(Serialize)]
struct Canonical<'a> {
    queue_mapping: &'a QueueMapping,
    now_ms: u64,
    changes: u64,
    partitions: &'a [PartitionTotals],
    racks: &'a [String],
    nodes: &'a Table<NodeId, Node>,
    queues: &'a [Queue],
    users: &'a [LeafUser],
    applications: &'a Table<ApplicationId, Application>,
    applications_submitted: u64,
    asks: Vec<(AskId, &'a Ask, &'a Shape)>,
    asks_submitted: u64,
    served: u64,
    containers: Vec<(ContainerId, &'a Container, &'a Shape)>,
    opportunistic: &'a BTreeMap<ContainerId, Resources>,
    stopping: &'a BTreeMap<ContainerId, Stopping>,
    reservations: &'a Table<ReservationId, Reservation>,
}

impl Facts {
    /// Writes the canonical bytes.
    pub(crate) fn write_canonical(&self, sink: impl Write) -> io::Result<()> {
        let canonical = Canonical {
            queue_mapping: &self.queue_mapping,
            now_ms: self.now_ms,
            changes: self.changes,
            partitions: &self.tree.partitions,
            racks: &self.racks,
            nodes: &self.nodes,
            queues: &self.tree.queues,
            users: &self.tree.users,
            applications: &self.applications,
            applications_submitted: self.applications_submitted,
            asks: self.asks.iter().map(|(id, ask)| (id, ask, self.shapes.at(ask.shape))).collect(),
            asks_submitted: self.asks_submitted,
            served: self.served,
            containers: self.containers.iter().map(|(id, c)| (id, c, self.shapes.at(c.shape))).collect(),
            opportunistic: &self.opportunistic,
            stopping: &self.stopping,
            reservations: &self.reservations,
        };
        let mut sink = sink;
        sink.write_all(&self.canonical_config()?)?;
        let sink = postcard::to_io(&canonical, sink).map_err(io::Error::other)?;
        let later = self.later();
        if later == LaterFacts::default() {
            return Ok(());
        }
        postcard::to_io(&later, sink).map(drop).map_err(io::Error::other)
    }

    /// The configuration, without the last bytes if these say that newer features are off or as they are by default. So
    /// a state without newer features has the digest that older programs gave it.
    fn canonical_config(&self) -> io::Result<Vec<u8>> {
        let mut bytes = postcard::to_allocvec(&self.config).map_err(io::Error::other)?;
        let limit_ms = &self.config.gather_limit_ms;
        let of_limit = postcard::to_allocvec(limit_ms).map_err(io::Error::other)?.len();
        let newest_first = [
            (*limit_ms == gather_limit_ms(), of_limit),
            (self.config.opportunistic.is_none(), 1),
            (self.config.preemption.is_none(), 1),
        ];
        let off: usize =
            newest_first.iter().take_while(|(is_off, _)| *is_off).map(|(_, length)| length).sum();
        bytes.truncate(bytes.len() - off);
        Ok(bytes)
    }

    pub(crate) fn digest(&self) -> StateDigest {
        let mut hasher = HashingSink(Xxh3::new());
        self.write_canonical(&mut hasher).expect("hashing cannot fail");
        StateDigest(hasher.0.digest128())
    }
}

struct HashingSink(Xxh3);

impl Write for HashingSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
