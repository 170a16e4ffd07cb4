//! Nodes that send no heartbeats.

use super::group::GroupCommitter;
use crate::change::Change;
use crate::ids::NodeId;
use crate::state::State;
use crate::timers::Timer;

impl GroupCommitter {
    /// Acts on the timer of a node at `at_ms`. A heartbeat sets no timer. A timer that rings sets the next one,
    /// even if that one is due as well, so that nodes fall silent in the order of their last heartbeats.
    pub(super) fn check_silence(&mut self, state: &mut State, node: NodeId, at_ms: u64) {
        let (Some(policy), Some(facts)) = (state.facts.config.heartbeat, state.facts.nodes.get(node)) else {
            return;
        };
        let silent_from_ms = policy.silent_from_ms(facts.last_heartbeat_ms);
        if facts.stale {
            return;
        }
        if silent_from_ms <= at_ms {
            self.committer(state).apply(Change::NodeSilenceSet { node, stale: true });
            self.publisher.silent.push(node);
        } else {
            state.timers.add(silent_from_ms, Timer::Silence(node));
        }
    }
}
