//! A manager with agents that keep to the protocol, messages that get lost, and crashes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::log::SharedLog;
use apportion::nodes::{
    HeartbeatError, NodeDirectives, NodeHeartbeat, NodeRegistration, NodeSession, ResourceTracker,
    TrackerOptions, UnknownContainers,
};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, Engine, EventStream, Handle, ManualClock, Mode,
    NodeSpec, Resources, RunningContainer,
};

use crate::{engine, leaf};

pub(super) const LEASE_MS: u64 = 1_000;

/// The agent of a node, and the processes that it runs.
#[derive(Debug)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) session: Option<NodeSession>,
    pub(super) version: u64,
    pub(super) running: BTreeMap<ContainerId, ApplicationId>,
    /// Containers that have ended. The manager may not know yet.
    pub(super) done: Vec<ContainerId>,
}

/// What happens to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Arrives,
    RequestIsLost,
    AnswerIsLost,
}

pub(super) struct World {
    pub(super) engine: Engine,
    pub(super) handle: Handle,
    pub(super) events: EventStream,
    pub(super) tracker: ResourceTracker,
    pub(super) agents: Vec<Agent>,
    pub(super) applications: Vec<ApplicationId>,
    pub(super) now_ms: u64,
    clock: Arc<ManualClock>,
    log: SharedLog,
    mode: Mode,
    epoch: u64,
    stream: usize,
    /// All containers that an agent ever started.
    pub(super) started: BTreeSet<ContainerId>,
}

pub(super) fn size() -> Resources {
    Resources::new(&[10, 1])
}

fn tracker(handle: &Handle, epoch: u64, now_ms: u64) -> ResourceTracker {
    let options = TrackerOptions { epoch, lease_ms: LEASE_MS, unknown: UnknownContainers::Stop };
    ResourceTracker::new(handle.clone(), options, now_ms)
}

impl World {
    /// Two applications, and nodes with room for four containers each. Streams hold `stream` events.
    pub(super) fn new(nodes: usize, mode: Mode, stream: usize) -> Self {
        let (clock, log) = (Arc::new(ManualClock::new()), SharedLog::new());
        let config = engine([leaf("default", 100)]);
        let engine = Engine::start(config, mode, clock.clone(), Some(Box::new(log.clone()))).unwrap();
        let handle = engine.handle();
        let (events, tracker) = (handle.event_stream(stream), tracker(&handle, 1, 0));
        let submit = |name| {
            let spec = ApplicationSpec::new(name, "root.default", "ann");
            handle.submit_application(spec, &events).unwrap()
        };
        let applications = ["one", "two"].map(submit).to_vec();
        let agent = |number| Agent {
            name: format!("n{number}"),
            session: None,
            version: 0,
            running: BTreeMap::new(),
            done: Vec::new(),
        };
        let agents = (0..nodes).map(agent).collect();
        let (now_ms, epoch, started) = (0, 1, BTreeSet::new());
        Self {
            engine,
            handle,
            events,
            tracker,
            agents,
            applications,
            now_ms,
            clock,
            log,
            mode,
            epoch,
            stream,
            started,
        }
    }

    pub(super) fn ask(&self, application: usize, count: u32) {
        let application = self.applications[application % self.applications.len()];
        self.handle.submit_ask(application, AskSpec::new(size(), count)).unwrap();
    }

    /// Lets the engine work, and reads its events.
    pub(super) fn run(&mut self) {
        self.engine.run_until_quiet();
        self.read_events();
    }

    pub(super) fn read_events(&mut self) {
        loop {
            match self.events.try_next() {
                Ok(Some(event)) => self.tracker.on_event(&event),
                Ok(None) => return,
                Err(_) => {
                    let _ = self.handle.resync(&self.events, &self.applications);
                    self.tracker.resync();
                }
            }
        }
    }

    pub(super) fn register(&mut self, agent: usize) {
        let agent = &mut self.agents[agent];
        let describe = |(id, application): (&ContainerId, &ApplicationId)| {
            (*id, RunningContainer::new(*application, size()))
        };
        let mut registration = NodeRegistration::new(NodeSpec::new(&agent.name, Resources::new(&[40, 100])));
        registration.running = agent.running.iter().map(describe).collect();
        registration.completed.clone_from(&agent.done);
        agent.session = Some(self.tracker.register(registration, self.now_ms).unwrap());
        agent.done.clear();
        agent.version = 0;
    }

    /// The agent sends a heartbeat, or registers if it has no session. Returns the answer that the manager gave.
    pub(super) fn beat(&mut self, agent: usize, fate: Fate) -> Option<NodeDirectives> {
        let Some(session) = self.agents[agent].session else {
            self.register(agent);
            return None;
        };
        let Agent { version, done, .. } = &self.agents[agent];
        let heartbeat = NodeHeartbeat { version: *version, completed: done.clone() };
        if fate == Fate::RequestIsLost {
            return None;
        }
        let answer = self.tracker.heartbeat(&session, &heartbeat, self.now_ms);
        if fate == Fate::AnswerIsLost {
            return answer.ok();
        }
        match answer {
            Ok(answer) => {
                self.agents[agent].done.clear();
                self.agents[agent].carry_out(&answer, &mut self.started);
                Some(answer)
            }
            Err(HeartbeatError::Submit(error)) => panic!("{error}"),
            Err(_) => {
                self.agents[agent].session = None;
                None
            }
        }
    }

    /// The agent's process ends and starts again, perhaps with the whole machine.
    pub(super) fn restart_agent(&mut self, agent: usize, containers_survive: bool) {
        let agent = &mut self.agents[agent];
        (agent.session, agent.version) = (None, 0);
        if !containers_survive {
            agent.running.clear();
            agent.done.clear();
        }
    }

    /// The manager ends, and another one goes on with its log.
    pub(super) fn crash(&mut self) {
        self.engine.shutdown();
        let bytes = self.log.bytes();
        self.log = SharedLog::of(&bytes);
        let sink = Box::new(self.log.clone());
        self.engine = Engine::recover(&bytes[..], self.mode, self.clock.clone(), Some(sink)).unwrap().0;
        self.handle = self.engine.handle();
        self.epoch += 1;
        self.tracker = tracker(&self.handle, self.epoch, self.now_ms);
        self.events = self.handle.event_stream(self.stream);
        for application in &self.applications {
            drop(self.handle.attach(*application, &self.events).unwrap());
        }
        self.engine.run_until_quiet();
        self.tracker.resync();
    }

    pub(super) fn advance(&mut self, by_ms: u64) -> Vec<NodeSession> {
        self.now_ms += by_ms;
        self.clock.set(self.now_ms);
        self.handle.tick().unwrap();
        self.tracker.expire(self.now_ms).unwrap()
    }

    /// Lets all messages arrive until there is nothing left to do, and compares the agents with the engine.
    pub(super) fn run_until_idle(&mut self) {
        for _ in 0..100 {
            self.run();
            let mut is_quiet = true;
            for agent in 0..self.agents.len() {
                let answer = self.beat(agent, Fate::Arrives);
                let is_idle = answer.is_some_and(|answer| answer.version > 0 && answer.is_empty());
                is_quiet &= is_idle && self.agents[agent].done.is_empty();
            }
            if is_quiet && self.is_as_in_engine() {
                return;
            }
        }
        panic!("{:#?}\n{:#?}", self.agents, self.containers());
    }

    fn is_as_in_engine(&self) -> bool {
        self.engine.run_until_quiet();
        let running = |agent: &Agent| (agent.name.clone(), agent.running.keys().copied().collect());
        self.containers() == self.agents.iter().map(running).collect()
    }

    /// The containers of each node in the engine.
    pub(super) fn containers(&self) -> BTreeMap<String, BTreeSet<ContainerId>> {
        self.handle.read(|view| {
            let nodes = view.nodes();
            nodes.map(|node| (node.name().to_owned(), node.containers().iter().copied().collect())).collect()
        })
    }
}

impl Agent {
    fn carry_out(&mut self, answer: &NodeDirectives, started: &mut BTreeSet<ContainerId>) {
        if answer.version == 0 {
            return;
        }
        let rename = |(id, application)| (answer.adopted.get(&id).copied().unwrap_or(id), application);
        self.running = std::mem::take(&mut self.running).into_iter().map(rename).collect();
        for container in &answer.stop {
            self.running.remove(container);
            self.done.push(*container);
        }
        for start in &answer.start {
            let container = start.container;
            if !self.running.contains_key(&container) && !self.done.contains(&container) {
                assert!(started.insert(container), "{container} is started twice");
                self.running.insert(container, start.application);
            }
        }
        let missing = answer.keep.iter().filter(|id| !self.running.contains_key(id));
        self.done.extend(missing);
        if answer.is_complete {
            let is_named = |id: &ContainerId| {
                answer.keep.contains(id) || answer.start.iter().any(|one| one.container == *id)
            };
            self.done.extend(self.running.keys().filter(|id| !is_named(id)));
            self.running.retain(|id, _| is_named(id));
        }
        self.version = answer.version;
    }
}
