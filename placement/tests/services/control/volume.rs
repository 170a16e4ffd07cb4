//! Many requests for many containers.

use std::num::NonZeroU32;
use std::sync::Arc;

use apportion::Resources;
use apportion_placement::control::{
    Change, ControlPlane, ControlSettings, ControlStore, Job, JobAction, JobRequest, MemoryControlStore,
    Pace, PlacementRequest, RollingRestart, StatusCode,
};
use apportion_placement::{ComponentChange, FakeCluster, ServiceSettings};
use parking_lot::Mutex;
use serde_json::Map;
use uuid::Uuid;

use super::bed::job_of;
use crate::support::host;

/// A build without optimisation has a tenth of the processors.
const SCALE: usize = if cfg!(debug_assertions) { 1 } else { 10 };
const PROCESSORS: usize = 1_000 * SCALE;
/// More than the 20,000 requests beyond which Samza forgot requests (X7).
const REQUESTS: usize = if cfg!(debug_assertions) { 20_500 } else { 100_000 };
const HOSTS: usize = 500;

fn request(number: usize) -> PlacementRequest {
    // The factor and the number of processors have no common factor, so all processors are used.
    let processor = number * 7_919 % PROCESSORS;
    let destination = match number % 3 {
        0 => "LAST_SEEN".to_owned(),
        1 => "FORCE_RESTART_LAST_SEEN".to_owned(),
        _ => host(number % HOSTS),
    };
    PlacementRequest {
        uuid: Uuid::from_u128(number as u128 + 1),
        deployment_id: "run-1".to_owned(),
        processor_id: processor.to_string(),
        destination_host: destination,
        request_expiry_ms: Some(60_000),
        timestamp_ms: number as u64,
        action: None,
        parameters: Map::new(),
        principal: None,
    }
}

/// 100,000 requests over 10,000 containers. All are carried out, and the number in memory stays within its limit in
/// the control plane, the job and the service.
#[test]
fn many_requests_need_no_more_memory_than_few() {
    let mut manager = FakeCluster::new();
    for number in 0..HOSTS {
        manager.add_node(&host(number), Resources::new(&[20_000]));
    }
    let job = Job::start(job_of(PROCESSORS), ServiceSettings::default(), manager, None, 1);
    let job = Arc::new(Mutex::new(job.unwrap_or_else(|error| panic!("{error}"))));
    let store = Arc::new(MemoryControlStore::new());
    let settings = ControlSettings { accepted_max: 1_000, ..ControlSettings::default() };
    let accepted_max = settings.accepted_max;
    let mut plane = ControlPlane::new(Arc::clone(&store) as Arc<dyn ControlStore>, settings);
    assert!(plane.deploy("run-1", Arc::clone(&job), 1).is_ok());
    let turned = plane.turn(1);
    assert!(turned.is_ok());
    let requests: Vec<Change> = (0..REQUESTS).map(request).map(Change::PutRequest).collect();
    assert_eq!(store.apply(&requests), Ok(()));
    let mut now_ms = 2;
    while plane.open_count() > 0 || store.counts().is_ok_and(|counts| counts.requests > 0) {
        assert!(plane.turn(now_ms).is_ok());
        let job = job.lock();
        assert!(job.request_count() <= accepted_max && job.service().state().action_count() <= accepted_max);
        now_ms += 1;
        assert!(now_ms < 100_000, "it comes to an end");
    }
    let metrics = plane.metrics();
    assert!(metrics.open_max <= accepted_max, "{} were open at once", metrics.open_max);
    assert_eq!(metrics.count(StatusCode::Succeeded), REQUESTS as u64, "{:?}", metrics.outcomes);
    assert_eq!(job.lock().service().state().missing(), 0);
}

/// One request about all of them, 50 at once.
#[test]
fn a_rolling_restart_of_many_containers_ends() {
    let mut manager = FakeCluster::new();
    for number in 0..HOSTS {
        manager.add_node(&host(number), Resources::new(&[20_000]));
    }
    let mut job = Job::start(job_of(PROCESSORS), ServiceSettings::default(), manager, None, 1)
        .unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..8 {
        job.tick(1);
    }
    assert_eq!(job.service().state().missing(), 0);
    let pace = Pace {
        at_once: NonZeroU32::MIN.saturating_add(49),
        disruption_budget: NonZeroU32::MIN.saturating_add(49),
    };
    let restart = RollingRestart {
        processors: None,
        pace,
        canaries: 0,
        canary_wait_ms: 0,
        stops_first: false,
        change: ComponentChange::default(),
    };
    job.submit(Uuid::from_u128(1), JobRequest::new(JobAction::RollingRestart(restart)), 1);
    for now_ms in 2..100_000 {
        job.tick(now_ms);
        if job.request_count() == 0 {
            break;
        }
    }
    let last = job.take_answers().pop().unwrap_or_else(|| panic!("an answer"));
    assert_eq!(last.steps.map(|steps| steps.succeeded as usize), Some(PROCESSORS), "{last:?}");
}
