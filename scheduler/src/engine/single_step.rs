//! Serial mode step by step: commit without proposing, and passes for one container at most. For scenarios and tests,
//! which want to say what happens between two decisions.

use std::sync::Arc;

use thiserror::Error;

use super::proposer::Proposer;
use super::{Driver, Engine};
use crate::ids::{QueueId, SetId};
use crate::place::PlacementSet;
use crate::propose::{BatchOwner, PassLimits, PassScope, ProposalBatch, run_pass};
use crate::state::State;

/// Single steps are for engines in serial mode; in parallel mode the threads go on by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("single steps are possible in serial mode only")]
pub struct NotSerial;

/// Why a single pass was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PassError {
    /// The engine is not in serial mode.
    #[error(transparent)]
    NotSerial(#[from] NotSerial),
    /// The scope's queue has queues below it, or is another engine's.
    #[error("{0} is no leaf queue of this engine; a pass is about one leaf or about all")]
    NotALeaf(QueueId),
}

impl Engine {
    /// Commits what was sent so far, and proposes nothing.
    ///
    /// # Errors
    /// When the engine is not in serial mode.
    pub fn commit_waiting(&self) -> Result<(), NotSerial> {
        let Driver::Serial(driver) = &mut *self.driver.lock() else { return Err(NotSerial) };
        driver.commit_waiting();
        Ok(())
    }

    /// Commits what was sent, then makes one pass within `scope` that proposes one container or one reservation at
    /// most, and commits that. With [`off_switch_per_pass`](crate::config::EngineLimits::off_switch_per_pass) it
    /// proposes as much as that allows. Without a node it is about the whole cluster, the default partition first.
    /// Returns how many requests it proposed.
    ///
    /// Such a pass is what a node's heartbeat is to YARN. As always a node is reserved only if no other node of the
    /// partition has room; with [`Semantics::YarnCompatible`](crate::config::Semantics) a node over which the pass goes
    /// alone is reserved although another has room. What it sees in vain is not remembered, except that a node was
    /// offered to an ask that names others, and in that mode that a node reserved for an ask was still too full
    /// (`AskView::re_reservations`). On a node that is not there it proposes nothing.
    ///
    /// # Errors
    /// When the engine is not in serial mode, and when the scope's queue is no leaf of this engine.
    pub fn pass_once(&self, scope: PassScope) -> Result<usize, PassError> {
        let Driver::Serial(driver) = &mut *self.driver.lock() else { return Err(NotSerial.into()) };
        driver.commit_waiting();
        let is_leaf = |queue: &QueueId| {
            self.shared.state.read().facts.queues.get(queue.index()).is_some_and(|queue| queue.is_leaf)
        };
        if let Some(queue) = scope.leaf.filter(|queue| !is_leaf(queue)) {
            return Err(PassError::NotALeaf(queue));
        }
        Ok(driver.pass_once(scope))
    }
}

impl Proposer {
    /// A pass within `scope` for one request at most, or as many as are allowed for a node, over a view of its own, so
    /// that it needs no lease. `None` if the node is not there.
    pub(super) fn propose_once(&mut self, scope: PassScope) -> Option<Box<ProposalBatch>> {
        let owner: Arc<dyn BatchOwner> = Arc::clone(&self.shared) as Arc<dyn BatchOwner>;
        let mut batch = Box::new(ProposalBatch::without_lease(owner));
        let state = self.shared.state.read();
        // Where containers are limited that are not where their ask named, the limit is what ends it.
        let is_limited = state.facts.config.limits.off_switch_per_pass.is_some();
        let requests = if is_limited { self.shared.pass_limits.requests } else { 1 };
        let limits = PassLimits { requests, scope, is_single_step: true, ..self.shared.pass_limits };
        for set in sets_within(&state, scope)? {
            let order = state.facts.config.node_order;
            let mut view = PlacementSet::confined(set, order, state.nodes(), scope.node);
            run_pass(&state, &mut view, &mut self.scratch, &limits, &mut batch.proposals);
            if !batch.requests().is_empty() {
                break;
            }
        }
        drop(state);
        Some(batch)
    }
}

/// The sets that a pass within `scope` is about, if its node is there.
fn sets_within(state: &State, scope: PassScope) -> Option<Vec<SetId>> {
    let Some(id) = scope.node else {
        let sets = |partition| {
            (0..state.node_shards.sets(partition)).map(move |number| SetId::new(partition, number))
        };
        return Some(state.partitions().flat_map(sets).collect());
    };
    let partition = state.facts.nodes.get(id)?.partition;
    Some(vec![state.node_shards.place_of(id, partition).0])
}
