//! The processors of a job and their standbys, and the components that represent them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::job_record::JobRecord;
use super::super::job_spec::JobSpec;
use super::super::processor::{ProcessorId, ProcessorSpec};
use super::plan::Move;
use crate::application::ComponentChange;
use crate::component::{ComponentId, ComponentSpec};

/// The specification of a job, with the standbys of running steps besides. Every change of the specification
/// is recorded until it is stored.
#[derive(Debug)]
pub(super) struct Processors {
    spec: JobSpec,
    components: BTreeMap<ComponentId, ComponentSpec>,
    numbers: BTreeMap<ProcessorId, ComponentId>,
    /// The position of each processor in the job's list.
    places: BTreeMap<ProcessorId, usize>,
    /// Positions of processors whose specification changed.
    changed: BTreeSet<usize>,
    has_changed_hosts: bool,
}

impl Processors {
    pub(super) fn new(spec: JobSpec) -> Self {
        let named: Vec<(ProcessorId, ComponentSpec)> = spec.components().collect();
        Self {
            numbers: named.iter().map(|(name, component)| (name.clone(), component.id)).collect(),
            components: named.into_iter().map(|(_, component)| (component.id, component)).collect(),
            places: spec.places(),
            spec,
            changed: BTreeSet::new(),
            has_changed_hosts: false,
        }
    }

    pub(super) fn spec(&self) -> &JobSpec {
        &self.spec
    }

    pub(super) fn components(&self) -> &BTreeMap<ComponentId, ComponentSpec> {
        &self.components
    }

    /// Returns the component of a processor or standby.
    pub(super) fn number(&self, processor: &ProcessorId) -> Option<ComponentId> {
        self.numbers.get(processor).copied()
    }

    /// Returns the component of a processor's standby.
    pub(super) fn standby(&self, group: &ProcessorId, number: u32) -> Option<ComponentId> {
        self.number(&group.standby(number))
    }

    pub(super) fn number_of(&self, processor: &ProcessorId) -> Result<ComponentId, String> {
        let number = self.number(processor);
        number.ok_or_else(|| format!("there is no processor `{processor}` in job `{}`", self.spec.name))
    }

    /// Returns the components of a processor and its standbys.
    pub(super) fn group(&self, group: &ProcessorId) -> impl Iterator<Item = ComponentId> {
        let named = self.numbers.range(group..).take_while(|(name, _)| name.is_of(group));
        named.map(|(_, component)| *component)
    }

    /// Returns the processor or standby that a component represents.
    pub(super) fn processor_of(&self, component: ComponentId) -> Option<ProcessorId> {
        self.components.get(&component)?.name.parse().ok()
    }

    /// Returns the specification of a processor, or of a standby's processor.
    pub(super) fn processor(&self, processor: &ProcessorId) -> Option<&ProcessorSpec> {
        self.spec.processors.get(self.place(&processor.active())?)
    }

    /// Returns the processor's position in the job's list.
    pub(super) fn place(&self, processor: &ProcessorId) -> Option<usize> {
        self.places.get(processor).copied()
    }

    pub(super) fn component_of_move(&self, group: &ProcessorId, next: &Move) -> Option<ComponentId> {
        match next {
            Move::Act { component, .. } | Move::ReplaceStandby { component, .. } => Some(*component),
            Move::HandOver { standby, .. } => Some(*standby),
            Move::StartStandby { number }
            | Move::AwaitStandby { number, .. }
            | Move::BringStandby { number, .. }
            | Move::StopStandby { number } => self.standby(group, *number),
        }
    }

    /// Returns the components of these processors. If version or size change, adds all standbys: they share
    /// the version and the size of their processor. Without names, returns all but temporary standbys: those
    /// leave with the request that started them.
    pub(super) fn restarted(
        &self,
        named: Option<&BTreeSet<ProcessorId>>,
        changes: bool,
    ) -> Result<BTreeSet<ComponentId>, String> {
        let Some(named) = named else {
            return Ok(self.components.keys().copied().filter(|known| !self.is_temporary(*known)).collect());
        };
        let alone = named.iter().find(|name| changes && name.is_standby() && !named.contains(&name.active()));
        if let Some(standby) = alone {
            let active = standby.active();
            return Err(format!(
                "`{standby}` has the version and the size of its processor: name `{active}`"
            ));
        }
        let mut chosen: BTreeSet<ComponentId> =
            named.iter().map(|processor| self.number_of(processor)).collect::<Result<_, _>>()?;
        for known in named.iter().filter(|_| changes).filter_map(|processor| self.processor(processor)) {
            chosen.extend(known.standbys.iter().filter_map(|number| self.standby(&known.id, *number)));
        }
        Ok(chosen)
    }

    /// Returns whether the component is a standby that belongs to a step and not to the job.
    fn is_temporary(&self, component: ComponentId) -> bool {
        let standby = self.processor_of(component).filter(ProcessorId::is_standby);
        standby.is_some_and(|standby| {
            let number = standby.standby_number().unwrap_or_default();
            self.processor(&standby).is_none_or(|known| !known.standbys.contains(&number))
        })
    }

    /// Adds a standby to the processor, in another fault domain than the processor and its other standbys.
    /// The standby joins the job's specification only when its step succeeds. Returns the changed components.
    pub(super) fn add_standby(&mut self, group: &ProcessorId, number: u32) -> Vec<ComponentSpec> {
        let Some(place) = self.place(group) else { return Vec::new() };
        let Some(mut processor) = self.spec.processors.get(place).cloned() else { return Vec::new() };
        processor.standbys.insert(number);
        let (id, standby) = self.spec.component(place, &processor, Some(number));
        self.numbers.insert(id, standby.id);
        self.components.insert(standby.id, standby.clone());
        let active = self.change_active(group, |active| {
            active.apart_from.clone_from(&standby.apart_from);
            active.takes_over.push(standby.id);
        });
        active.into_iter().chain([standby]).collect()
    }

    /// Removes a standby from the processor. Returns the changed components, the standby last.
    pub(super) fn remove_standby(&mut self, group: &ProcessorId, number: u32) -> Vec<ComponentSpec> {
        if self.processor(group).is_some_and(|known| known.standbys.contains(&number)) {
            self.change_processor(group, |processor| processor.standbys.retain(|known| *known != number));
        }
        let removed = self.numbers.remove(&group.standby(number));
        let Some(mut standby) = removed.and_then(|component| self.components.remove(&component)) else {
            return Vec::new();
        };
        standby.desired = 0;
        let active =
            self.change_active(group, |active| active.takes_over.retain(|known| *known != standby.id));
        active.into_iter().chain([standby]).collect()
    }

    fn change_active(
        &mut self,
        group: &ProcessorId,
        change: impl FnOnce(&mut ComponentSpec),
    ) -> Option<ComponentSpec> {
        let active = self.numbers.get(group).and_then(|active| self.components.get_mut(active))?;
        change(active);
        Some(active.clone())
    }

    /// Keeps the new size and version of a component after its action succeeded.
    pub(super) fn keep_change(
        &mut self,
        group: &ProcessorId,
        component: ComponentId,
        change: &ComponentChange,
    ) {
        let Some(known) = self.components.get_mut(&component) else { return };
        if let Some(size) = change.size {
            known.size = size;
        }
        if let Some(version) = &change.version {
            known.version.clone_from(version);
        }
        let (is_active, size, version) = (known.name == group.to_string(), known.size, known.version.clone());
        if is_active && *change != ComponentChange::default() {
            self.change_processor(group, |processor| {
                processor.size = size;
                processor.version = version;
            });
        }
    }

    pub(super) fn change_processor(&mut self, group: &ProcessorId, change: impl FnOnce(&mut ProcessorSpec)) {
        let Some(place) = self.place(group) else { return };
        let Some(processor) = self.spec.processors.get_mut(place) else { return };
        change(processor);
        self.changed.insert(place);
    }

    pub(super) fn change_hosts_kept_free(&mut self, change: impl FnOnce(&mut BTreeSet<String>)) {
        change(&mut self.spec.hosts_kept_free);
        self.has_changed_hosts = true;
    }

    /// Takes the records of the parts that changed since the last call, in their present state.
    pub(super) fn take_records(&mut self) -> Vec<JobRecord> {
        let hosts = std::mem::take(&mut self.has_changed_hosts)
            .then(|| JobRecord::HostsKeptFree(self.spec.hosts_kept_free.clone()));
        let changed = std::mem::take(&mut self.changed).into_iter();
        let changed = changed.filter_map(|place| self.spec.processors.get(place).cloned());
        hosts.into_iter().chain(changed.map(JobRecord::Processor)).collect()
    }
}
