//! The decisions of one running service (Slider's application state): `(state, event, now) -> operations`.
//!
//! Nothing here does I/O, reads a clock or draws lots. Whoever drives it carries out the operations in order and hands
//! in what comes of them; `service.rs` does that with a [`ClusterClient`](crate::ClusterClient).

mod actions;
mod allocated;
mod apart;
mod audit;
mod back_off;
mod escalate;
mod event;
mod explain;
mod failures;
mod flex;
mod hosts;
mod leaving;
mod lifecycle;
mod release;
mod request;
mod restore;
mod review;
mod shunned;
mod status;
mod swap;
mod takeover;
mod time;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use actions::{ActionId, ActionKind, ActionStatus, ComponentChange, ContainerAction, HandOver};
pub use audit::Inconsistency;
pub(crate) use event::Names;
pub use event::{AllocationOutcome, AntiAffinity, Operation, ServiceEvent, ServiceSettings};

use actions::Actions;
use back_off::BackOff;
use leaving::Leaving;
use takeover::Takeover;

use crate::client::{Callback, ContainerRef};
use crate::component::{ComponentId, ComponentSpec};
use crate::history::{Census, InstanceState, OutstandingRequests, RoleHistory};
use crate::persistence::HistoryFile;
use crate::status::{ComponentCounters, Failure};

/// A service that runs: its components, their containers and requests, and where they were before.
#[derive(Clone, Debug)]
pub struct ApplicationState {
    settings: ServiceSettings,
    started_ms: u64,
    /// When the event that is handled happened.
    now_ms: u64,
    components: BTreeMap<ComponentId, Component>,
    /// Components that are kept apart from each other, by the name of their group.
    groups: BTreeMap<String, BTreeSet<ComponentId>>,
    history: RoleHistory,
    outstanding: OutstandingRequests,
    instances: BTreeMap<ContainerRef, ComponentInstance>,
    /// Containers that nobody wanted when they came, given back and not ended yet.
    surplus: BTreeSet<ContainerRef>,
    /// Of these, containers in which instances of components run that are no more.
    orphans: BTreeMap<ContainerRef, ComponentId>,
    leaving: Leaving,
    /// Hosts that somebody wants free of the service.
    excluded: BTreeSet<Arc<str>>,
    /// Hosts that the manager was told to keep free of the service.
    blacklisted: BTreeSet<Arc<str>>,
    actions: Actions,
    /// Components of which something changed since they were reviewed.
    touched: BTreeSet<ComponentId>,
    /// As of the hosts when lists of them were made last.
    listed_version: u64,
    /// Instances that do not run though they should, as of the last review.
    down: u64,
    /// Components whose health is looked at as time goes by.
    watched: BTreeSet<ComponentId>,
    /// When pauses of components end.
    wakes: BTreeSet<(u64, ComponentId)>,
    last_request: u64,
    window_ends_ms: Option<u64>,
    /// When hosts used too long ago were looked for last.
    forgot_ms: u64,
    has_node_reports: bool,
    containers_at_restart: Option<u32>,
    is_stopped: bool,
    failure: Option<Failure>,
    /// The history when the service stopped or gave up, and its version. The teardown does not change it.
    at_end: Option<(u64, HistoryFile)>,
}

/// A component, with its containers and what has happened to it.
#[derive(Clone, Debug)]
struct Component {
    spec: ComponentSpec,
    census: Census,
    counters: ComponentCounters,
    /// Instances that are asked for one after another, and whose turn has not come.
    pending_anti_affine: u32,
    last_failure: String,
    back_off: BackOff,
    /// When the instance that failed last was started again, or will be.
    retried_ms: u64,
    /// Containers that the manager does not know to be kept apart from others of the component.
    untagged: BTreeSet<ContainerRef>,
    /// The last of these has ended, or it avoids no host alone any more: a request that lists hosts on that account
    /// need not.
    has_stale_list: bool,
    /// It failed too often, and the service goes on without it.
    is_given_up: bool,
    /// Since when too few instances run.
    unhealthy_since_ms: Option<u64>,
    takeover: Takeover,
    /// Instances of it that do not run though they should, as of the last review.
    down: u64,
}

/// A container of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ComponentInstance {
    component: ComponentId,
    host: Arc<str>,
    came_ms: u64,
    started_ms: Option<u64>,
    outcome: AllocationOutcome,
    /// The racks that were known when it came.
    racks_version: u64,
    /// Of what runs in it.
    version: String,
    /// How many generations of its component were short-lived when it came.
    generation: u32,
    /// Somebody ended it by hand.
    is_killed: bool,
    /// It stands by for another one, and has read all of its state.
    has_caught_up: bool,
}

impl Component {
    fn new(spec: ComponentSpec) -> Self {
        Self {
            spec,
            census: Census::default(),
            counters: ComponentCounters::default(),
            pending_anti_affine: 0,
            last_failure: String::new(),
            back_off: BackOff::default(),
            retried_ms: 0,
            untagged: BTreeSet::new(),
            has_stale_list: false,
            is_given_up: false,
            unhealthy_since_ms: None,
            takeover: Takeover::default(),
            down: 0,
        }
    }

    /// How many containers it should have: of one that was given up those that it still has.
    fn wanted(&self) -> u32 {
        if self.is_given_up { self.spec.desired.min(self.actual()) } else { self.spec.desired }
    }

    /// Containers it has, those on their way out included (Slider's "actual"), and those that replace others not.
    fn actual(&self) -> u32 {
        self.census.total() - self.census.count(InstanceState::Reserved)
    }
}

impl ApplicationState {
    /// A service of these components that was never started before. It wants nothing until its first event.
    ///
    /// Of components with equal numbers the last one counts; definitions are checked elsewhere.
    #[must_use]
    pub fn new(components: Vec<ComponentSpec>, settings: ServiceSettings, now_ms: u64) -> Self {
        let mut state = Self {
            window_ends_ms: settings.failure_window_ms.map(|window_ms| now_ms.saturating_add(window_ms)),
            settings,
            started_ms: now_ms,
            now_ms,
            forgot_ms: now_ms,
            components: BTreeMap::new(),
            groups: BTreeMap::new(),
            history: RoleHistory::default(),
            outstanding: OutstandingRequests::default(),
            instances: BTreeMap::new(),
            surplus: BTreeSet::new(),
            orphans: BTreeMap::new(),
            leaving: Leaving::default(),
            excluded: BTreeSet::new(),
            blacklisted: BTreeSet::new(),
            actions: Actions::default(),
            touched: BTreeSet::new(),
            listed_version: 0,
            down: 0,
            watched: BTreeSet::new(),
            wakes: BTreeSet::new(),
            last_request: 0,
            has_node_reports: false,
            containers_at_restart: None,
            is_stopped: false,
            failure: None,
            at_end: None,
        };
        for spec in components {
            state.declare(spec);
        }
        state
    }

    /// The component is this from now on. Says what it was.
    fn declare(&mut self, spec: ComponentSpec) -> Option<ComponentSpec> {
        self.history.declare(&spec);
        let id = spec.id;
        self.touch(id);
        if spec.health.is_some() {
            self.watched.insert(id);
        } else {
            self.watched.remove(&id);
        }
        let group = spec.apart_from.as_ref().map(|group| group.name.clone());
        let before = match self.components.get_mut(&id) {
            Some(known) => Some(std::mem::replace(&mut known.spec, spec)),
            None => {
                self.components.insert(id, Component::new(spec));
                None
            }
        };
        let left = before.as_ref().and_then(|before| before.apart_from.as_ref());
        if let Some(members) = left.and_then(|left| self.groups.get_mut(&left.name)) {
            members.remove(&id);
        }
        if let Some(group) = group {
            self.groups.entry(group).or_default().insert(id);
        }
        before
    }

    /// Something of the component changed that the next review has to look at. Those kept apart from it may have got a
    /// host to ask for.
    fn touch(&mut self, component: ComponentId) {
        self.touched.insert(component);
        let peers: Vec<ComponentId> = self.peers(component).collect();
        self.touched.extend(peers);
    }

    /// What is to be done about an event. Events that concern nothing the service knows of change nothing.
    ///
    /// Every event ends in a review, the only place where containers are asked for and given back for their number.
    pub fn handle(&mut self, event: ServiceEvent, now_ms: u64) -> Vec<Operation> {
        let mut operations = Vec::new();
        self.now_ms = now_ms;
        self.pass_window(now_ms);
        match event {
            ServiceEvent::Callback(callback) => self.on_callback(callback, now_ms, &mut operations),
            ServiceEvent::NotTaken { request, error } => {
                self.request_not_taken(request, &error, now_ms, &mut operations);
            }
            ServiceEvent::Action(action) => self.submit_action(action, &mut operations),
            ServiceEvent::CancelAction(action) => self.cancel_action(action, &mut operations),
            ServiceEvent::Flex(components) => self.flex(components, &mut operations),
            ServiceEvent::Change(component) => self.change(component, &mut operations),
            ServiceEvent::KillContainer(container) => self.kill_container(container, &mut operations),
            ServiceEvent::ContainerLost(container) => self.release(container, &mut operations),
            ServiceEvent::CaughtUp(container) => self.caught_up(container),
            ServiceEvent::Exclude(hosts) => self.exclude(hosts, &mut operations),
            ServiceEvent::TimePassed => {}
            ServiceEvent::Stop => self.is_stopped = true,
        }
        self.pass_time(now_ms, &mut operations);
        self.review(now_ms, &mut operations);
        operations
    }

    fn on_callback(&mut self, callback: Callback, now_ms: u64, operations: &mut Vec<Operation>) {
        match callback {
            Callback::Allocated(allocations) => self.containers_allocated(allocations, now_ms, operations),
            Callback::Recovered(found) => self.container_recovered(&found, now_ms, operations),
            Callback::Started(container) => self.container_started(container, now_ms, operations),
            Callback::StopFailed(container) => self.stop_failed(container, operations),
            Callback::StartFailed { container, diagnostics } => {
                self.container_start_failed(container, diagnostics, operations);
            }
            Callback::Completed(ended) => {
                for (container, exit) in ended {
                    self.container_completed(container, &exit, now_ms, operations);
                }
            }
            Callback::Withdrawn(request) => self.request_withdrawn(request, now_ms, operations),
            Callback::NodesUpdated(reports) => {
                self.learn_nodes(&reports);
                self.cancel_where_relabelled(&reports, operations);
                self.retry_where(&reports, now_ms);
            }
        }
    }

    /// Whether it asks for nothing any more: it was stopped or gave up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopped || self.failure.is_some()
    }

    /// Why the service gave up, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Containers that have not ended yet.
    #[must_use]
    pub fn container_count(&self) -> usize {
        self.instances.len() + self.surplus.len()
    }

    /// The state of a container of a component; `None` if it is not one.
    #[must_use]
    pub fn instance_state(&self, container: ContainerRef) -> Option<InstanceState> {
        let instance = self.instances.get(&container)?;
        self.components.get(&instance.component)?.census.state(container)
    }

    /// How a container answered a request; `None` if it is no component's.
    #[must_use]
    pub fn outcome(&self, container: ContainerRef) -> Option<AllocationOutcome> {
        self.instances.get(&container).map(|instance| instance.outcome)
    }

    /// The only way for an instance to change its state: both views of it follow.
    fn transition_instance(&mut self, container: ContainerRef, to: InstanceState) {
        let Some(instance) = self.instances.get(&container) else { return };
        let component = instance.component;
        self.history.transition_instance(&instance.host, component, container, to);
        if let Some(known) = self.components.get_mut(&component) {
            known.census.put(container, to);
        }
        self.touch(component);
    }
}
