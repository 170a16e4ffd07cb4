//! Rounds in a running engine: announcements, ends, and recovery, in all modes.

#![allow(clippy::disallowed_types, reason = "the log outlives its engine, as a file does")]

use std::sync::{Arc, Mutex};

use apportion::config::{EngineConfig, LocalityDelay, OpportunisticPolicy, PreemptionRounds, QueueConfig};
use apportion::event::EventKind;
use apportion::explain::{PreemptionOutlook, Standing, UnhelpedReason};
use apportion::log::{LogSink, LoggedGroup};
use apportion::preempt::{PreemptionNotice, PreemptionPolicy, PreemptionRule};
use apportion::replay::Replay;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskSpec, Clock, EndCause, Engine, EventStream,
    ManualClock, Mode, NodeSpec, ResourceTypes, Resources,
};

use crate::{at_once, queue};

pub(crate) const INTERVAL_MS: u64 = 1_000;
pub(crate) const WAIT_MS: u64 = 10_000;

/// A log in memory that outlives its engine.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl LogSink for Log {
    fn start(&mut self, header: &[u8]) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(header);
        Ok(())
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> std::io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(group.frame());
        Ok(())
    }

    fn resume(&mut self, end: apportion::log::LogEnd) -> std::io::Result<()> {
        self.0.lock().unwrap().truncate(end.at as usize);
        Ok(())
    }
}

pub(crate) struct Running {
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) events: EventStream,
    pub(crate) log: Log,
}

pub(crate) fn rounds() -> PreemptionRounds {
    PreemptionRounds {
        policy: at_once(),
        interval_ms: INTERVAL_MS,
        max_wait_before_kill_ms: WAIT_MS,
        ..PreemptionRounds::default()
    }
}

pub(crate) fn modes() -> Vec<Mode> {
    let parallel = |proposers| Mode::Parallel { proposers };
    vec![Mode::Serial, Mode::Background, parallel(1), parallel(2), parallel(4)]
}

impl Running {
    /// Case 52: A40 B40 C20 with containers of 1, of which B uses 60 and C 40.
    pub(crate) fn full(mode: Mode, rounds: PreemptionRounds) -> (Self, [ApplicationId; 2]) {
        Self::full_of(1, mode, rounds)
    }

    /// The same, so many times as large.
    pub(crate) fn full_of(times: i64, mode: Mode, rounds: PreemptionRounds) -> (Self, [ApplicationId; 2]) {
        let queues = [("a", 40), ("b", 40), ("c", 20)].map(|(name, part)| queue(name, &[part * times], None));
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues));
        config.preemption = Some(rounds);
        config.opportunistic = Some(OpportunisticPolicy::default());
        config.locality_delay = LocalityDelay::Time { rack_ms: 5_000, any_ms: 10_000 };
        let (clock, log) = (Arc::new(ManualClock::new()), Log::default());
        let sink: Box<dyn LogSink> = Box::new(log.clone());
        let engine = Engine::start(config, mode, Arc::clone(&clock) as _, Some(sink)).unwrap();
        let running = Self { events: engine.handle().event_stream(1 << 16), engine, clock, log };
        for number in 0..10 * times {
            let node = NodeSpec::new(format!("n{number}"), Resources::new(&[10, 10]));
            running.engine.handle().add_node(node).unwrap();
        }
        let others = ["root.b", "root.c"].map(|queue| {
            let part = if queue == "root.b" { 60 } else { 40 };
            running.demand(queue, part * times as u32)
        });
        running.run_until_quiet();
        (running, others)
    }

    pub(crate) fn demand(&self, queue: &str, count: u32) -> ApplicationId {
        let handle = self.engine.handle();
        let spec = ApplicationSpec::new("application", queue, "user");
        let application = handle.submit_application(spec, &self.events).unwrap();
        if count > 0 {
            handle.submit_ask(application, AskSpec::new(Resources::new(&[1]), count)).unwrap();
        }
        application
    }

    pub(crate) fn run_until_quiet(&self) {
        self.engine.run_until_quiet();
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
    }

    /// Moves the clock to this time in steps of an interval.
    pub(crate) fn run_to(&self, to_ms: u64) {
        while self.clock.now_ms() < to_ms {
            let next_ms = (self.clock.now_ms() + INTERVAL_MS).min(to_ms);
            self.clock.set(next_ms);
            self.engine.handle().tick().unwrap();
            self.run_until_quiet();
        }
    }

    pub(crate) fn running(&self, application: ApplicationId) -> usize {
        self.engine.read(|view| view.application(application).unwrap().containers().count())
    }

    /// The numbers of announcements, withdrawals, and ends by preemption since the last call.
    pub(crate) fn events(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        while let Some(event) = self.events.try_next().unwrap() {
            match event.kind {
                EventKind::PreemptionAnnounced { .. } => counts[0] += 1,
                EventKind::PreemptionWithdrawn { .. } => counts[1] += 1,
                EventKind::ContainerEnded { cause: EndCause::Preempted, .. } => counts[2] += 1,
                _ => {}
            }
        }
        counts
    }

    /// The state of a replay equals the engine's, and nothing is announced for nothing.
    pub(crate) fn expect_replay_equal(&self) {
        let log = self.log.0.lock().unwrap().clone();
        let mut replay = Replay::read(&log[..], None).unwrap();
        assert_eq!(replay.digest(), self.engine.digest());
        assert!(replay.audit().is_clean());
    }
}

/// `capacity-scheduler.md` 6.7, 55: ten victims are announced at once, no other at half the time, and they end after
/// it.
#[test]
fn scenario_55_victims_have_time_before_they_end() {
    for mode in modes() {
        let (cluster, [b, c]) = Running::full(mode, rounds());
        let a = cluster.demand("root.a", 10);
        cluster.run_until_quiet();
        assert_eq!(cluster.events(), [0, 0, 0], "{mode:?}: asks have an interval to find room");
        assert_eq!(cluster.engine.next_timer_ms(), Some(INTERVAL_MS), "{mode:?}");
        cluster.run_to(INTERVAL_MS);
        assert_eq!(cluster.events(), [10, 0, 0], "{mode:?}");
        cluster.run_to(INTERVAL_MS + WAIT_MS / 2);
        assert_eq!(cluster.events(), [0, 0, 0], "{mode:?}");
        assert_eq!(cluster.running(a), 0);
        cluster.run_to(2 * INTERVAL_MS + WAIT_MS);
        assert_eq!(cluster.events(), [0, 0, 10], "{mode:?}");
        assert_eq!((cluster.running(a), cluster.running(b), cluster.running(c)), (10, 60, 30), "{mode:?}");
        let stats = cluster.engine.stats();
        assert_eq!(stats.preempted, 10);
        cluster.expect_replay_equal();
        // Each leaf has what it wants or is owed: no further round finds anything.
        cluster.run_to(10 * WAIT_MS);
        assert_eq!(cluster.events(), [0, 0, 0], "{mode:?}");
        assert_eq!(cluster.engine.stats().preemption_rounds, stats.preemption_rounds, "{mode:?}");
        assert_eq!(cluster.engine.next_timer_ms(), None, "{mode:?}");
    }
}

/// `capacity-scheduler.md` 6.7, 56.
#[test]
fn scenario_56_rounds_that_only_observe_take_nothing() {
    for mode in modes() {
        let (cluster, _) = Running::full(mode, PreemptionRounds { observe_only: true, ..rounds() });
        let a = cluster.demand("root.a", 10);
        cluster.run_to(3 * WAIT_MS);
        assert_eq!((cluster.events(), cluster.running(a)), ([0, 0, 0], 0), "{mode:?}");
        let plan = cluster.engine.last_preemption_plan().unwrap();
        assert_eq!(plan.preemptions.len(), 10, "{mode:?}");
        // Nothing changes, so nothing new can be observed.
        assert_eq!(cluster.engine.stats().preemption_rounds, 1, "{mode:?}");
    }
}

#[test]
fn without_a_wait_victims_end_in_the_first_round() {
    for mode in modes() {
        let at_once = PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds() };
        let (cluster, _) = Running::full(mode, at_once);
        let a = cluster.demand("root.a", 10);
        cluster.run_to(INTERVAL_MS);
        assert_eq!((cluster.events(), cluster.running(a)), ([0, 0, 10], 10), "{mode:?}");
        cluster.expect_replay_equal();
    }
}

/// YARN's contract: an application that gives back other containers keeps the announced ones.
#[test]
fn an_application_may_give_back_other_containers() {
    for mode in modes() {
        let (cluster, [_, c]) = Running::full(mode, rounds());
        let a = cluster.demand("root.a", 10);
        cluster.run_to(INTERVAL_MS);
        let others: Vec<_> = cluster.engine.read(|view| {
            let all = view.application(c).unwrap().containers();
            all.filter(|one| view.container(one.container).unwrap().preemption.is_none())
                .map(|one| one.container)
                .take(10)
                .collect()
        });
        for container in others {
            cluster.engine.handle().release_container(container).unwrap();
        }
        cluster.run_until_quiet();
        assert_eq!((cluster.running(a), cluster.running(c)), (10, 30), "{mode:?}");
        assert_eq!(cluster.events(), [10, 0, 0], "{mode:?}");
        cluster.run_to(2 * INTERVAL_MS + 2 * WAIT_MS);
        assert_eq!(cluster.events(), [0, 10, 0], "{mode:?}: the announced ones are spared");
        cluster.expect_replay_equal();
    }
}

#[test]
fn a_cancelled_ask_spares_its_victims() {
    let (cluster, [_, c]) = Running::full(Mode::Serial, rounds());
    let a = cluster.demand("root.a", 10);
    cluster.run_to(INTERVAL_MS);
    cluster.engine.handle().end_application(a, ApplicationEnd::Killed).unwrap();
    cluster.run_to(3 * WAIT_MS);
    assert_eq!((cluster.events(), cluster.running(c)), ([10, 10, 0], 40));
    cluster.expect_replay_equal();
}

/// Announcements and their times survive a crash.
#[test]
fn an_announcement_survives_a_crash() {
    for mode in modes() {
        let (cluster, [_, c]) = Running::full(mode, rounds());
        let a = cluster.demand("root.a", 10);
        cluster.run_to(INTERVAL_MS);
        let Running { engine, clock, log, .. } = cluster;
        drop(engine);
        for snapshot in [false, true] {
            let mut bytes = log.0.lock().unwrap().clone();
            if snapshot {
                let mut replay = Replay::read(&bytes[..], None).unwrap();
                bytes.clear();
                replay.write_snapshot(&mut bytes).unwrap();
            }
            let log = Log(Arc::new(Mutex::new(bytes.clone())));
            let sink: Box<dyn LogSink> = Box::new(log.clone());
            let stopped_ms = clock.now_ms();
            let clock = Arc::new(ManualClock::new());
            clock.set(stopped_ms);
            let (engine, _) = Engine::recover(&bytes[..], mode, Arc::clone(&clock) as _, Some(sink)).unwrap();
            let events = engine.handle().event_stream(1 << 10);
            let cluster = Running { engine, clock, events, log };
            cluster.run_until_quiet();
            cluster.run_to(WAIT_MS);
            assert_eq!(cluster.running(a), 0, "{mode:?}");
            cluster.run_to(2 * INTERVAL_MS + WAIT_MS);
            assert_eq!((cluster.running(a), cluster.running(c)), (10, 30), "{mode:?}, snapshot: {snapshot}");
            cluster.expect_replay_equal();
        }
    }
}

/// The beneficiary's explanation says that help comes, and when; the victim's view says why it ends.
#[test]
fn an_explanation_says_whether_preemption_helps() {
    let (cluster, [b, _]) = Running::full(Mode::Serial, rounds());
    let ask = |application, size| {
        let ask = AskSpec::new(Resources::new(&[size]), 1);
        cluster.engine.handle().submit_ask(application, ask).unwrap()
    };
    let a = cluster.demand("root.a", 0);
    let (helped, hopeless, not_owed) = (ask(a, 1), ask(a, 20), ask(b, 1));
    let outlook = |ask| match cluster.engine.explain(ask).standing {
        Standing::Pending(why) => why.preemption,
        standing => panic!("{standing:?}"),
    };
    cluster.run_until_quiet();
    assert_eq!(outlook(helped), None, "no round was made");
    cluster.run_to(INTERVAL_MS);
    let kill_ms = INTERVAL_MS + WAIT_MS;
    assert_eq!(outlook(helped), Some(PreemptionOutlook::Announced { victims: 1, kill_ms }));
    let reason = UnhelpedReason::NoNode;
    assert_eq!(outlook(hopeless), Some(PreemptionOutlook::Unhelped { at_ms: INTERVAL_MS, reason }));
    assert_eq!(outlook(not_owed), None);
    let text = cluster.engine.explain(helped).to_string();
    assert!(
        text.contains(
            "Preemption: 1 container may end for it from 11.000 s on, if no later round changes that."
        ),
        "{text}"
    );
    let text = cluster.engine.explain(hopeless).to_string();
    assert!(text.contains("Preemption: the round at 1.000 s did nothing for it. No node"), "{text}");
    let notices: Vec<_> =
        cluster.engine.read(|view| view.containers().filter_map(|(_, one)| one.preemption).collect());
    assert_eq!(notices, [PreemptionNotice { ask: helped, rule: PreemptionRule::Guarantee, kill_ms }]);
}

/// A round of a tenth of the cluster, of which a fifth is taken: 2 of 40 containers start. A round that only observes
/// plans as many.
#[test]
fn an_explanation_says_that_a_round_helped_with_a_part() {
    for observe_only in [false, true] {
        let policy = PreemptionPolicy::default();
        let rounds = PreemptionRounds { policy, max_wait_before_kill_ms: 0, observe_only, ..rounds() };
        let (cluster, _) = Running::full(Mode::Serial, rounds);
        let a = cluster.demand("root.a", 0);
        let ask = AskSpec::new(Resources::new(&[1]), 40);
        let ask = cluster.engine.handle().submit_ask(a, ask).unwrap();
        cluster.run_until_quiet();
        cluster.run_to(INTERVAL_MS);
        let started = if observe_only { 0 } else { 2 };
        assert_eq!(cluster.running(a), started);
        let explanation = cluster.engine.explain(ask);
        let Standing::Pending(why) = &explanation.standing else { panic!("{explanation:?}") };
        let rest = Some(UnhelpedReason::RoundSpent);
        let planned = PreemptionOutlook::Planned { at_ms: INTERVAL_MS, containers: 2, rest };
        assert_eq!(why.preemption, Some(planned));
        let text = "Preemption: the round at 1.000 s planned to start 2 containers of it, and nothing for the rest. This round";
        assert!(explanation.to_string().contains(text), "{explanation}");
    }
}

/// The committer carries out a hundred steps in a group. The engine is not quiet before the last.
#[test]
fn a_round_of_many_steps_is_carried_out_before_the_engine_is_quiet() {
    for mode in modes() {
        let (cluster, _) = Running::full_of(100, mode, rounds());
        cluster.demand("root.a", 1_000);
        cluster.run_to(INTERVAL_MS);
        assert_eq!(cluster.events(), [1_000, 0, 0], "{mode:?}");
    }
}

/// An ask whose locality delay passes may be helped on other nodes. Nothing else changes meanwhile.
#[test]
fn a_locality_delay_that_passes_brings_a_round() {
    let (cluster, _) =
        Running::full(Mode::Serial, PreemptionRounds { max_wait_before_kill_ms: 0, ..rounds() });
    let handle = cluster.engine.handle();
    let a = cluster.demand("root.a", 0);
    let host = handle.add_node(NodeSpec::new("host", Resources::new(&[1, 1])).on_rack("far")).unwrap();
    handle.submit_ask(a, AskSpec::new(Resources::new(&[1]), 1).on_hosts([host])).unwrap();
    cluster.run_until_quiet();
    assert_eq!(cluster.running(a), 1);
    handle.submit_ask(a, AskSpec::new(Resources::new(&[1]), 1).on_hosts([host])).unwrap();
    cluster.run_to(9 * INTERVAL_MS);
    assert_eq!(cluster.running(a), 1, "only its own container is on the host");
    cluster.run_to(13 * INTERVAL_MS);
    assert_eq!(cluster.running(a), 2);
}

/// No round is due again and again.
#[test]
fn the_clock_may_stand_at_its_end() {
    let (cluster, _) = Running::full(Mode::Serial, rounds());
    cluster.clock.set(u64::MAX);
    cluster.engine.handle().tick().unwrap();
    cluster.demand("root.a", 1);
    cluster.run_until_quiet();
    assert_eq!(cluster.engine.next_timer_ms(), None);
}

#[test]
fn an_interval_of_zero_is_refused() {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    config.preemption = Some(PreemptionRounds { interval_ms: 0, ..PreemptionRounds::default() });
    let error = config.validate().unwrap_err().to_string();
    assert_eq!(error, "engine.preemption.interval_ms: must be at least 1");
}

/// The defaults are YARN's: 20 % of what is owed in a round.
#[test]
fn rounds_converge_by_the_default_policy() {
    let policy = PreemptionRounds {
        policy: PreemptionPolicy::default(),
        max_wait_before_kill_ms: 0,
        ..PreemptionRounds::default()
    };
    let (cluster, _) = Running::full(Mode::Serial, policy);
    let a = cluster.demand("root.a", 10);
    let mut left = Vec::new();
    for round in 1..=8 {
        cluster.run_to(3_000 * round);
        left.push(10 - cluster.running(a));
    }
    assert!(left.is_sorted_by(|earlier, later| earlier >= later) && left[0] == 8, "{left:?}");
    assert_eq!(left.last(), Some(&0), "{left:?}");
}
