//! A cluster manager in memory, without threads or a clock: it places what fits, the most urgent request first and on
//! the first of the hosts, as soon as something changes.
//!
//! For tests, also of others' services: it can be made to wait for each step ([`FakeCluster::granting_by_hand`],
//! [`FakeCluster::starting_by_hand`]), and told to misbehave ([`Fault`]).

mod client;
mod fault;
mod place;
mod shared;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use apportion::Resources;

pub use fault::Fault;
pub use shared::{FakeTenant, SharedFakeCluster};

use crate::client::{Callback, ClientError, ContainerRef, ContainerRequest, Launch, RequestId};
use crate::exit::ContainerExit;

/// Nodes with room, requests that wait, containers that run.
#[derive(Debug)]
pub struct FakeCluster {
    nodes: BTreeMap<Arc<str>, FakeNode>,
    waiting: BTreeMap<(u32, RequestId), ContainerRequest>,
    /// Requests that were served without saying so, until they are taken back.
    served: BTreeMap<RequestId, ContainerRequest>,
    running: BTreeMap<ContainerRef, FakeContainer>,
    blacklist: BTreeSet<Arc<str>>,
    /// The same of each service that shares the cluster.
    shunned: BTreeMap<u64, BTreeSet<Arc<str>>>,
    faults: VecDeque<Fault>,
    callbacks: Vec<Callback>,
    delayed: Option<Callback>,
    last_container: u64,
    keeps_apart: bool,
    echoes_requests: bool,
    places_by_itself: bool,
    starts_by_itself: bool,
    stops_by_itself: bool,
    /// Requests by the container that is being stopped for them.
    swaps: BTreeMap<ContainerRef, ContainerRequest>,
}

#[derive(Debug)]
struct FakeNode {
    rack: Arc<str>,
    label: Arc<str>,
    capacity: Resources,
    is_usable: bool,
    /// What runs on it, and what that takes.
    running: BTreeSet<ContainerRef>,
    used: Resources,
}

#[derive(Debug)]
struct FakeContainer {
    /// It was placed for it.
    request: RequestId,
    host: Arc<str>,
    size: Resources,
    priority: u32,
    apart: Option<Arc<str>>,
    /// What was started in it, if anything was.
    launch: Option<Launch>,
    /// It was given back, and what was started in it has not ended.
    is_stopping: bool,
}

impl Default for FakeCluster {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            waiting: BTreeMap::new(),
            served: BTreeMap::new(),
            running: BTreeMap::new(),
            blacklist: BTreeSet::new(),
            shunned: BTreeMap::new(),
            faults: VecDeque::new(),
            callbacks: Vec::new(),
            delayed: None,
            last_container: 0,
            keeps_apart: true,
            echoes_requests: true,
            places_by_itself: true,
            starts_by_itself: true,
            stops_by_itself: true,
            swaps: BTreeMap::new(),
        }
    }
}

impl FakeCluster {
    /// A cluster without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same cluster, which does not say which request a container is for, and does not keep containers apart: as
    /// YARN was when Slider was written. A request stays until it is taken back, also after it was served.
    #[must_use]
    pub fn like_yarn(mut self) -> Self {
        self.keeps_apart = false;
        self.echoes_requests = false;
        self
    }

    /// The same cluster, which places nothing until it is told to [`grant`](Self::grant).
    #[must_use]
    pub fn granting_by_hand(mut self) -> Self {
        self.places_by_itself = false;
        self
    }

    /// The same cluster, where what is started runs only when [`report`](Self::report) says so.
    #[must_use]
    pub fn starting_by_hand(mut self) -> Self {
        self.starts_by_itself = false;
        self
    }

    /// The same cluster, where a container in which something was started keeps its place after it was given back,
    /// until [`complete`](Self::complete) says that it has ended.
    #[must_use]
    pub fn stopping_by_hand(mut self) -> Self {
        self.stops_by_itself = false;
        self
    }

    /// Adds a node without rack or label, or gives a known one this capacity.
    pub fn add_node(&mut self, host: &str, capacity: Resources) {
        self.add_node_in(host, "", "", capacity);
    }

    /// Adds a node, or changes what is known of it.
    pub fn add_node_in(&mut self, host: &str, rack: &str, label: &str, capacity: Resources) {
        let before = self.nodes.remove(host);
        let (running, used) = before.map_or_else(Default::default, |node| (node.running, node.used));
        let node =
            FakeNode { rack: rack.into(), label: label.into(), capacity, is_usable: true, running, used };
        self.nodes.insert(host.into(), node);
        self.tell_of(host);
    }

    /// Lets a node take containers, or no more of them.
    pub fn set_usable(&mut self, host: &str, is_usable: bool) {
        if let Some(node) = self.nodes.get_mut(host) {
            node.is_usable = is_usable;
        }
        self.tell_of(host);
    }

    /// Gives a node another label.
    pub fn set_label(&mut self, host: &str, label: &str) {
        if let Some(node) = self.nodes.get_mut(host) {
            node.label = label.into();
        }
        self.tell_of(host);
    }

    /// A node fails: it takes nothing, and what ran on it is lost.
    pub fn lose_node(&mut self, host: &str) {
        self.set_usable(host, false);
        let lost: Vec<ContainerRef> =
            self.nodes.get(host).map(|node| node.running.iter().copied().collect()).unwrap_or_default();
        for container in lost {
            self.end(container, ContainerExit::of(ContainerExit::ABORTED));
        }
    }

    /// Lets a container end, by itself or because it was given back before.
    ///
    /// # Errors
    /// When it has ended before.
    pub fn complete(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        let found = self.running.get(&container).ok_or(ClientError::UnknownContainer(container))?;
        let released = ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER);
        self.end(container, if found.is_stopping { released } else { exit });
        self.place();
        Ok(())
    }

    /// From now on, when its turn comes, this goes wrong.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push_back(fault);
    }

    /// What was to go wrong and has not yet goes well.
    pub fn forget_faults(&mut self) {
        self.faults.clear();
    }

    /// Tells the service something, whether it is true or not.
    pub fn report(&mut self, callback: Callback) {
        self.callbacks.push(callback);
    }

    /// Requests that wait, in the order in which they are served.
    pub fn waiting(&self) -> impl Iterator<Item = &ContainerRequest> {
        self.waiting.values()
    }

    /// Hosts to which nothing of the service comes.
    #[must_use]
    pub fn blacklist(&self) -> &BTreeSet<Arc<str>> {
        &self.blacklist
    }

    /// Where a container runs.
    #[must_use]
    pub fn host_of(&self, container: ContainerRef) -> Option<&Arc<str>> {
        self.running.get(&container).map(|found| &found.host)
    }

    /// Containers in which something was started, where, and what.
    pub fn launched(&self) -> impl Iterator<Item = (ContainerRef, &Arc<str>, &Launch)> {
        let running = self.running.iter();
        running.filter_map(|(container, found)| Some((*container, &found.host, found.launch.as_ref()?)))
    }

    fn end(&mut self, container: ContainerRef, exit: ContainerExit) {
        if let Some(found) = self.running.remove(&container) {
            if let Some(node) = self.nodes.get_mut(&found.host) {
                node.running.remove(&container);
                node.used -= found.size;
            }
            self.tell(Callback::Completed(vec![(container, exit)]));
        }
        if let Some(request) = self.swaps.remove(&container) {
            let key = (request.priority, request.id);
            self.waiting.insert(key, request);
            self.place_one(key);
        }
    }

    /// Stops what was started in a container. Whether that takes until somebody says so.
    fn stops_slowly(&mut self, container: ContainerRef) -> bool {
        let stops_by_itself = self.stops_by_itself;
        let found = self.running.get_mut(&container).filter(|found| found.launch.is_some());
        found.is_some_and(|found| {
            found.is_stopping = !stops_by_itself;
            found.is_stopping
        })
    }

    fn tell_of(&mut self, host: &str) {
        let report = self.nodes.get_key_value(host).map(|(host, node)| self.report_of(host, node));
        if let Some(report) = report {
            self.tell(Callback::NodesUpdated(vec![report]));
        }
        self.place();
    }
}
