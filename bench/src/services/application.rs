//! The application: masters that keep apart, and region servers; with its stops and starts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use anyhow::{Context, bail};
use apportion::{ApplicationEnd, ApplicationSpec, Handle};
use apportion_placement::{
    ComponentId, ComponentSpec, ContainerExit, ContainerRef, ContainerStatus, EngineClient, InstanceState,
    NodeCommand, PlacementPolicy, Service, ServiceSettings, read_history, write_history,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::cluster::SERVICES;
use super::jobs::slots_of;
use super::plan::{SECOND_MS, YearShape};

/// The shortest and the longest start of an instance.
const START_MS: [u64; 2] = [10 * SECOND_MS, 40 * SECOND_MS];
const MASTER: &str = "master";
const REGION_SERVER: &str = "region-server";
const MASTER_SLOTS: i64 = 2;
pub(super) const REGION_SERVER_SLOTS: i64 = 4;

/// The placement of region servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// On their previous hosts; elsewhere if that takes longer than half a minute.
    History,
    /// Anywhere.
    NoHistory,
    /// Only on their previous hosts.
    Strict,
}

impl Placement {
    /// All kinds of placement.
    pub const ALL: [Self; 3] = [Self::History, Self::NoHistory, Self::Strict];

    fn policy(self) -> PlacementPolicy {
        match self {
            Self::History => PlacementPolicy::Normal,
            Self::NoHistory => PlacementPolicy::Anywhere,
            Self::Strict => PlacementPolicy::Strict,
        }
    }
}

/// An application that is stopped and started.
pub(super) struct Application {
    handle: Handle,
    placement: Placement,
    masters: u32,
    pub(super) region_servers: u32,
    service: Option<Service<EngineClient>>,
    /// The last save, in Slider's format.
    history: Vec<u8>,
    starts: BinaryHeap<Reverse<(u64, ContainerRef)>>,
    starting: BTreeSet<ContainerRef>,
    /// Number of starting and running instances of each component, at the last check.
    strength: [u32; 4],
    deadline_ms: Option<u64>,
    random: Pcg64Mcg,
    /// Number of requests that were widened before the last stop.
    widened: u64,
}

impl Application {
    pub(super) fn new(handle: &Handle, placement: Placement, shape: &YearShape, seed: u64) -> Self {
        Self {
            handle: handle.clone(),
            placement,
            masters: shape.masters,
            region_servers: shape.region_servers,
            service: None,
            history: Vec::new(),
            starts: BinaryHeap::new(),
            starting: BTreeSet::new(),
            strength: [0; 4],
            deadline_ms: None,
            random: Pcg64Mcg::seed_from_u64(seed ^ 0xab1e),
            widened: 0,
        }
    }

    fn components(&self) -> Vec<ComponentSpec> {
        let masters = ComponentSpec::new(MASTER, 1, self.masters, slots_of(MASTER_SLOTS));
        let servers =
            ComponentSpec::new(REGION_SERVER, 2, self.region_servers, slots_of(REGION_SERVER_SLOTS));
        // A plan with many crashes must not end because of them.
        let bears_all = |spec: ComponentSpec| ComponentSpec { container_failure_threshold: None, ..spec };
        vec![
            bears_all(masters.with_policy(PlacementPolicy::AntiAffinity)),
            bears_all(servers.with_policy(self.placement.policy())),
        ]
    }

    pub(super) fn start(&mut self, now_ms: u64) -> anyhow::Result<()> {
        let spec = ApplicationSpec::new("hbase", SERVICES, "hbase");
        let client = EngineClient::submit(self.handle.clone(), spec, usize::MAX)?;
        let client = client.with_node_agents();
        let history = match &*self.history {
            [] => None,
            saved => Some(read_history(saved)?.file),
        };
        let settings = ServiceSettings { history_age_max_ms: None, ..ServiceSettings::default() };
        self.service = Some(Service::start(self.components(), settings, client, history.as_ref(), now_ms));
        Ok(())
    }

    /// Releases all containers; call [`finish`](Self::finish) when the cluster has processed that.
    pub(super) fn stop(&mut self, now_ms: u64) {
        if let Some(service) = &mut self.service {
            service.stop(now_ms);
            end_stopped(service.client_mut());
        }
        self.starts.clear();
        self.starting.clear();
        self.deadline_ms = None;
    }

    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        let service = self.service.take().context("it is not running")?;
        if service.state().container_count() > 0 {
            bail!("{} containers are left", service.state().container_count());
        }
        self.widened += widened(&service);
        service.into_client().finish(ApplicationEnd::Finished)?;
        self.strength = [0; 4];
        Ok(())
    }

    pub(super) fn is_started(&self) -> bool {
        self.service.as_ref().is_some_and(|service| !service.state().is_over())
    }

    pub(super) fn flex(&mut self, region_servers: u32, now_ms: u64) {
        self.region_servers = region_servers;
        let components = self.components();
        if let Some(service) = &mut self.service {
            service.flex(components, now_ms);
            end_stopped(service.client_mut());
        }
    }

    /// Makes one of the live containers fail; returns its host if it was a region server.
    pub(super) fn crash(&mut self, which: u32) -> anyhow::Result<Option<String>> {
        let live = self.live();
        let Some(found) = live.get(which as usize % live.len().max(1)).cloned() else { return Ok(None) };
        if let Some(service) = &mut self.service {
            service.client_mut().report_exit(found.container, ContainerExit::of(1))?;
        }
        Ok((found.component == REGION_SERVER).then_some(found.host))
    }

    fn live(&self) -> Vec<ContainerStatus> {
        let service = self.service.iter();
        let containers = service.flat_map(|service| service.state().containers());
        containers.filter(|container| container.state == InstanceState::Live).collect()
    }

    /// Number of live region servers on each host.
    pub(super) fn hosts(&self) -> BTreeMap<String, u32> {
        let mut hosts = BTreeMap::new();
        for server in self.live().into_iter().filter(|container| container.component == REGION_SERVER) {
            *hosts.entry(server.host).or_default() += 1;
        }
        hosts
    }

    pub(super) fn next_ms(&self) -> Option<u64> {
        let starts_ms = self.starts.peek().map(|Reverse((at_ms, _))| *at_ms);
        [starts_ms, self.deadline_ms].into_iter().flatten().min()
    }

    /// Handles events and due work. Returns whether the number of starting or running instances changed.
    pub(super) fn tick(&mut self, now_ms: u64) -> anyhow::Result<bool> {
        let Some(service) = &mut self.service else { return Ok(false) };
        while let Some(Reverse((at_ms, container))) = self.starts.peek().copied()
            && at_ms <= now_ms
        {
            self.starts.pop();
            // The container may have been lost with its host meanwhile.
            let _ = service.client_mut().report_started(container);
        }
        self.deadline_ms = service.tick(now_ms);
        end_stopped(service.client_mut());
        if let Some(failure) = service.state().failure() {
            bail!("the service gave up: {}", failure.message);
        }
        let strength = [1, 2].map(ComponentId).map(|id| service.state().component(id));
        let [masters, servers] = strength.map(|found| found.map_or([0; 2], |s| [s.starting, s.live]));
        let strength = [masters[0], masters[1], servers[0], servers[1]];
        if let Some(history) = service.take_history(now_ms) {
            self.history.clear();
            write_history(&history, &mut self.history)?;
        }
        if std::mem::replace(&mut self.strength, strength) == strength {
            return Ok(false);
        }
        self.plan_starts(now_ms);
        Ok(true)
    }

    fn plan_starts(&mut self, now_ms: u64) {
        let service = self.service.iter();
        let containers = service.flat_map(|service| service.state().containers());
        let starting = containers.filter(|container| container.state == InstanceState::Starting);
        let starting: BTreeSet<ContainerRef> = starting.map(|container| container.container).collect();
        for container in starting.difference(&self.starting) {
            let [least_ms, most_ms] = START_MS;
            let at_ms = now_ms + self.random.random_range(least_ms..=most_ms);
            self.starts.push(Reverse((at_ms, *container)));
        }
        self.starting = starting;
    }

    /// Number of requests that were widened so far.
    pub(super) fn widened(&self) -> u64 {
        self.widened + self.service.as_ref().map_or(0, widened)
    }

    pub(super) fn live_region_servers(&self) -> u32 {
        self.strength[3]
    }

    pub(super) fn is_at_full_strength(&self) -> bool {
        self.strength[1] == self.masters && self.strength[3] == self.region_servers
    }

    /// Whether two masters start or run on one host.
    pub(super) fn has_masters_together(&self) -> bool {
        let service = self.service.iter();
        let masters = service.flat_map(|service| service.state().containers());
        let masters = masters.filter(|container| container.component == MASTER && container.state.is_held());
        let mut hosts = BTreeSet::new();
        masters.into_iter().any(|master| !hosts.insert(master.host))
    }
}

/// Ends processes as soon as they are told to stop.
fn end_stopped(client: &mut EngineClient) {
    for command in client.take_commands() {
        if let NodeCommand::Kill { container, .. } = command {
            // The container may have ended before.
            drop(client.report_exit(container, ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER)));
        }
    }
}

fn widened(service: &Service<EngineClient>) -> u64 {
    let components = [1, 2].map(ComponentId).into_iter();
    components.filter_map(|id| service.state().component(id)).map(|status| status.counters.widened).sum()
}
