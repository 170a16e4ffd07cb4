//! Hosts that really run their applications, on an engine and on the fake.

use std::path::Path;
use std::sync::Arc;

use apportion::config::{EngineConfig, QueueConfig};
use apportion::{Engine, ManualClock, Mode, NodeSpec, ResourceTypes, Resources};
use apportion_placement::instance::{
    AnswerDetail, AppId, ApplicationHost, ApplicationReport, ClientFactory, EngineFactory, FakeFactory,
    InstanceClient, InstanceDirectories, InstanceName, Providers, ServiceHost, SizeBounds, find_application,
};
use apportion_placement::{
    ClientError, ContainerExit, ContainerRef, EngineClient, FakeClient, FakeCluster, ServiceStatus,
};
use tempfile::TempDir;

use super::support::{Outcome, detail};

pub(crate) const HOSTS: [&str; 3] = ["alpha", "beta", "gamma"];

/// A factory of clients whose containers a test can end.
pub(crate) trait Factory: ClientFactory + Clone + 'static {
    fn new() -> Result<Self, Box<dyn std::error::Error>>;
    fn end(&self, client: &mut Self::Client, container: ContainerRef, status: i32)
    -> Result<(), ClientError>;
}

impl Factory for FakeFactory {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let mut cluster = FakeCluster::new();
        for host in HOSTS {
            cluster.add_node(host, Resources::new(&[1_024, 8_000]));
        }
        Ok(Self::new(cluster))
    }

    fn end(&self, _: &mut FakeClient, container: ContainerRef, status: i32) -> Result<(), ClientError> {
        self.cluster().with(|cluster| cluster.complete(container, ContainerExit::of(status)))
    }
}

impl Factory for EngineFactory {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None)?;
        for host in HOSTS {
            engine.handle().add_node(NodeSpec::new(host, Resources::new(&[1_024, 8_000])))?;
        }
        Ok(Self::new(Arc::new(engine), "root.default"))
    }

    fn end(
        &self,
        client: &mut EngineClient,
        container: ContainerRef,
        status: i32,
    ) -> Result<(), ClientError> {
        client.report_exit(container, ContainerExit::of(status))
    }
}

pub(crate) struct Bed<F: Factory> {
    pub(crate) folder: TempDir,
    pub(crate) factory: F,
    pub(crate) host: Arc<ServiceHost<F>>,
    pub(crate) client: InstanceClient,
}

pub(crate) fn client<F: Factory>(folder: &Path, host: &Arc<ServiceHost<F>>) -> InstanceClient {
    let host: Arc<dyn ApplicationHost> = Arc::clone(host) as Arc<dyn ApplicationHost>;
    let directories = InstanceDirectories::new(folder.join("cluster"));
    InstanceClient::new(directories, host, Arc::new(Providers::built_in()), "ann", "this test")
}

impl<F: Factory> Bed<F> {
    pub(crate) fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let factory = F::new()?;
        let host = Arc::new(ServiceHost::new(factory.clone(), SizeBounds::default()));
        let client = client(folder.path(), &host);
        Ok(Self { folder, factory, host, client })
    }

    pub(crate) fn report(&self) -> Result<ApplicationReport, Box<dyn std::error::Error>> {
        let reports = self.host.reports("ann");
        let name: InstanceName = "web".parse()?;
        Ok(find_application(&reports, &name).cloned().ok_or("web was started")?)
    }

    pub(crate) fn app(&self) -> Result<AppId, Box<dyn std::error::Error>> {
        Ok(self.report()?.id)
    }

    pub(crate) fn status(&self) -> Result<ServiceStatus, Box<dyn std::error::Error>> {
        match detail(self.client.status("web"))? {
            AnswerDetail::Status(status) => Ok(*status),
            other => Err(format!("{other:?} is not a status").into()),
        }
    }

    pub(crate) fn live(&self) -> Result<u32, Box<dyn std::error::Error>> {
        Ok(self.status()?.components.iter().map(|component| component.live).sum())
    }

    /// The hosts of the workers, sorted.
    pub(crate) fn workers(&self) -> Result<Vec<String>, Box<dyn std::error::Error>> {
        let containers = self.host.containers(self.app()?)?;
        let workers = containers.into_iter().filter(|found| found.component == "worker");
        let mut hosts: Vec<String> = workers.map(|found| found.host.to_string()).collect();
        hosts.sort();
        Ok(hosts)
    }

    /// Ends the first container of a component, as if by itself.
    pub(crate) fn end(&self, component: &str, status: i32) -> Outcome {
        let containers = self.host.containers(self.app()?)?;
        let found = containers.into_iter().find(|found| found.component == component);
        let container = found.ok_or("it has one")?.container;
        self.host.with_client(self.app()?, |client| self.factory.end(client, container, status))??;
        self.host.tick(0);
        Ok(())
    }
}

/// Defines the test for the engine and for the fake.
macro_rules! on_both {
    ($name:ident) => {
        mod $name {
            #[test]
            fn on_the_engine() -> super::Outcome {
                super::$name::<apportion_placement::instance::EngineFactory>()
            }

            #[test]
            fn on_the_fake() -> super::Outcome {
                super::$name::<apportion_placement::instance::FakeFactory>()
            }
        }
    };
}

pub(crate) use on_both;
