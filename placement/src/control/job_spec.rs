//! Specifications of jobs, and the components that represent their processors.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::processor::{ProcessorId, ProcessorSpec};
use crate::component::{ComponentId, ComponentSpec, FaultDomain, PlacementPolicy, RetryPolicy};

/// The most processors of a job.
pub const PROCESSORS_MAX: usize = 1 << 20;
/// The most standbys of a processor; their numbers are lower than this.
pub const STANDBYS_MAX: u32 = 1_000;

/// A job: processors that each run in one container. From one start of the coordinator to the next,
/// processors keep their positions in the list; append new ones. [`with_records`](Self::with_records)
/// applies the changes that requests made meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// Its processors.
    pub processors: Vec<ProcessorSpec>,
    /// The fault domain that separates standbys from each other and from their processor.
    #[serde(default)]
    pub standby_domain: FaultDomain,
    /// Whether containers return to their previous hosts.
    pub has_host_affinity: bool,
    /// The node label required; `None` for nodes without a label.
    #[serde(default)]
    pub label: Option<String>,
    /// How long only the last host of a processor is asked for (Samza's
    /// `cluster-manager.container.request.timeout.ms`).
    pub request_timeout_ms: u64,
    /// The most failures of a processor in a row; after more, the processor is given up or the job ends
    /// (Samza's `cluster-manager.container.retry.count`). `None`: no limit. A row ends when no failure
    /// follows the last retry within `retry_window_ms`. Planned stops are not failures.
    pub failures_max: Option<u32>,
    /// How long after its last retry a failure of a processor still belongs to the row (Samza's
    /// `cluster-manager.container.retry.window.ms`).
    #[serde(default = "retry_window_ms")]
    pub retry_window_ms: u64,
    /// The delay of the last retry; only with host affinity (Samza's
    /// `cluster-manager.container.preferred-host.last.retry.delay.ms`, plus one second).
    #[serde(default = "last_retry_delay_ms")]
    pub last_retry_delay_ms: u64,
    /// A processor avoids a host where it failed more often than this within the failure window of
    /// [`ServiceSettings`](crate::ServiceSettings); other processors do not. `None`, the default: no host
    /// is avoided, as in Samza.
    #[serde(default)]
    pub node_failure_threshold: Option<u32>,
    /// Whether the job ends when a processor is given up (Samza's `job.fail.after.retries`).
    pub fails_with_processor: bool,
    /// Drained hosts; no container of the job goes there.
    #[serde(default)]
    pub hosts_kept_free: BTreeSet<String>,
}

/// Why a job specification is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JobSpecError {
    /// Two processors have the same id.
    #[error("processor `{0}` is listed twice")]
    Twice(ProcessorId),
    /// A standby is listed as a processor.
    #[error("`{0}` is the name of a standby: list its number with the standbys of `{active}`", active = .0.active())]
    Standby(ProcessorId),
    /// A count exceeds its limit.
    #[error("{count} {what}: at most {most}")]
    TooMany {
        /// The count.
        count: usize,
        /// The thing counted.
        what: &'static str,
        /// The limit.
        most: usize,
    },
}

impl JobSpec {
    /// Samza's default for `cluster-manager.container.retry.window.ms`.
    pub const RETRY_WINDOW_MS: u64 = 300_000;
    /// Samza's default: six minutes, plus the second that Samza adds.
    pub const LAST_RETRY_DELAY_MS: u64 = 361_000;

    /// Creates a job with Samza's defaults: host affinity, 5 s for a host, 8 retries at most 300 s
    /// apart, and no node failure threshold.
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

    /// Returns the position of each processor in the list.
    pub(super) fn places(&self) -> BTreeMap<ProcessorId, usize> {
        self.processors.iter().enumerate().map(|(place, known)| (known.id.clone(), place)).collect()
    }

    /// Returns the components that represent processors and standbys, each with its processor id. A standby
    /// has a higher component id than every processor, so it is requested later.
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

/// Returns the component for the processor at this position, or for its standby of this number.
pub(super) fn component_of(place: usize, standby: Option<u32>) -> ComponentId {
    let above = standby.map_or(0, |number| (number as usize + 1) * PROCESSORS_MAX);
    ComponentId(u32::try_from(place + above).unwrap_or(crate::COMPONENT_ID_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number is checked before the names, which are all the same here.
    #[test]
    fn a_job_has_no_more_processors_than_their_numbers_allow() {
        let processor = ProcessorSpec::new("0".parse().unwrap(), apportion::Resources::new(&[1]));
        let job = |processors| JobSpec::new("job", vec![processor.clone(); processors]);
        assert!(matches!(job(PROCESSORS_MAX).check(), Err(JobSpecError::Twice(_))));
        let count = PROCESSORS_MAX + 1;
        let expected = JobSpecError::TooMany { count, what: "processors", most: PROCESSORS_MAX };
        assert_eq!(job(count).check(), Err(expected));
    }

    /// Numbers begin with 0.
    #[test]
    fn a_processor_has_no_standby_beyond_the_last_number() {
        let job = |standby| {
            let mut processor = ProcessorSpec::new("0".parse().unwrap(), apportion::Resources::new(&[1]));
            processor.standbys.insert(standby);
            JobSpec::new("job", vec![processor])
        };
        assert_eq!(job(STANDBYS_MAX - 1).check(), Ok(()));
        let most = STANDBYS_MAX as usize;
        let expected = JobSpecError::TooMany { count: most + 1, what: "standbys", most };
        assert_eq!(job(STANDBYS_MAX).check(), Err(expected));
    }

    #[test]
    fn settings_that_a_record_lacks_have_their_defaults() {
        let defaults = [
            ("standby_domain", serde_json::json!("host")),
            ("label", serde_json::Value::Null),
            ("retry_window_ms", 300_000.into()),
            ("last_retry_delay_ms", 361_000.into()),
            ("node_failure_threshold", serde_json::Value::Null),
            ("hosts_kept_free", serde_json::json!([])),
        ];
        let job = JobSpec::new("job", Vec::new());
        let mut record = serde_json::to_value(&job).unwrap();
        for (name, default) in defaults {
            let stored = record.as_object_mut().and_then(|fields| fields.remove(name));
            assert_eq!(stored, Some(default), "{name}");
        }
        assert_eq!(serde_json::from_value::<JobSpec>(record).unwrap(), job);
    }

    /// No two settings of the job are alike.
    #[test]
    fn a_component_has_the_settings_of_its_job() {
        let mut processor = ProcessorSpec::new("0".parse().unwrap(), apportion::Resources::new(&[7]));
        processor.version = "v1".to_owned();
        let job = JobSpec {
            has_host_affinity: false,
            label: Some("gpu".to_owned()),
            request_timeout_ms: 11,
            failures_max: Some(12),
            retry_window_ms: 13,
            last_retry_delay_ms: 14,
            node_failure_threshold: Some(15),
            fails_with_processor: false,
            ..JobSpec::new("job", vec![processor])
        };
        let (id, spec) = job.components().next().unwrap();
        let expected = ComponentSpec {
            name: "0".to_owned(),
            group: "job".to_owned(),
            id: ComponentId(0),
            desired: 1,
            policy: PlacementPolicy::Anywhere,
            size: apportion::Resources::new(&[7]),
            label: Some("gpu".to_owned()),
            escalate_after_ms: 11,
            node_failure_threshold: Some(15),
            shuns_hosts_alone: true,
            container_failure_threshold: Some(12),
            retries: Some(RetryPolicy { window_ms: 13, last_delay_ms: 14 }),
            health: None,
            apart_from: None,
            takes_over: Vec::new(),
            version: "v1".to_owned(),
            degrades: true,
            disruption: None,
        };
        assert_eq!((id.to_string(), spec), ("0".to_owned(), expected));
    }
}
