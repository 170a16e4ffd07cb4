//! Jobs: which processors they consist of, and the components that stand for these.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::processor::{ProcessorId, ProcessorSpec};
use crate::component::{ComponentId, ComponentSpec, FaultDomain, PlacementPolicy, RetryPolicy};

/// How many processors a job may have.
pub const PROCESSORS_MAX: usize = 1 << 20;
/// How many standbys a processor may have.
pub const STANDBYS_MAX: u32 = 1_000;

/// A job: processors that each run in one container. Processors keep their places in the list from one start of the
/// coordinator to the next, new ones are added at its end; what requests have changed meanwhile is in
/// [`with_records`](Self::with_records).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// Its processors.
    pub processors: Vec<ProcessorSpec>,
    /// How far standbys are kept from each other and from the processor that they stand by for.
    #[serde(default)]
    pub standby_domain: FaultDomain,
    /// Whether containers come back to the hosts where they were.
    pub has_host_affinity: bool,
    /// The label of the nodes that will do; `None` for those without.
    #[serde(default)]
    pub label: Option<String>,
    /// How long the host where a processor was last is asked for before any other (Samza's
    /// `cluster-manager.container.request.timeout.ms`).
    pub request_timeout_ms: u64,
    /// With more failures of a processor than this in a row it is given up, or the job ends (Samza's
    /// `cluster-manager.container.retry.count`); `None`: never. A row ends when no failure follows the last retry
    /// within `retry_window_ms`. Planned stops are no failures.
    pub failures_max: Option<u32>,
    /// How long after its last retry a failure of a processor still counts with those before it (Samza's
    /// `cluster-manager.container.retry.window.ms`).
    #[serde(default = "retry_window_ms")]
    pub retry_window_ms: u64,
    /// How long the last retry waits; only with host affinity (Samza's
    /// `cluster-manager.container.preferred-host.last.retry.delay.ms`, and one second).
    #[serde(default = "last_retry_delay_ms")]
    pub last_retry_delay_ms: u64,
    /// A processor avoids a host where it has failed more often than this within the failure window of
    /// [`ServiceSettings`](crate::ServiceSettings); other processors do not. `None`, the default: it never does, as in
    /// Samza.
    #[serde(default)]
    pub node_failure_threshold: Option<u32>,
    /// Whether the job ends with the first processor that is given up (Samza's `job.fail.after.retries`).
    pub fails_with_processor: bool,
    /// Hosts that were drained: nothing of the job comes to them.
    #[serde(default)]
    pub hosts_kept_free: BTreeSet<String>,
}

/// Why a job cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JobSpecError {
    /// Two processors of one name.
    #[error("processor `{0}` is there twice")]
    Twice(ProcessorId),
    /// A standby as a processor of its own.
    #[error("`{0}` is the name of a standby: list its number with the standbys of `{active}`", active = .0.active())]
    Standby(ProcessorId),
    /// Too many of something.
    #[error("{count} {what}: at most {most}")]
    TooMany {
        /// How many.
        count: usize,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
}

impl JobSpec {
    /// Samza's default for `cluster-manager.container.retry.window.ms`.
    pub const RETRY_WINDOW_MS: u64 = 300_000;
    /// Samza's default: six minutes, and the second that it adds.
    pub const LAST_RETRY_DELAY_MS: u64 = 361_000;

    /// A job of these processors with Samza's defaults: host affinity, 5 s for a host, 8 retries with at most 300 s
    /// between them, and no node failure threshold.
    #[must_use]
    pub fn new(name: impl Into<String>, processors: Vec<ProcessorSpec>) -> Self {
        Self {
            name: name.into(),
            processors,
            standby_domain: FaultDomain::Host,
            has_host_affinity: true,
            label: None,
            request_timeout_ms: 5_000,
            failures_max: Some(8),
            retry_window_ms: Self::RETRY_WINDOW_MS,
            last_retry_delay_ms: Self::LAST_RETRY_DELAY_MS,
            node_failure_threshold: None,
            fails_with_processor: true,
            hosts_kept_free: BTreeSet::new(),
        }
    }

    pub(super) fn check(&self) -> Result<(), JobSpecError> {
        let too_many = |count: usize, what, most| Err(JobSpecError::TooMany { count, what, most });
        if self.processors.len() > PROCESSORS_MAX {
            return too_many(self.processors.len(), "processors", PROCESSORS_MAX);
        }
        let mut known = BTreeSet::new();
        for processor in &self.processors {
            if processor.id.standby_number().is_some() {
                return Err(JobSpecError::Standby(processor.id.clone()));
            }
            if !known.insert(&processor.id) {
                return Err(JobSpecError::Twice(processor.id.clone()));
            }
            let highest = processor.standbys.last().map_or(0, |number| *number as usize + 1);
            if highest > STANDBYS_MAX as usize {
                return too_many(highest, "standbys", STANDBYS_MAX as usize);
            }
        }
        Ok(())
    }

    /// Where each processor is in the list.
    pub(super) fn places(&self) -> BTreeMap<ProcessorId, usize> {
        self.processors.iter().enumerate().map(|(place, known)| (known.id.clone(), place)).collect()
    }

    /// The components that stand for the processors and their standbys, each with its processor's name. A standby has a
    /// higher number than every processor, so it is asked for later.
    pub(super) fn components(&self) -> impl Iterator<Item = (ProcessorId, ComponentSpec)> + '_ {
        self.processors.iter().enumerate().flat_map(move |(place, processor)| {
            let standbys = processor.standbys.iter().map(|number| Some(*number));
            std::iter::once(None)
                .chain(standbys)
                .map(move |standby| self.component(place, processor, standby))
        })
    }

    pub(super) fn component(
        &self,
        place: usize,
        processor: &ProcessorSpec,
        standby: Option<u32>,
    ) -> (ProcessorId, ComponentSpec) {
        let id = standby.map_or_else(|| processor.id.clone(), |number| processor.id.standby(number));
        let policy = if self.has_host_affinity { PlacementPolicy::Normal } else { PlacementPolicy::Anywhere };
        let spec = ComponentSpec {
            label: self.label.clone(),
            escalate_after_ms: self.request_timeout_ms,
            container_failure_threshold: self.failures_max,
            retries: Some(RetryPolicy {
                window_ms: self.retry_window_ms,
                last_delay_ms: self.last_retry_delay_ms,
            }),
            node_failure_threshold: self.node_failure_threshold,
            shuns_hosts_alone: true,
            version: processor.version.clone(),
            degrades: !self.fails_with_processor,
            group: self.name.clone(),
            ..ComponentSpec::new(id.to_string(), component_of(place, standby).0, 1, processor.size)
        };
        let spec = spec.with_policy(policy);
        let is_alone = processor.standbys.is_empty();
        let takes_over = match standby {
            None => processor.standbys.iter().map(|number| component_of(place, Some(*number))).collect(),
            Some(_) => Vec::new(),
        };
        let spec = ComponentSpec { takes_over, ..spec };
        (id, if is_alone { spec } else { spec.apart_from(processor.id.to_string(), self.standby_domain) })
    }
}

fn retry_window_ms() -> u64 {
    JobSpec::RETRY_WINDOW_MS
}

fn last_retry_delay_ms() -> u64 {
    JobSpec::LAST_RETRY_DELAY_MS
}

/// The component that stands for a processor at this place of the list, or for a standby of it.
pub(super) fn component_of(place: usize, standby: Option<u32>) -> ComponentId {
    let above = standby.map_or(0, |number| (number as usize + 1) * PROCESSORS_MAX);
    ComponentId(u32::try_from(place + above).unwrap_or(crate::COMPONENT_ID_MAX))
}
