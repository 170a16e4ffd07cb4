//! Records changes to the job's specification until they are stored. Every change of the specification goes
//! through here.

use std::collections::BTreeSet;

use super::super::job_record::JobRecord;
use super::super::processor::{ProcessorId, ProcessorSpec};
use super::Job;
use crate::client::ClusterClient;

/// The changed parts of the specification.
#[derive(Clone, Debug, Default)]
pub(super) struct Unrecorded {
    /// Positions of changed processors in the list.
    processors: BTreeSet<usize>,
    has_hosts: bool,
}

impl<C: ClusterClient> Job<C> {
    /// Takes the records of parts that requests changed since the last call, in their present state. Store
    /// them with, or before, the answers of the same turn. Then a restarted coordinator finds every change
    /// that a client was told of.
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
