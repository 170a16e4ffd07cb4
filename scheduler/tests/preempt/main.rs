//! Preemption plans: the scenarios of YARN's policies, and properties on random clusters.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod budgets;
mod cases;
mod confirm;
mod cost;
mod exempt;
mod gang_beneficiaries;
mod gang_victims;
mod long_load;
mod nodes;
mod parents;
mod priority;
mod property;
mod rounds;
mod running;
mod scenarios;
mod within;

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Maximum, Percent, QueueConfig};
use apportion::preempt::{PreemptionPlan, PreemptionPolicy, UnhelpedReason};
use apportion::{
    ApplicationId, ApplicationSpec, AskId, AskSpec, Engine, EventStream, ManualClock, Mode, NodeId, NodeSpec,
    ResourceTypes, Resources,
};

/// A serial engine. Its applications are kept for ever.
struct Cluster {
    engine: Engine,
    events: EventStream,
}

/// A policy that takes everything at once, as in YARN's tests.
fn at_once() -> PreemptionPolicy {
    PreemptionPolicy {
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        ..PreemptionPolicy::default()
    }
}

/// A queue with this guarantee and maximum. Its users have no limits.
fn queue(name: &str, guaranteed: &[i64], maximum: Option<&[i64]>) -> QueueConfig {
    let maximum = maximum.map_or(Maximum::Percent(Percent::ALL), Maximum::absolute);
    QueueConfig::leaf(name, Capacity::Absolute(Resources::new(guaranteed)))
        .with_maximum(maximum)
        .with_user_limit_factor(None)
        .with_master_share(None)
}

impl Cluster {
    fn new(queues: impl IntoIterator<Item = QueueConfig>) -> Self {
        Self::with_config(EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(queues)))
    }

    fn with_config(mut config: EngineConfig) -> Self {
        config.reservations.delay_ms = None;
        Self::start(config)
    }

    fn start(config: EngineConfig) -> Self {
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        Self { events: engine.handle().event_stream(1 << 20), engine }
    }

    fn nodes(&self, count: usize, capacity: &[i64]) -> Vec<NodeId> {
        let node = |number| NodeSpec::new(format!("n{number}"), Resources::new(capacity));
        (0..count).map(|number| self.engine.handle().add_node(node(number)).unwrap()).collect()
    }

    fn application(&self, queue: &str) -> ApplicationId {
        self.submit(ApplicationSpec::new("application", queue, "user"))
    }

    fn submit(&self, spec: ApplicationSpec) -> ApplicationId {
        self.engine.handle().submit_application(spec, &self.events).unwrap()
    }

    fn ask(&self, application: ApplicationId, size: &[i64], count: u32) -> AskId {
        self.engine.handle().submit_ask(application, AskSpec::new(Resources::new(size), count)).unwrap()
    }

    fn ask_for(&self, application: ApplicationId, spec: AskSpec) -> AskId {
        self.engine.handle().submit_ask(application, spec).unwrap()
    }

    /// Submits an application to the queue that asks for this many containers.
    fn demand(&self, queue: &str, size: &[i64], count: u32) -> ApplicationId {
        let application = self.application(queue);
        if count > 0 {
            self.ask(application, size, count);
        }
        application
    }

    fn run(&self) {
        self.engine.run_until_quiet();
        let report = self.engine.audit();
        assert!(report.is_clean(), "{report}");
    }

    /// The plan after everything that needs no preemption is placed.
    fn plan(&self, policy: &PreemptionPolicy) -> PreemptionPlan {
        self.run();
        self.engine.preemption_plan(policy)
    }

    fn running(&self, application: ApplicationId) -> usize {
        self.engine.read(|view| view.application(application).unwrap().containers().count())
    }

    /// Commits all preemptions in order, without a pass between them. Each must be accepted.
    fn execute(&self, plan: &PreemptionPlan) {
        let handle = self.engine.handle();
        let gangs = plan.gangs.iter().map(|gang| (gang.to_string(), gang.request()));
        let single = plan.preemptions.iter().map(|one| (one.to_string(), one.request()));
        let tickets: Vec<_> =
            gangs.chain(single).map(|(text, request)| (text, handle.commit(request).unwrap())).collect();
        self.run();
        for (preemption, ticket) in tickets {
            let outcome = ticket.try_take().unwrap();
            assert!(outcome.is_accepted(), "{outcome:?}: {preemption}\n{plan}");
        }
    }
}

/// The number of victims, by queue and application.
fn victims<K: Ord>(
    plan: &PreemptionPlan,
    key: impl Fn(&apportion::preempt::Victim) -> K,
) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for victim in plan.preemptions.iter().flat_map(|preemption| &preemption.victims) {
        *counts.entry(key(victim)).or_default() += 1;
    }
    counts
}

fn by_queue(plan: &PreemptionPlan) -> BTreeMap<String, usize> {
    victims(plan, |victim| victim.queue.trim_start_matches("root.").to_owned())
}

fn reasons(plan: &PreemptionPlan) -> Vec<UnhelpedReason> {
    plan.unhelped.iter().map(|unhelped| unhelped.reason).collect()
}
