//! Turns a request into a plan: the processors concerned, and the intent for each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use apportion::Resources;
use uuid::Uuid;

use super::super::action::{JobAction, JobRequest, RollingRestart};
use super::super::processor::ProcessorId;
use super::Job;
use super::plan::{Batch, Canary, Drain, Intent, Plan, Step};
use crate::application::{ActionKind, ActionStatus, ComponentChange};
use crate::client::{ClusterClient, ContainerRef};
use crate::component::{ComponentId, ComponentSpec};

impl<C: ClusterClient> Job<C> {
    /// Plans and queues a request, or answers at once why it is invalid.
    pub(super) fn order(&mut self, request: Uuid, asked: JobRequest, now_ms: u64) {
        let JobRequest { action, expires_after_ms, retries } = asked;
        let planned = match self.service.state().is_over() {
            true => Err("the job ends".to_owned()),
            false => self.plan(action),
        };
        let (steps, batch) = match planned {
            Ok(planned) => planned,
            Err(reason) => return self.answer(request, ActionStatus::BadRequest, reason),
        };
        let groups: Vec<ProcessorId> = steps.iter().map(|step| step.group.clone()).collect();
        let is_batch = batch.is_some();
        let is_drain = batch.as_ref().is_some_and(|batch| batch.drains.is_some());
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
            is_begun: false,
        };
        self.answer(request, ActionStatus::Accepted, "it waits for its turn");
        self.plans.insert(request, plan);
        if is_batch {
            self.batches.push(request);
            if is_drain {
                self.keep_hosts_free(now_ms);
            }
            return;
        }
        for group in groups {
            self.queued.entry(group.clone()).or_default().push_back(request);
            self.freed.insert(group);
        }
    }

    /// Returns the steps of an action and their common rules. The error says why the action is invalid.
    fn plan(&self, action: JobAction) -> Result<(Vec<Step>, Option<Batch>), String> {
        let one =
            |processor: &ProcessorId, intent| Ok((vec![self.checked(Step::new(processor, intent))?], None));
        match action {
            JobAction::Place { processor, destination } => {
                self.number_of(&processor)?;
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
    fn checked(&self, step: Step) -> Result<Step, String> {
        self.moves_of(&step).map(|_| step)
    }

    pub(super) fn number_of(&self, processor: &ProcessorId) -> Result<ComponentId, String> {
        let number = self.numbers.get(processor).copied();
        number.ok_or_else(|| format!("there is no processor `{processor}` in job `{}`", self.spec.name))
    }

    pub(super) fn check_host(&self, host: &str) -> Result<(), String> {
        let is_known = self.service.state().knows_host(host);
        if is_known { Ok(()) } else { Err(format!("there is no host `{host}`")) }
    }

    /// Lets containers return to the host, and answers the request.
    pub(super) fn readmit_host(&mut self, request: Uuid, host: &str, now_ms: u64) {
        match self.readmit(host) {
            Ok(()) => {
                self.keep_hosts_free(now_ms);
                self.answer(request, ActionStatus::Succeeded, format!("containers may come to {host} again"));
            }
            Err(reason) => self.answer(request, ActionStatus::BadRequest, reason),
        }
    }

    fn readmit(&mut self, host: &str) -> Result<(), String> {
        if let Some((request, _)) = self.drains().find(|(_, drained)| ***drained == *host) {
            return Err(format!("host `{host}` is being drained by request {request}; cancel that first"));
        }
        if !self.spec.hosts_kept_free.contains(host) {
            return Err(format!("host `{host}` is not kept free"));
        }
        self.change_hosts_kept_free(|hosts| hosts.retain(|kept| *kept != *host));
        Ok(())
    }

    /// Returns a step for each container that leaves the host.
    pub(super) fn departures(&self, host: &str, most: usize) -> Vec<Step> {
        let state = self.service.state();
        let there = state.containers_on(host).filter(|(container, _)| {
            state.instance_state(*container).is_some_and(crate::InstanceState::is_held)
        });
        let there: Vec<(ContainerRef, ComponentId)> = there.take(most).collect();
        there.into_iter().filter_map(|(container, component)| self.departure(container, component)).collect()
    }

    fn departure(&self, container: ContainerRef, component: ComponentId) -> Option<Step> {
        let processor = self.processor_of(component)?;
        let step = Step::new(&processor, Intent::Depart { processor: processor.clone(), component });
        Some(Step { only_while: Some((component, container)), ..step })
    }

    fn rolling_restart(&self, asked: &RollingRestart) -> Result<(Vec<Step>, Option<Batch>), String> {
        let chosen = match &asked.processors {
            // Skips temporary standbys: they leave with the request that started them.
            None => {
                self.components.keys().copied().filter(|component| !self.is_temporary(*component)).collect()
            }
            Some(named) => self.restarted(named, asked.change != ComponentChange::default())?,
        };
        if let Some(size) = &asked.change.size {
            self.check_size(&chosen, size)?;
        }
        let kind = if asked.stops_first { ActionKind::StopAndRestart } else { ActionKind::Restart };
        let change = Arc::new(asked.change.clone());
        let step = |component: ComponentId| {
            let (kind, change) = (kind.clone(), Arc::clone(&change));
            Some(Step::new(&self.processor_of(component)?, Intent::Restart { component, kind, change }))
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

    /// Returns the components of these processors. If version or size change, adds all standbys: they share
    /// the version and the size of their processor.
    fn restarted(
        &self,
        named: &BTreeSet<ProcessorId>,
        changes: bool,
    ) -> Result<BTreeSet<ComponentId>, String> {
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
            let standbys = known.standbys.iter().map(|number| known.id.standby(*number));
            chosen.extend(standbys.filter_map(|standby| self.numbers.get(&standby)));
        }
        Ok(chosen)
    }

    /// Rejects a size that no host could hold, and a size without a resource that a processor has now: a
    /// size must list all amounts.
    fn check_size(&self, chosen: &BTreeSet<ComponentId>, size: &Resources) -> Result<(), String> {
        let known = || chosen.iter().filter_map(|component| self.components.get(component));
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
        let could_be = known().next().is_none_or(|one| self.service.state().could_hold(one.id, size));
        if could_be {
            Ok(())
        } else {
            Err("no host of the job's could hold a container of that size".to_owned())
        }
    }

    /// Returns whether the component is a standby that belongs to a step and not to the job.
    fn is_temporary(&self, component: ComponentId) -> bool {
        let standby = self.processor_of(component).filter(ProcessorId::is_standby);
        standby.is_some_and(|standby| {
            let number = standby.standby_number().unwrap_or_default();
            self.processor(&standby).is_none_or(|known| !known.standbys.contains(&number))
        })
    }
}
