//! Serial mode in single steps: commit without proposing, and passes for at most one container. For scenarios and
//! tests that act between two decisions.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::proposer::{Proposer, propose_under_guard};
use super::{Driver, Engine};
use crate::ids::{QueueId, SetId};
use crate::place::PlacementSet;
use crate::propose::{PassLimits, PassScope, ProposalBatch, Work, run_pass};
use crate::state::State;

/// The error for single steps and for [`Engine::drive`] outside serial mode; in the other modes threads do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("the engine is not in serial mode; wait with `run_until_quiet`, or start it with `Mode::Serial`")]
pub struct NotSerial;

/// Why a single pass did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PassError {
    /// The engine is not in serial mode.
    #[error(transparent)]
    NotSerial(#[from] NotSerial),
    /// The scope's queue is a parent, or belongs to another engine.
    #[error("{0} is not a leaf queue of this engine; give a leaf queue, or no queue for all leaves")]
    NotALeaf(QueueId),
}

impl Engine {
    /// Commits everything sent so far, and proposes nothing.
    ///
    /// # Errors
    /// If the engine is not in serial mode.
    pub fn commit_waiting(&self) -> Result<(), NotSerial> {
        let Driver::Serial(driver) = &mut *self.driver.lock() else { return Err(NotSerial) };
        driver.commit_waiting();
        Ok(())
    }

    /// Commits everything sent so far, then runs one pass within `scope` and commits its result. The pass proposes
    /// at most one container or reservation; with
    /// [`off_switch_per_pass`](crate::config::EngineLimits::off_switch_per_pass) it proposes as much as that limit
    /// allows. A scope without a node covers the whole cluster, the default partition first. Returns the number of
    /// requests proposed.
    ///
    /// Such a pass corresponds to a node's heartbeat in YARN. As always, a node is reserved only if no other node
    /// of the partition has room. With [`Semantics::YarnCompatible`](crate::config::Semantics) a pass over one node
    /// reserves it although another has room. A pass remembers no failed attempt, with two exceptions. It remembers
    /// that a node was offered to an ask that names others. In that mode it also remembers that a reserved node was
    /// still too full for its ask (`AskView::re_reservations`). On an unknown node it proposes nothing.
    ///
    /// # Errors
    /// If the engine is not in serial mode, or the scope's queue is not a leaf of this engine.
    pub fn pass_once(&self, scope: PassScope) -> Result<usize, PassError> {
        let Driver::Serial(driver) = &mut *self.driver.lock() else { return Err(NotSerial.into()) };
        driver.commit_waiting();
        let is_leaf = |queue: &QueueId| {
            self.shared.state.read().facts.tree.queues.get(queue.index()).is_some_and(|queue| queue.is_leaf)
        };
        if let Some(queue) = scope.leaf.filter(|queue| !is_leaf(queue)) {
            return Err(PassError::NotALeaf(queue));
        }
        Ok(driver.pass_once(scope))
    }
}

impl Proposer {
    /// Runs a pass within `scope` for at most one request, or as many as the limit for a node allows. It uses a
    /// view of its own, so it needs no lease. `None` if the node does not exist.
    pub(super) fn propose_once(&mut self, scope: PassScope) -> Option<Box<ProposalBatch>> {
        let Self { shared, scratch, .. } = self;
        let (batch, known) = propose_under_guard(shared, Work::Unleased, |state, batch| {
            // A limit on off-switch containers ends the pass instead of the number of requests.
            let is_limited = state.facts.config.limits.off_switch_per_pass.is_some();
            let requests = if is_limited { shared.pass_limits.requests } else { 1 };
            let limits = PassLimits { requests, scope, is_single_step: true, ..shared.pass_limits };
            for set in sets_within(state, scope)? {
                let order = state.facts.config.node_order;
                let mut view = PlacementSet::confined(set, order, state.nodes(), scope.node);
                run_pass(state, &mut view, scratch, &limits, &mut batch.proposals);
                if !batch.requests().is_empty() {
                    break;
                }
            }
            Some(())
        });
        known.map(|()| batch)
    }
}

/// The sets that a pass within `scope` covers; `None` if its node does not exist.
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
