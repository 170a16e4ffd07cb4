//! Reports for the `tracing` facade, with the feature `tracing`. Without it, all functions here are empty.
//!
//! They are called at the boundary of a group or a pass, outside the engine's locks: a subscriber may call the engine.

#[cfg(feature = "tracing")]
pub(super) use facade::*;
#[cfg(not(feature = "tracing"))]
pub(super) use nothing::*;

#[cfg(feature = "tracing")]
mod facade {
    use tracing::span::EnteredSpan;
    use tracing::{Level, event, trace_span};

    use crate::engine::shared::Shared;
    use crate::ids::{NodeId, PartitionId, SetId};
    use crate::stats::EngineStats;

    pub(in crate::engine) fn group() -> EnteredSpan {
        trace_span!(target: "apportion", "group").entered()
    }

    pub(in crate::engine) fn pass(set: SetId) -> EnteredSpan {
        trace_span!(target: "apportion", "pass", set = set.index()).entered()
    }

    pub(in crate::engine) fn group_committed(messages_total: u64, stats: &EngineStats) {
        event!(
            target: "apportion", Level::TRACE, messages_total,
            allocated_total = stats.allocated, rejected_total = stats.rejected_total(), "group committed"
        );
    }

    pub(in crate::engine) fn sets_resharded(partition: PartitionId) {
        event!(target: "apportion", Level::DEBUG, partition = partition.index(), "sets resharded");
    }

    pub(in crate::engine) fn node_silent(node: NodeId) {
        event!(target: "apportion", Level::WARN, %node, "node silent");
    }

    pub(in crate::engine) fn engine_started(shared: &Shared, proposers: usize) {
        let state = shared.state.read();
        let changes = state.facts.changes;
        let (nodes, containers) = (state.facts.nodes.len(), state.facts.containers.len());
        drop(state);
        event!(target: "apportion", Level::INFO, proposers, changes, nodes, containers, "engine started");
    }

    pub(in crate::engine) fn engine_ended() {
        event!(target: "apportion", Level::INFO, "engine ended");
    }

    pub(in crate::engine) fn log_failed(error: &str, required: bool) {
        event!(target: "apportion", Level::ERROR, error, required, "log failed");
    }

    pub(in crate::engine) fn proposer_panicked(panics: u32, given_up: bool) {
        event!(target: "apportion", Level::ERROR, panics, given_up, "proposer panicked");
    }
}

#[cfg(not(feature = "tracing"))]
mod nothing {
    use crate::engine::shared::Shared;
    use crate::ids::{NodeId, PartitionId, SetId};
    use crate::stats::EngineStats;

    /// No span.
    pub(in crate::engine) struct Nothing;

    pub(in crate::engine) const fn group() -> Nothing {
        Nothing
    }
    pub(in crate::engine) const fn pass(_: SetId) -> Nothing {
        Nothing
    }
    pub(in crate::engine) const fn group_committed(_: u64, _: &EngineStats) {}
    pub(in crate::engine) const fn sets_resharded(_: PartitionId) {}
    pub(in crate::engine) const fn node_silent(_: NodeId) {}
    pub(in crate::engine) const fn engine_started(_: &Shared, _: usize) {}
    pub(in crate::engine) const fn engine_ended() {}
    pub(in crate::engine) const fn log_failed(_: &str, _: bool) {}
    pub(in crate::engine) const fn proposer_panicked(_: u32, _: bool) {}
}
