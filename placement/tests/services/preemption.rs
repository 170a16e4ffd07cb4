//! A service with a disruption budget on an engine that preempts.

use std::sync::Arc;

use apportion::config::{Capacity, EngineConfig, Percent, PreemptionPolicy, PreemptionRounds, QueueConfig};
use apportion::preempt::{DisruptionBudget, DisruptionLimit};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, Clock, Engine, EventStream, ManualClock, Mode, NodeSpec,
    ResourceTypes, Resources,
};
use apportion_placement::{
    ComponentSpec, EngineClient, PlacementPolicy, Service, ServiceEvent, ServiceSettings,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const INTERVAL_MS: u64 = 1_000;

/// A service of four instances in a queue without a guarantee, and another queue that is owed everything.
struct Bed {
    engine: Engine,
    clock: Arc<ManualClock>,
    service: Service<EngineClient>,
    events: EventStream,
    batch: ApplicationId,
}

fn web(desired: u32) -> ComponentSpec {
    ComponentSpec::new("web", 1, desired, Resources::new(&[1]))
        .with_policy(PlacementPolicy::Anywhere)
        .with_disruption_limit(DisruptionLimit::MinAvailable(3))
}

impl Bed {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let leaf = |name, guaranteed| {
            QueueConfig::leaf(name, Capacity::Absolute(Resources::new(&[guaranteed])))
                .with_user_limit_factor(None)
                .with_master_share(None)
        };
        let root = QueueConfig::root([leaf("services", 0), leaf("batch", 4)]);
        let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
        let policy = PreemptionPolicy {
            natural_termination: Percent::ALL,
            per_round: Percent::ALL,
            ..PreemptionPolicy::default()
        };
        config.preemption = Some(PreemptionRounds {
            policy,
            interval_ms: INTERVAL_MS,
            max_wait_before_kill_ms: 0,
            ..PreemptionRounds::default()
        });
        let clock = Arc::new(ManualClock::new());
        let engine = Engine::start(config, Mode::Serial, clock.clone(), None)?;
        let spec = ApplicationSpec::new("shop", "root.services", "ann");
        let client = EngineClient::submit(engine.handle(), spec, 1_000)?;
        let service = Service::start(vec![web(4)], ServiceSettings::default(), client, None, 0);
        let events = engine.handle().event_stream(1_000);
        let batch = ApplicationSpec::new("batch", "root.batch", "bob");
        let batch = engine.handle().submit_application(batch, &events)?;
        let mut bed = Self { engine, clock, service, events, batch };
        for name in ["n1", "n2", "n3", "n4"] {
            bed.add_node(name)?;
        }
        bed.run_for(0)?;
        Ok(bed)
    }

    fn add_node(&mut self, name: &str) -> Outcome {
        self.engine.handle().add_node(NodeSpec::new(name, Resources::new(&[1])))?;
        Ok(())
    }

    fn ask_for_batch(&self, count: u32) -> Outcome {
        self.engine.handle().submit_ask(self.batch, AskSpec::new(Resources::new(&[1]), count))?;
        Ok(())
    }

    /// Lets so many intervals pass. Nothing else happens than what the engine and the service do.
    fn run_for(&mut self, intervals: u64) -> Outcome {
        for step in 0..=intervals {
            let passed_ms = if step == 0 { 0 } else { INTERVAL_MS };
            self.clock.set(self.clock.now_ms() + passed_ms);
            self.engine.handle().tick()?;
            for _ in 0..10 {
                self.engine.run_until_quiet();
                self.service.tick(self.clock.now_ms());
            }
        }
        while self.events.try_next()?.is_some() {}
        Ok(())
    }

    /// The containers of the service and of the other queue.
    fn running(&self) -> (usize, usize) {
        let count =
            |id| self.engine.read(|view| view.application(id).map_or(0, |one| one.containers().count()));
        (count(self.service.client().application()), count(self.batch))
    }

    fn budgets(&self) -> Vec<DisruptionBudget> {
        let id = self.service.client().application();
        self.engine.read(|view| view.disruption_budgets(id).to_vec())
    }
}

/// It wants four and needs three. So it loses one, and the next one only after the replacement runs.
#[test]
fn a_service_loses_no_more_than_its_budget_at_a_time() -> Outcome {
    let mut bed = Bed::new()?;
    assert_eq!(bed.running(), (4, 0));
    bed.ask_for_batch(2)?;
    bed.run_for(1)?;
    assert_eq!(bed.running(), (3, 1));
    bed.run_for(5)?;
    assert_eq!(bed.running(), (3, 1), "the replacement waits");
    bed.add_node("n5")?;
    bed.add_node("n6")?;
    bed.run_for(5)?;
    assert_eq!(bed.running(), (4, 2), "each has what it wants");
    bed.ask_for_batch(2)?;
    bed.run_for(5)?;
    assert_eq!(bed.running(), (3, 3), "the replacement runs, so one more may be taken");
    Ok(())
}

/// The engine keeps budgets until others are set, so a master without one has to say so.
#[test]
fn a_restarted_service_without_a_budget_has_none() -> Outcome {
    let mut bed = Bed::new()?;
    assert_eq!(bed.budgets().len(), 1);
    let plain = ComponentSpec { disruption: None, ..web(4) };
    let (client, now_ms) = (bed.service.into_client(), bed.clock.now_ms());
    bed.service = Service::restart(vec![plain], ServiceSettings::default(), client, None, now_ms);
    bed.run_for(0)?;
    assert_eq!((bed.budgets(), bed.running()), (vec![], (4, 0)));
    Ok(())
}

/// The manager refuses all budgets together, and keeps those that it has.
#[test]
fn the_status_says_why_budgets_were_refused() -> Outcome {
    let mut bed = Bed::new()?;
    let refused = |bed: &Bed| bed.service.status(bed.clock.now_ms()).refused_budgets;
    assert_eq!(refused(&bed), None);
    let limit = DisruptionLimit::MaxUnavailable(0);
    let one = |id| ComponentSpec::new(format!("web{id}"), id, 1, Resources::new(&[1]));
    let many = |count| (1..=count).map(|id| one(id).with_disruption_limit(limit)).collect::<Vec<_>>();
    bed.service.flex(many(101), bed.clock.now_ms());
    let why = refused(&bed).ok_or("101 are too many")?;
    assert!(why.contains("101 budgets; at most 100"), "{why}");
    bed.run_for(0)?;
    assert_eq!(bed.budgets().len(), 1);
    bed.service.flex(many(100), bed.clock.now_ms());
    bed.run_for(0)?;
    assert_eq!((refused(&bed), bed.budgets().len()), (None, 100));
    Ok(())
}

/// The budget follows the number of instances, also below its minimum.
#[test]
fn a_budget_is_flexed_with_its_component() -> Outcome {
    let mut bed = Bed::new()?;
    let budget = |desired, least| {
        vec![DisruptionBudget::new(desired, DisruptionLimit::MinAvailable(least)).of_tag("budget/web")]
    };
    assert_eq!(bed.budgets(), budget(4, 3));
    for (desired, expected) in [(5, budget(5, 3)), (2, budget(2, 2)), (0, vec![]), (4, budget(4, 3))] {
        bed.service.flex(vec![web(desired)], bed.clock.now_ms());
        bed.run_for(0)?;
        assert_eq!(bed.budgets(), expected, "{desired} instances");
    }
    let plain = ComponentSpec { disruption: None, ..web(4) };
    bed.service.handle(ServiceEvent::Change(plain), bed.clock.now_ms());
    bed.run_for(0)?;
    assert_eq!(bed.budgets(), []);
    Ok(())
}
