//! Clients that have their own folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use apportion::Resources;
use apportion_placement::instance::{
    ActionAnswer, ActionError, AnswerDetail, AppId, ApplicationHost, ApplicationReport, ConfTree, Definition,
    ExitCode, InstanceClient, InstanceDirectories, InstanceName, MemoryHost, Providers, SizeBounds,
    StartOptions, StopOptions, find_application,
};
use apportion_placement::{ClusterClient, FakeCluster};
use tempfile::TempDir;

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Start without waiting.
pub(crate) const AT_ONCE: StartOptions = StartOptions { wait_ms: None };

/// One user's instances on one host.
pub(crate) struct Bed {
    pub(crate) folder: TempDir,
    pub(crate) host: Arc<MemoryHost>,
    pub(crate) client: InstanceClient,
}

impl Bed {
    pub(crate) fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut cluster = FakeCluster::new();
        cluster.add_node("alpha", Resources::new(&[8_192, 8_000]));
        cluster.add_node("beta", Resources::new(&[8_192, 8_000]));
        cluster.set_usable("beta", false);
        let host = Arc::new(MemoryHost::new(SizeBounds::default(), cluster.nodes()));
        let client = client(folder.path(), &host, "ann");
        Ok(Self { folder, host, client })
    }

    /// A bed with `web` built, and started if `is_started`.
    pub(crate) fn with_web(is_started: bool) -> Result<Self, Box<dyn std::error::Error>> {
        let bed = Self::new()?;
        bed.client.build("web", &web(2))?;
        if is_started {
            bed.client.start("web", AT_ONCE, 1)?;
        }
        Ok(bed)
    }

    /// The report of the application of `web`.
    pub(crate) fn report(&self) -> Result<ApplicationReport, Box<dyn std::error::Error>> {
        let reports = self.host.reports("ann");
        let name: InstanceName = "web".parse()?;
        Ok(find_application(&reports, &name).cloned().ok_or("web was started")?)
    }

    pub(crate) fn app(&self) -> Result<AppId, Box<dyn std::error::Error>> {
        Ok(self.report()?.id)
    }

    /// All files and folders below the bed's folder, with their contents.
    pub(crate) fn bytes(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>, Box<dyn std::error::Error>> {
        let mut found = BTreeMap::new();
        collect(self.folder.path(), &mut found)?;
        Ok(found)
    }
}

fn collect(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
            found.insert(path, Vec::new());
        } else {
            let bytes = fs::read(&path)?;
            found.insert(path, bytes);
        }
    }
    Ok(())
}

/// A client that shares the host and has a folder for its user.
pub(crate) fn client(folder: &Path, host: &Arc<MemoryHost>, user: &str) -> InstanceClient {
    let host: Arc<dyn ApplicationHost> = Arc::clone(host) as Arc<dyn ApplicationHost>;
    let directories = InstanceDirectories::new(folder.join(user).join("cluster"));
    InstanceClient::new(directories, host, Arc::new(Providers::built_in()), user, "this test")
}

/// A definition with a `master` and this many `worker` instances.
pub(crate) fn web(workers: i64) -> Definition {
    let tree = ConfTree::default()
        .with("master", "yarn.role.priority", 1)
        .with("master", "yarn.component.instances", 1)
        .with("worker", "yarn.role.priority", 2)
        .with("worker", "yarn.component.instances", workers);
    Definition::of(tree)
}

/// The exit code of a command.
pub(crate) fn code(result: &Result<ActionAnswer, ActionError>) -> ExitCode {
    match result {
        Ok(answer) => answer.exit_code(),
        Err(error) => error.exit_code(),
    }
}

pub(crate) fn detail(result: Result<ActionAnswer, ActionError>) -> Result<AnswerDetail, ActionError> {
    Ok(result?.detail)
}

pub(crate) fn forced() -> StopOptions {
    StopOptions { force: true, ..StopOptions::default() }
}
