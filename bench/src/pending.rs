//! A short list of pending asks: of equal asks, the one that has waited longest.

use std::collections::BTreeMap;

use apportion::AskId;
use apportion::explain::Explanation;
use apportion::view::View;
use serde::Serialize;

/// The most kinds of asks to explain; the other asks are only counted.
pub const KINDS_MAX: usize = 10;

/// Pending asks of one size in one queue.
#[derive(Clone, Debug, Serialize)]
pub struct PendingKind {
    /// An explanation of the ask that has been pending longest.
    #[serde(flatten)]
    pub longest: Explanation,
    /// Number of these asks, including that one.
    pub asks: u64,
    /// Number of containers that these asks want.
    pub containers: u64,
}

/// The kinds whose asks have been pending longest, at most [`KINDS_MAX`], longest first.
#[must_use]
pub fn longest_pending(view: &View<'_>) -> Vec<PendingKind> {
    let mut kinds: BTreeMap<(&str, [i64; apportion::resource::RESOURCE_TYPES_MAX]), Kind> = BTreeMap::new();
    for ask in view.asks() {
        let Some(application) = view.application(ask.application()) else { continue };
        let since = (ask.pending_since_ms(), ask.id());
        let kind = kinds.entry((application.queue(), *ask.size().amounts())).or_insert(Kind::of(since));
        kind.since = kind.since.min(since);
        kind.asks += 1;
        kind.containers += u64::from(ask.outstanding());
    }
    let mut kinds: Vec<Kind> = kinds.into_values().collect();
    kinds.sort_by_key(|kind| kind.since);
    kinds.truncate(KINDS_MAX);
    let explained = kinds.into_iter().map(|kind| PendingKind {
        longest: view.explain(kind.since.1),
        asks: kind.asks,
        containers: kind.containers,
    });
    explained.collect()
}

struct Kind {
    /// Since when the longest has been pending, and its identifier.
    since: (u64, AskId),
    asks: u64,
    containers: u64,
}

impl Kind {
    fn of(since: (u64, AskId)) -> Self {
        Self { since, asks: 0, containers: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apportion::config::{EngineConfig, QueueConfig};
    use apportion::{
        ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
    };

    use super::*;

    #[test]
    fn asks_of_one_size_are_one_kind_and_the_first_speaks_for_them() {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let clock = ManualClock::new();
        let engine = Engine::start(config, Mode::Serial, Arc::new(clock.clone()), None).unwrap();
        let handle = engine.handle();
        handle.add_node(NodeSpec::new("n1", Resources::new(&[4, 4]))).unwrap();
        let events = handle.event_stream(100);
        let spec = ApplicationSpec::new("job", "root.default", "ann");
        let application = handle.submit_application(spec, &events).unwrap();
        let ask = |size, count| {
            handle.submit_ask(application, AskSpec::new(Resources::new(&[size]), count)).unwrap()
        };
        let first = ask(3, 2);
        engine.run_until_quiet();
        clock.set(1_000);
        handle.tick().unwrap();
        ask(3, 5);
        let sizes: Vec<AskId> = (10..30).map(|size| ask(size, 1)).collect();
        engine.run_until_quiet();
        let kinds = engine.read(longest_pending);
        assert_eq!(kinds.len(), KINDS_MAX);
        assert_eq!((kinds[0].longest.ask, kinds[0].asks, kinds[0].containers), (first, 2, 6));
        assert_eq!((kinds[1].longest.ask, kinds[1].asks), (sizes[0], 1));
    }
}
