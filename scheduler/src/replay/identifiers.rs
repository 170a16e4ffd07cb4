//! The identifiers that the handles of an engine gave out, as its log shows them.

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::commit::Effects;
use crate::facts::IdPool;
use crate::ids::{ApplicationId, AskId, NodeId, SlotId};

/// The pools of an engine that continues a log.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Identifiers {
    pub(crate) nodes: FollowedPool<NodeId>,
    pub(crate) applications: FollowedPool<ApplicationId>,
    pub(crate) asks: FollowedPool<AskId>,
}

impl Identifiers {
    /// Follows a change and its effects. Handles take identifiers before the change comes to the log. So each pool
    /// gives out the identifier that the change names, even out of turn.
    pub(super) fn follow(&mut self, taken: TakenIds, effects: &Effects) {
        match taken {
            TakenIds::Nothing => {}
            TakenIds::Node(id) => self.nodes.take(id),
            TakenIds::Application(id) => self.applications.take(id),
            TakenIds::Ask(id) => self.asks.take(id),
            TakenIds::Asks(ids) => ids.into_iter().for_each(|id| self.asks.take(id)),
        }
        effects.vacated_nodes.iter().for_each(|(id, _)| self.nodes.give_back(*id));
        effects.vacated_applications.iter().for_each(|id| self.applications.give_back(*id));
        effects.vacated_asks.iter().for_each(|id| self.asks.give_back(*id));
    }

    /// Uses no more memory than the identifiers need.
    pub(super) fn compact(&mut self) {
        self.nodes.compact();
        self.applications.compact();
        self.asks.compact();
    }
}

/// The identifiers that handles took for a change.
#[derive(Clone, Debug)]
pub(super) enum TakenIds {
    Nothing,
    Node(NodeId),
    Application(ApplicationId),
    Ask(AskId),
    Asks(Vec<AskId>),
}

impl TakenIds {
    pub(super) fn by(change: &Change) -> Self {
        match change {
            Change::NodeAdded { node, .. } => Self::Node(*node),
            Change::ApplicationSubmitted { application, .. } => Self::Application(*application),
            Change::AskSubmitted { ask, .. }
            | Change::TaskGroupAskSubmitted { ask, .. }
            | Change::ContainerRecovered { ask, .. } => Self::Ask(*ask),
            Change::GangSubmitted { asks, .. } => Self::Asks(asks.clone()),
            _ => Self::Nothing,
        }
    }
}

/// A pool with fewer gaps is not worth its compaction.
const GAPS_MIN: usize = 16;

/// A copy of a handle's pool, made from the log. The log may name identifiers out of turn: a caller may have taken one
/// long before its change was applied.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FollowedPool<I> {
    /// Vacant identifiers in the order in which they came back. `None` where one was taken out of turn.
    vacant: Vec<Option<I>>,
    /// For each slot that was ever used: its place in `vacant`.
    places: Vec<Option<u32>>,
    /// How many entries of `vacant` are `None`. A snapshot has none of them.
    #[serde(skip)]
    gaps: usize,
}

impl<I> Default for FollowedPool<I> {
    fn default() -> Self {
        Self { vacant: Vec::new(), places: Vec::new(), gaps: 0 }
    }
}

impl<I: SlotId> FollowedPool<I> {
    fn take(&mut self, id: I) {
        // Callers hold the slots in between, and their changes may still come.
        while self.places.len() <= id.index() {
            self.push(I::new(self.places.len() as u32, 0));
        }
        if let Some(place) = self.places[id.index()].take() {
            self.vacant[place as usize] = None;
            self.gaps += 1;
        }
        while self.vacant.pop_if(|last| last.is_none()).is_some() {
            self.gaps = self.gaps.saturating_sub(1);
        }
        // A caller that always takes out of turn would otherwise leave more and more gaps.
        if self.gaps > GAPS_MIN + self.vacant.len() / 2 {
            self.compact();
        }
    }

    fn compact(&mut self) {
        self.vacant.retain(Option::is_some);
        for (place, id) in (0..).zip(self.vacant.iter().flatten()) {
            self.places[id.index()] = Some(place);
        }
        self.gaps = 0;
    }

    fn give_back(&mut self, id: I) {
        self.push(id.successor());
    }

    fn push(&mut self, id: I) {
        if self.places.len() <= id.index() {
            self.places.resize(id.index() + 1, None);
        }
        self.places[id.index()] = Some(self.vacant.len() as u32);
        self.vacant.push(Some(id));
    }

    /// The pool as handles use it.
    pub(crate) fn into_pool(self) -> IdPool<I> {
        IdPool::of(self.places.len() as u32, self.vacant.into_iter().flatten().collect())
    }

    /// The number of slots that were ever used.
    pub(crate) fn slots(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::RunningContainer;
    use crate::config::{EngineConfig, QueueConfig};
    use crate::replay::Replay;
    use crate::resource::{ResourceTypes, Resources};
    use crate::state::State;

    proptest! {
        /// Handles take and return identifiers; the log shows each taking later, in any order.
        #[test]
        fn a_followed_pool_gives_what_the_followed_one_gives(
            steps in prop::collection::vec((any::<bool>(), any::<Index>(), any::<Index>()), 1..200),
        ) {
            let (mut pool, mut followed) = (IdPool::<AskId>::new(), FollowedPool::default());
            let (mut on_the_way, mut known) = (Vec::new(), Vec::new());
            for (takes, first, second) in steps {
                if takes {
                    on_the_way.push(pool.take());
                } else if !known.is_empty() {
                    let id: AskId = known.swap_remove(first.index(known.len()));
                    pool.give_back(id);
                    followed.give_back(id);
                }
                if on_the_way.len() > 3 {
                    let id: AskId = on_the_way.remove(second.index(on_the_way.len()));
                    followed.take(id);
                    known.push(id);
                }
            }
            on_the_way.into_iter().for_each(|id| followed.take(id));
            followed.compact();
            let mut followed = followed.into_pool();
            for _ in 0..100 {
                prop_assert_eq!(pool.take(), followed.take());
            }
        }
    }

    /// In each turn, an identifier comes back before the other one is used.
    #[test]
    fn identifiers_taken_out_of_turn_for_ever_use_no_more_memory() {
        let mut followed = FollowedPool::<NodeId>::default();
        let mut ids = [0, 1].map(|index| NodeId::new(index, 0));
        ids.iter().for_each(|id| followed.take(*id));
        followed.give_back(ids[0]);
        for _ in 0..10_000 {
            followed.give_back(ids[1]);
            followed.take(ids[0].successor());
            ids = [ids[1], ids[0].successor()];
        }
        assert!(followed.vacant.len() < 100, "{} entries", followed.vacant.len());
        assert_eq!(followed.slots(), 2);
    }

    /// One damaged record could otherwise make a reader allocate a slot for each number up to its identifier.
    #[test]
    fn a_refused_change_takes_no_identifier() {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let mut replay = Replay::of(State::new(&Arc::new(config)), Identifiers::default());
        let application = ApplicationId::new(0, 0);
        let container = Box::new(RunningContainer::new(application, Resources::new(&[1, 1])));
        let (ask, node) = (AskId::new(1 << 30, 0), NodeId::new(0, 0));
        replay.step(Change::ContainerRecovered { ask, node, container }).unwrap_err();
        assert_eq!(replay.into_parts().1.asks.slots(), 0);
    }
}
