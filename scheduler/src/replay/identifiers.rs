//! The identifiers that the handles of an engine gave out, as its log shows them.

use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::commit::Effects;
use crate::facts::{Facts, IdPool};
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

    /// Whether each pool lists its vacant identifiers once, and none that is in use.
    pub(super) fn is_coherent(&self, facts: &Facts) -> bool {
        let asks = facts.asks.iter().map(|(id, _)| id).chain(facts.node_queues.asks.keys().copied());
        self.nodes.is_coherent(facts.nodes.iter().map(|(id, _)| id))
            && self.applications.is_coherent(facts.applications.iter().map(|(id, _)| id))
            && self.asks.is_coherent(asks)
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

    /// Whether the pool lists each vacant identifier at the place of its slot, and no slot of `used`.
    fn is_coherent(&self, mut used: impl Iterator<Item = I>) -> bool {
        let place_of = |id: I| self.places.get(id.index()).copied().flatten();
        let mut listed = (0..).zip(&self.vacant);
        listed.all(|(place, id)| id.is_some_and(|id| place_of(id) == Some(place)))
            && self.places.iter().flatten().count() == self.vacant.len()
            && used.all(|id| self.places.get(id.index()) == Some(&None))
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

    #[test]
    fn a_pool_that_lists_a_slot_wrongly_is_not_coherent() {
        type Damage = fn(&mut FollowedPool<NodeId>);
        let mut pool = FollowedPool::<NodeId>::default();
        let id = |index| NodeId::new(index, 0);
        (0..4).for_each(|index| pool.take(id(index)));
        [2, 0].into_iter().for_each(|index| pool.give_back(id(index)));
        let used = || [id(1), id(3)].into_iter();
        assert!(pool.is_coherent(used()));
        assert!(!pool.is_coherent(used().chain([id(0)])), "a vacant slot is used");
        assert!(!pool.is_coherent(used().chain([id(4)])), "a slot that was never given out is used");
        let damages: [(&str, Damage); 4] = [
            ("a place beyond the list", |pool| pool.places[1] = Some(7)),
            ("a slot twice", |pool| pool.vacant.push(pool.vacant[0])),
            ("a slot beyond all", |pool| pool.vacant.push(Some(NodeId::new(9, 0)))),
            ("a gap", |pool| pool.vacant[0] = None),
        ];
        for (damage, apply) in damages {
            let (vacant, places) = (pool.vacant.clone(), pool.places.clone());
            let mut damaged = FollowedPool { vacant, places, gaps: 0 };
            apply(&mut damaged);
            assert!(!damaged.is_coherent(used()), "{damage}");
        }
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
