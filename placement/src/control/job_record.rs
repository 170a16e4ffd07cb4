//! Records of the changes that requests made to a job; the next start of its coordinator needs them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::job_spec::JobSpec;
use super::processor::{ProcessorId, ProcessorSpec};

/// The latest state of a part of a job that a request changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobRecord {
    /// The hosts that were drained and not readmitted.
    HostsKeptFree(BTreeSet<String>),
    /// A processor with its size, version and standbys.
    Processor(ProcessorSpec),
}

impl JobRecord {
    /// Returns whether the job already matches the record, so that [`with_records`](JobSpec::with_records)
    /// would change nothing. `places` are the job's.
    pub(super) fn holds(&self, spec: &JobSpec, places: &BTreeMap<ProcessorId, usize>) -> bool {
        match self {
            Self::HostsKeptFree(hosts) => *hosts == spec.hosts_kept_free,
            Self::Processor(record) => places.get(&record.id).is_some_and(|place| {
                let known = &spec.processors[*place];
                known.size == record.size
                    && known.version == record.version
                    && known.standbys == record.standbys
            }),
        }
    }
}

impl JobSpec {
    /// Applies these records. Records of unknown processors are ignored.
    #[must_use]
    pub fn with_records(mut self, records: &[JobRecord]) -> Self {
        let places = self.places();
        for record in records {
            match record {
                JobRecord::HostsKeptFree(hosts) => self.hosts_kept_free.clone_from(hosts),
                JobRecord::Processor(processor) => {
                    let Some(place) = places.get(&processor.id) else { continue };
                    let known = &mut self.processors[*place];
                    known.size = processor.size;
                    known.version.clone_from(&processor.version);
                    known.standbys.clone_from(&processor.standbys);
                }
            }
        }
        self
    }
}
