//! The manager: an engine with a log, nodes that come and go, and jobs that keep a number of containers running.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apportion::engine::NodeReport;
use apportion::event::{Event, EventKind};
use apportion::file_log::{FileLog, FileLogOptions};
use apportion::{
    ApplicationId, ApplicationSpec, AskSpec, ContainerId, EndCause, Engine, EventStream, Handle, Mode,
    NodeId, NodeSpec, ResourceTypes, Resources, RunningContainer, SystemClock,
};
use apportion_formats::capacity_scheduler::from_capacity_scheduler_xml;

pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A job that keeps a number of containers running.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) memory_mib: i64,
    pub(crate) containers: u32,
}

/// An order to the agent of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    Start { node: String, container: ContainerId, application: ApplicationId },
    Stop { node: String, container: ContainerId },
}

pub(crate) struct ResourceManager {
    engine: Engine,
    handle: Handle,
    events: EventStream,
    /// The size of each job's containers.
    sizes: BTreeMap<ApplicationId, Resources>,
    /// Where each container runs.
    nodes_of: BTreeMap<ContainerId, NodeId>,
    /// Containers whose start may be on the way to an agent that has not reported yet.
    starting: BTreeMap<NodeId, BTreeSet<ContainerId>>,
    directives: Vec<Directive>,
}

impl ResourceManager {
    /// Goes on with the log in the folder, or begins one with these queues.
    pub(crate) fn open(folder: &Path, queues: &str) -> Fallible<Self> {
        let log = FileLog::open(folder, FileLogOptions::default())?;
        let (mode, clock) = (Mode::Background, Arc::new(SystemClock::new()));
        let engine = if let Some(contents) = log.contents()? {
            Engine::recover(contents, mode, clock, Some(Box::new(log)))?.0
        } else {
            let types = ResourceTypes::memory_and_vcores();
            let config = from_capacity_scheduler_xml(queues, "capacity-scheduler.xml", &types)?.config;
            Engine::start(config, mode, clock, Some(Box::new(log)))?
        };
        let handle = engine.handle();
        Ok(Self {
            events: handle.event_stream(1 << 20),
            handle,
            engine,
            sizes: BTreeMap::new(),
            nodes_of: BTreeMap::new(),
            starting: BTreeMap::new(),
            directives: Vec::new(),
        })
    }

    /// Runs the job, or goes on with it if the log has it.
    pub(crate) fn submit(&mut self, job: &Job) -> Fallible<ApplicationId> {
        let size = self.handle.resources(&[("memory_mib", job.memory_mib), ("vcore_milli", 100)])?;
        let named = |engine: &Engine| {
            engine.read(|view| view.applications().find(|(_, one)| one.name() == job.name).map(|(id, _)| id))
        };
        let Some(id) = named(&self.engine) else {
            let id = self
                .handle
                .submit_application(ApplicationSpec::new(job.name, job.queue, "ann"), &self.events)?;
            self.handle.submit_ask(id, AskSpec::new(size, job.containers))?;
            self.sizes.insert(id, size);
            return Ok(id);
        };
        self.sizes.insert(id, size);
        let attached = self.handle.attach(id, &self.events)?.wait().ok_or("the engine has ended")??;
        self.nodes_of.extend(attached.containers.iter().map(|one| (one.container, one.node)));
        // A manager that was killed may not have asked for what had ended.
        let outstanding: u32 = attached.asks.iter().map(|ask| ask.outstanding).sum();
        let missing = job.containers.saturating_sub(attached.containers.len() as u32 + outstanding);
        if missing > 0 {
            self.handle.submit_ask(id, AskSpec::new(size, missing))?;
        }
        Ok(id)
    }

    /// An agent connects and reports the containers that it runs. Those of a node that was lost must be stopped: others
    /// run in their place.
    pub(crate) fn node_connected(
        &mut self,
        name: &str,
        memory_mib: i64,
        running: &[(ContainerId, ApplicationId)],
    ) -> Fallible<()> {
        let Some(node) = self.handle.node(name) else {
            let capacity = self.handle.resources(&[("memory_mib", memory_mib), ("vcore_milli", 64_000)])?;
            self.handle.add_node(NodeSpec::new(name, capacity))?;
            self.stop(name, running.iter().map(|(container, _)| *container));
            return Ok(());
        };
        // The log has every container that was ever started. An unknown one has ended, and its stop was not sent.
        let (known, unknown): (Vec<_>, Vec<_>) =
            running.iter().partition(|(container, _)| self.nodes_of.contains_key(container));
        let describe = |(container, application): &(ContainerId, ApplicationId)| {
            let size = self.sizes.get(application)?;
            Some((*container, RunningContainer::new(*application, *size)))
        };
        let starting = self.starting.remove(&node).unwrap_or_default();
        let report = NodeReport { running: known.into_iter().filter_map(describe).collect(), starting };
        let ticket = self.handle.reconcile_node(node, report)?;
        let reconciled = ticket.wait().ok_or("the engine has ended")??;
        let refused =
            unknown.into_iter().map(|(container, _)| *container).chain(reconciled.refused.into_keys());
        self.stop(name, refused);
        Ok(())
    }

    /// The connection to an agent is broken, and its node counts as lost.
    pub(crate) fn node_lost(&mut self, name: &str) -> Fallible<()> {
        if let Some(node) = self.handle.node(name) {
            self.handle.remove_node(node)?.wait().ok_or("the engine has ended")??;
        }
        Ok(())
    }

    /// An agent tells that the processes of a container have ended.
    pub(crate) fn container_ended(&self, container: ContainerId) -> Fallible<()> {
        Ok(self.handle.complete_container(container)?)
    }

    /// Waits for events, and returns the orders that they lead to.
    pub(crate) fn poll(&mut self, patience: Duration) -> Fallible<Vec<Directive>> {
        self.take_events(patience)?;
        Ok(std::mem::take(&mut self.directives))
    }

    /// Returns the orders when nothing is left to do.
    pub(crate) fn run_until_quiet(&mut self) -> Fallible<Vec<Directive>> {
        loop {
            self.engine.run_until_quiet();
            if self.take_events(Duration::ZERO)? == 0 {
                return Ok(std::mem::take(&mut self.directives));
            }
        }
    }

    fn take_events(&mut self, patience: Duration) -> Fallible<usize> {
        let mut events: Vec<Event> = self.events.wait_timeout(patience)?.into_iter().collect();
        self.events.drain_into(&mut events)?;
        for event in &events {
            self.on_event(event)?;
        }
        if !self.engine.is_running() {
            return Err(self.engine.log_error().unwrap_or_else(|| "the engine has ended".to_owned()).into());
        }
        Ok(events.len())
    }

    fn on_event(&mut self, event: &Event) -> Fallible<()> {
        let application = event.application;
        match event.kind {
            EventKind::Allocated { container, node, .. } => {
                self.nodes_of.insert(container, node);
                self.starting.entry(node).or_default().insert(container);
                if let Some(node) = self.name_of(node) {
                    self.directives.push(Directive::Start { node, container, application });
                }
            }
            EventKind::ContainerRecovered { container, node, .. } => {
                self.nodes_of.insert(container, node);
            }
            EventKind::ContainerEnded { container, cause, .. } => {
                // A node that is there may lose a container that it was about to start: its report came in between.
                let node = self.nodes_of.remove(&container).and_then(|node| self.name_of(node));
                if let Some(node) = node.filter(|_| cause != EndCause::Completed) {
                    self.stop(&node, [container].into_iter());
                }
                self.handle.submit_ask(application, AskSpec::new(self.sizes[&application], 1))?;
            }
            EventKind::ApplicationRefused { refusal } | EventKind::AskRefused { refusal, .. } => {
                return Err(refusal.into());
            }
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, node: &str, containers: impl Iterator<Item = ContainerId>) {
        let stop = |container| Directive::Stop { node: node.to_owned(), container };
        self.directives.extend(containers.map(stop));
    }

    /// The name of a node that is not lost.
    fn name_of(&self, node: NodeId) -> Option<String> {
        self.engine.read(|view| view.node(node).map(|node| node.name().to_owned()))
    }

    /// Why the job's first pending ask waits; `None` if nothing is pending.
    pub(crate) fn explain(&self, job: ApplicationId) -> Option<String> {
        let ask =
            self.engine.read(|view| view.asks().find(|ask| ask.application() == job).map(|ask| ask.id()))?;
        Some(self.engine.explain(ask).to_string())
    }

    /// The containers of each node, by name.
    pub(crate) fn containers(&self) -> BTreeMap<String, BTreeSet<ContainerId>> {
        self.engine.read(|view| {
            let of = |node: &apportion::view::NodeView<'_>| node.containers().iter().copied().collect();
            view.nodes().map(|node| (node.name().to_owned(), of(&node))).collect()
        })
    }
}
