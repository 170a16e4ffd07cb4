//! The decisions of one running service (Slider's application state): `(state, event, now) -> operations`.
//!
//! Nothing here does I/O, reads a clock or uses randomness. The caller carries out the operations in order
//! and feeds the results back; `service.rs` does that with a [`ClusterClient`](crate::ClusterClient).

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

/// A running service: its components, containers and requests, and the role history.
#[derive(Clone, Debug)]
pub struct ApplicationState {
    settings: ServiceSettings,
    started_ms: u64,
    /// The time of the current event.
    now_ms: u64,
    components: BTreeMap<ComponentId, Component>,
    /// Components that are kept apart from each other, by group name.
    groups: BTreeMap<String, BTreeSet<ComponentId>>,
    history: RoleHistory,
    outstanding: OutstandingRequests,
    instances: BTreeMap<ContainerRef, ComponentInstance>,
    /// Containers that were surplus when they came; released, but not ended yet.
    surplus: BTreeSet<ContainerRef>,
    /// The surplus containers that run instances of unknown components.
    orphans: BTreeMap<ContainerRef, ComponentId>,
    leaving: Leaving,
    /// Hosts that an operator or a client excluded.
    excluded: BTreeSet<Arc<str>>,
    /// Hosts on the blacklist that the manager has.
    blacklisted: BTreeSet<Arc<str>>,
    actions: Actions,
    /// Components that changed since their last review.
    touched: BTreeSet<ComponentId>,
    /// The history's `hosts_version` when host lists were last made.
    listed_version: u64,
    /// The number of missing instances as of the last review.
    down: u64,
    /// Components with health checks.
    watched: BTreeSet<ComponentId>,
    /// The ends of pauses.
    wakes: BTreeSet<(u64, ComponentId)>,
    last_request: u64,
    window_ends_ms: Option<u64>,
    /// When old hosts were last forgotten.
    forgot_ms: u64,
    has_node_reports: bool,
    containers_at_restart: Option<u32>,
    is_stopped: bool,
    failure: Option<Failure>,
    /// The history at the stop or the failure, with its version. The teardown does not change it.
    at_end: Option<(u64, HistoryFile)>,
}

/// A component, its containers and its counters.
#[derive(Clone, Debug)]
struct Component {
    spec: ComponentSpec,
    census: Census,
    counters: ComponentCounters,
    /// Missing instances without a request: they are requested one by one.
    pending_anti_affine: u32,
    last_failure: String,
    back_off: BackOff,
    /// When the last failed instance was or will be restarted.
    retried_ms: u64,
    /// Containers without the manager's anti-affinity tag.
    untagged: BTreeSet<ContainerRef>,
    /// Whether its list of hosts is no longer needed: the last untagged container has ended, or the
    /// component no longer avoids hosts alone.
    has_stale_list: bool,
    /// Whether it failed too often, while the service runs on without it.
    is_given_up: bool,
    /// Since when too few instances run.
    unhealthy_since_ms: Option<u64>,
    takeover: Takeover,
    /// The number of its missing instances as of the last review.
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
    /// The version of the racks that were known when it came.
    racks_version: u64,
    /// The version of the program in it.
    version: String,
    /// The back-off generation of its component when it came.
    generation: u32,
    /// Whether an operator killed it.
    is_killed: bool,
    /// Whether it is a standby that has read all state.
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

    /// Returns how many containers it should have. A component that was given up keeps at most those it
    /// has.
    fn wanted(&self) -> u32 {
        if self.is_given_up { self.spec.desired.min(self.actual()) } else { self.spec.desired }
    }

    /// Returns how many containers it has, including releasing ones (Slider's "actual") but not reserved
    /// ones.
    fn actual(&self) -> u32 {
        self.census.total() - self.census.count(InstanceState::Reserved)
    }
}

impl ApplicationState {
    /// Creates a service of these components that never ran before. It makes no requests until its first
    /// event.
    ///
    /// If two components have one id, the last one counts; definitions are checked elsewhere.
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

    /// Adds or replaces a component. Returns its previous specification.
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

    /// Marks a component for the next review, together with its group: a member may be able to request a
    /// host now.
    fn touch(&mut self, component: ComponentId) {
        self.touched.insert(component);
        let peers: Vec<ComponentId> = self.peers(component).collect();
        self.touched.extend(peers);
    }

    /// Handles an event and returns the operations. An event about unknown objects changes nothing.
    ///
    /// Every event ends in a review. Only the review requests and releases containers to reach the desired
    /// numbers.
    pub fn handle(&mut self, event: ServiceEvent, now_ms: u64) -> Vec<Operation> {
        let mut operations = Vec::new();
        self.now_ms = now_ms;
        self.pass_window();
        match event {
            ServiceEvent::Callback(callback) => self.on_callback(callback, &mut operations),
            ServiceEvent::NotTaken { request, error } => {
                self.request_not_taken(request, &error, &mut operations);
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
        self.pass_time(&mut operations);
        self.review(&mut operations);
        operations
    }

    fn on_callback(&mut self, callback: Callback, operations: &mut Vec<Operation>) {
        match callback {
            Callback::Allocated(allocations) => self.containers_allocated(allocations, operations),
            Callback::Recovered(found) => self.container_recovered(&found, operations),
            Callback::Started(container) => self.container_started(container, operations),
            Callback::StopFailed(container) => self.stop_failed(container, operations),
            Callback::StartFailed { container, diagnostics } => {
                self.container_start_failed(container, diagnostics, operations);
            }
            Callback::Completed(ended) => {
                for (container, exit) in ended {
                    self.container_completed(container, &exit, operations);
                }
            }
            Callback::Withdrawn(request) => self.request_withdrawn(request, operations),
            Callback::NodesUpdated(reports) => {
                self.learn_nodes(&reports);
                self.cancel_where_relabelled(&reports, operations);
                self.retry_where(&reports);
            }
        }
    }

    /// Returns whether it was stopped or gave up; then it makes no more requests.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopped || self.failure.is_some()
    }

    /// Returns why the service gave up; `None` if it did not.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Counts the containers that have not ended.
    #[must_use]
    pub fn container_count(&self) -> usize {
        self.instances.len() + self.surplus.len()
    }

    /// Returns the state of a component's container; `None` if the container belongs to none.
    #[must_use]
    pub fn instance_state(&self, container: ContainerRef) -> Option<InstanceState> {
        let instance = self.instances.get(&container)?;
        self.components.get(&instance.component)?.census.state(container)
    }

    /// Returns how a container matched a request; `None` if it belongs to no component.
    #[must_use]
    pub fn outcome(&self, container: ContainerRef) -> Option<AllocationOutcome> {
        self.instances.get(&container).map(|instance| instance.outcome)
    }

    /// Changes an instance's state in both places that store it. No other function changes it.
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
