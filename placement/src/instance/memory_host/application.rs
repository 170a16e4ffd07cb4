//! One application of the host in memory.

use std::collections::BTreeMap;

use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec};
use crate::instance::ExitCode;
use crate::instance::host::Submission;
use crate::instance::report::{AppId, ApplicationReport, RunState};
use crate::status::{ComponentCounters, ComponentStatus, ServiceStatus};

/// An application whose containers are only ids.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) report: ApplicationReport,
    pub(super) components: Vec<ComponentSpec>,
    pub(super) containers: BTreeMap<ContainerRef, ComponentId>,
    pub(super) counters: BTreeMap<ComponentId, ComponentCounters>,
    pub(super) master_starts_left: Option<u32>,
    pub(super) containers_at_restart: Option<u32>,
}

impl Application {
    pub(super) fn new(id: AppId, submission: &Submission<'_>) -> Self {
        let starts = submission.resolved.settings.master_starts_max;
        Self {
            report: ApplicationReport::accepted(id, submission),
            components: submission.resolved.components.clone(),
            containers: BTreeMap::new(),
            counters: BTreeMap::new(),
            // The first start counts.
            master_starts_left: starts.checked_sub(1),
            containers_at_restart: None,
        }
    }

    /// Changes the state, unless the application has ended or the state is not later.
    pub(super) fn transition_to(&mut self, state: RunState, diagnostics: &str, exit_code: ExitCode) {
        let report = &mut self.report;
        if report.state.is_final() || state <= report.state {
            return;
        }
        report.state = state;
        diagnostics.clone_into(&mut report.diagnostics);
        let is_live = state == RunState::Running;
        report.host = is_live.then(|| "localhost".to_owned());
        report.rpc_port = is_live.then_some(1_024);
        if state.is_final() {
            report.exit_code = Some(exit_code.code());
            self.containers.clear();
        }
    }

    pub(super) fn status(&self, now_ms: u64) -> ServiceStatus {
        ServiceStatus {
            now_ms,
            components: self.components.iter().map(|spec| self.component_status(spec)).collect(),
            outstanding: Vec::new(),
            failure: None,
            containers_at_restart: self.containers_at_restart,
            refused_budgets: None,
        }
    }

    fn component_status(&self, spec: &ComponentSpec) -> ComponentStatus {
        let live = self.containers.values().filter(|id| **id == spec.id).count();
        let live = u32::try_from(live).unwrap_or(u32::MAX);
        ComponentStatus {
            name: spec.name.clone(),
            group: spec.group.clone(),
            id: spec.id,
            policy: spec.policy,
            desired: spec.desired,
            actual: live,
            starting: 0,
            live,
            reserved: 0,
            releasing: 0,
            requested: 0,
            pending_anti_affine: 0,
            is_given_up: false,
            counters: self.counters.get(&spec.id).copied().unwrap_or_default(),
        }
    }
}
