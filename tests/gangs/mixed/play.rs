//! Makes the calls on an engine.

use apportion::config::{
    Capacity, EngineConfig, Factor, Maximum, OpportunisticPolicy, Percent, PreemptionRounds, QueueConfig,
    QueueUpdate,
};
use apportion::event::{Event, EventKind};
use apportion::log::{LogSink, SharedLog};
use apportion::preempt::{DisruptionBudget, DisruptionLimit};
use apportion::replay::Replay;
use apportion::{
    ApplicationEnd, ApplicationId, ApplicationSpec, AskId, AskSpec, Blacklist, ContainerId, EndCause, Engine,
    GangId, Mode, NodeAttributes, NodeId, ResourceTypes,
};

use apportion_tests::support::appending::Appending;
use apportion_tests::support::seeded_steps::SeededSteps;

use super::calls::{Ask, Call, OnContainer, OnJob, OnNode, QueueCall, Setting};
use super::{INTERVAL_MS, LEAVES};
use crate::random_gang::Gang;
use crate::{Cluster, amount, ask};

/// A cluster and everything that its callers know.
pub(crate) struct Play {
    pub(crate) cluster: Cluster,
    /// The halves of the engine, unless it has threads of its own.
    halves: Option<SeededSteps>,
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) jobs: Vec<ApplicationId>,
    asks: Vec<AskId>,
    gangs: Vec<GangId>,
    /// The victims that have ended.
    pub(crate) preempted: usize,
    pub(crate) now_ms: u64,
    added: usize,
}

fn config(setting: &Setting) -> EngineConfig {
    let factor = setting.has_user_limits.then_some(Factor::ONE);
    let queue = |name: &str, units: i64| {
        QueueConfig::leaf(name, Capacity::Absolute(amount(units)))
            .with_maximum(Maximum::Percent(Percent::ALL))
            .with_user_limit_factor(factor)
            .with_master_share(None)
    };
    let parent = queue("p", 8).with_children([queue("a", 2), queue("b", 4)]);
    let root = QueueConfig::root([parent, queue("c", 4)]);
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    config.reservations.delay_ms = setting.reserves.then_some(0);
    config.reservations.nodes = Percent::ALL;
    config.gather_limit_ms = setting.gather_limit_ms;
    config.opportunistic = Some(OpportunisticPolicy { queue_length_max: setting.queue_length_max });
    config.preemption = Some(PreemptionRounds {
        policy: setting.policy.clone(),
        interval_ms: INTERVAL_MS,
        max_wait_before_kill_ms: setting.wait_ms,
        observe_only: false,
    });
    config
}

/// An ask whose number tells its size and whether it has the tag.
fn numbered(units: i64, count: u32, has_tag: bool) -> AskSpec {
    let spec = ask(units, count).with_allocation_request(units as u64 * 10 + u64::from(has_tag));
    if has_tag { spec.with_tag("web") } else { spec }
}

impl Play {
    pub(crate) fn new(setting: &Setting, mode: Mode) -> Self {
        Self::on(Cluster::new(config(setting), mode), None, setting)
    }

    /// Committer and proposers take their steps on one thread, in an order that the seed gives.
    pub(crate) fn stepped(setting: &Setting, proposers: usize, seed: u64) -> Self {
        let (cluster, parts) = Cluster::in_parts(config(setting), proposers);
        Self::on(cluster, Some(SeededSteps::new(parts, seed)), setting)
    }

    fn on(cluster: Cluster, halves: Option<SeededSteps>, setting: &Setting) -> Self {
        let mut play = Self {
            cluster,
            halves,
            nodes: Vec::new(),
            jobs: Vec::new(),
            asks: Vec::new(),
            gangs: Vec::new(),
            preempted: 0,
            now_ms: 0,
            added: 0,
        };
        (0..4).for_each(|number| play.add_node(3 + number % 2, number % 2 == 0));
        play.jobs = (0..5).map(|number| play.submit_job(number)).collect();
        if setting.is_full {
            play.asks.push(play.cluster.handle.submit_ask(play.jobs[2], numbered(1, 14, true)).unwrap());
            play.run();
        }
        play
    }

    fn submit_job(&self, number: usize) -> ApplicationId {
        let spec = ApplicationSpec::new("job", LEAVES[number % LEAVES.len()], ["ann", "bob"][number / 3 % 2])
            .with_priority(number as u32 % 3);
        self.cluster.handle.submit_application(spec, &self.cluster.events).unwrap()
    }

    fn add_node(&mut self, units: i64, is_on_a: bool) {
        self.nodes.push(self.cluster.node(self.added, units, if is_on_a { "a" } else { "b" }));
        self.added += 1;
    }

    pub(crate) fn call(&mut self, call: &Call) {
        let handle = self.cluster.handle.clone();
        match call {
            Call::OnNode(call) => self.call_on_node(call),
            Call::OnJob(job, call) => self.call_on_job(job.index(self.jobs.len()), call),
            Call::OnContainer(place, call) => {
                let all = self.containers();
                if !all.is_empty() {
                    self.call_on_container(*place.get(&all), call);
                }
            }
            Call::Complete(places) => {
                for place in places {
                    let all = self.containers();
                    if !all.is_empty() {
                        handle.complete_container(*place.get(&all)).unwrap();
                    }
                }
            }
            Call::CancelGang(gang) if !self.gangs.is_empty() => {
                handle.cancel_gang(*gang.get(&self.gangs)).unwrap();
            }
            Call::CancelAsk(ask, units) if !self.asks.is_empty() => {
                handle.cancel_ask(*ask.get(&self.asks), *units).unwrap();
            }
            Call::CancelGang(_) | Call::CancelAsk(..) => {}
            Call::Queue(call) => self.update_queue(call, None),
            Call::Advance(ms) => self.advance(*ms),
            Call::Recover(mode, cuts) => self.recover(*mode, *cuts),
            Call::Run => self.run(),
        }
        if let Some(halves) = &mut self.halves {
            halves.work_a_little();
        }
    }

    fn call_on_node(&mut self, call: &OnNode) {
        let handle = self.cluster.handle.clone();
        match call {
            OnNode::Add { units, is_on_a } => self.add_node(*units, *is_on_a),
            OnNode::Resize(node, units) => {
                handle.update_node(*node.get(&self.nodes), amount(*units), NodeAttributes::new()).unwrap();
            }
            OnNode::Lose(node) if self.nodes.len() > 1 => {
                let node = self.nodes.swap_remove(node.index(self.nodes.len()));
                drop(handle.remove_node(node).unwrap());
            }
            OnNode::Lose(_) => {}
            OnNode::Drain(node) => handle.drain_node(*node.get(&self.nodes)).unwrap(),
            OnNode::Activate(node) => handle.activate_node(*node.get(&self.nodes)).unwrap(),
        }
    }

    fn call_on_job(&mut self, place: usize, call: &OnJob) {
        let (handle, job) = (self.cluster.handle.clone(), self.jobs[place]);
        match call {
            OnJob::Gang(gang) => self.submit_gang(job, gang),
            OnJob::Ask(Ask { units, count, priority, is_opportunistic, has_tag }) => {
                let spec = numbered(*units, *count, *has_tag).with_priority(*priority);
                let spec = if *is_opportunistic { spec.opportunistic() } else { spec };
                self.asks.push(handle.submit_ask(job, spec).unwrap());
            }
            OnJob::Real { role, units, count } => {
                let spec = numbered(*units, *count, false);
                let submitted = handle.submit_ask_of_group(job, format!("role {role}"), spec).unwrap();
                self.asks.push(submitted.ask);
            }
            OnJob::Move(leaf) => drop(handle.move_application(job, LEAVES[*leaf]).unwrap()),
            OnJob::Priority(priority) => handle.set_application_priority(job, *priority).unwrap(),
            OnJob::Shun(node) => {
                let shunned = Blacklist::new().with_hosts([format!("n{}", node.index(self.added))]);
                handle.update_blacklist(job, shunned, Blacklist::new()).unwrap();
            }
            OnJob::Budget(least, is_of_tag) => {
                let budget = DisruptionBudget::new(6, DisruptionLimit::MinAvailable(*least));
                let budget = if *is_of_tag { budget.of_tag("web") } else { budget };
                handle.set_disruption_budgets(job, vec![budget]).unwrap();
            }
            OnJob::End { is_killed } => {
                let end = if *is_killed { ApplicationEnd::Killed } else { ApplicationEnd::Finished };
                handle.end_application(job, end).unwrap();
                self.jobs[place] = self.submit_job(place);
            }
        }
    }

    fn submit_gang(&mut self, job: ApplicationId, gang: &Gang) {
        let spec = gang.spec(job, |units, count| numbered(units, count, false));
        let submitted = self.cluster.submit(spec);
        self.gangs.push(submitted.gang);
        self.asks.extend(submitted.asks);
    }

    fn call_on_container(&self, container: ContainerId, call: &OnContainer) {
        let handle = &self.cluster.handle;
        match call {
            OnContainer::Cost(cost) => handle.set_preemption_cost(container, *cost).unwrap(),
            OnContainer::Confirm => handle.confirm_preemption(container).unwrap(),
            OnContainer::Stop => drop(handle.stop_container(container).unwrap()),
            OnContainer::Demote => drop(handle.demote_container(container).unwrap()),
            OnContainer::Promote { waits: true } => drop(handle.request_promotion(container).unwrap()),
            OnContainer::Promote { waits: false } => drop(handle.promote_container(container).unwrap()),
        }
    }

    /// Changes the limits of a leaf. The factor of users stays, or becomes this one.
    pub(crate) fn update_queue(&self, call: &QueueCall, factor: Option<Option<Factor>>) {
        let queue = self.cluster.handle.queue(LEAVES[call.leaf]).unwrap();
        let update = QueueUpdate {
            capacity: Some(Capacity::Absolute(amount(call.guarantee))),
            maximum: Some(Maximum::Percent(call.maximum)),
            user_limit_factor: factor,
            ..QueueUpdate::default()
        };
        drop(self.cluster.handle.update_queue(queue, update).unwrap());
    }

    pub(crate) fn advance(&mut self, ms: u64) {
        self.now_ms += ms;
        self.cluster.clock.set(self.now_ms);
        self.cluster.handle.tick().unwrap();
    }

    /// All containers that have not ended.
    pub(crate) fn containers(&self) -> Vec<ContainerId> {
        self.cluster.engine.read(|view| view.containers().map(|(id, _)| id).collect())
    }

    /// Works until quiet, on threads or by steps.
    pub(crate) fn work(&mut self) {
        match &mut self.halves {
            Some(halves) => halves.run_until_quiet(),
            None => self.cluster.engine.run_until_quiet(),
        }
    }

    /// Works until quiet, and checks the state.
    pub(crate) fn run(&mut self) {
        self.work();
        let report = self.cluster.engine.audit();
        assert!(report.is_clean(), "{report}");
        self.listen(false);
    }

    /// Takes the events. The applications of victims may ask for their containers again.
    pub(crate) fn listen(&mut self, asks_again: bool) {
        let mut events: Vec<Event> = Vec::new();
        self.cluster.events.drain_into(&mut events).unwrap();
        for event in events {
            if let EventKind::ContainerEnded { cause: EndCause::Preempted, allocation_request_id, .. } =
                event.kind
            {
                self.preempted += 1;
                if asks_again {
                    let (units, has_tag) = (allocation_request_id / 10, allocation_request_id % 10 == 1);
                    let spec = numbered(units as i64, 1, has_tag);
                    self.cluster.handle.submit_ask(event.application, spec).unwrap();
                }
            }
        }
    }

    /// The engine ends, and another one goes on.
    fn recover(&mut self, mode: Mode, from_snapshot: bool) {
        self.run();
        let log = self.cluster.log.bytes();
        let mut replay = Replay::read(&log[..], None).unwrap();
        assert_eq!(replay.digest(), self.cluster.engine.digest());
        let copy = SharedLog::of(&log);
        let clock = self.cluster.clock.clone();
        let (start, sink): (Vec<u8>, Box<dyn LogSink>) = if from_snapshot {
            let mut snapshot = Vec::new();
            replay.write_snapshot(&mut snapshot).unwrap();
            (snapshot, Box::new(Appending(copy.clone())))
        } else {
            (log, Box::new(copy.clone()))
        };
        let engine = if let Some(mut halves) = self.halves.take() {
            let (proposers, seed) = (halves.proposers(), halves.next_seed());
            let (engine, parts, _) = Engine::recover_parts(&start[..], proposers, clock, Some(sink)).unwrap();
            self.halves = Some(SeededSteps::new(parts, seed));
            engine
        } else {
            Engine::recover(&start[..], mode, clock, Some(sink)).unwrap().0
        };
        self.cluster.handle = engine.handle();
        self.cluster.events = self.cluster.handle.event_stream(1 << 20);
        (self.cluster.engine, self.cluster.log) = (engine, copy);
        for job in &self.jobs {
            drop(self.cluster.handle.attach(*job, &self.cluster.events).unwrap());
        }
        self.run();
    }
}
