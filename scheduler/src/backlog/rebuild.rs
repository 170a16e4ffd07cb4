//! The backlog that given facts imply.

use super::headroom::BlockedHeadroom;
use super::lane::Lanes;
use super::runnable::RunnableLanes;
use super::waits::Waits;
use super::{AskNotes, Backlog, LocalityWaits, Starved};
use crate::facts::Facts;
use crate::ids::{PartitionId, SETS_MAX};

impl Backlog {
    pub(crate) fn new(facts: &Facts) -> Self {
        let partitions = facts.tree.partitions.len();
        let mut backlog = Self {
            lanes: Lanes::default(),
            parents: Vec::new(),
            runnable: RunnableLanes::default(),
            waits: Waits::new(partitions),
            headroom: BlockedHeadroom::default(),
            applications: Vec::new(),
            demand: Vec::new(),
            wanted: vec![0; partitions * SETS_MAX],
            closed: vec![Vec::new(); partitions * SETS_MAX],
            reserved: vec![Vec::new(); partitions],
            to_reserve_for: Vec::new(),
            locality: LocalityWaits::new(partitions),
            starved: Starved::default(),
            notes: AskNotes::default(),
        };
        backlog.add_queues(facts);
        backlog
    }

    /// Makes room for new queues.
    pub(crate) fn add_queues(&mut self, facts: &Facts) {
        self.runnable.add_queues(facts);
        self.headroom.add_queues(facts);
        self.parents.extend(facts.tree.queues[self.parents.len()..].iter().map(|queue| queue.parent));
    }

    /// The backlog that `facts` imply, with everything runnable and open.
    pub(crate) fn rebuild(facts: &Facts, sets: impl Fn(PartitionId) -> u32) -> Self {
        let mut backlog = Self::new(facts);
        for (shape, content, _) in facts.shapes.iter() {
            backlog.reset_shape(shape, content.partition, sets(content.partition), 0);
        }
        for (shape, ..) in facts.shapes.iter() {
            facts.shapes.variants_of(shape).iter().for_each(|variant| backlog.link_variant(shape, *variant));
        }
        let mut pending: Vec<_> = facts.asks.iter().filter(|(_, ask)| ask.outstanding() > 0).collect();
        pending.sort_by_key(|(_, ask)| ask.number);
        for (id, ask) in pending {
            backlog.add_ask(facts, id, ask, 0);
        }
        for (id, ask) in facts.reservations_by_age() {
            backlog.add_reservation(facts, id, ask);
        }
        backlog
    }
}
