//! What of the job has changed and was not written down yet. Everything that changes the job's definition goes through
//! here.

use std::collections::BTreeSet;

use super::super::job_record::JobRecord;
use super::super::processor::{ProcessorId, ProcessorSpec};
use super::Job;
use crate::client::ClusterClient;

/// Parts of the definition that have changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Unrecorded {
    /// Processors, by their places in the list.
    processors: BTreeSet<usize>,
    has_hosts: bool,
}

impl<C: ClusterClient> Job<C> {
    /// What requests have changed of the job since the last call, as it is now. Whoever saves answers saves these with
    /// them or before them; then whoever was told that something succeeded finds it so after the next start of the
    /// coordinator.
    pub fn take_records(&mut self) -> Vec<JobRecord> {
        let Unrecorded { processors, has_hosts } = std::mem::take(&mut self.unrecorded);
        let hosts = has_hosts.then(|| JobRecord::HostsKeptFree(self.spec.hosts_kept_free.clone()));
        let changed = processors.into_iter().filter_map(|place| self.spec.processors.get(place).cloned());
        hosts.into_iter().chain(changed.map(JobRecord::Processor)).collect()
    }

    pub(super) fn change_processor(&mut self, group: &ProcessorId, change: impl FnOnce(&mut ProcessorSpec)) {
        let Some(place) = self.places.get(group).copied() else { return };
        let Some(processor) = self.spec.processors.get_mut(place) else { return };
        change(processor);
        self.unrecorded.processors.insert(place);
    }

    pub(super) fn change_hosts_kept_free(&mut self, change: impl FnOnce(&mut BTreeSet<String>)) {
        change(&mut self.spec.hosts_kept_free);
        self.unrecorded.has_hosts = true;
    }
}
