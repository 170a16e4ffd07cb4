//! What is recorded about jobs whose containers start together.

use crate::sim::metrics::{GroupOutcome, JobOutcome, Outcomes};
use crate::sim::series::{Interval, Series};
use crate::statistics::Summary;

/// Why a job waits. The first reason that applies counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// All nodes together have less free than the missing members need.
    TooFewFree,
    /// The nodes have enough free together, but no nodes have room for the members: the free room is in too small
    /// parts.
    Fragmented,
    /// There is room, but it is reserved for other asks, or the engine holds it back for an earlier queue.
    Reserved,
    /// There is room, but the maximum of a queue, a limit of the user or of active applications does not admit the job.
    Limited,
    /// Nothing speaks against the job: it should have started.
    Room,
}

impl WaitReason {
    /// All reasons, in the order in which they are looked at.
    pub const ALL: [Self; 5] =
        [Self::TooFewFree, Self::Fragmented, Self::Reserved, Self::Limited, Self::Room];

    /// Its name in files.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::TooFewFree => "too_few_free",
            Self::Fragmented => "fragmented",
            Self::Limited => "limited",
            Self::Reserved => "reserved",
            Self::Room => "room",
        }
    }
}

/// The outcome of a job, beside its [`JobOutcome`]. Sizes are amounts of the workload's first resource type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangJob {
    /// Containers that start together; of several stages, the most.
    pub members: u64,
    /// Their size, all together; of several stages, the largest.
    pub size: u64,
    /// When all members ran for the first time.
    pub begun_ms: Option<u64>,
    /// How often all members ran: once for each stage, and once more for each time that their work was lost.
    pub attempts: u64,
    /// How often the work of an attempt was lost.
    pub attempts_lost: u64,
    /// How long the job waited for members, by [`WaitReason`] in the order of [`WaitReason::ALL`].
    pub waited_ms: [u64; 5],
    /// Work that was lost: size multiplied by the time from the beginning of an attempt to its loss.
    pub lost_size_ms: u64,
    /// Whether the job waited at a moment at which the engine was quiet and there was room for it.
    pub saw_room: bool,
}

/// A figure over virtual time, as a part of the cluster's first resource type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GangFigure {
    /// In use by jobs all of whose members run.
    Working,
    /// Held by members that wait for others.
    Held,
    /// Asked for by jobs that wait because too little is free.
    TooFewFree,
    /// Asked for by jobs that wait because the free room is in too small parts.
    Fragmented,
    /// Asked for by jobs that wait because the room is reserved or held back for others.
    Reserved,
}

impl GangFigure {
    pub(super) const COUNT: usize = 5;

    fn channel(self) -> usize {
        match self {
            Self::Working => 0,
            Self::Held => 1,
            Self::TooFewFree => 2,
            Self::Fragmented => 3,
            Self::Reserved => 4,
        }
    }
}

/// The record of all jobs whose containers start together.
#[derive(Clone, Debug)]
pub struct GangRecord {
    /// Whether jobs of several members were submitted as gangs; otherwise as plain asks.
    pub as_gangs: bool,
    /// The workload's first resource type, in which sizes are counted.
    pub unit: String,
    /// The cluster's amount of it.
    pub capacity: u64,
    /// Each job, in the workload's order; a job whose containers are independent is empty.
    pub jobs: Vec<GangJob>,
    /// Moments at which the engine was quiet and the waiting jobs were checked against the free room.
    pub moments: u64,
    /// Waiting jobs that were checked, at all moments together.
    pub checked: u64,
    /// Attempts that a preempted member ended.
    pub attempts_lost: u64,
    /// Members given back because another member was preempted.
    pub given_back: u64,
    /// Work of completed attempts, and the work that was lost, in size multiplied by time.
    pub done_size_ms: u64,
    /// See [`done_size_ms`](Self::done_size_ms).
    pub lost_size_ms: u64,
    /// What members held while they waited for others, in size multiplied by time.
    pub held_size_ms: u64,
    /// The last time at which a job was submitted or waited.
    pub busy_until_ms: u64,
    pub(super) series: Series,
}

/// Jobs of one size class, or of one leaf.
#[derive(Clone, Debug)]
pub struct GangGroup {
    /// The sizes in words, without the unit, or the leaf's path.
    pub name: String,
    /// Jobs.
    pub jobs: u64,
    /// Jobs all of whose members ran at some time.
    pub begun: u64,
    /// Jobs that finished.
    pub finished: u64,
    /// Times from submission until all members ran first, ascending.
    pub queueing_ms: Vec<u64>,
    /// Times from submission to the end, of finished jobs, ascending.
    pub completion_ms: Vec<u64>,
    /// Time that jobs waited, all together, by [`WaitReason`].
    pub waited_ms: [u64; 5],
    /// Attempts that were lost.
    pub attempts_lost: u64,
    /// The lost work, in size multiplied by time.
    pub lost_size_ms: u64,
}

/// The smallest sizes of the classes: one GPU, a part of a node of eight, up to a whole one, several nodes.
const CLASSES: [u64; 4] = [1, 2, 5, 9];

impl GangRecord {
    /// A figure over virtual time, by ascending time and without gaps.
    pub fn over_time(&self, figure: GangFigure) -> impl Iterator<Item = Interval> + '_ {
        self.series.channel(figure.channel())
    }

    /// Jobs that ever waited at a quiet moment with room for them; anything but 0 is a bug. Of all jobs, and of those
    /// with several members.
    #[must_use]
    pub fn waited_with_room(&self) -> (u64, u64) {
        let seen = || self.jobs.iter().filter(|job| job.saw_room);
        (seen().count() as u64, seen().filter(|job| job.members > 1).count() as u64)
    }

    /// Jobs with several members.
    #[must_use]
    pub fn of_several(&self) -> u64 {
        self.jobs.iter().filter(|job| job.members > 1).count() as u64
    }

    /// The jobs by size.
    #[must_use]
    pub fn by_size(&self, outcomes: &Outcomes) -> Vec<GangGroup> {
        let ends = CLASSES.iter().skip(1).map(|next| Some(next - 1)).chain([None]);
        let class = |(from, to): (&u64, Option<u64>)| {
            let name = match to {
                Some(to) if to == *from => from.to_string(),
                Some(to) => format!("{from} to {to}"),
                None => format!("{from} or more"),
            };
            let is_of = |job: &GangJob| job.size >= *from && to.is_none_or(|to| job.size <= to);
            self.group(name, outcomes, |job, _| is_of(job))
        };
        CLASSES.iter().zip(ends).map(class).collect()
    }

    /// The jobs by leaf, in the order of the queue tree.
    #[must_use]
    pub fn by_leaf(&self, outcomes: &Outcomes) -> Vec<GangGroup> {
        let leaves = outcomes.queues.iter().enumerate();
        let group = |(leaf, queue): (usize, &GroupOutcome)| {
            self.group(queue.name.clone(), outcomes, |_, outcome| outcome.queue == leaf)
        };
        leaves.map(group).collect()
    }

    /// All jobs.
    #[must_use]
    pub fn all(&self, outcomes: &Outcomes) -> GangGroup {
        self.group("all".into(), outcomes, |_, _| true)
    }

    fn group(
        &self,
        name: String,
        outcomes: &Outcomes,
        is_of: impl Fn(&GangJob, &JobOutcome) -> bool,
    ) -> GangGroup {
        let both = self.jobs.iter().zip(&outcomes.jobs);
        let of: Vec<_> = both.filter(|(job, outcome)| job.members > 0 && is_of(job, outcome)).collect();
        let queueing = |(job, outcome): &(&GangJob, &JobOutcome)| Some(job.begun_ms? - outcome.submitted_ms?);
        let sorted = |mut times: Vec<u64>| {
            times.sort_unstable();
            times
        };
        let sum = |value: &dyn Fn(&GangJob) -> u64| {
            of.iter().map(|(job, _)| value(job)).fold(0, u64::saturating_add)
        };
        let queueing_ms = sorted(of.iter().filter_map(queueing).collect());
        let completion_ms = sorted(of.iter().filter_map(|(_, outcome)| outcome.completion_ms()).collect());
        GangGroup {
            name,
            jobs: of.len() as u64,
            begun: queueing_ms.len() as u64,
            finished: completion_ms.len() as u64,
            queueing_ms,
            completion_ms,
            waited_ms: std::array::from_fn(|reason| sum(&|job| job.waited_ms[reason])),
            attempts_lost: sum(&|job| job.attempts_lost),
            lost_size_ms: sum(&|job| job.lost_size_ms),
        }
    }
}

impl GangGroup {
    /// Mean and percentiles of the times from submission until all members ran.
    #[must_use]
    pub fn queueing(&self) -> Option<Summary> {
        Summary::of(self.queueing_ms.iter().map(|ms| *ms as f64))
    }

    /// Mean and percentiles of the times from submission to the end.
    #[must_use]
    pub fn completion(&self) -> Option<Summary> {
        Summary::of(self.completion_ms.iter().map(|ms| *ms as f64))
    }

    /// Mean time that a job waited for this reason.
    #[must_use]
    pub fn waited_mean_ms(&self, reason: WaitReason) -> f64 {
        self.waited_ms[reason as usize] as f64 / (self.jobs as f64).max(1.0)
    }
}
