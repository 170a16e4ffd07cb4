//! The state as bytes from which a later engine goes on.

use serde::{Deserialize, Serialize};

use super::State;
use crate::facts::{Facts, FactsImage, FactsImageOf, LaterFacts};
use crate::place::{NodeShards, NodeShardsImage};

/// The state to be written, without the waits of the backlog: a later engine looks again at everything.
#[derive(Serialize)]
pub(crate) struct StateImageOf<'a> {
    facts: FactsImageOf<'a>,
    node_shards: NodeShardsImage,
}

/// The state that was read.
#[derive(Deserialize)]
pub(crate) struct StateImage {
    facts: FactsImage,
    node_shards: NodeShardsImage,
}

impl State {
    pub(crate) fn image(&self) -> StateImageOf<'_> {
        StateImageOf { facts: self.facts.image(), node_shards: self.node_shards.image() }
    }

    /// The state of an image, with its timers; `None` if the image contradicts itself.
    pub(crate) fn of_image(image: StateImage, later: LaterFacts) -> Option<Self> {
        let StateImage { facts, node_shards } = image;
        if !facts.is_coherent(&later) {
            return None;
        }
        let facts = Facts::of_image(facts, later);
        let (node_shards, ready) = NodeShards::of_image(node_shards, facts.config.resources.len());
        if !facts.nodes.iter().all(|(id, node)| node_shards.holds(id, node.partition)) {
            return None;
        }
        let mut state = Self::of_facts(facts, node_shards);
        for reservation in ready {
            state.review_reservation(state.facts.reservations.get(reservation)?.node);
        }
        state.restore_timers();
        state.recompute_limits();
        Some(state)
    }
}
