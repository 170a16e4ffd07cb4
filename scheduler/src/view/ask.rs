//! Views of asks.

use crate::explain::{PendingReason, pending_reason, why_opportunistic};
use crate::facts::{Ask, ExecutionType, OpportunisticAsk};
use crate::ids::{ApplicationId, AskId};
use crate::resource::Resources;
use crate::state::State;

/// An ask with outstanding units.
#[derive(Clone, Copy, Debug)]
pub struct AskView<'a> {
    pub(super) id: AskId,
    ask: AnyAsk<'a>,
    pub(super) state: &'a State,
}

#[derive(Clone, Copy, Debug)]
enum AnyAsk<'a> {
    Guaranteed(&'a Ask),
    Opportunistic(&'a OpportunisticAsk),
}

impl<'a> AskView<'a> {
    pub(super) fn new(state: &'a State, id: AskId) -> Option<Self> {
        let facts = &state.facts;
        let opportunistic = || facts.node_queues.asks.get(&id).map(AnyAsk::Opportunistic);
        let ask = facts.asks.get(id).map(AnyAsk::Guaranteed).or_else(opportunistic)?;
        Some(Self { id, ask, state })
    }

    pub(super) fn all(state: &'a State) -> impl Iterator<Item = Self> + use<'a> {
        let guaranteed = state.facts.asks.iter().map(|(id, ask)| (id, AnyAsk::Guaranteed(ask)));
        let opportunistic = state.facts.node_queues.asks.iter();
        let opportunistic = opportunistic.map(|(id, ask)| (*id, AnyAsk::Opportunistic(ask)));
        guaranteed.chain(opportunistic).map(move |(id, ask)| Self { id, ask, state })
    }

    /// Its identifier.
    #[must_use]
    pub fn id(&self) -> AskId {
        self.id
    }

    /// The application that asks.
    #[must_use]
    pub fn application(&self) -> ApplicationId {
        match self.ask {
            AnyAsk::Guaranteed(ask) => ask.application,
            AnyAsk::Opportunistic(ask) => ask.application,
        }
    }

    /// Whether its containers are guaranteed or opportunistic.
    #[must_use]
    pub fn execution_type(&self) -> ExecutionType {
        match self.ask {
            AnyAsk::Guaranteed(_) => ExecutionType::Guaranteed,
            AnyAsk::Opportunistic(_) => ExecutionType::Opportunistic,
        }
    }

    /// The size of one container.
    #[must_use]
    pub fn size(&self) -> Resources {
        match self.ask {
            AnyAsk::Guaranteed(ask) => self.state.facts.shapes.at(ask.shape).need.resources,
            AnyAsk::Opportunistic(ask) => ask.shape.need.resources,
        }
    }

    /// Units neither placed nor cancelled.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        match self.ask {
            AnyAsk::Guaranteed(ask) => ask.outstanding(),
            AnyAsk::Opportunistic(ask) => ask.outstanding(),
        }
    }

    /// The nodes offered without success since its last container on a named host or rack, in the mode that counts
    /// missed opportunities.
    #[must_use]
    pub fn missed_opportunities(&self) -> u32 {
        self.guaranteed().map_or(0, |ask| ask.extras().missed)
    }

    /// The failed passes over its reserved nodes since its last reservation was made or ended, in the mode that
    /// counts re-reservations.
    #[must_use]
    pub fn re_reservations(&self) -> u32 {
        self.guaranteed().map_or(0, |ask| ask.extras().re_reservations)
    }

    /// The number of nodes reserved for it.
    #[must_use]
    pub fn reserved(&self) -> u32 {
        self.guaranteed().map_or(0, |ask| ask.reservations().len() as u32)
    }

    /// The time of submission.
    #[must_use]
    pub fn pending_since_ms(&self) -> u64 {
        match self.ask {
            AnyAsk::Guaranteed(ask) => ask.pending_since_ms,
            AnyAsk::Opportunistic(ask) => ask.pending_since_ms,
        }
    }

    /// Why it is pending. Looks at the partition's nodes, so do not call it for every ask all the time.
    #[must_use]
    pub fn pending_reason(&self) -> PendingReason {
        match self.ask {
            AnyAsk::Guaranteed(ask) => pending_reason(self.state, self.id, ask),
            AnyAsk::Opportunistic(ask) => why_opportunistic(self.state, ask).reason,
        }
    }

    fn guaranteed(&self) -> Option<&'a Ask> {
        if let AnyAsk::Guaranteed(ask) = self.ask { Some(ask) } else { None }
    }
}
