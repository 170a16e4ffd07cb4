//! A log in a store is the log in memory.

use std::io::{self, Read};
use std::sync::Arc;

use apportion::log::{LogSink, LoggedGroup, SharedLog};
use apportion::store_log::{Durability, StoreCompactor, StoreLog, StoreLogOptions};
use apportion::{Engine, ManualClock, Mode};
use apportion_tests::support::cluster::Cluster;
use proptest::prelude::*;

use crate::generate::{WITH_REQUESTS, plan};
use crate::mode;
use crate::plan::Plan;
use crate::play::Player;

/// Logs to both, and compacts the store after every so many groups.
struct Twice {
    memory: SharedLog,
    store: StoreLog,
    compactor: StoreCompactor,
    compacts_every: u32,
    groups: u32,
}

impl LogSink for Twice {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.memory.start(header)?;
        self.store.start(header)
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.memory.append(group)?;
        self.store.append(group)?;
        self.groups += 1;
        if self.groups.is_multiple_of(self.compacts_every) {
            let compacted = self.compactor.compact().map_err(io::Error::other)?;
            assert_eq!(compacted.map(|compacted| compacted.last), Some(group.last()));
        }
        Ok(())
    }
}

fn durability() -> impl Strategy<Value = Durability> {
    prop_oneof![
        Just(Durability::None),
        (0..2_000u64).prop_map(|bytes| Durability::Grouped { bytes }),
        Just(Durability::BeforeEvents),
    ]
}

/// Plays a whole plan on an engine that logs to this sink, which passes everything on to the log that it gets.
fn play_logging_to(plan: &Plan, mode: Mode, sink: impl FnOnce(SharedLog) -> Box<dyn LogSink>) -> Cluster {
    let cluster = Cluster::start_logging_to(plan.cluster.config(), mode, sink);
    let mut player = Player::on(cluster, &plan.cluster);
    player.play(plan);
    player.cluster
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn an_engine_recovers_from_a_store_as_from_memory(
        plan in plan(WITH_REQUESTS),
        mode in mode(),
        durability in durability(),
        compacts_every in prop_oneof![Just(u32::MAX), 1..40u32],
    ) {
        let folder = tempfile::tempdir().unwrap();
        let open = || StoreLog::open(folder.path().join("log.redb"), StoreLogOptions { durability }).unwrap();
        let cluster = play_logging_to(&plan, mode, |memory| {
            let store = open();
            let compactor = store.compactor();
            Box::new(Twice { memory, store, compactor, compacts_every, groups: 0 })
        });
        prop_assert_eq!(cluster.engine.log_error(), None);
        let log = cluster.log();
        drop(cluster);
        let store = open();
        if compacts_every == u32::MAX {
            let mut bytes = Vec::new();
            store.contents().unwrap().unwrap().read_to_end(&mut bytes).unwrap();
            prop_assert!(bytes == log, "the store has other bytes");
        }
        let recover = |contents: &mut dyn Read, sink| {
            Engine::recover(contents, Mode::Serial, Arc::new(ManualClock::new()), sink).unwrap()
        };
        let mut contents = store.contents().unwrap().unwrap();
        let (from_store, recovered) = recover(&mut contents, Some(Box::new(store) as Box<dyn LogSink>));
        let (from_memory, expected) = recover(&mut &log[..], None);
        prop_assert_eq!(recovered.end.last, expected.end.last);
        prop_assert_eq!(from_store.digest(), from_memory.digest());
        prop_assert!(from_store.canonical_bytes() == from_memory.canonical_bytes(), "the states differ");
    }
}
