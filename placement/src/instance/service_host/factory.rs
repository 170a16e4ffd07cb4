//! Creates clients for services: one connection to the cluster manager per application.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use apportion::{ApplicationEnd, ApplicationSpec, Engine};

use crate::client::{ClusterClient, NodeReport};
use crate::engine_client::EngineClient;
use crate::fake::{FakeClient, FakeCluster, SharedFakeCluster};

/// Connects applications to a cluster manager.
pub trait ClientFactory: fmt::Debug + Send {
    /// The client of an application.
    type Client: ClusterClient + fmt::Debug + Send;

    /// Registers an application.
    ///
    /// # Errors
    /// If the manager refuses it; the reason in words.
    fn connect(&mut self, user: &str, name: &str) -> Result<Self::Client, String>;

    /// Ends an application; the manager takes its containers back. The factory keeps the client as long as
    /// the manager needs it.
    fn disconnect(&mut self, client: Self::Client, end: ApplicationEnd);

    /// Returns the present nodes.
    fn nodes(&self) -> Vec<NodeReport>;

    /// Lets a manager without threads do all work that takes no time.
    fn run_until_idle(&mut self) {}
}

/// Connects applications to one leaf queue of an engine.
#[derive(Clone, Debug)]
pub struct EngineFactory {
    engine: Arc<Engine>,
    queue: String,
    /// Clients of ending applications. They still confirm stops of containers that the service did
    /// not know.
    ending: Arc<Mutex<Vec<EngineClient>>>,
}

impl EngineFactory {
    /// The most events of an application that may wait to be polled.
    const EVENTS_MAX: usize = 100_000;

    /// Creates a factory for this leaf.
    #[must_use]
    pub fn new(engine: Arc<Engine>, queue: impl Into<String>) -> Self {
        Self { engine, queue: queue.into(), ending: Arc::default() }
    }

    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Confirms the containers that the engine stops, until the applications are gone.
    fn confirm_ends(&self) {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.is_empty() {
            return;
        }
        for client in ending.iter_mut() {
            client.poll();
        }
        self.engine.run_until_quiet();
        ending.retain(|client| !client.is_unknown());
    }
}

impl ClientFactory for EngineFactory {
    type Client = EngineClient;

    fn connect(&mut self, user: &str, name: &str) -> Result<EngineClient, String> {
        let spec = ApplicationSpec::new(name, &*self.queue, user);
        let client = EngineClient::submit(self.engine.handle(), spec, Self::EVENTS_MAX);
        client.map_err(|error| error.to_string())
    }

    fn disconnect(&mut self, mut client: EngineClient, end: ApplicationEnd) {
        // An engine that was shut down has ended the application already.
        if client.finish(end).is_ok() {
            self.ending.lock().unwrap_or_else(PoisonError::into_inner).push(client);
        }
    }

    fn nodes(&self) -> Vec<NodeReport> {
        crate::engine_client::reports(&self.engine.handle())
    }

    fn run_until_idle(&mut self) {
        self.engine.run_until_quiet();
        self.confirm_ends();
    }
}

/// Connects applications to one fake cluster.
#[derive(Clone, Debug)]
pub struct FakeFactory {
    cluster: SharedFakeCluster,
}

impl FakeFactory {
    /// Creates a factory for this cluster.
    #[must_use]
    pub fn new(cluster: FakeCluster) -> Self {
        Self { cluster: SharedFakeCluster::new(cluster) }
    }

    /// Returns the cluster, for tests to change.
    #[must_use]
    pub fn cluster(&self) -> &SharedFakeCluster {
        &self.cluster
    }
}

impl ClientFactory for FakeFactory {
    type Client = FakeClient;

    fn connect(&mut self, _user: &str, _name: &str) -> Result<FakeClient, String> {
        Ok(self.cluster.client())
    }

    fn disconnect(&mut self, client: FakeClient, _end: ApplicationEnd) {
        client.finish();
    }

    fn nodes(&self) -> Vec<NodeReport> {
        self.cluster.with(|cluster| cluster.nodes())
    }
}
