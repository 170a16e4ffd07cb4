//! A service on a cluster, with a record of its calls to the manager.

use std::sync::Arc;

use apportion::Resources;
use apportion_placement::{
    AntiAffinity, Callback, ClientError, ClusterClient, ComponentId, ComponentSpec, ComponentStatus,
    ContainerExit, ContainerRef, ContainerRequest, ContainerStatus, HistoryFile, InstanceState, Launch,
    NodeReport, PlacementPolicy, RequestId, RunningContainer, Service, ServiceSettings, Unserved,
};

use super::Manager;

/// A call of a service to its manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Request(ContainerRequest),
    Cancel(RequestId),
    Release(ContainerRef),
    Swap(ContainerRef, ContainerRequest),
    Blacklist { add: Vec<Arc<str>>, remove: Vec<Arc<str>> },
}

/// A manager that records the calls to it.
#[derive(Debug)]
pub(crate) struct Recorder<M> {
    pub manager: M,
    pub calls: Vec<Call>,
    one_by_one: bool,
}

impl<M: Manager> ClusterClient for Recorder<M> {
    fn keeps_apart(&self) -> bool {
        !self.one_by_one && self.manager.keeps_apart()
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        self.calls.push(Call::Request(request.clone()));
        self.manager.request(request)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        self.calls.push(Call::Cancel(request));
        self.manager.cancel(request)
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.calls.push(Call::Release(container));
        self.manager.release(container)
    }

    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        self.calls.push(Call::Swap(container, request.clone()));
        let swapped = self.manager.swap(container, request);
        if swapped.is_err() {
            self.calls.pop();
        }
        swapped
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        self.manager.start(container, launch)
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        self.calls.push(Call::Blacklist { add: add.to_vec(), remove: remove.to_vec() });
        self.manager.update_blacklist(add, remove)
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.manager.nodes()
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        self.manager.take_over()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        self.manager.explain(request)
    }

    fn poll(&mut self) -> Vec<Callback> {
        self.manager.poll()
    }
}

/// A cluster, before a service runs on it.
#[derive(Debug)]
pub(crate) struct Cluster<M> {
    manager: M,
    settings: ServiceSettings,
    one_by_one: bool,
}

/// The name of a host of [`Cluster::of`], in the style of Slider's tests.
pub(crate) fn host(number: usize) -> String {
    format!("{number:08x}")
}

impl<M: Manager> Cluster<M> {
    /// A cluster with this many hosts, each with room for this many containers.
    pub(crate) fn of(hosts: usize, slots: i64) -> Self {
        Self::on(M::new(), hosts, slots)
    }

    /// The same with this manager.
    pub(crate) fn on(mut manager: M, hosts: usize, slots: i64) -> Self {
        for number in 0..hosts {
            manager.add_node(&host(number), "", "", slots);
        }
        Self { manager, settings: ServiceSettings::default(), one_by_one: false }
    }

    pub(crate) fn with_node(mut self, host: &str, rack: &str, label: &str, slots: i64) -> Self {
        self.manager.add_node(host, rack, label, slots);
        self
    }

    pub(crate) fn with_settings(mut self, change: impl FnOnce(&mut ServiceSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Requests for instances that keep apart are sent one after another.
    pub(crate) fn one_by_one(mut self) -> Self {
        self.one_by_one = true;
        self.with_settings(|settings| settings.anti_affinity = AntiAffinity::OneByOne)
    }

    /// A launched container runs only when the test reports it.
    pub(crate) fn starting_by_hand(mut self) -> Self {
        self.manager = self.manager.start_by_hand();
        self
    }

    /// Starts a service of these components at time 1, with or without a history.
    pub(crate) fn start(mut self, components: Vec<ComponentSpec>, history: Option<&HistoryFile>) -> Bed<M> {
        self.manager.set_time(1);
        let client = Recorder { manager: self.manager, calls: Vec::new(), one_by_one: self.one_by_one };
        let service = Service::start(components.clone(), self.settings.clone(), client, history, 1);
        let mut bed = Bed { service, now_ms: 1, components, settings: self.settings };
        bed.tick();
        bed
    }
}

/// A service on a cluster.
#[derive(Debug)]
pub(crate) struct Bed<M> {
    pub service: Service<Recorder<M>>,
    pub now_ms: u64,
    components: Vec<ComponentSpec>,
    settings: ServiceSettings,
}

/// A component whose containers take one slot.
pub(crate) fn component(id: u32, desired: u32) -> ComponentSpec {
    ComponentSpec::new(format!("role{id}"), id, desired, Resources::new(&[1]))
}

impl<M: Manager> Bed<M> {
    /// Runs the service once, without the cluster, and returns its calls.
    pub(crate) fn tick(&mut self) -> Vec<Call> {
        self.service.tick(self.now_ms);
        assert_eq!(self.service.state().audit(), [], "after a tick");
        std::mem::take(&mut self.service.client_mut().calls)
    }

    /// Runs cluster and service until nothing changes. Returns the service's calls.
    pub(crate) fn run_until_idle(&mut self) -> Vec<Call> {
        let mut calls = self.tick();
        for _ in 0..100 {
            self.service.client_mut().manager.run_until_idle();
            let more = self.tick();
            if more.is_empty() && self.is_quiet() {
                return calls;
            }
            calls.extend(more);
        }
        panic!("it does not become idle");
    }

    /// Whether neither cluster nor service has anything left to do.
    fn is_quiet(&mut self) -> bool {
        self.service.client_mut().manager.run_until_idle();
        let before = format!("{:?}", self.service.state());
        let calls = self.tick();
        calls.is_empty() && before == format!("{:?}", self.service.state())
    }

    pub(crate) fn at(&mut self, now_ms: u64) -> Vec<Call> {
        self.now_ms = now_ms;
        self.service.client_mut().manager.set_time(now_ms);
        self.tick()
    }

    /// Sets the desired instances of a component. Returns the service's immediate calls.
    pub(crate) fn flex(&mut self, id: u32, desired: u32) -> Vec<Call> {
        for spec in self.components.iter_mut().filter(|spec| spec.id == ComponentId(id)) {
            spec.desired = desired;
        }
        self.service.flex(self.components.clone(), self.now_ms);
        assert_eq!(self.service.state().audit(), [], "after a flex");
        std::mem::take(&mut self.service.client_mut().calls)
    }

    /// Removes the component from the next master's configuration.
    pub(crate) fn forget(&mut self, id: u32) {
        self.components.retain(|spec| spec.id != ComponentId(id));
    }

    /// Changes the next master's configuration.
    pub(crate) fn next_master(&mut self, change: impl FnOnce(&mut Vec<ComponentSpec>)) {
        change(&mut self.components);
    }

    /// Changes components and flexes the service.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Vec<ComponentSpec>)) -> Vec<Call> {
        change(&mut self.components);
        self.service.flex(self.components.clone(), self.now_ms);
        std::mem::take(&mut self.service.client_mut().calls)
    }

    pub(crate) fn status(&self, id: u32) -> ComponentStatus {
        let status = self.service.state().component(ComponentId(id));
        status.unwrap_or_else(|| panic!("there is no component {id}"))
    }

    pub(crate) fn containers(&self, id: u32) -> Vec<ContainerStatus> {
        let name = format!("role{id}");
        self.service.state().containers().filter(|container| container.component == name).collect()
    }

    /// The component's only container.
    pub(crate) fn only(&self, id: u32) -> ContainerStatus {
        let mut containers = self.containers(id);
        assert_eq!(containers.len(), 1, "role{id} has one container");
        containers.remove(0)
    }

    pub(crate) fn hosts(&self, id: u32) -> Vec<String> {
        let mut hosts: Vec<String> =
            self.containers(id).into_iter().map(|container| container.host).collect();
        hosts.sort();
        hosts
    }

    /// A container ends by itself.
    pub(crate) fn end(&mut self, container: ContainerRef, exit: i32) -> Vec<Call> {
        let ended = self.service.client_mut().manager.end(container, ContainerExit::of(exit));
        assert_eq!(ended, Ok(()));
        self.service.client_mut().manager.run_until_idle();
        self.tick()
    }

    pub(crate) fn state_of(&self, container: ContainerRef) -> Option<InstanceState> {
        self.service.state().instance_state(container)
    }

    pub(crate) fn manager(&mut self) -> &mut M {
        &mut self.service.client_mut().manager
    }

    /// The service stops, its containers end, and it starts again from its history.
    pub(crate) fn restart(mut self) -> Self {
        let history = self.service.take_history(self.now_ms);
        self.service.stop(self.now_ms);
        self.run_until_idle();
        assert_eq!(self.service.state().container_count(), 0);
        let Self { service, now_ms, components, settings } = self;
        let client = service.into_client();
        let service = Service::start(components.clone(), settings.clone(), client, history.as_ref(), now_ms);
        Self { service, now_ms, components, settings }
    }

    /// Restarts the service's master while its containers run on.
    pub(crate) fn restart_master(mut self) -> Self {
        let history = self.service.take_history(self.now_ms);
        let Self { service, now_ms, components, settings } = self;
        let client = service.into_client();
        let service =
            Service::restart(components.clone(), settings.clone(), client, history.as_ref(), now_ms);
        let mut bed = Self { service, now_ms, components, settings };
        bed.tick();
        bed
    }
}

pub(crate) fn requests(calls: &[Call]) -> Vec<&ContainerRequest> {
    let mut requests = Vec::new();
    for call in calls {
        if let Call::Request(request) | Call::Swap(_, request) = call {
            requests.push(request);
        }
    }
    requests
}

pub(crate) fn cancels(calls: &[Call]) -> usize {
    calls.iter().filter(|call| matches!(call, Call::Cancel(_))).count()
}

pub(crate) fn releases(calls: &[Call]) -> Vec<ContainerRef> {
    let release = |call: &Call| match call {
        Call::Release(container) | Call::Swap(container, _) => Some(*container),
        _ => None,
    };
    calls.iter().filter_map(release).collect()
}

/// The hosts that a request names.
pub(crate) fn named(request: &ContainerRequest) -> Vec<&str> {
    request.hosts.iter().map(|host| &**host).collect()
}

/// The components of Slider's tests: 0 normal, 1 strict, 2 anywhere.
pub(crate) fn roles(desired: [u32; 3]) -> Vec<ComponentSpec> {
    let policies = [PlacementPolicy::Normal, PlacementPolicy::Strict, PlacementPolicy::Anywhere];
    let timeouts_ms = [1_000, 1_000, 2_000];
    let numbered = (0..).zip(desired).zip(policies).zip(timeouts_ms);
    numbered
        .map(|(((id, desired), policy), escalate_after_ms)| ComponentSpec {
            escalate_after_ms,
            node_failure_threshold: Some(2),
            ..component(id, desired).with_policy(policy)
        })
        .collect()
}
