//! Looks at the processors and their containers, and plans the steps of requests. `moves.rs` plans the
//! moves of a step.

use std::collections::BTreeSet;
use std::sync::Arc;

use apportion::Resources;

use super::super::action::{JobAction, RollingRestart};
use super::super::processor::ProcessorId;
use super::plan::{Batch, Canary, Drain, Intent, Move, RunStage, RunningStep, Step};
use super::processors::Processors;
use crate::application::{ActionKind, ApplicationState, ComponentChange};
use crate::client::ContainerRef;
use crate::component::{ComponentId, ComponentSpec};
use crate::history::InstanceState;

/// A job at one moment: its processors, and the state of the service below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planner<'a> {
    pub(super) processors: &'a Processors,
    pub(super) state: &'a ApplicationState,
}

impl Planner<'_> {
    /// Returns the container of a component if it runs.
    pub(super) fn live_container(self, component: ComponentId) -> Option<ContainerRef> {
        let container = self.state.container_of(component)?;
        (self.state.instance_state(container) == Some(InstanceState::Live)).then_some(container)
    }

    pub(super) fn has_caught_up(self, component: ComponentId) -> bool {
        self.live_container(component).is_some_and(|container| self.state.has_caught_up(container))
    }

    /// Returns the host of a component's container, unless the container is being released.
    pub(super) fn host_of(self, component: ComponentId) -> Option<Arc<str>> {
        let state = self.state;
        state.host_of(state.container_of(component)?)
    }

    /// Returns whether an action on the component can begin: its container runs, or it was given up.
    pub(super) fn is_ready(self, component: ComponentId) -> bool {
        self.live_container(component).is_some() || self.state.is_given_up(component)
    }

    pub(super) fn is_there(self, component: ComponentId, next: &Move) -> bool {
        let is_at =
            |host| self.live_container(component).is_some() && self.host_of(component).as_ref() == Some(host);
        matches!(next, Move::BringStandby { host, .. } if is_at(host))
    }

    /// Returns whether the condition that the step waits for holds.
    pub(super) fn is_met(self, group: &ProcessorId, running: &RunningStep, now_ms: u64) -> bool {
        match running.stage {
            RunStage::AwaitingContainer { .. } => self.is_next_ready(group, running),
            RunStage::Standby { component, has_to_catch_up: true, .. } => self.has_caught_up(component),
            RunStage::Standby { component, .. } => self.live_container(component).is_some(),
            RunStage::Gone { component, .. } => !self.state.has_containers(component),
            RunStage::Pausing { until_ms } => until_ms <= now_ms,
            RunStage::Acting(_) | RunStage::HandingOver { .. } => true,
        }
    }

    /// Returns whether the containers that the next move concerns run.
    pub(super) fn is_next_ready(self, group: &ProcessorId, running: &RunningStep) -> bool {
        let Some(next) = running.left.front().filter(|next| next.is_placement()) else { return true };
        let heir = match next {
            Move::HandOver { component, .. } => Some(*component),
            _ => None,
        };
        let concerned = self.processors.component_of_move(group, next).into_iter().chain(heir);
        concerned.into_iter().all(|component| self.is_ready(component))
    }

    /// Counts the missing containers of a processor and its standbys.
    pub(super) fn down_of(self, group: &ProcessorId) -> u64 {
        self.processors.group(group).map(|component| self.state.down_of(component)).sum()
    }

    /// Returns whether the current move replaces its container now.
    pub(super) fn is_replaced_by(self, group: &ProcessorId, running: &RunningStep) -> bool {
        let next = running.left.front();
        let component = next.and_then(|next| self.processors.component_of_move(group, next));
        let container = component.and_then(|component| self.live_container(component));
        container.is_some_and(|container| self.state.is_being_replaced(container))
    }

    /// Returns the steps of an action and their common rules. The error says why the action is invalid.
    pub(super) fn plan(self, action: JobAction) -> Result<(Vec<Step>, Option<Batch>), String> {
        let one =
            |processor: &ProcessorId, intent| Ok((vec![self.checked(Step::new(processor, intent))?], None));
        match action {
            JobAction::Place { processor, destination } => {
                self.processors.number_of(&processor)?;
                one(&processor, Intent::Place { processor: processor.clone(), destination })
            }
            JobAction::StartStandby { processor } => one(&processor, Intent::StartStandby(processor.clone())),
            JobAction::StopStandby { standby } => one(&standby, Intent::StopStandby(standby.clone())),
            JobAction::DrainHost { host, pace } => {
                self.check_host(&host)?;
                let steps = self.departures(&host, usize::MAX);
                let seen = steps.iter().filter_map(|step| Some(step.only_while?.1)).collect();
                Ok((steps, Some(Batch::new(pace, Some(Drain { host, seen })))))
            }
            JobAction::RelieveHost { host, containers, pace } => {
                self.check_host(&host)?;
                let steps = self.departures(&host, containers as usize);
                Ok((steps, Some(Batch::new(pace, None))))
            }
            JobAction::RollingRestart(restart) => self.rolling_restart(&restart),
            JobAction::ReadmitHost { .. } | JobAction::Cancel { .. } => {
                Err("the action ends at once, and has no plan".to_owned())
            }
        }
    }

    /// Checks that the step is possible now. Its moves are planned again when it begins.
    fn checked(self, step: Step) -> Result<Step, String> {
        self.moves_of(&step).map(|_| step)
    }

    pub(super) fn check_host(self, host: &str) -> Result<(), String> {
        let is_known = self.state.knows_host(host);
        if is_known { Ok(()) } else { Err(format!("there is no host `{host}`")) }
    }

    /// Returns a step for each container that leaves the host.
    pub(super) fn departures(self, host: &str, most: usize) -> Vec<Step> {
        let state = self.state;
        let there = state.containers_on(host).filter(|(container, _)| {
            state.instance_state(*container).is_some_and(crate::InstanceState::is_held)
        });
        let there: Vec<(ContainerRef, ComponentId)> = there.take(most).collect();
        there.into_iter().filter_map(|(container, component)| self.departure(container, component)).collect()
    }

    fn departure(self, container: ContainerRef, component: ComponentId) -> Option<Step> {
        let processor = self.processors.processor_of(component)?;
        let step = Step::new(&processor, Intent::Depart { processor: processor.clone(), component });
        Some(Step { only_while: Some((component, container)), ..step })
    }

    fn rolling_restart(self, asked: &RollingRestart) -> Result<(Vec<Step>, Option<Batch>), String> {
        let changes = asked.change != ComponentChange::default();
        let chosen = self.processors.restarted(asked.processors.as_ref(), changes)?;
        if let Some(size) = &asked.change.size {
            self.check_size(&chosen, size)?;
        }
        let kind = if asked.stops_first { ActionKind::StopAndRestart } else { ActionKind::Restart };
        let change = Arc::new(asked.change.clone());
        let step = |component: ComponentId| {
            let (kind, change) = (kind.clone(), Arc::clone(&change));
            Some(Step::new(
                &self.processors.processor_of(component)?,
                Intent::Restart { component, kind, change },
            ))
        };
        let steps: Vec<Step> = chosen.into_iter().filter_map(step).collect();
        let canary = (asked.canaries > 0).then(|| Canary {
            steps: asked.canaries,
            wait_ms: asked.canary_wait_ms,
            runs: Vec::new(),
            until_ms: None,
        });
        let batch = Batch { is_rolling: true, canary, ..Batch::new(asked.pace, None) };
        Ok((steps, Some(batch)))
    }

    /// Rejects a size that no host could hold, and a size without a resource that a processor has now: a
    /// size must list all amounts.
    fn check_size(self, chosen: &BTreeSet<ComponentId>, size: &Resources) -> Result<(), String> {
        let known = || chosen.iter().filter_map(|component| self.processors.components().get(component));
        let loses = |had: &&ComponentSpec| {
            let mut amounts = had.size.amounts().iter().zip(size.amounts());
            amounts.any(|(had, has)| *had > 0 && *has == 0)
        };
        if let Some(had) = known().find(loses) {
            return Err(format!(
                "`{}` would have nothing of a resource that it has some of now: a size names all amounts",
                had.name
            ));
        }
        let could_be = known().next().is_none_or(|one| self.state.could_hold(one.id, size));
        if could_be {
            Ok(())
        } else {
            Err("no host of the job's could hold a container of that size".to_owned())
        }
    }
}
