//! From a request to its plan.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use uuid::Uuid;

use super::super::action::{Destination, JobAction, JobRequest, Pace, RollingRestart};
use super::super::processor::{ProcessorId, STANDBYS_MAX};
use super::Job;
use super::plan::{Batch, Canary, Move, Plan, Step};
use crate::application::{ActionKind, ActionStatus, ComponentChange};
use crate::client::{ClusterClient, ContainerRef};
use crate::component::ComponentId;

impl<C: ClusterClient> Job<C> {
    /// Makes the plan and queues it, or says at once why there is none.
    pub(super) fn order(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        let JobRequest { action, expires_after_ms, retries } = asked;
        let planned = match self.service.state().is_over() {
            true => Err("the job ends".to_owned()),
            false => self.plan(action, now_ms),
        };
        let (steps, batch) = match planned {
            Ok(planned) => planned,
            Err(reason) => return self.answer(request, ActionStatus::BadRequest, reason),
        };
        let groups: Vec<ProcessorId> = steps.iter().map(|step| step.group.clone()).collect();
        let is_batch = batch.is_some();
        let waiting: VecDeque<Step> = steps.into_iter().map(|step| Step { retries, ..step }).collect();
        let plan = Plan {
            steps: u32::try_from(waiting.len()).unwrap_or(u32::MAX),
            waiting,
            running: BTreeMap::new(),
            batch,
            expires_after_ms,
            succeeded: 0,
            failed: 0,
            reason: String::new(),
            is_cancelled: false,
        };
        self.answer(request, ActionStatus::Accepted, "it waits for its turn");
        self.plans.insert(request, plan);
        if is_batch {
            self.batches.push(request);
            return;
        }
        for group in groups {
            self.queued.entry(group.clone()).or_default().push_back(request);
            self.freed.insert(group);
        }
    }

    /// The steps of an action, and what holds for them together; an error says why it makes no sense.
    fn plan(&mut self, action: JobAction, now_ms: u64) -> Result<(Vec<Step>, Option<Batch>), String> {
        match action {
            JobAction::Place { processor, destination } => {
                Ok((vec![self.placement(&processor, destination)?], None))
            }
            JobAction::StartStandby { processor } => Ok((vec![self.standby_start(&processor)?], None)),
            JobAction::StopStandby { standby } => Ok((vec![self.standby_stop(&standby)?], None)),
            JobAction::DrainHost { host, pace } => {
                self.check_host(&host)?;
                self.spec.hosts_kept_free.insert(host.to_string());
                self.keep_hosts_free(now_ms);
                let steps = self.departures(&host, usize::MAX);
                Ok((steps, Some(Batch::at(pace, Some(host)))))
            }
            JobAction::RelieveHost { host, containers, pace } => {
                self.check_host(&host)?;
                let steps = self.departures(&host, containers as usize);
                Ok((steps, Some(Batch::at(pace, None))))
            }
            JobAction::ReadmitHost { host } => {
                if !self.spec.hosts_kept_free.remove(&*host) {
                    return Err(format!("host `{host}` is not kept free"));
                }
                self.keep_hosts_free(now_ms);
                let pace = Pace::default();
                Ok((Vec::new(), Some(Batch::at(pace, None))))
            }
            JobAction::RollingRestart(restart) => self.rolling_restart(&restart),
            JobAction::Cancel { .. } => Err("a request cannot be cancelled twice over".to_owned()),
        }
    }

    pub(super) fn number_of(&self, processor: &ProcessorId) -> Result<ComponentId, String> {
        let number = self.numbers.get(processor).copied();
        number.ok_or_else(|| format!("there is no processor `{processor}` in job `{}`", self.spec.name))
    }

    fn check_host(&self, host: &str) -> Result<(), String> {
        let is_known = self.service.state().knows_host(host);
        if is_known { Ok(()) } else { Err(format!("there is no host `{host}`")) }
    }

    fn placement(&self, processor: &ProcessorId, destination: Destination) -> Result<Step, String> {
        let component = self.number_of(processor)?;
        let kind = match destination {
            Destination::LastSeen => ActionKind::Restart,
            Destination::ForceRestartLastSeen => ActionKind::StopAndRestart,
            Destination::AnyHost => ActionKind::MoveElsewhere,
            Destination::Host(host) => {
                self.check_host(&host)?;
                ActionKind::MoveTo(host)
            }
            Destination::Standby => return self.move_to_standby(processor, component),
        };
        let goes = match &kind {
            ActionKind::MoveTo(host) => self.host_of(component).as_ref() != Some(host),
            ActionKind::MoveElsewhere => true,
            ActionKind::Restart | ActionKind::RestartOrMove | ActionKind::StopAndRestart => false,
        };
        if goes && self.needs_warm_standby(processor) {
            return self.move_with_warm_standby(processor, component, kind);
        }
        let moves = [Move::Act { component, kind, change: ComponentChange::default() }].into();
        Ok(Step { group: processor.active(), moves, only_while: None, retries: 0 })
    }

    /// State that nobody else has read yet has to be read somewhere before its processor goes there.
    fn needs_warm_standby(&self, processor: &ProcessorId) -> bool {
        let known = self.processor(processor);
        processor.standby_number().is_none()
            && known.is_some_and(|known| known.is_stateful && known.standbys.is_empty())
    }

    fn move_to_standby(&self, processor: &ProcessorId, component: ComponentId) -> Result<Step, String> {
        let standby = self.standby_that_runs(processor).ok_or_else(|| {
            format!("processor `{processor}` has no standby that runs and that it could take the place of")
        })?;
        let moves = [Move::VacateStandby { component: standby }, Move::TakeVacated { component }].into();
        Ok(Step { group: processor.active(), moves, only_while: None, retries: 0 })
    }

    fn standby_that_runs(&self, processor: &ProcessorId) -> Option<ComponentId> {
        let known = self.processor(processor).filter(|_| processor.standby_number().is_none())?;
        let mut standbys =
            known.standbys.iter().filter_map(|number| self.numbers.get(&processor.standby(*number)));
        standbys.find(|standby| self.live_container(**standby).is_some()).copied()
    }

    /// A standby comes, reads the state, and makes way.
    fn move_with_warm_standby(
        &self,
        processor: &ProcessorId,
        component: ComponentId,
        kind: ActionKind,
    ) -> Result<Step, String> {
        let number = self.next_standby(processor)?;
        let mut moves: VecDeque<Move> =
            [Move::StartStandby { number }, Move::AwaitStandby { number, has_to_catch_up: false }].into();
        if let ActionKind::MoveTo(host) = kind {
            let standby = self.spec.component_id(processor, number).ok_or("it has too many standbys")?;
            let kind = ActionKind::MoveTo(host);
            moves.push_back(Move::Act { component: standby, kind, change: ComponentChange::default() });
        }
        moves.push_back(Move::AwaitStandby { number, has_to_catch_up: true });
        moves.push_back(Move::StopStandby { number });
        moves.push_back(Move::TakeVacated { component });
        Ok(Step { group: processor.active(), moves, only_while: None, retries: 0 })
    }

    fn standby_start(&self, processor: &ProcessorId) -> Result<Step, String> {
        self.number_of(processor)?;
        let number = self.next_standby(processor)?;
        let moves =
            [Move::StartStandby { number }, Move::AwaitStandby { number, has_to_catch_up: false }].into();
        Ok(Step { group: processor.active(), moves, only_while: None, retries: 0 })
    }

    fn standby_stop(&self, standby: &ProcessorId) -> Result<Step, String> {
        self.number_of(standby)?;
        let number = standby.standby_number().ok_or_else(|| {
            format!(
                "`{standby}` is no standby; the standbys of it are called `{standby}-0`, `{standby}-1`, ..."
            )
        })?;
        let moves = [Move::StopStandby { number }].into();
        Ok(Step { group: standby.active(), moves, only_while: None, retries: 0 })
    }

    /// The lowest number that no standby of the processor has.
    fn next_standby(&self, processor: &ProcessorId) -> Result<u32, String> {
        if processor.standby_number().is_some() {
            return Err(format!("`{processor}` is a standby, and has none"));
        }
        self.number_of(processor)?;
        let free = (0..STANDBYS_MAX).find(|number| !self.numbers.contains_key(&processor.standby(*number)));
        free.ok_or_else(|| format!("processor `{processor}` has {STANDBYS_MAX} standbys already"))
    }

    /// Steps by which containers leave a host.
    fn departures(&self, host: &str, most: usize) -> Vec<Step> {
        let state = self.service.state();
        let there = state.containers_on(host).filter(|(container, _)| {
            state.instance_state(*container).is_some_and(crate::InstanceState::is_held)
        });
        let there: Vec<(ContainerRef, ComponentId)> = there.take(most).collect();
        there.into_iter().filter_map(|(container, component)| self.departure(container, component)).collect()
    }

    fn departure(&self, container: ContainerRef, component: ComponentId) -> Option<Step> {
        let processor: ProcessorId = self.components.get(&component)?.name.parse().ok()?;
        let is_stateful = self.processor(&processor).is_some_and(|known| known.is_stateful);
        let warm = is_stateful.then(|| self.move_to_standby(&processor, component).ok()).flatten();
        let step = match warm {
            Some(step) => step,
            None => self.placement(&processor, Destination::AnyHost).ok()?,
        };
        Some(Step { only_while: Some((component, container)), ..step })
    }

    fn rolling_restart(&self, asked: &RollingRestart) -> Result<(Vec<Step>, Option<Batch>), String> {
        let chosen: BTreeSet<ComponentId> = match &asked.processors {
            None => self.components.keys().copied().collect(),
            Some(named) => {
                named.iter().map(|processor| self.number_of(processor)).collect::<Result<_, _>>()?
            }
        };
        let kind = if asked.stops_first { ActionKind::StopAndRestart } else { ActionKind::RestartOrMove };
        let step = |component: ComponentId| {
            let processor: ProcessorId = self.components.get(&component)?.name.parse().ok()?;
            let moves = [Move::Act { component, kind: kind.clone(), change: asked.change.clone() }].into();
            Some(Step { group: processor.active(), moves, only_while: None, retries: 0 })
        };
        let steps: Vec<Step> = chosen.into_iter().filter_map(step).collect();
        let canary = (asked.canaries > 0).then(|| Canary {
            steps: asked.canaries,
            wait_ms: asked.canary_wait_ms,
            runs: Vec::new(),
            until_ms: None,
        });
        Ok((steps, Some(Batch { ends_with_failure: true, canary, ..Batch::at(asked.pace, None) })))
    }
}
