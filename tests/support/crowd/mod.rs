//! A crowd: many threads that use one engine at random, and a check of everything afterwards.
//!
//! The same crowd runs on real threads (`cargo soak`) and under a scheduler that decides every step (`cargo
//! shuttle`). Proposers panic, lose batches and delay them; the clock jumps; clock and log sink stall.

mod caller;
mod trouble;

use std::collections::BTreeSet;
use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, HeartbeatPolicy, Percent, QueueConfig, ReservationPolicy};
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
}

/// The result of a crowd.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Changes in the log, all of them followed on the model.
    pub changes: u64,
    /// The engine's counters.
    pub stats: EngineStats,
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
        let callers = self.call(&engine, &clock);
        engine.run_until_quiet();
        let outcome = self.check(&engine, &log, callers);
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
        let mut workers = vec![start("committer", move || parts.committer.run())];
        for (number, proposer) in parts.proposers.into_iter().enumerate() {
            let (seed, pause) = (self.seed ^ (number as u64), self.pause);
            workers.push(start("proposer", move || propose_with_trouble(proposer, number, seed, pause)));
        }
        (Arc::new(engine), workers)
    }

    /// Runs all callers concurrently, to the end.
    fn call(&self, engine: &Arc<Engine>, clock: &ManualClock) -> Vec<Caller> {
        let handle = engine.handle();
        let nodes: Arc<[NodeId]> =
            (0..NODES).map(|number| add_node(&handle, &format!("n{number}"))).collect();
        let mut random = Pcg32::seed_from_u64(self.seed);
        let threads: Vec<_> = (0..=self.callers)
            .map(|number| {
                let mut caller = Caller::new(engine.handle(), Arc::clone(&nodes), number, &mut random);
                let (done, ticket) = apportion::sync::Ticket::new();
                let (clock, steps, callers) = (clock.clone(), self.steps, self.callers);
                let thread = start("caller", move || {
                    // The last one is the operator.
                    if number < callers {
                        caller.live(steps);
                    } else {
                        caller.operate(steps, &clock);
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

    fn check(&self, engine: &Engine, log: &SharedLog, callers: Vec<Caller>) -> Outcome {
        let report = engine.audit();
        assert!(report.is_clean(), "{report}");
        // No ask may be left for which a node, its queue and its user have room.
        let left: Vec<_> = engine.read(|view| view.asks().map(|ask| ask.pending_reason()).collect());
        assert!(!left.contains(&PendingReason::Runnable), "left undone: {left:?}");
        let health = engine.health();
        assert!(!health.has_work() && health.is_running, "{health:?}");
        assert_eq!(engine.log_error().is_some(), self.sink_fails_after.is_some());
        let changes = if self.sink_fails_after.is_none() { self.follow(engine, log, callers) } else { 0 };
        Outcome { changes, stats: engine.stats() }
    }

    /// Follows the whole log on the sequential model.
    fn follow(&self, engine: &Engine, log: &SharedLog, callers: Vec<Caller>) -> u64 {
        let handle = engine.handle();
        let oracle =
            Oracle::new(self.config(), vec![PartitionId::DEFAULT], |path| handle.queue(path).unwrap());
        let mut events: Vec<Event> = Vec::new();
        let (mut by_hand, mut asks) = (Vec::new(), Vec::new());
        for caller in callers {
            let (told, accepted, asked) = caller.testimony();
            events.extend(told);
            by_hand.extend(accepted);
            asks.extend(asked);
        }
        expect_nothing_lost(&log.bytes(), &events, &by_hand, &asks);
        Checker::new(oracle, Certainty::Legal, false).check_crowd(engine, &log.bytes(), events, &by_hand)
    }
}

/// Every ask that the engine took is in the log or was refused, and every accepted request is in the log. The log
/// alone cannot show what is missing from it.
fn expect_nothing_lost(log: &[u8], events: &[Event], by_hand: &[CommitSeq], asks: &[AskId]) {
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
        assert!(matches!(change, Some(Change::Committed { .. })), "accepted as {seq:?}, which is {change:?}");
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Thread {
    Thread::start(name.to_owned(), work).unwrap()
}

fn add_node(handle: &Handle, name: &str) -> NodeId {
    handle.add_node(NodeSpec::new(name, Resources::new(&[8]))).unwrap()
}
