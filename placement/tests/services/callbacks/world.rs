//! A service, and a cluster manager with injected errors.

mod actions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apportion::Resources;
use apportion_placement::{
    ActionId, Allocation, AllocationOutcome, AntiAffinity, ApplicationState, Callback, ClientError,
    ComponentChange, ComponentId, ComponentSpec, ContainerExit, ContainerRef, ContainerRequest,
    ContainerStatus, InstanceState, Launch, NodeReport, Operation, RequestId, RunningContainer, ServiceEvent,
    ServiceSettings,
};

use super::{COMPONENTS, HOSTS, Step, components};

/// A service, and the state of its manager.
pub(super) struct World {
    pub(super) service: ApplicationState,
    pub(super) components: Vec<ComponentSpec>,
    settings: ServiceSettings,
    now_ms: u64,
    requests: BTreeMap<RequestId, ContainerRequest>,
    /// Requests that were served without naming them. Equal requests are interchangeable.
    served: BTreeMap<RequestId, ContainerRequest>,
    running: BTreeMap<ContainerRef, RunningContainer>,
    /// Containers that were given back, with the time of the last release.
    released: BTreeMap<ContainerRef, u64>,
    asked: BTreeSet<RequestId>,
    last_container: u64,
    told: Vec<Callback>,
    started: BTreeSet<ContainerRef>,
    /// Placement actions of this master, and whether each has had its last word.
    pub(super) actions: BTreeMap<ActionId, bool>,
    last_action: u64,
}

fn host(number: usize) -> Arc<str> {
    format!("host{number}").into()
}

fn report(number: usize, is_usable: bool, is_labelled: bool) -> NodeReport {
    let capacity = Resources::new(&[100]);
    let label = if is_labelled { "gpu" } else { "" }.into();
    // The first host has a rack to itself, since it may register when other hosts of its rack are in use.
    let rack = format!("rack{}", number.div_ceil(2)).into();
    NodeReport { host: host(number), rack, label, capacity, free: capacity, is_usable }
}

/// Whether a manager whose containers do not name their request treats these requests as one, as YARN does.
fn are_one(one: &ContainerRequest, other: &ContainerRequest) -> bool {
    one.priority == other.priority
        && one.relax_locality == other.relax_locality
        && (one.relax_locality || (&one.hosts, &one.racks) == (&other.hosts, &other.racks))
}

impl World {
    pub(super) fn new(anti_affinity: AntiAffinity) -> Self {
        let settings = ServiceSettings { anti_affinity, ..ServiceSettings::default() };
        let components = components();
        let service = ApplicationState::new(components.clone(), settings.clone(), 0);
        let mut world = Self {
            service,
            components,
            settings,
            now_ms: 0,
            requests: BTreeMap::new(),
            served: BTreeMap::new(),
            running: BTreeMap::new(),
            released: BTreeMap::new(),
            asked: BTreeSet::new(),
            last_container: 0,
            told: Vec::new(),
            started: BTreeSet::new(),
            actions: BTreeMap::new(),
            last_action: 0,
        };
        let reports = (0..HOSTS).map(|number| report(number, true, number % 2 == 0)).collect();
        world.tell(Callback::NodesUpdated(reports));
        world
    }

    fn tell(&mut self, callback: Callback) {
        self.told.push(callback.clone());
        self.handle(ServiceEvent::Callback(callback));
    }

    /// Handles an event, carries out the resulting operations, and checks that all are valid.
    fn handle(&mut self, event: ServiceEvent) {
        let before = self.service.clone();
        let allocates =
            matches!(event, ServiceEvent::Callback(Callback::Allocated(_) | Callback::Recovered(_)));
        let operations = self.service.handle(event, self.now_ms);
        assert_eq!(self.service.audit(), []);
        self.check_save(&before);
        for operation in operations {
            self.carry_out(operation);
        }
        let again = self.service.handle(ServiceEvent::TimePassed, self.now_ms);
        assert_eq!(again, [], "a second review finds nothing (S20)");
        for id in (0..COMPONENTS).map(ComponentId).filter(|_| allocates) {
            let (Some(was), Some(is)) = (before.component(id), self.service.component(id)) else { continue };
            assert!(is.actual <= is.desired.max(was.actual), "no container too many is kept (F14)");
        }
    }

    /// A save now contains every host with a running instance, releasing or not (D28). The history of a service that
    /// is over stays as it was before (D32).
    fn check_save(&self, before: &ApplicationState) {
        let file = self.service.image(self.now_ms);
        if before.is_over() {
            assert_eq!(self.service.history_version(), before.history_version());
            assert_eq!(file, before.image(self.now_ms));
            return;
        }
        let runs = |known: &ContainerStatus| {
            let is_on = matches!(known.state, InstanceState::Live | InstanceState::Releasing);
            is_on && known.started_ms.is_some()
        };
        let service = if self.service.is_over() { before } else { &self.service };
        let running = service.containers().filter(runs);
        let running: BTreeSet<(String, String)> =
            running.map(|known| (known.host, known.component)).collect();
        let active = file.entries.iter().filter(|entry| entry.is_active);
        let active: BTreeSet<(String, String)> =
            active.map(|entry| (entry.host.to_string(), format!("role{}", entry.role))).collect();
        if self.service.is_over() {
            // If the event ended the service, it may also have been the end of a container.
            assert!(active.is_subset(&running), "{active:?} of {running:?}");
        } else {
            assert_eq!(active, running);
        }
    }

    fn carry_out(&mut self, operation: Operation) {
        match operation {
            Operation::Request(request) => self.request(request),
            Operation::Cancel(request) => self.cancel(request),
            Operation::Release(container) => self.release(container),
            Operation::Swap { container, request } => {
                self.release(container);
                self.request(request);
            }
            Operation::Answer { action, status, .. } => {
                // An heir that could not take a place gets only a last word.
                let is_heir = !action.0.is_multiple_of(2);
                let was_over = self.actions.insert(action, status.is_terminal()).or(is_heir.then_some(false));
                assert_eq!(was_over, Some(false), "an action gets no answer after its last word");
            }
            Operation::Start { container, component } => {
                self.started.insert(container);
                assert!(self.service.container(container).is_some() && component.0 < COMPONENTS);
            }
            Operation::UpdateBlacklist { add, remove } => {
                assert!(add.iter().all(|host| !remove.contains(host)));
                assert!(!add.is_empty() || !remove.is_empty());
            }
        }
    }

    fn request(&mut self, request: ContainerRequest) {
        assert!(self.asked.insert(request.id), "a request number is used once");
        assert!(request.relax_locality || !request.hosts.is_empty(), "it can be served somewhere");
        self.requests.insert(request.id, request);
    }

    fn release(&mut self, container: ContainerRef) {
        let before_ms = self.released.insert(container, self.now_ms);
        let is_due =
            before_ms.is_none_or(|before_ms| before_ms + self.settings.stop_timeout_ms <= self.now_ms);
        let is_running = self.running.contains_key(&container);
        assert!(
            is_due || !is_running,
            "a container is given back once, and again when no event reports its end"
        );
    }

    fn cancel(&mut self, id: RequestId) {
        let Some(request) = self.requests.remove(&id) else {
            self.served.remove(&id);
            return;
        };
        let equal = self.served.iter().find(|(_, served)| are_one(served, &request)).map(|(id, _)| *id);
        if let Some(equal) = equal {
            self.served.remove(&equal);
            self.requests.insert(equal, ContainerRequest { id: equal, ..request });
        }
    }

    fn nth_request(&self, which: usize) -> Option<ContainerRequest> {
        let count = self.requests.len();
        self.requests.values().nth(which.checked_rem(count)?).cloned()
    }

    fn nth_container(&self, which: usize) -> Option<RunningContainer> {
        let count = self.running.len();
        self.running.values().nth(which.checked_rem(count)?).cloned()
    }

    fn comes(
        &mut self,
        request: Option<RequestId>,
        priority: u32,
        size: Resources,
        host: Arc<str>,
    ) -> ContainerRef {
        let container = self.runs(priority, host.clone()).container;
        self.tell(Callback::Allocated(vec![Allocation { request, priority, container, size, host }]));
        container
    }

    fn runs(&mut self, priority: u32, host: Arc<str>) -> RunningContainer {
        self.last_container += 1;
        let container = ContainerRef(self.last_container);
        let found = RunningContainer { container, priority, host, launch: None, is_stopping: false };
        self.running.insert(container, found.clone());
        found
    }

    /// A node registers again with a running container.
    fn recover(&mut self, priority: u32, host: Arc<str>) {
        let found = self.runs(priority, host);
        self.started.insert(found.container);
        let launch = Some(Launch::of("component"));
        self.tell(Callback::Recovered(RunningContainer { launch, ..found }));
    }

    fn grant(&mut self, which: usize, at: usize, rightly: bool, echoes: bool) {
        let Some(request) = self.nth_request(which) else { return };
        let at = match request.hosts.len() {
            0 => host(at),
            _ if !rightly && request.relax_locality => host(at),
            hosts => request.hosts[at % hosts].clone(),
        };
        self.requests.remove(&request.id);
        if !echoes {
            self.served.insert(request.id, request.clone());
        }
        let container = self.comes(echoes.then_some(request.id), request.priority, request.size, at.clone());
        let placed = self.service.container(container);
        let is_placed = placed.is_some_and(|placed| placed.outcome == AllocationOutcome::Placed);
        if is_placed && echoes {
            assert!(
                request.hosts.contains(&at) && !request.relax_locality,
                "`Placed` means a requested host (F13)"
            );
        }
    }

    pub(super) fn take(&mut self, step: &Step) {
        match *step {
            Step::Grant { which, host, rightly, echoes } => self.grant(which, host, rightly, echoes),
            Step::GrantUnasked { component, host: at } => {
                self.comes(None, component, Resources::new(&[1]), host(at));
            }
            Step::Recover { component, host: at } => self.recover(component, host(at)),
            Step::Start { which, fails } => self.start(which, fails),
            Step::End { which, exit } => self.end(which, exit, true),
            Step::EndWithoutCallback { which } => self.end(which, 0, false),
            Step::Repeat { which } => self.repeat(which),
            Step::Withdraw { which } => {
                let Some(request) = self.nth_request(which) else { return };
                self.requests.remove(&request.id);
                self.tell(Callback::Withdrawn(request.id));
            }
            Step::Refuse { which, is_unknown } => {
                let Some(request) = self.nth_request(which) else { return };
                self.requests.remove(&request.id);
                let unknown = request.hosts.first().filter(|_| is_unknown);
                let unknown = unknown.map(|host| ClientError::UnknownHost { host: host.to_string() });
                let error = unknown.unwrap_or_else(|| ClientError::Refused("no".into()));
                self.handle(ServiceEvent::NotTaken { request: request.id, error });
            }
            Step::Flex { component, desired } => {
                // Instances that keep apart can use three hosts without a label.
                let most = match component {
                    3 => 3,
                    0..5 => desired,
                    _ => 1,
                };
                self.components[component as usize].desired = desired.min(most);
                self.handle(ServiceEvent::Flex(self.components.clone()));
            }
            Step::Node { host, is_usable, is_labelled } => {
                self.tell(Callback::NodesUpdated(vec![report(host, is_usable, is_labelled)]));
            }
            Step::Exclude { host: at } => {
                let hosts = (at < HOSTS).then(|| host(at)).into_iter().collect();
                self.handle(ServiceEvent::Exclude(hosts));
            }
            Step::Pass { by_ms } => {
                self.now_ms += by_ms;
                self.handle(ServiceEvent::TimePassed);
            }
            Step::Kill { which } => {
                let Some(found) = self.nth_container(which) else { return };
                self.handle(ServiceEvent::KillContainer(found.container));
            }
            Step::Lose { which } => {
                let Some(found) = self.nth_container(which) else { return };
                self.handle(ServiceEvent::ContainerLost(found.container));
            }
            Step::Act { which, host, kind, expires_after_ms, size } => {
                let size = (size > 0).then(|| Resources::new(&[size]));
                let version = size.map(|size| format!("{size:?}"));
                self.submit_action(which, host, kind, expires_after_ms, ComponentChange { version, size });
            }
            Step::CancelAction { back } => {
                self.handle(ServiceEvent::CancelAction(ActionId(
                    (self.last_action + 1).saturating_sub(back),
                )));
            }
            Step::StopFails { which } => {
                let Some(found) = self.nth_container(which) else { return };
                // The service may release it again.
                self.released.remove(&found.container);
                self.tell(Callback::StopFailed(found.container));
            }
            Step::RestartMaster { knows_racks } => self.restart_master(knows_racks),
        }
    }

    fn start(&mut self, which: usize, fails: bool) {
        let Some(RunningContainer { container, .. }) = self.nth_container(which) else { return };
        self.tell(match fails {
            true => Callback::StartFailed { container, diagnostics: "no".into() },
            false => Callback::Started(container),
        });
    }

    fn repeat(&mut self, which: usize) {
        let Some(back) = which.checked_rem(self.told.len()) else { return };
        let callback = self.told[self.told.len() - 1 - back].clone();
        if let Callback::StopFailed(container) = callback {
            self.released.remove(&container);
        }
        self.handle(ServiceEvent::Callback(callback));
    }

    fn end(&mut self, which: usize, exit: i32, is_told: bool) {
        let Some(found) = self.nth_container(which) else { return };
        self.running.remove(&found.container);
        if is_told {
            self.tell(Callback::Completed(vec![(found.container, ContainerExit::of(exit))]));
        }
    }

    /// The next master knows the history, the running containers and the nodes. If the nodes register late, it knows
    /// no nodes.
    fn restart_master(&mut self, knows_racks: bool) {
        let file = self.service.image(self.now_ms);
        self.service = ApplicationState::new(self.components.clone(), self.settings.clone(), self.now_ms);
        self.service.thaw(&file);
        self.requests.clear();
        self.served.clear();
        self.asked.clear();
        self.told.clear();
        self.actions.clear();
        let released = std::mem::take(&mut self.released);
        let report_of = |found: &RunningContainer| RunningContainer {
            launch: self.started.contains(&found.container).then(|| Launch::of("component")),
            is_stopping: released.contains_key(&found.container),
            ..found.clone()
        };
        let running: Vec<RunningContainer> = self.running.values().map(report_of).collect();
        // The first host registers late.
        let reports: Vec<_> = (1..HOSTS).map(|number| report(number, true, number % 2 == 0)).collect();
        if knows_racks {
            self.service.learn_nodes(&reports);
        }
        for operation in self.service.adopt(&running, self.now_ms) {
            self.carry_out(operation);
        }
        self.tell(Callback::NodesUpdated(reports));
    }

    /// From now on the manager does its work and reports all of it.
    pub(super) fn behave(&mut self) {
        let reports = (0..HOSTS).map(|number| report(number, true, number % 2 == 0)).collect();
        self.tell(Callback::NodesUpdated(reports));
        self.handle(ServiceEvent::Exclude(BTreeSet::new()));
        for _ in 0..40 {
            self.now_ms += 22_000_000;
            self.handle(ServiceEvent::TimePassed);
            let ended = self.service.containers().find(|known| !self.running.contains_key(&known.container));
            if let Some(ended) = ended {
                let exit = ContainerExit::of(ContainerExit::ABORTED);
                self.tell(Callback::Completed(vec![(ended.container, exit)]));
            }
            let leaving = |known: &ContainerStatus| {
                matches!(known.state, InstanceState::Releasing | InstanceState::StartFailed)
            };
            let leaving = self.service.containers().filter(leaving).map(|known| known.container);
            self.released.extend(leaving.map(|container| (container, 0)));
            for (container, _) in std::mem::take(&mut self.released) {
                if self.running.remove(&container).is_some() {
                    self.tell(Callback::Completed(vec![(container, ContainerExit::of(-105))]));
                }
            }
            self.serve_all();
            let starting: Vec<ContainerRef> = self.running.keys().copied().collect();
            for container in starting {
                self.tell(Callback::Started(container));
            }
        }
    }

    fn serve_all(&mut self) {
        for request in self.requests.values().cloned().collect::<Vec<_>>() {
            if !self.requests.contains_key(&request.id) {
                continue;
            }
            let taken: BTreeSet<String> = self
                .service
                .containers()
                .filter(|known| request.apart.as_deref() == Some(known.component.as_str()))
                .map(|known| known.host)
                .collect();
            let named = request.hosts.iter().cloned();
            let others = (0..HOSTS).map(host).filter(|_| request.relax_locality);
            let free = named.chain(others).find(|host| !taken.contains(&**host));
            if let Some(free) = free {
                self.requests.remove(&request.id);
                self.comes(Some(request.id), request.priority, request.size, free);
            }
        }
    }
}
