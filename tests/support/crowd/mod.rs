//! A crowd: many threads that use one engine at random, and a check of everything afterwards.
//!
//! The same crowd runs on real threads (`cargo soak`) and under a scheduler that decides every step (`cargo
//! shuttle`). Proposers panic, lose batches and delay them; the clock jumps; clock and log sink stall.

mod caller;
mod crash;
mod trouble;

use std::collections::BTreeSet;
use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, HeartbeatPolicy, Percent, QueueConfig, ReservationPolicy};
use apportion::engine::Parts;
use apportion::event::{Event, EventKind};
use apportion::explain::PendingReason;
use apportion::log::SharedLog;
use apportion::sync::Thread;
use apportion::{
    AskId, Change, CommitSeq, Engine, EngineStats, Handle, ManualClock, Mode, NodeId, NodeSpec, PartitionId,
    ResourceTypes, Resources,
};
use rand::SeedableRng;
use rand_pcg::Pcg32;

use super::check::{Certainty, Checker, read_log};
use super::oracle::Oracle;
use caller::Caller;
pub use trouble::Pause;
use trouble::{TroubledClock, TroubledSink, propose_with_trouble};

/// Nodes at the start; nodes come and go later.
const NODES: usize = 5;

/// The threads of a crowd and its faults.
#[derive(Clone, Debug)]
pub struct Crowd {
    /// The seed of all random choices.
    pub seed: u64,
    /// Threads that each have applications of their own.
    pub callers: usize,
    /// Threads that propose. With none, the engine runs in background mode.
    pub proposers: usize,
    /// Steps of each caller.
    pub steps: usize,
    /// How a delayed thread spends its time.
    pub pause: Pause,
    /// The number of groups after which the log's sink fails, if it does. Then the log is not checked.
    pub sink_fails_after: Option<u64>,
    /// How often the engine crashes: its log is cut at a random byte, and another engine goes on from there.
    pub crashes: u32,
}

/// The result of a crowd.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Changes in the log, all of them followed on the model.
    pub changes: u64,
    /// The engine's counters.
    pub stats: EngineStats,
    /// Crashes from which another engine went on.
    pub crashes: u32,
}

impl Crowd {
    fn config(&self) -> EngineConfig {
        let leaf = |name: &str| QueueConfig::leaf(name, Capacity::Percent(Percent::whole(50)));
        let types = ResourceTypes::memory_and_vcores();
        let mut config = EngineConfig::new(types, QueueConfig::root([leaf("a"), leaf("b")]));
        config.reservations = ReservationPolicy { delay_ms: Some(100), ..ReservationPolicy::default() };
        config.heartbeat = Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 10 });
        config.limits.batch_requests = 2;
        config.limits.group_requests = 3;
        config.limits.inbox = 4;
        config.limits.single_set_nodes = 3;
        config.limits.set_nodes = 2;
        config
    }

    /// Runs all threads, waits until the engine is quiet, and checks everything. `watch` gets the engine as soon as
    /// it has started.
    ///
    /// # Panics
    /// If anything is wrong.
    pub fn run(&self, watch: impl FnOnce(&Arc<Engine>)) -> Outcome {
        let (log, clock) = (SharedLog::new(), ManualClock::new());
        let sink = TroubledSink::new(log.clone(), self.pause, self.sink_fails_after);
        let troubled = Arc::new(TroubledClock::new(clock.clone(), self.pause));
        let (engine, workers) = self.start(troubled, Box::new(sink));
        watch(&engine);
        let callers = self.call(&engine, &clock, "n");
        engine.run_until_quiet();
        self.check_end(&engine);
        let mut outcome = Outcome { changes: 0, stats: engine.stats(), crashes: 0 };
        if self.sink_fails_after.is_none() {
            let said = Testimony::of(callers);
            outcome.changes = self.follow(&engine, &log, said.clone());
            for crash in 0..self.crashes {
                outcome.changes += self.crash_and_go_on(crash, &log.bytes(), &said);
                outcome.crashes += 1;
            }
        }
        engine.shutdown();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        outcome
    }

    /// The engine, and its threads except for that of background mode, which the engine keeps.
    fn start(&self, clock: Arc<TroubledClock>, sink: Box<TroubledSink>) -> (Arc<Engine>, Vec<Thread>) {
        if self.proposers == 0 {
            let engine = Engine::start(self.config(), Mode::Background, clock, Some(sink)).unwrap();
            return (Arc::new(engine), Vec::new());
        }
        let (engine, parts) = Engine::assemble(self.config(), self.proposers, clock, Some(sink)).unwrap();
        (Arc::new(engine), self.start_parts(parts))
    }

    fn start_parts(&self, parts: Parts) -> Vec<Thread> {
        let mut workers = vec![start("committer", move || parts.committer.run())];
        for (number, proposer) in parts.proposers.into_iter().enumerate() {
            let (seed, pause) = (self.seed ^ (number as u64), self.pause);
            workers.push(start("proposer", move || propose_with_trouble(proposer, number, seed, pause)));
        }
        workers
    }

    /// Runs all callers concurrently, to the end.
    fn call(&self, engine: &Arc<Engine>, clock: &ManualClock, prefix: &str) -> Vec<Caller> {
        let handle = engine.handle();
        let nodes: Arc<[NodeId]> =
            (0..NODES).map(|number| add_node(&handle, &format!("{prefix}{number}"))).collect();
        let mut random = Pcg32::seed_from_u64(self.seed);
        let threads: Vec<_> = (0..=self.callers)
            .map(|number| {
                let mut caller = Caller::new(engine.handle(), Arc::clone(&nodes), number, &mut random);
                let (done, ticket) = apportion::sync::Ticket::new();
                let (clock, steps, callers, prefix) =
                    (clock.clone(), self.steps, self.callers, prefix.to_owned());
                let thread = start("caller", move || {
                    // The last one is the operator.
                    if number < callers {
                        caller.live(steps);
                    } else {
                        caller.operate(steps, &clock, &prefix);
                    }
                    done.answer(caller);
                });
                (thread, ticket)
            })
            .collect();
        // An audit while all threads work.
        let report = engine.audit();
        assert!(report.is_clean(), "{report}");
        let end = |(thread, ticket): (Thread, apportion::sync::Ticket<Caller>)| {
            thread.join().unwrap();
            ticket.wait().unwrap()
        };
        threads.into_iter().map(end).collect()
    }

    /// Checks a quiet engine without its log.
    fn check_end(&self, engine: &Engine) {
        let report = engine.audit();
        assert!(report.is_clean(), "{report}");
        // No ask may be left for which a node, its queue and its user have room.
        let left: Vec<_> = engine.read(|view| view.asks().map(|ask| ask.pending_reason()).collect());
        assert!(!left.contains(&PendingReason::Runnable), "left undone: {left:?}");
        let health = engine.health();
        assert!(!health.has_work() && health.is_running, "{health:?}");
        assert_eq!(engine.log_error().is_some(), self.sink_fails_after.is_some());
    }

    fn checker(&self, engine: &Engine) -> Checker {
        let handle = engine.handle();
        let queue = |path: &str| handle.queue(path).unwrap();
        let oracle = Oracle::new(self.config(), vec![PartitionId::DEFAULT], queue);
        Checker::new(oracle, Certainty::Legal, false)
    }

    /// Follows the whole log on the sequential model.
    fn follow(&self, engine: &Engine, log: &SharedLog, said: Testimony) -> u64 {
        said.expect_nothing_lost(&log.bytes());
        let Testimony { events, by_hand, .. } = said;
        self.checker(engine).check_crowd(engine, &log.bytes(), events, &by_hand)
    }
}

/// What all callers were told.
#[derive(Clone, Debug, Default)]
struct Testimony {
    events: Vec<Event>,
    /// The commits of accepted requests made by hand.
    by_hand: Vec<CommitSeq>,
    /// Every ask that the engine took.
    asks: Vec<AskId>,
}

impl Testimony {
    fn of(callers: Vec<Caller>) -> Self {
        let mut all = Self::default();
        for caller in callers {
            let (told, accepted, asked) = caller.testimony();
            all.events.extend(told);
            all.by_hand.extend(accepted);
            all.asks.extend(asked);
        }
        all
    }

    /// The part about changes up to `last`.
    fn until(&self, last: CommitSeq) -> Self {
        let events = self.events.iter().filter(|event| event.seq <= last).copied().collect();
        let by_hand = self.by_hand.iter().filter(|seq| **seq <= last).copied().collect();
        Self { events, by_hand, asks: Vec::new() }
    }

    /// Every ask that the engine took is in the log or was refused, and every accepted request is in the log. The log
    /// alone cannot show what is missing from it.
    fn expect_nothing_lost(&self, log: &[u8]) {
        let Self { events, by_hand, asks } = self;
        let changes = read_log(log);
        let submitted = changes.iter().filter_map(|change| match change {
            Change::AskSubmitted { ask, .. } => Some(*ask),
            _ => None,
        });
        let refused = events.iter().filter_map(|event| match event.kind {
            EventKind::AskRefused { ask, .. } => Some(ask),
            _ => None,
        });
        let known: BTreeSet<AskId> = submitted.chain(refused).collect();
        let lost: Vec<&AskId> = asks.iter().filter(|ask| !known.contains(ask)).collect();
        assert!(lost.is_empty(), "neither in the log nor refused: {lost:?}");
        for seq in by_hand {
            let change = changes.get(usize::try_from(seq.0).unwrap() - 1);
            assert!(
                matches!(change, Some(Change::Committed { .. })),
                "accepted as {seq:?}, which is {change:?}"
            );
        }
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Thread {
    Thread::start(name.to_owned(), work).unwrap()
}

fn add_node(handle: &Handle, name: &str) -> NodeId {
    handle.add_node(NodeSpec::new(name, Resources::new(&[8]))).unwrap()
}
