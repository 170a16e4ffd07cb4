//! How long a request takes from the write to the store until its container is asked for, and how fast many are carried
//! out.
//!
//! A program of its own instead of a criterion bench: the result is the slowest of a hundred requests.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use apportion::Resources;
use apportion_placement::control::{
    Change, ControlPlane, ControlSettings, ControlStore, ControlThread, Job, JobSpec, MemoryControlStore,
    PlacementClient, ProcessorSpec, RedbControlStore, StatusCode,
};
use apportion_placement::{
    Callback, ClientError, ClusterClient, ContainerRef, ContainerRequest, FakeCluster, Launch, NodeReport,
    RequestId, RunningContainer, ServiceSettings, Unserved,
};
use crossbeam::channel::{Receiver, Sender, unbounded};

const HOSTS: usize = 500;
const PROCESSORS: usize = 10_000;
const REQUESTS: usize = 2_000;
const MANY: usize = 100_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A manager that sends the time of each request to the bench.
#[derive(Debug)]
struct Stamped {
    manager: FakeCluster,
    asked: Sender<Instant>,
}

impl ClusterClient for Stamped {
    fn keeps_apart(&self) -> bool {
        self.manager.keeps_apart()
    }
    fn request(&mut self, request: ContainerRequest) -> Result<(), ClientError> {
        // The bench does not receive while the job starts.
        let _ = self.asked.send(Instant::now());
        self.manager.request(request)
    }
    fn cancel(&mut self, request: RequestId) -> Result<(), ClientError> {
        self.manager.cancel(request)
    }
    fn release(&mut self, container: ContainerRef) -> Result<(), ClientError> {
        self.manager.release(container)
    }
    fn start(&mut self, container: ContainerRef, launch: &Launch) -> Result<(), ClientError> {
        self.manager.start(container, launch)
    }
    fn update_blacklist(&mut self, add: &[Arc<str>], remove: &[Arc<str>]) -> Result<(), ClientError> {
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

fn job() -> Outcome<(Job<Stamped>, Receiver<Instant>)> {
    let mut manager = FakeCluster::new();
    for number in 0..HOSTS {
        manager.add_node(&format!("host-{number}"), Resources::new(&[20_000]));
    }
    let (asked, receiver) = unbounded();
    let processors: Result<Vec<ProcessorSpec>, _> = (0..PROCESSORS)
        .map(|number| Ok(ProcessorSpec::new(number.to_string().parse()?, Resources::new(&[1]))))
        .collect();
    let processors = processors.map_err(|error: apportion_placement::control::BadProcessorId| error)?;
    let mut job = Job::start(
        JobSpec::new("job", processors),
        ServiceSettings::default(),
        Stamped { manager, asked },
        None,
        1,
    )?;
    while job.service().state().missing() > 0 {
        job.tick(1);
    }
    while receiver.try_recv().is_ok() {}
    Ok((job, receiver))
}

fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Sends requests one after another, each when the previous one is over.
fn dispatch(name: &str, store: Arc<dyn ControlStore>) -> Outcome<()> {
    let (job, receiver) = job()?;
    let mut plane = ControlPlane::new(Arc::clone(&store), ControlSettings::default());
    plane.deploy("run-1", job, now_ms())?;
    let thread = ControlThread::start(plane, ControlThread::POLL_MS, now_ms)?;
    let client = PlacementClient::new(store);
    let mut latencies: Vec<Duration> = Vec::with_capacity(REQUESTS);
    for number in 0..REQUESTS {
        let begun = Instant::now();
        let processor = (number * 7_919 % PROCESSORS).to_string();
        let uuid = client.request("run-1", &processor, "LAST_SEEN", Some(60_000), now_ms())?;
        latencies.push(receiver.recv()?.duration_since(begun));
        while !client.outcome(uuid)?.is_some_and(|answer| answer.status_code.is_terminal()) {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    latencies.sort_unstable();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100];
    let ended = thread.metrics().count(StatusCode::Succeeded);
    println!(
        "{name:<8} from the write of a request to the ask at the manager, {PROCESSORS} containers, {ended} requests: \
         p50 {:?}, p99 {:?}, longest {:?}",
        at(50),
        at(99),
        at(100)
    );
    Ok(())
}

/// Sends all requests at once.
fn many(name: &str, store: &Arc<dyn ControlStore>) -> Outcome<()> {
    let (job, _receiver) = job()?;
    let settings = ControlSettings::default();
    let mut plane = ControlPlane::new(Arc::clone(store), settings);
    plane.deploy("run-1", job, 1)?;
    let template = |number: usize| apportion_placement::control::PlacementRequest {
        uuid: uuid::Uuid::from_u128(number as u128 + 1),
        deployment_id: "run-1".to_owned(),
        processor_id: (number * 7_919 % PROCESSORS).to_string(),
        destination_host: "LAST_SEEN".to_owned(),
        request_expiry_ms: Some(60_000),
        timestamp_ms: number as u64,
        action: None,
        parameters: serde_json::Map::new(),
        principal: None,
    };
    for chunk in (0..MANY).collect::<Vec<_>>().chunks(1_000) {
        let changes: Vec<Change> = chunk.iter().map(|number| Change::PutRequest(template(*number))).collect();
        store.apply(&changes)?;
    }
    let begun = Instant::now();
    let mut now_ms = 1;
    while plane.open_count() > 0 || store.counts()?.requests > 0 {
        now_ms += 1;
        plane.turn(now_ms)?;
    }
    let took = begun.elapsed();
    let succeeded = plane.metrics().count(StatusCode::Succeeded);
    let rate = MANY as f64 / took.as_secs_f64();
    println!(
        "{name:<8} {MANY} requests over {PROCESSORS} containers in {took:.1?}: {rate:.0}/s, {succeeded} succeeded, \
         at most {} in memory at once",
        plane.metrics().open_max
    );
    Ok(())
}

fn main() -> Outcome<()> {
    // `cargo test --benches` runs every bench once, to see that it runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    dispatch("memory", Arc::new(MemoryControlStore::new()))?;
    dispatch("redb", Arc::new(RedbControlStore::open(folder.path().join("dispatch.redb"))?))?;
    let memory: Arc<dyn ControlStore> = Arc::new(MemoryControlStore::new());
    many("memory", &memory)?;
    let file: Arc<dyn ControlStore> = Arc::new(RedbControlStore::open(folder.path().join("many.redb"))?);
    many("redb", &file)
}
