//! Follows the jobs whose containers start together: their waiting, by reason, and their work.

use std::collections::BTreeMap;

use apportion::Resources;
use rustc_hash::FxHashMap;

use super::record::{GangFigure, GangJob, GangRecord, WaitReason};
use super::room::{Members, reason_in};
use crate::sim::series::Series;
use crate::workload::Workload;

/// Recorded while a simulation runs. It computes the free room from the containers that it was told of.
#[derive(Debug)]
pub(in crate::sim) struct Watch {
    now_ms: u64,
    free: Vec<Resources>,
    /// The cluster's amount of the first resource type, and the amount in use by attempts that have begun.
    capacity: i64,
    working: i64,
    waiting: BTreeMap<usize, Waiting>,
    /// The attempts that have begun, by job.
    begun: FxHashMap<usize, Begun>,
    has_changed: bool,
    record: GangRecord,
}

/// An attempt all of whose members run.
#[derive(Debug)]
struct Begun {
    at_ms: u64,
    /// The sizes of its members together.
    size: u64,
}

/// A job that waits for members.
#[derive(Debug)]
struct Waiting {
    missing: Vec<Members>,
    reason: WaitReason,
}

impl Watch {
    /// `None` if the workload has no jobs whose containers start together.
    pub(in crate::sim) fn new(workload: &Workload, as_gangs: bool) -> Option<Self> {
        if !workload.jobs.iter().any(|job| job.starts_together) {
            return None;
        }
        let capacity = workload.nodes.iter().map(|node| node.capacity[0]).sum::<i64>();
        let record = GangRecord {
            as_gangs,
            unit: workload.resources.names()[0].clone(),
            capacity: capacity.max(0) as u64,
            jobs: vec![GangJob::default(); workload.jobs.len()],
            moments: 0,
            checked: 0,
            attempts_lost: 0,
            given_back: 0,
            done_size_ms: 0,
            lost_size_ms: 0,
            held_size_ms: 0,
            busy_until_ms: 0,
            series: Series::new(GangFigure::COUNT),
        };
        Some(Self {
            now_ms: 0,
            free: workload.nodes.iter().map(|node| node.capacity).collect(),
            capacity,
            working: 0,
            waiting: BTreeMap::new(),
            begun: FxHashMap::default(),
            has_changed: true,
            record,
        })
    }

    /// Advances time; nothing has changed since the last call.
    pub(in crate::sim) fn advance(&mut self, now_ms: u64) {
        let passed_ms = now_ms.saturating_sub(self.now_ms);
        for (job, waiting) in &self.waiting {
            self.record.jobs[*job].waited_ms[waiting.reason as usize] += passed_ms;
        }
        let held_size_ms = (self.held() as u64).saturating_mul(passed_ms);
        self.record.held_size_ms = self.record.held_size_ms.saturating_add(held_size_ms);
        if !self.waiting.is_empty() {
            self.record.busy_until_ms = now_ms;
        }
        self.now_ms = now_ms;
    }

    /// The amount that members hold while they wait for others.
    fn held(&self) -> i64 {
        let free: i64 = self.free.iter().map(|free| free[0]).sum();
        (self.capacity - free - self.working).max(0)
    }

    /// The job begins an attempt with these members.
    pub(in crate::sim) fn attempted(&mut self, job: usize, members: u64, size: u64) {
        let outcome = &mut self.record.jobs[job];
        outcome.members = outcome.members.max(members);
        outcome.size = outcome.size.max(size);
    }

    /// The job asks for these members, also again.
    pub(in crate::sim) fn asked(&mut self, job: usize, members: Vec<Members>) {
        self.has_changed = true;
        self.record.busy_until_ms = self.now_ms;
        let waiting = self
            .waiting
            .entry(job)
            .or_insert(Waiting { missing: Vec::new(), reason: WaitReason::TooFewFree });
        for (size, count) in members {
            match waiting.missing.iter_mut().find(|(known, _)| *known == size) {
                Some((_, known)) => *known += count,
                None => waiting.missing.push((size, count)),
            }
        }
    }

    /// The job does not wait any more, since it was refused.
    pub(in crate::sim) fn refused(&mut self, job: usize) {
        self.waiting.remove(&job);
    }

    pub(in crate::sim) fn started(&mut self, job: usize, node: usize, size: &Resources) {
        self.has_changed = true;
        self.free[node] -= *size;
        let Some(waiting) = self.waiting.get_mut(&job) else { return };
        for (known, count) in &mut waiting.missing {
            if known == size {
                *count -= 1;
            }
        }
        waiting.missing.retain(|(_, count)| *count > 0);
    }

    /// All members of the job's attempt run.
    pub(in crate::sim) fn begun(&mut self, job: usize, size: u64) {
        self.waiting.remove(&job);
        self.begun.insert(job, Begun { at_ms: self.now_ms, size });
        let outcome = &mut self.record.jobs[job];
        outcome.begun_ms.get_or_insert(self.now_ms);
        outcome.attempts += 1;
        self.working += size as i64;
    }

    /// A container of the job ended for any reason.
    pub(in crate::sim) fn freed(&mut self, node: usize, size: &Resources) {
        self.has_changed = true;
        self.free[node] += *size;
    }

    /// The attempt of the job is over, with its work done or lost.
    pub(in crate::sim) fn over(&mut self, job: usize, is_lost: bool) {
        let Some(Begun { at_ms, size }) = self.begun.remove(&job) else { return };
        let outcome = &mut self.record.jobs[job];
        let work = size.saturating_mul(self.now_ms - at_ms);
        let add = |sum: &mut u64| *sum = sum.saturating_add(work);
        self.working -= size as i64;
        if is_lost {
            add(&mut outcome.lost_size_ms);
            outcome.attempts_lost += 1;
            add(&mut self.record.lost_size_ms);
            self.record.attempts_lost += 1;
        } else {
            add(&mut self.record.done_size_ms);
        }
    }

    pub(in crate::sim) fn given_back(&mut self) {
        self.record.given_back += 1;
    }

    /// Finds out why jobs wait, now that the engine is quiet. Returns those with room, with their missing members: the
    /// caller knows limits and reservations.
    pub(in crate::sim) fn find_reasons(&mut self) -> Vec<(usize, Vec<Members>)> {
        if !std::mem::take(&mut self.has_changed) {
            return Vec::new();
        }
        self.record.moments += 1;
        self.record.checked += self.waiting.len() as u64;
        let mut known: Vec<(Vec<Members>, WaitReason)> = Vec::new();
        let mut with_room = Vec::new();
        for (job, waiting) in &mut self.waiting {
            let same = known.iter().find(|(missing, _)| *missing == waiting.missing);
            waiting.reason =
                same.map_or_else(|| reason_in(&self.free, &waiting.missing), |(_, reason)| *reason);
            if same.is_none() {
                known.push((waiting.missing.clone(), waiting.reason));
            }
            if waiting.reason == WaitReason::Room {
                with_room.push((*job, waiting.missing.clone()));
            }
        }
        with_room
    }

    /// Whether the members would fit if nothing could be placed on these nodes.
    pub(in crate::sim) fn reason_without(&self, nodes: &[usize], members: &[Members]) -> WaitReason {
        let mut free = self.free.clone();
        nodes.iter().for_each(|node| free[*node] = Resources::ZERO);
        reason_in(&free, members)
    }

    /// The reason of a job with room.
    pub(in crate::sim) fn set_reason(&mut self, job: usize, reason: WaitReason) {
        if let Some(waiting) = self.waiting.get_mut(&job) {
            waiting.reason = reason;
            self.record.jobs[job].saw_room |= reason == WaitReason::Room;
        }
    }

    /// Records the state from now on.
    pub(in crate::sim) fn sample(&mut self) {
        let part = |amount: i64| if self.capacity > 0 { amount as f64 / self.capacity as f64 } else { 0.0 };
        let amount = |waiting: &Waiting| {
            waiting.missing.iter().map(|(size, count)| size[0] * *count as i64).sum::<i64>()
        };
        let of = |reason: WaitReason| {
            self.waiting.values().filter(|waiting| waiting.reason == reason).map(amount).sum::<i64>()
        };
        let values = [
            self.working,
            self.held(),
            of(WaitReason::TooFewFree),
            of(WaitReason::Fragmented),
            of(WaitReason::Reserved),
        ]
        .map(part);
        self.record.series.push(self.now_ms, values);
    }

    pub(in crate::sim) fn finish(self) -> GangRecord {
        self.record
    }
}
