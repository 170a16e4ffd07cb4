//! Stages of a job from its tasks, as YARN's simulated application masters order them.

use std::collections::HashMap;

use apportion::{AttributeRule, Resources};

use super::field::{FromText, json_scalar, one_of};
use crate::workload::Tasks;

/// The kind of application master that runs a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum JobKind {
    /// It asks for reduces when all maps are done.
    #[default]
    MapReduce,
    /// It asks for all tasks at once.
    Stream,
    /// It asks for all tasks at once, each after its own delay.
    Dag,
}

/// The role of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// First stage.
    #[default]
    Map,
    /// Second stage of a map-reduce job.
    Reduce,
    /// A streaming task.
    Stream,
}

/// Whether a container has a guarantee. The value is checked and then ignored: every container is guaranteed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExecutionKind {
    /// `GUARANTEED`.
    Guaranteed,
    /// `OPPORTUNISTIC`.
    Opportunistic,
}

impl FromText for JobKind {
    const EXPECTED: &'static str = "a type of application master";

    fn from_text(text: &str) -> Result<Self, String> {
        let known = [("mapreduce", Self::MapReduce), ("stream", Self::Stream), ("dag", Self::Dag)];
        one_of("type of application master", text, &known)
    }
}

impl FromText for TaskKind {
    const EXPECTED: &'static str = "a type of task";

    fn from_text(text: &str) -> Result<Self, String> {
        one_of(
            "type of task",
            text,
            &[("map", Self::Map), ("reduce", Self::Reduce), ("stream", Self::Stream)],
        )
    }
}

impl FromText for ExecutionKind {
    const EXPECTED: &'static str = "an execution type";

    fn from_text(text: &str) -> Result<Self, String> {
        let known = [("GUARANTEED", Self::Guaranteed), ("OPPORTUNISTIC", Self::Opportunistic)];
        one_of("execution type", text, &known)
    }
}

json_scalar!(JobKind, TaskKind, ExecutionKind);

/// The properties that containers of one ask share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ask {
    pub(super) size: Resources,
    pub(super) rule: Option<AttributeRule>,
    pub(super) priority: u32,
    pub(super) host: Option<String>,
    pub(super) delay_ms: u64,
}

/// Collects the tasks of one job; tasks that differ only in duration become one ask.
#[derive(Debug)]
pub(super) struct Stages {
    kind: JobKind,
    first: Stage,
    second: Stage,
}

#[derive(Debug, Default)]
struct Stage {
    tasks: Vec<Tasks>,
    places: HashMap<Ask, usize>,
}

impl Stages {
    /// An empty collection.
    pub(super) fn new(kind: JobKind) -> Self {
        Self { kind, first: Stage::default(), second: Stage::default() }
    }

    /// Adds `count` containers with the same duration.
    pub(super) fn add(&mut self, kind: TaskKind, ask: Ask, duration_ms: u64, count: usize) {
        let is_second = (self.kind, kind) == (JobKind::MapReduce, TaskKind::Reduce);
        let stage = if is_second { &mut self.second } else { &mut self.first };
        let place = stage.places.get(&ask).copied().unwrap_or(stage.tasks.len());
        if place == stage.tasks.len() {
            stage.tasks.push(ask.tasks());
            stage.places.insert(ask, place);
        }
        let durations_ms = &mut stage.tasks[place].durations_ms;
        durations_ms.resize(durations_ms.len() + count, Some(duration_ms));
    }

    /// The stages that have containers, in order.
    pub(super) fn finish(self) -> Vec<Vec<Tasks>> {
        let mut stages = vec![self.first.tasks, self.second.tasks];
        for stage in &mut stages {
            stage.retain(|tasks| !tasks.durations_ms.is_empty());
        }
        stages.retain(|stage| !stage.is_empty());
        stages
    }
}

impl Ask {
    fn tasks(&self) -> Tasks {
        Tasks {
            rule: self.rule.clone(),
            priority: self.priority,
            hosts: self.host.iter().cloned().collect(),
            delay_ms: self.delay_ms,
            ..Tasks::new(self.size, Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(host: &str) -> Ask {
        Ask { size: Resources::ZERO, rule: None, priority: 1, host: Some(host.into()), delay_ms: 0 }
    }

    #[test]
    fn only_a_map_reduce_job_has_a_second_stage() {
        for (kind, stages) in [(JobKind::MapReduce, 2), (JobKind::Dag, 1), (JobKind::Stream, 1)] {
            let mut job = Stages::new(kind);
            job.add(TaskKind::Reduce, ask("r"), 5, 1);
            job.add(TaskKind::Map, ask("m"), 5, 1);
            assert_eq!(job.finish().len(), stages, "{kind:?}");
        }
    }

    #[test]
    fn equal_tasks_are_one_ask_and_empty_ones_none() {
        let mut job = Stages::new(JobKind::Dag);
        job.add(TaskKind::Map, ask("a"), 5, 2);
        job.add(TaskKind::Map, ask("b"), 6, 1);
        job.add(TaskKind::Map, ask("a"), 7, 1);
        job.add(TaskKind::Map, ask("c"), 8, 0);
        let stages = job.finish();
        let [stage] = stages.as_slice() else { panic!("{stages:?}") };
        let durations: Vec<_> = stage.iter().map(|tasks| tasks.durations_ms.clone()).collect();
        assert_eq!(durations, [vec![Some(5), Some(5), Some(7)], vec![Some(6)]]);
    }
}
