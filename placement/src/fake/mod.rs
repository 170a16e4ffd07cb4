//! A cluster manager in memory, without threads or a clock. It places requests as soon as something
//! changes: the most urgent request first, on the first host that fits.
//!
//! It serves tests, also of other crates' services. It can wait for each step
//! ([`FakeCluster::granting_by_hand`], [`FakeCluster::starting_by_hand`]) and inject a [`Fault`].

mod client;
mod fault;
mod place;
mod shared;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use apportion::Resources;

pub use fault::Fault;
pub use shared::{FakeClient, SharedFakeCluster};

use crate::client::{Callback, ClientError, ContainerRef, ContainerRequest, Launch, RequestId};
use crate::exit::ContainerExit;

/// A fake cluster: nodes, waiting requests and running containers.
#[derive(Debug)]
pub struct FakeCluster {
    nodes: BTreeMap<Arc<str>, FakeNode>,
    waiting: BTreeMap<(u32, RequestId), ContainerRequest>,
    /// Requests that were served without being named, until they are cancelled.
    served: BTreeMap<RequestId, ContainerRequest>,
    running: BTreeMap<ContainerRef, FakeContainer>,
    blacklist: BTreeSet<Arc<str>>,
    /// The blacklist of each service that shares the cluster.
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
    /// Requests of swaps by the container that is being stopped for them.
    swaps: BTreeMap<ContainerRef, ContainerRequest>,
}

#[derive(Debug)]
struct FakeNode {
    rack: Arc<str>,
    label: Arc<str>,
    capacity: Resources,
    is_usable: bool,
    /// Its containers, and the resources that they use.
    running: BTreeSet<ContainerRef>,
    used: Resources,
}

#[derive(Debug)]
struct FakeContainer {
    /// The request that it was placed for.
    request: RequestId,
    host: Arc<str>,
    size: Resources,
    priority: u32,
    apart: Option<Arc<str>>,
    /// The process that was started in it.
    launch: Option<Launch>,
    /// Whether it was released and its process has not ended.
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
    /// Creates a cluster without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes it behave like YARN when Slider was written: it does not name the request of a container and
    /// does not keep containers apart. A request stays until it is cancelled, even after it was served.
    #[must_use]
    pub fn like_yarn(mut self) -> Self {
        self.keeps_apart = false;
        self.echoes_requests = false;
        self
    }

    /// Makes it place containers only on [`grant`](Self::grant).
    #[must_use]
    pub fn granting_by_hand(mut self) -> Self {
        self.places_by_itself = false;
        self
    }

    /// Makes it report no starts; tests do with [`report`](Self::report).
    #[must_use]
    pub fn starting_by_hand(mut self) -> Self {
        self.starts_by_itself = false;
        self
    }

    /// Makes a released container with a process keep its place until [`complete`](Self::complete) ends it.
    #[must_use]
    pub fn stopping_by_hand(mut self) -> Self {
        self.stops_by_itself = false;
        self
    }

    /// Adds a node without rack and label, or changes the capacity of a known one.
    pub fn add_node(&mut self, host: &str, capacity: Resources) {
        self.add_node_in(host, "", "", capacity);
    }

    /// Adds or changes a node.
    pub fn add_node_in(&mut self, host: &str, rack: &str, label: &str, capacity: Resources) {
        let before = self.nodes.remove(host);
        let (running, used) = before.map_or_else(Default::default, |node| (node.running, node.used));
        let node =
            FakeNode { rack: rack.into(), label: label.into(), capacity, is_usable: true, running, used };
        self.nodes.insert(host.into(), node);
        self.tell_of(host);
    }

    /// Sets whether a node accepts containers.
    pub fn set_usable(&mut self, host: &str, is_usable: bool) {
        if let Some(node) = self.nodes.get_mut(host) {
            node.is_usable = is_usable;
        }
        self.tell_of(host);
    }

    /// Sets the label of a node.
    pub fn set_label(&mut self, host: &str, label: &str) {
        if let Some(node) = self.nodes.get_mut(host) {
            node.label = label.into();
        }
        self.tell_of(host);
    }

    /// Fails a node: it accepts nothing, and its containers are lost.
    pub fn lose_node(&mut self, host: &str) {
        self.set_usable(host, false);
        let lost: Vec<ContainerRef> =
            self.nodes.get(host).map(|node| node.running.iter().copied().collect()).unwrap_or_default();
        for container in lost {
            self.end(container, ContainerExit::of(ContainerExit::ABORTED));
        }
    }

    /// Ends a container, by itself or after its release.
    ///
    /// # Errors
    /// If it has ended before.
    pub fn complete(&mut self, container: ContainerRef, exit: ContainerExit) -> Result<(), ClientError> {
        let found = self.running.get(&container).ok_or(ClientError::UnknownContainer(container))?;
        let released = ContainerExit::of(ContainerExit::KILLED_BY_APPMASTER);
        self.end(container, if found.is_stopping { released } else { exit });
        self.place();
        Ok(())
    }

    /// Injects a fault for its next turn.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push_back(fault);
    }

    /// Drops all pending faults.
    pub fn forget_faults(&mut self) {
        self.faults.clear();
    }

    /// Delivers a callback to the service, true or not.
    pub fn report(&mut self, callback: Callback) {
        self.callbacks.push(callback);
    }

    /// Returns waiting requests in the order in which they are served.
    pub fn waiting(&self) -> impl Iterator<Item = &ContainerRequest> {
        self.waiting.values()
    }

    /// Returns the blacklisted hosts.
    #[must_use]
    pub fn blacklist(&self) -> &BTreeSet<Arc<str>> {
        &self.blacklist
    }

    /// Returns the host of a container.
    #[must_use]
    pub fn host_of(&self, container: ContainerRef) -> Option<&Arc<str>> {
        self.running.get(&container).map(|found| &found.host)
    }

    /// Returns the containers with a process, their hosts and processes.
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

    /// Stops the process in a container. Returns whether [`complete`](Self::complete) has to end it.
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
