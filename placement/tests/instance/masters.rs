//! Instances whose masters die, whose files vanish, or that change beside others.

use std::sync::Arc;

use apportion::{ApplicationEnd, Resources};
use apportion_placement::instance::{
    AnswerDetail, ApplicationHost, ClientFactory, ConfTree, Definition, DestroyOptions, ExitCode,
    FakeFactory, InstanceClient, InstanceDirectories, Providers, ServiceHost, SizeBounds, StopOptions,
};
use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, FakeClient, FakeCluster, Launch,
    NodeReport, RequestId, RunningContainer, Unserved,
};

use super::support::{AT_ONCE, Outcome, code, detail, web};

/// A manager whose containers end slowly.
#[derive(Debug)]
struct Slow {
    inner: FakeClient,
    held: Vec<ContainerRef>,
    is_slow: bool,
}
impl ClusterClient for Slow {
    fn keeps_apart(&self) -> bool {
        self.inner.keeps_apart()
    }
    fn request(&mut self, r: ContainerRequest) -> Result<(), ClientError> {
        self.inner.request(r)
    }
    fn cancel(&mut self, r: RequestId) -> Result<(), ClientError> {
        self.inner.cancel(r)
    }
    fn release(&mut self, c: ContainerRef) -> Result<(), ClientError> {
        if self.is_slow {
            self.held.push(c);
            Ok(())
        } else {
            self.inner.release(c)
        }
    }
    fn start(&mut self, c: ContainerRef, n: &Launch) -> Result<(), ClientError> {
        self.inner.start(c, n)
    }
    fn update_blacklist(&mut self, a: &[Arc<str>], r: &[Arc<str>]) -> Result<(), ClientError> {
        self.inner.update_blacklist(a, r)
    }
    fn nodes(&self) -> Vec<NodeReport> {
        self.inner.nodes()
    }
    fn take_over(&mut self) -> Vec<RunningContainer> {
        self.inner.take_over()
    }
    fn explain(&self, r: RequestId) -> Option<Unserved> {
        self.inner.explain(r)
    }
    fn poll(&mut self) -> Vec<Callback> {
        self.inner.poll()
    }
}
#[derive(Debug)]
struct SlowFactory(FakeFactory);
impl ClientFactory for SlowFactory {
    type Client = Slow;
    fn connect(&mut self, u: &str, n: &str) -> Result<Slow, String> {
        Ok(Slow { inner: self.0.connect(u, n)?, held: vec![], is_slow: true })
    }
    fn disconnect(&mut self, c: Slow, e: ApplicationEnd) {
        self.0.disconnect(c.inner, e);
    }
    fn nodes(&self) -> Vec<NodeReport> {
        self.0.nodes()
    }
}

fn fake(memory: i64) -> FakeFactory {
    let mut cluster = FakeCluster::new();
    for host in ["alpha", "beta", "gamma"] {
        cluster.add_node(host, Resources::new(&[memory, 80_000]));
    }
    FakeFactory::new(cluster)
}

fn client<F: ClientFactory + 'static>(
    folder: &std::path::Path,
    host: &Arc<ServiceHost<F>>,
) -> InstanceClient {
    let host: Arc<dyn ApplicationHost> = Arc::clone(host) as Arc<dyn ApplicationHost>;
    InstanceClient::new(
        InstanceDirectories::new(folder.join("cluster")),
        host,
        Arc::new(Providers::built_in()),
        "ann",
        "this test",
    )
}

#[test]
fn a_master_that_dies_while_it_stops() -> Outcome {
    let folder = tempfile::tempdir()?;
    let host = Arc::new(ServiceHost::new(SlowFactory(fake(1_024)), SizeBounds::default()));
    let client = client(folder.path(), &host);
    client.create("web", &web(2), AT_ONCE, 1)?;
    let app = host.reports("ann")[0].id;
    assert_eq!(code(&client.stop("web", &StopOptions::default())), ExitCode::Success);
    assert_eq!(code(&client.kill_master("web")), ExitCode::Success);
    for _ in 0..10 {
        let held = host.with_client(app, |c| std::mem::take(&mut c.held));
        for c in held.unwrap_or_default() {
            let _ = host.with_client(app, |s| s.inner.release(c));
        }
        host.tick(1_000_000);
    }
    let report = &host.reports("ann")[0];
    assert!(report.state.is_final(), "it was told to stop, and all it gave back has ended");
    Ok(())
}

#[test]
fn a_running_instance_can_be_stopped_without_its_definition() -> Outcome {
    let folder = tempfile::tempdir()?;
    let host = Arc::new(ServiceHost::new(fake(1_024), SizeBounds::default()));
    let client = client(folder.path(), &host);
    client.create("web", &web(2), AT_ONCE, 1)?;
    std::fs::remove_file(folder.path().join("cluster/web/app_config.json"))?;
    let stop = client.stop("web", &StopOptions { force: true, ..StopOptions::default() });
    assert_eq!(code(&stop), ExitCode::Success);
    assert!(host.reports("ann")[0].state.is_final());
    let destroy = client.destroy("web", DestroyOptions { force: true });
    assert!(!folder.path().join("cluster/web").exists(), "{destroy:?}");
    Ok(())
}

#[test]
fn a_kill_makes_room_for_those_that_wait() -> Outcome {
    let folder = tempfile::tempdir()?;
    let host = Arc::new(ServiceHost::new(fake(256), SizeBounds::default()));
    let client = client(folder.path(), &host);
    let live = |name: &str| -> Result<u32, Box<dyn std::error::Error>> {
        match detail(client.status(name))? {
            AnswerDetail::Status(s) => Ok(s.components.iter().map(|c| c.live).sum()),
            other => Err(format!("{other:?}").into()),
        }
    };
    client.create("web", &web(2), AT_ONCE, 1)?;
    client.create("other", &web(2), AT_ONCE, 1)?;
    assert_eq!(live("other")?, 0, "there is no room");
    client.stop("web", &StopOptions { force: true, ..StopOptions::default() })?;
    let after = live("other")?;
    host.tick(1);
    assert_eq!((after, live("other")?), (3, 3), "commands do what can be done without time going by");
    Ok(())
}

#[test]
fn a_flex_of_one_group_leaves_the_other_alone() -> Outcome {
    let folder = tempfile::tempdir()?;
    let host = Arc::new(ServiceHost::new(fake(8_192), SizeBounds::default()));
    let client = client(folder.path(), &host);
    let tree = ["a", "b"].into_iter().zip(1..).fold(ConfTree::default(), |tree, (name, priority)| {
        tree.with(name, "yarn.role.priority", priority)
            .with(name, "yarn.component.instances", 2)
            .with(name, "component.unique.names", "true")
            .with(name, "yarn.memory", if name == "a" { 256 } else { 1_024 })
    });
    client.create("web", &Definition::of(tree), AT_ONCE, 1)?;
    let app = host.reports("ann")[0].id;
    let list = || {
        host.containers(app)
            .unwrap_or_default()
            .into_iter()
            .map(|c| (c.container.0, c.component))
            .collect::<Vec<_>>()
    };
    let before = list();
    assert_eq!(code(&client.flex("web", &[("a", "+1")])), ExitCode::Success);
    let after = list();
    for (container, component) in before {
        assert!(
            after.contains(&(container, component.clone())),
            "container {container} runs {component} and is called otherwise"
        );
    }
    Ok(())
}
