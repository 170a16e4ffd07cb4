//! Random changes on a store and on a plain model of it.

use std::collections::BTreeMap;

use apportion_placement::control::{
    Change, ControlStoreError, Deployment, JobRecord, PlacementRequest, PlacementResponse, ProcessorSpec,
    StatusCode, request_key,
};
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::{Bed, REQUESTS_MAX, full, plain, uuid};

/// The contents of a store.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    requests: BTreeMap<Uuid, PlacementRequest>,
    responses: BTreeMap<Uuid, PlacementResponse>,
    bad: BTreeMap<String, Vec<u8>>,
    deployments: BTreeMap<String, Deployment>,
    /// Records by job and part of the job.
    records: BTreeMap<(String, Option<String>), JobRecord>,
}

impl Model {
    fn apply(&mut self, changes: &[Change]) -> Result<(), ControlStoreError> {
        let mut next = self.clone();
        changes.iter().try_for_each(|change| next.make(change.clone()))?;
        *self = next;
        Ok(())
    }

    fn make(&mut self, change: Change) -> Result<(), ControlStoreError> {
        match change {
            Change::PutRequest(request) => return self.put(request),
            Change::PutRawRequest { key, bytes } => return self.put_raw(key, bytes),
            Change::PutResponse(response) => {
                let before = self.responses.get(&response.uuid);
                if !before.is_some_and(|before| before.status_code.is_terminal()) {
                    self.responses.insert(response.uuid, response);
                }
            }
            Change::DeleteRequest(uuid) => drop(self.requests.remove(&uuid)),
            Change::DeleteResponse(uuid) => drop(self.responses.remove(&uuid)),
            Change::DeleteBad(key) => drop(self.bad.remove(&key)),
            Change::PutDeployment(deployment) => {
                self.deployments.insert(deployment.id.clone(), deployment);
            }
            Change::DeleteDeployment(id) => drop(self.deployments.remove(&id)),
            Change::PutJobRecord { deployment, record } => {
                let Some(known) = self.deployments.get(&deployment).filter(|known| known.is_current) else {
                    return Ok(());
                };
                let job = known.job.clone();
                let part = match &record {
                    JobRecord::HostsKeptFree(_) => None,
                    JobRecord::Processor(processor) => Some(processor.id.to_string()),
                };
                self.records.insert((job, part), record);
            }
            Change::DeleteJobRecords(gone) => self.records.retain(|(job, _), _| *job != gone),
        }
        Ok(())
    }

    fn put(&mut self, request: PlacementRequest) -> Result<(), ControlStoreError> {
        self.refuse_known(request.uuid)?;
        self.bad.remove(&request_key(request.uuid));
        self.requests.insert(request.uuid, request);
        self.refuse_crowd()
    }

    fn put_raw(&mut self, key: String, bytes: Vec<u8>) -> Result<(), ControlStoreError> {
        match PlacementRequest::read(&bytes) {
            Ok(request) if request_key(request.uuid) == key => self.put(request),
            _ => {
                let known: Vec<Uuid> = self.requests.keys().chain(self.responses.keys()).copied().collect();
                if let Some(uuid) = known.into_iter().find(|uuid| request_key(*uuid) == key) {
                    return Err(ControlStoreError::Duplicate(uuid));
                }
                self.bad.insert(key, bytes);
                self.refuse_crowd()
            }
        }
    }

    fn refuse_known(&self, uuid: Uuid) -> Result<(), ControlStoreError> {
        let is_known = self.requests.contains_key(&uuid) || self.responses.contains_key(&uuid);
        if is_known { Err(ControlStoreError::Duplicate(uuid)) } else { Ok(()) }
    }

    fn refuse_crowd(&self) -> Result<(), ControlStoreError> {
        let is_crowded = (self.requests.len() + self.bad.len()) as u64 > REQUESTS_MAX;
        if is_crowded { Err(ControlStoreError::Full { max: REQUESTS_MAX }) } else { Ok(()) }
    }

    /// Checks every query against the model.
    fn check(&self, bed: &Bed, limit: usize) -> Result<(), TestCaseError> {
        let mut expected: Vec<_> = self.requests.values().cloned().collect();
        expected.sort_by_key(|request| (request.timestamp_ms, request.uuid));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = bed.store.requests(after, limit)?;
            let keys = page.bad.iter().map(|entry| &entry.key);
            let bad = self.bad.keys().take(if after.is_none() { limit } else { 0 });
            prop_assert!(keys.eq(bad));
            found.extend(page.requests);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        prop_assert_eq!(found, expected);
        let responses = bed.store.responses(None, usize::MAX)?;
        prop_assert!(responses.iter().eq(self.responses.values()));
        prop_assert!(bed.store.deployments()?.iter().eq(self.deployments.values()));
        for name in JOBS {
            let expected = self.records.iter().filter(|((job, _), _)| job == name).map(|(_, record)| record);
            prop_assert!(bed.store.job_records(name)?.iter().eq(expected));
        }
        for uuid in (0..UUIDS).map(uuid) {
            prop_assert_eq!(bed.store.request(uuid)?, self.requests.get(&uuid).cloned());
            prop_assert_eq!(bed.store.response(uuid)?, self.responses.get(&uuid).cloned());
        }
        let counts = (self.requests.len() as u64, self.responses.len() as u64, self.bad.len() as u64);
        prop_assert_eq!(bed.counts()?, counts);
        Ok(())
    }
}

/// One job name is a prefix of another.
const JOBS: [&str; 3] = ["", "wiki", "wikip"];
/// More than the store takes.
const UUIDS: u128 = 16;

fn request() -> impl Strategy<Value = PlacementRequest> {
    (0..UUIDS, prop::sample::select(vec![0, 1, 2, 255, 256]), any::<bool>())
        .prop_map(|(number, time, is_full)| if is_full { full(number, time) } else { plain(number, time) })
}

fn raw() -> impl Strategy<Value = Change> {
    let key = prop_oneof![(0..UUIDS).prop_map(|number| request_key(uuid(number))), "[a-c]"];
    let bytes = prop_oneof![
        request().prop_map(|request| request.write().expect("it can be written")),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop_oneof![
        (key, bytes).prop_map(|(key, bytes)| Change::PutRawRequest { key, bytes }),
        request().prop_map(|request| Change::PutRawRequest {
            key: request_key(request.uuid),
            bytes: request.write().expect("it can be written"),
        }),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let code = prop::sample::select(&StatusCode::ALL[..]);
    let job = prop::sample::select(&JOBS[..]).prop_map(str::to_owned);
    let deployment = ("[a-c]", job.clone(), 0..3_u64, any::<bool>())
        .prop_map(|(id, job, started_ms, is_current)| Deployment { id, job, started_ms, is_current });
    prop_oneof![
        4 => request().prop_map(Change::PutRequest),
        2 => raw(),
        1 => (request(), code).prop_map(|(request, code)| Change::PutResponse(request.answer(code, "so", 7))),
        1 => (0..UUIDS).prop_map(|number| Change::DeleteRequest(uuid(number))),
        2 => (0..UUIDS).prop_map(|number| Change::DeleteResponse(uuid(number))),
        1 => (0..UUIDS).prop_map(|number| Change::DeleteBad(request_key(uuid(number)))),
        1 => "[a-c]".prop_map(Change::DeleteBad),
        1 => deployment.prop_map(Change::PutDeployment),
        1 => "[a-c]".prop_map(Change::DeleteDeployment),
        2 => ("[a-c]", record()).prop_map(|(deployment, record)| Change::PutJobRecord { deployment, record }),
        1 => job.prop_map(Change::DeleteJobRecords),
    ]
}

fn record() -> impl Strategy<Value = JobRecord> {
    let size = apportion::Resources::new(&[1]);
    prop_oneof![
        prop::collection::btree_set("[a-c]", 0..3).prop_map(JobRecord::HostsKeptFree),
        ("[0-3]", prop::collection::btree_set(0..3_u32, 0..3)).prop_map(move |(id, standbys)| {
            let id = id.parse().expect("a processor's name");
            JobRecord::Processor(ProcessorSpec { standbys, ..ProcessorSpec::new(id, size) })
        }),
    ]
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Change>),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => prop::collection::vec(change(), 0..5).prop_map(Step::Apply),
        1 => Just(Step::Reopen),
    ]
}

fn run(mut bed: Bed, steps: &[Step], limit: usize) -> Result<(), TestCaseError> {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Apply(changes) => {
                let is_refused = model.apply(changes);
                prop_assert_eq!(bed.apply(changes), is_refused);
            }
            Step::Reopen => bed = bed.reopened().map_err(|error| TestCaseError::fail(error.to_string()))?,
        }
        model.check(&bed, limit)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_store_in_memory_is_as_its_model(steps in prop::collection::vec(step(), 0..40), limit in 1..20_usize) {
        run(Bed::memory(), &steps, limit)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_store_in_a_file_is_as_its_model(steps in prop::collection::vec(step(), 0..40), limit in 1..20_usize) {
        let bed = Bed::redb().map_err(|error| TestCaseError::fail(error.to_string()))?;
        run(bed, &steps, limit)?;
    }
}
