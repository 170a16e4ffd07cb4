//! A control plane on its own thread, with a store in a file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use apportion_placement::control::{
    ActionName, Authoriser, ConflictPolicy, ControlPlane, ControlSettings, ControlStore, ControlThread, Job,
    JobAction, MemoryControlStore, PlacementClient, PlacementRequest, PlacementResponse, RedbControlStore,
    StatusCode,
};
use apportion_placement::{FakeCluster, ServiceSettings};
use parking_lot::Mutex;
use uuid::Uuid;

use super::bed::job_of;
use super::one::cluster;
use super::plane_bed::{MortalStore, SharedJob};

type Outcome = Result<(), Box<dyn Error>>;

/// A clock that advances with each reading.
fn clock() -> impl Fn() -> u64 + Send + 'static {
    let now_ms = AtomicU64::new(1);
    move || now_ms.fetch_add(1, Ordering::Relaxed)
}

fn begin(
    store: Arc<dyn ControlStore>,
    deployment: &str,
    start: impl FnOnce(apportion_placement::control::JobSpec) -> Job<FakeCluster>,
) -> Result<(ControlThread, SharedJob<FakeCluster>), Box<dyn Error>> {
    let mut plane = ControlPlane::new(store, ControlSettings::default());
    let job = Arc::new(Mutex::new(start(plane.restored(job_of(2))?)));
    plane.deploy(deployment, Arc::clone(&job), 1)?;
    Ok((ControlThread::start(plane, ControlThread::POLL_MAX_MS, clock())?, job))
}

fn last_word(client: &PlacementClient, uuid: Uuid) -> PlacementResponse {
    loop {
        if let Ok(Some(answer)) = client.outcome(uuid)
            && answer.status_code.is_terminal()
        {
            return answer;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

fn open(path: &Path) -> Result<Arc<dyn ControlStore>, Box<dyn Error>> {
    Ok(Arc::new(RedbControlStore::open(path)?))
}

/// A standby is started; then the process ends, and the next process still has the standby.
#[test]
fn a_thread_carries_out_requests_and_the_next_one_has_the_changes() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    let store = open(&path)?;
    let start = |spec| Job::start(spec, ServiceSettings::default(), cluster(3, 4), None, 1);
    let (thread, job) =
        begin(Arc::clone(&store), "run-1", |spec| start(spec).unwrap_or_else(|error| panic!("{error}")))?;
    let client = PlacementClient::new(Arc::clone(&store));
    let moved = client.request("run-1", "0", "ANY_HOST", Some(60_000), 1)?;
    assert_eq!(last_word(&client, moved).status_code, StatusCode::Succeeded);
    let standby = PlacementRequest::new("run-1", ActionName::StartStandby, 1).about("0");
    let standby = client.submit(standby)?;
    assert_eq!(last_word(&client, standby).status_code, StatusCode::Succeeded);
    assert_eq!((thread.metrics().accepted, thread.last_error()), (2, None));
    let plane = thread.stop().ok_or("a control plane")?;
    assert_eq!(plane.open_count(), 0);

    drop((plane, client, store));
    let manager = Arc::into_inner(job).ok_or("nobody else has it")?.into_inner().into_client();
    let (thread, job) = begin(open(&path)?, "run-2", |spec| {
        let job = Job::restart(spec, ServiceSettings::default(), manager, None, 1);
        job.unwrap_or_else(|error| panic!("{error}"))
    })?;
    drop(thread);
    assert_eq!(Arc::strong_count(&job), 1, "the thread has ended");
    let status = job.lock().status();
    assert_eq!((status.configured, status.below_configured), (3, 0), "{status:?}");
    Ok(())
}

/// While the store fails, the thread reports the error and the jobs go on. When the store works again, the thread
/// goes on too.
#[test]
fn a_thread_outlives_a_store_that_fails() -> Outcome {
    let store = Arc::new(MortalStore::new());
    let start = |spec| Job::start(spec, ServiceSettings::default(), cluster(2, 4), None, 1);
    let shared = Arc::clone(&store) as Arc<dyn ControlStore>;
    let (thread, _job) =
        begin(Arc::clone(&shared), "run-1", |spec| start(spec).unwrap_or_else(|error| panic!("{error}")))?;
    let client = PlacementClient::new(shared);
    // The first write is the client's, the second the control plane's.
    store.ends_after(1, true);
    let uuid = client.request("run-1", "0", "LAST_SEEN", Some(60_000), 1)?;
    while thread.metrics().store_errors < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    assert!(thread.last_error().is_some_and(|error| error.contains("the process ended")));
    store.reopen();
    assert_eq!(last_word(&client, uuid).status_code, StatusCode::Succeeded);
    assert!(thread.stop().is_some());
    Ok(())
}

/// Jobs are deployed and taken out while the thread runs.
#[test]
fn a_thread_takes_jobs_in_and_out() -> Outcome {
    let store: Arc<dyn ControlStore> = Arc::new(MemoryControlStore::new());
    let plane = ControlPlane::new(Arc::clone(&store), ControlSettings::default());
    let thread = ControlThread::start(plane, 1, clock())?;
    let job = Job::start(job_of(1), ServiceSettings::default(), cluster::<FakeCluster>(2, 1), None, 1)?;
    assert!(thread.with(|plane| plane.deploy("run-1", job, 1)).is_some_and(|deployed| deployed.is_ok()));
    let client = PlacementClient::new(store);
    let moved = client.request("run-1", "0", "ANY_HOST", Some(60_000), 1)?;
    assert_eq!(last_word(&client, moved).status_code, StatusCode::Succeeded);
    let retired = thread.with(|plane| plane.retire("run-1", 2)).ok_or("it runs")??;
    assert_eq!(retired.ok_or("the job")?.spec().name, "job");
    let again = thread.with(|plane| plane.retire("run-1", 2)).ok_or("it runs")??;
    assert!(again.is_none() && thread.with(|plane| plane.is_deployed("run-1")) == Some(false));
    Ok(())
}

/// An authoriser that panics.
#[derive(Debug)]
struct Broken;

impl Authoriser for Broken {
    fn authorise(&self, _: Option<&str>, _: &JobAction) -> Result<(), String> {
        panic!("as it was made to")
    }
}

#[test]
fn a_thread_that_ended_is_seen_to_have() -> Outcome {
    let store: Arc<dyn ControlStore> = Arc::new(MemoryControlStore::new());
    let mut plane = ControlPlane::new(Arc::clone(&store), ControlSettings::default());
    let job = Job::start(job_of(1), ServiceSettings::default(), cluster::<FakeCluster>(1, 1), None, 1)?;
    plane.deploy_with("run-1", job, ConflictPolicy::default(), Broken, 1)?;
    let thread = ControlThread::start(plane, 1, clock())?;
    assert!(thread.is_running());
    PlacementClient::new(store).request("run-1", "0", "LAST_SEEN", None, 1)?;
    while thread.is_running() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(thread.with(|plane| plane.open_count()), None);
    assert!(thread.stop().is_none());
    Ok(())
}
