//! Workloads: the input of a simulation, from any format.

use apportion::config::QueueConfig;
use apportion::resource::DeviceNeed;
use apportion::{AttributeRule, NodeSpec, ResourceTypes, Resources};

use crate::trace::Invented;

/// A cluster and the jobs that are submitted to it.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The resource types of all sizes.
    pub resources: ResourceTypes,
    /// The cluster; empty if the format does not describe it and the caller must.
    pub nodes: Vec<NodeSpec>,
    /// The queue tree if the format has one; otherwise one leaf for each queue that jobs name.
    pub queues: Option<QueueConfig>,
    /// Jobs by ascending time of submission.
    pub jobs: Vec<Job>,
    /// The parts that the trace does not specify.
    pub invented: Invented,
}

/// One application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// A readable name.
    pub name: String,
    /// Short name or full path of its leaf queue.
    pub queue: String,
    /// The user it is charged to.
    pub user: String,
    /// Higher is served first within the leaf.
    pub priority: u32,
    /// When it is submitted.
    pub submit_ms: u64,
    /// The application master: a container that is asked for first and runs until all other containers are done.
    /// Without a master the first stage starts at submission.
    pub master: Option<Resources>,
    /// Stages; each starts when the previous one is done (reduces after maps).
    pub stages: Vec<Vec<Tasks>>,
    /// Whether the containers of a stage work together, as in a distributed training. The stage begins when all of them
    /// run, and ends for all of them at the same time. It is lost as a whole when one is preempted.
    pub starts_together: bool,
}

/// Tasks of one kind: one ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// Size of one container.
    pub size: Resources,
    /// The devices of one container.
    pub devices: Option<DeviceNeed>,
    /// A hard condition on the node.
    pub rule: Option<AttributeRule>,
    /// Lower is served first within the job.
    pub priority: u32,
    /// Preferred hosts, by name.
    pub hosts: Vec<String>,
    /// Asked for this long after its stage starts.
    pub delay_ms: u64,
    /// Duration of each container; `None` runs for ever.
    pub durations_ms: Vec<Option<u64>>,
}

impl Tasks {
    /// Tasks of this size and these durations, without preferences, of priority 0.
    #[must_use]
    pub fn new(size: Resources, durations_ms: Vec<Option<u64>>) -> Self {
        Self { size, devices: None, rule: None, priority: 0, hosts: Vec::new(), delay_ms: 0, durations_ms }
    }
}

impl Workload {
    /// Number of containers of all jobs, including masters.
    #[must_use]
    pub fn asks(&self) -> u64 {
        self.jobs.iter().map(Job::asks).sum()
    }

    /// The queues that jobs name, each once, in order of first use.
    #[must_use]
    pub fn queues_named(&self) -> Vec<&str> {
        let mut seen = std::collections::BTreeSet::new();
        self.jobs.iter().map(|job| job.queue.as_str()).filter(|queue| seen.insert(*queue)).collect()
    }

    /// Multiplies the number of nodes by `factor`, to at least one, with all kinds of nodes in proportion. Copies have
    /// separate names and racks; jobs stay as they are.
    pub fn resize(&mut self, factor: f64) {
        let (before, originals) = (self.nodes.len(), std::mem::take(&mut self.nodes));
        if before == 0 {
            return;
        }
        let wanted = (before as f64 * factor).round().max(1.0) as usize;
        let (copies, rest) = (wanted / before, wanted % before);
        for copy in 0..copies {
            self.nodes.extend(originals.iter().map(|node| copy_of(node, copy)));
        }
        self.nodes.extend((0..rest).map(|number| copy_of(&originals[number * before / rest], copies)));
    }

    /// Divides durations by `factor`: those of containers, to at least 1 ms, and the delays of tasks.
    pub fn compress_durations(&mut self, factor: f64) {
        let divided = |ms: u64| (ms as f64 / factor) as u64;
        for tasks in self.jobs.iter_mut().flat_map(|job| job.stages.iter_mut().flatten()) {
            tasks.delay_ms = divided(tasks.delay_ms);
            for duration_ms in tasks.durations_ms.iter_mut().flatten() {
                *duration_ms = divided(*duration_ms).max(1);
            }
        }
    }

    /// Divides submission times by `factor`; durations stay.
    pub fn compress(&mut self, factor: f64) {
        for job in &mut self.jobs {
            job.submit_ms = (job.submit_ms as f64 / factor) as u64;
        }
    }
}

/// The original node, or a copy under another name and on another rack.
fn copy_of(node: &NodeSpec, copy: usize) -> NodeSpec {
    let mut node = node.clone();
    if copy > 0 {
        node.name = format!("{}-copy-{copy}", node.name);
        node.rack = format!("{}-copy-{copy}", node.rack);
    }
    node
}

impl Job {
    /// Number of containers of the job, including its master.
    #[must_use]
    pub fn asks(&self) -> u64 {
        let tasks: usize = self.stages.iter().flatten().map(|tasks| tasks.durations_ms.len()).sum();
        tasks as u64 + u64::from(self.master.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_compressed_apart() {
        let mut tasks = Tasks::new(Resources::new(&[1]), vec![Some(9_000), Some(5), None]);
        tasks.delay_ms = 500;
        let job = Job {
            name: "j".into(),
            queue: "q".into(),
            user: "u".into(),
            priority: 0,
            submit_ms: 60_000,
            master: None,
            stages: vec![vec![tasks]],
            starts_together: false,
        };
        let resources = ResourceTypes::memory_and_vcores();
        let mut workload = Workload {
            resources,
            nodes: Vec::new(),
            queues: None,
            jobs: vec![job],
            invented: Invented::default(),
        };
        workload.compress(10.0);
        let tasks = &workload.jobs[0].stages[0][0];
        assert_eq!((workload.jobs[0].submit_ms, tasks.durations_ms[0]), (6_000, Some(9_000)));
        workload.compress_durations(10.0);
        let tasks = &workload.jobs[0].stages[0][0];
        assert_eq!((workload.jobs[0].submit_ms, tasks.delay_ms), (6_000, 50));
        assert_eq!(tasks.durations_ms, [Some(900), Some(1), None]);
    }

    #[test]
    fn a_cluster_of_another_size_has_all_kinds_of_nodes() {
        let node = |number: i64| NodeSpec::new(format!("n{number}"), Resources::new(&[number]));
        let names = |factor: f64| {
            let nodes = (0..4).map(node).collect();
            let resources = ResourceTypes::memory_and_vcores();
            let mut workload =
                Workload { resources, nodes, queues: None, jobs: Vec::new(), invented: Invented::default() };
            workload.resize(factor);
            workload.nodes.into_iter().map(|node| node.name).collect::<Vec<_>>()
        };
        assert_eq!(names(1.0), ["n0", "n1", "n2", "n3"]);
        assert_eq!(names(0.5), ["n0", "n2"]);
        assert_eq!(names(0.01), ["n0"]);
        assert_eq!(names(1.5), ["n0", "n1", "n2", "n3", "n0-copy-1", "n2-copy-1"]);
        assert_eq!(names(3.0).len(), 12);
    }
}
