//! The forms of a SYNTH file: the general one, and the older one with a fixed pair of tasks.

use super::sample::Sample;
use crate::trace::field::{Decimal, Text, Whole};
use crate::trace::record::record;
use crate::trace::stage::{ExecutionKind, JobKind, TaskKind};

record! {
    /// A whole trace.
    pub(super) struct TraceRecord, unknown keys Refused, {
        _description: Text = "description",
        node_count: Whole = "num_nodes",
        nodes_per_rack: Whole = "nodes_per_rack",
        job_count: Whole = "num_jobs",
        seed: Whole = "rand_seed",
        workloads: Vec<WorkloadRecord> = "workloads",
    }
}

record! {
    /// Jobs of one queue.
    pub(super) struct WorkloadRecord, unknown keys Refused, {
        _description: Text = "description",
        _name: Text = "workload_name",
        weight: Decimal = "workload_weight",
        queue: Text = "queue_name",
        classes: Vec<ClassRecord> = "job_classes",
        times: Vec<TimeRecord> = "time_distribution",
    }
}

record! {
    /// From this time until the next entry, jobs have this weight.
    pub(super) struct TimeRecord, unknown keys Refused, {
        time_s: Decimal = "time",
        weight: Decimal = "weight",
    }
}

record! {
    /// A class of similar jobs. Deadlines, reservations and planned durations are read and not used.
    pub(super) struct ClassRecord, unknown keys Refused, {
        _description: Text = "description",
        name: Text = "class_name",
        user: Text = "user_name",
        weight: Decimal = "class_weight",
        kind: JobKind = "type",
        _deadline_factor: Sample = "deadline_factor",
        _duration_s: Sample = "duration",
        _reservation: Sample = "reservation",
        _params: serde::de::IgnoredAny = "params",
        tasks: Vec<TaskRecord> = "tasks",
        maps_mean: Decimal = "mtasks_avg",
        maps_deviation: Decimal = "mtasks_stddev",
        reduces_mean: Decimal = "rtasks_avg",
        reduces_deviation: Decimal = "rtasks_stddev",
        map_s_mean: Decimal = "mtime_avg",
        map_s_deviation: Decimal = "mtime_stddev",
        reduce_s_mean: Decimal = "rtime_avg",
        reduce_s_deviation: Decimal = "rtime_stddev",
        map_memory_mib_mean: Decimal = "map_max_memory_avg",
        map_memory_mib_deviation: Decimal = "map_max_memory_stddev",
        map_vcores_mean: Decimal = "map_max_vcores_avg",
        map_vcores_deviation: Decimal = "map_max_vcores_stddev",
        reduce_memory_mib_mean: Decimal = "reduce_max_memory_avg",
        reduce_memory_mib_deviation: Decimal = "reduce_max_memory_stddev",
        reduce_vcores_mean: Decimal = "reduce_max_vcores_avg",
        reduce_vcores_deviation: Decimal = "reduce_max_vcores_stddev",
        _map_execution_kind: ExecutionKind = "map_execution_type",
        _reduce_execution_kind: ExecutionKind = "reduce_execution_type",
        _job_s_mean: Decimal = "dur_avg",
        _job_s_deviation: Decimal = "dur_stddev",
        _deadline_mean: Decimal = "deadline_factor_avg",
        _deadline_deviation: Decimal = "deadline_factor_stddev",
        _chance_of_reservation: Decimal = "chance_of_reservation",
    }
}

record! {
    /// A group of tasks of one kind.
    pub(super) struct TaskRecord, unknown keys Refused, {
        _description: Text = "description",
        kind: TaskKind = "type",
        priority: Whole = "priority",
        count: Sample = "count",
        time_s: Sample = "time",
        memory_mib: Sample = "max_memory",
        vcores: Sample = "max_vcores",
        _execution_kind: ExecutionKind = "execution_type",
    }
}

impl ClassRecord {
    /// The tasks in the general form. The older form is converted.
    ///
    /// # Errors
    /// When they are in neither form, or an amount has an impossible spread.
    pub(super) fn into_tasks(self) -> Result<Vec<TaskRecord>, String> {
        if let Some(tasks) = self.tasks {
            return Ok(tasks);
        }
        if self.maps_mean.is_none() && self.reduces_mean.is_none() {
            return Err("has no tasks: `tasks`, or `mtasks_avg` and `rtasks_avg`, are needed".into());
        }
        let map = TaskRecord {
            kind: Some(TaskKind::Map),
            count: spread(self.maps_mean, self.maps_deviation)?,
            time_s: spread(self.map_s_mean, self.map_s_deviation)?,
            memory_mib: spread(self.map_memory_mib_mean, self.map_memory_mib_deviation)?,
            vcores: spread(self.map_vcores_mean, self.map_vcores_deviation)?,
            ..TaskRecord::default()
        };
        let reduce = TaskRecord {
            kind: Some(TaskKind::Reduce),
            count: spread(self.reduces_mean, self.reduces_deviation)?,
            time_s: spread(self.reduce_s_mean, self.reduce_s_deviation)?,
            memory_mib: spread(self.reduce_memory_mib_mean, self.reduce_memory_mib_deviation)?,
            vcores: spread(self.reduce_vcores_mean, self.reduce_vcores_deviation)?,
            ..TaskRecord::default()
        };
        Ok([map, reduce].into_iter().filter(|task| task.count.is_some()).collect())
    }
}

fn spread(mean: Option<Decimal>, deviation: Option<Decimal>) -> Result<Option<Sample>, String> {
    let deviation = deviation.map_or(0.0, |deviation| deviation.0);
    mean.map(|mean| Sample::spread(mean.0, deviation)).transpose()
}
