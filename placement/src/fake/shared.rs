//! One fake cluster that several services share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::FakeCluster;
use crate::client::{
    Allocation, Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, Launch, NodeReport,
    RequestId, RunningContainer, Unserved,
};
use crate::exit::ContainerExit;

/// In a shared cluster, the service of a request is in the upper bits of its id.
const CLIENT_SHIFT: u32 = 32;

pub(super) fn client_of(request: RequestId) -> u64 {
    request.0 >> CLIENT_SHIFT
}

/// A fake cluster that several services share, each through its own [client](Self::client). Services compete
/// for room, and get no callbacks about each other's containers. Clones are the same cluster.
#[derive(Clone, Debug, Default)]
pub struct SharedFakeCluster {
    inner: Arc<Mutex<Inner>>,
}

/// One service of a shared fake cluster.
#[derive(Debug)]
pub struct FakeClient {
    cluster: SharedFakeCluster,
    client_number: u64,
}

#[derive(Debug, Default)]
struct Inner {
    cluster: FakeCluster,
    last_client: u64,
    inboxes: BTreeMap<u64, Vec<Callback>>,
    owners: BTreeMap<ContainerRef, u64>,
}

impl SharedFakeCluster {
    /// Shares this cluster, on which nothing runs yet.
    #[must_use]
    pub fn new(cluster: FakeCluster) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { cluster, ..Inner::default() })) }
    }

    /// Creates a client for another service.
    #[must_use]
    pub fn client(&self) -> FakeClient {
        let mut inner = self.inner.lock();
        inner.last_client += 1;
        let client_number = inner.last_client;
        inner.inboxes.insert(client_number, Vec::new());
        inner.cluster.shunned.insert(client_number, BTreeSet::new());
        FakeClient { cluster: self.clone(), client_number }
    }

    /// Calls `act` with the cluster. Its requests have other ids than their services gave them.
    pub fn with<T>(&self, act: impl FnOnce(&mut FakeCluster) -> T) -> T {
        let mut inner = self.inner.lock();
        let done = act(&mut inner.cluster);
        inner.deliver();
        done
    }
}

impl Inner {
    /// Sorts callbacks into the services' inboxes. A delayed callback stays until a service polls.
    fn deliver(&mut self) {
        for callback in std::mem::take(&mut self.cluster.callbacks) {
            match callback {
                Callback::Allocated(allocations) => {
                    allocations.into_iter().for_each(|one| self.allocated(one));
                }
                Callback::Completed(ended) => {
                    for (container, exit) in ended {
                        let owner = self.owners.remove(&container);
                        self.tell(owner, Callback::Completed(vec![(container, exit)]));
                    }
                }
                Callback::Withdrawn(request) => {
                    self.tell(Some(client_of(request)), Callback::Withdrawn(local(request)));
                }
                Callback::NodesUpdated(reports) => {
                    for inbox in self.inboxes.values_mut() {
                        inbox.push(Callback::NodesUpdated(reports.clone()));
                    }
                }
                Callback::Recovered(ref found) => {
                    self.tell(self.owners.get(&found.container).copied(), callback);
                }
                Callback::Started(container)
                | Callback::StopFailed(container)
                | Callback::StartFailed { container, .. } => {
                    self.tell(self.owners.get(&container).copied(), callback);
                }
            }
        }
    }

    fn deliver_all(&mut self) {
        let late = self.cluster.delayed.take();
        self.cluster.callbacks.extend(late);
        self.deliver();
    }

    fn allocated(&mut self, allocation: Allocation) {
        let container = allocation.container;
        let placed_for = self.cluster.running.get(&container).map(|found| found.request);
        let Some(request) = allocation.request.or(placed_for) else { return };
        let client_number = client_of(request);
        // A container that ended before its allocation was delivered has no owner.
        if placed_for.is_some() {
            self.owners.insert(container, client_number);
        }
        let allocation = Allocation { request: allocation.request.map(local), ..allocation };
        self.tell(Some(client_number), Callback::Allocated(vec![allocation]));
    }

    fn tell(&mut self, client_number: Option<u64>, callback: Callback) {
        if let Some(inbox) = client_number.and_then(|client_number| self.inboxes.get_mut(&client_number)) {
            inbox.push(callback);
        }
    }

    fn running_of(&self, client_number: u64) -> Vec<ContainerRef> {
        let running = self.cluster.running.iter();
        running
            .filter(|(_, found)| client_of(found.request) == client_number)
            .map(|(container, _)| *container)
            .collect()
    }

    /// Removes all requests of a service without callbacks.
    fn forget_requests(&mut self, client_number: u64) {
        self.cluster.waiting.retain(|(_, request), _| client_of(*request) != client_number);
        self.cluster.swaps.retain(|_, request| client_of(request.id) != client_number);
        self.cluster.served.retain(|request, _| client_of(*request) != client_number);
    }
}

fn local(request: RequestId) -> RequestId {
    RequestId(request.0 & u64::from(u32::MAX))
}

/// Converts an error to the service's own request id.
fn localized(error: ClientError) -> ClientError {
    match error {
        ClientError::RequestRepeated(request) => ClientError::RequestRepeated(local(request)),
        error => error,
    }
}

impl FakeClient {
    /// Ends the service with its requests and containers.
    pub fn finish(self) {
        let mut inner = self.cluster.inner.lock();
        inner.forget_requests(self.client_number);
        for container in inner.running_of(self.client_number) {
            inner.cluster.end(container, ContainerExit::of(ContainerExit::KILLED_AFTER_APP_COMPLETION));
        }
        inner.cluster.shunned.remove(&self.client_number);
        inner.cluster.place();
        inner.deliver();
        inner.inboxes.remove(&self.client_number);
    }

    fn in_cluster(&self, request: RequestId) -> RequestId {
        RequestId(self.client_number << CLIENT_SHIFT | request.0)
    }

    fn request_in_cluster(&self, mut request: ContainerRequest) -> Result<ContainerRequest, ClientError> {
        if client_of(request.id) != 0 {
            return Err(ClientError::Refused("a service has too many requests".to_owned()));
        }
        request.id = self.in_cluster(request.id);
        request.apart = request.apart.map(|tag| format!("{}/{tag}", self.client_number).into());
        Ok(request)
    }

    /// Calls `act` for a container if it is the service's own.
    fn with_own(
        &self,
        container: ContainerRef,
        act: impl FnOnce(&mut FakeCluster) -> Result<(), ClientError>,
    ) -> Result<(), ClientError> {
        self.cluster.with(|cluster| {
            let found = cluster.running.get(&container);
            let is_own = found.is_some_and(|found| client_of(found.request) == self.client_number);
            if is_own { act(cluster) } else { Err(ClientError::UnknownContainer(container)) }
        })
    }
}

impl ClusterClient for FakeClient {
    fn keeps_apart(&self) -> bool {
        self.cluster.with(|cluster| cluster.keeps_apart())
    }

    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        let global = self.request_in_cluster(request)?;
        let taken = self.cluster.with(|cluster| cluster.request(global));
        taken.map_err(localized)
    }

    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        let cancelled = self.cluster.with(|cluster| cluster.cancel(self.in_cluster(request)));
        cancelled.map_err(|_| ClientError::UnknownRequest(request))
    }

    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.with_own(container, |cluster| cluster.release(container))
    }

    fn swap(&mut self, container: ContainerRef, request: ContainerRequest) -> Result<(), ClientError> {
        let global = self.request_in_cluster(request)?;
        let swapped = self.with_own(container, |cluster| cluster.swap(container, global));
        swapped.map_err(localized)
    }

    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        self.with_own(container, |cluster| cluster.start(container, launch))
    }

    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
        self.cluster.with(|cluster| {
            let shunned = cluster.shunned.entry(self.client_number).or_default();
            shunned.extend(add.iter().cloned());
            for host in remove {
                shunned.remove(host);
            }
            cluster.place();
        });
        Ok(())
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.cluster.with(|cluster| cluster.nodes())
    }

    fn take_over(&mut self) -> Vec<RunningContainer> {
        let mut inner = self.cluster.inner.lock();
        inner.forget_requests(self.client_number);
        // Delayed callbacks would name requests of the previous master.
        inner.deliver_all();
        let news = Callback::NodesUpdated(inner.cluster.nodes());
        inner.inboxes.insert(self.client_number, vec![news]);
        let own = inner.running_of(self.client_number);
        // A lost callback may have been the allocation, which sets the owner.
        inner.owners.extend(own.iter().map(|container| (*container, self.client_number)));
        let report = |container: ContainerRef| {
            let found = inner.cluster.running.get(&container)?;
            let (priority, host) = (found.priority, found.host.clone());
            let (launch, is_stopping) = (found.launch.clone(), found.is_stopping);
            Some(RunningContainer { container, priority, host, launch, is_stopping })
        };
        own.into_iter().filter_map(report).collect()
    }

    fn explain(&self, request: RequestId) -> Option<Unserved> {
        self.cluster.with(|cluster| cluster.explain(self.in_cluster(request)))
    }

    fn poll(&mut self) -> Vec<Callback> {
        let mut inner = self.cluster.inner.lock();
        inner.deliver_all();
        inner.inboxes.get_mut(&self.client_number).map(std::mem::take).unwrap_or_default()
    }
}
