//! The keys of `--json` about jobs whose containers start together; `docs/json.md` defines them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::HOUR_MS;
use crate::sim::{GangGroup, GangRecord, RunRecord, WaitReason};
use crate::statistics::Summary;

#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct GangsOut {
    as_gangs: bool,
    unit: String,
    of_several: u64,
    waited_with_room: u64,
    gangs_waited_with_room: u64,
    quiet_moments: u64,
    jobs_checked: u64,
    given_back: u64,
    done_unit_h: f64,
    lost_unit_h: f64,
    held_unit_h: f64,
    all: GroupOut,
    sizes: Vec<GroupOut>,
    queues: Vec<GroupOut>,
}

#[derive(Clone, Debug, Serialize)]
struct GroupOut {
    name: String,
    jobs: u64,
    begun: u64,
    finished: u64,
    queueing_s: Option<Summary>,
    completion_s: Option<Summary>,
    waited_s: BTreeMap<&'static str, f64>,
    attempts_lost: u64,
    lost_unit_h: f64,
}

impl GangsOut {
    pub(in crate::report) fn of(record: &RunRecord) -> Option<Self> {
        let gangs = record.gangs.as_ref()?;
        let GangRecord { as_gangs, moments, checked, given_back, done_size_ms, .. } = *gangs;
        let (waited_with_room, gangs_waited_with_room) = gangs.waited_with_room();
        let groups = |groups: Vec<GangGroup>| groups.iter().map(GroupOut::new).collect();
        Some(Self {
            as_gangs,
            unit: gangs.unit.clone(),
            of_several: gangs.of_several(),
            waited_with_room,
            gangs_waited_with_room,
            quiet_moments: moments,
            jobs_checked: checked,
            given_back,
            done_unit_h: done_size_ms as f64 / HOUR_MS,
            lost_unit_h: gangs.lost_size_ms as f64 / HOUR_MS,
            held_unit_h: gangs.held_size_ms as f64 / HOUR_MS,
            all: GroupOut::new(&gangs.all(&record.outcomes)),
            sizes: groups(gangs.by_size(&record.outcomes)),
            queues: groups(gangs.by_leaf(&record.outcomes)),
        })
    }
}

impl GroupOut {
    fn new(group: &GangGroup) -> Self {
        let in_seconds = |summary: Option<Summary>| summary.map(|summary| summary.divided_by(1e3));
        let waited = |reason: WaitReason| (reason.label(), group.waited_ms[reason as usize] as f64 / 1e3);
        Self {
            name: group.name.clone(),
            jobs: group.jobs,
            begun: group.begun,
            finished: group.finished,
            queueing_s: in_seconds(group.queueing()),
            completion_s: in_seconds(group.completion()),
            waited_s: WaitReason::ALL.map(waited).into(),
            attempts_lost: group.attempts_lost,
            lost_unit_h: group.lost_size_ms as f64 / HOUR_MS,
        }
    }
}
