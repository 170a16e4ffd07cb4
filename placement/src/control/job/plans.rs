//! The plans of open requests, and their turns: only one step at a time concerns a processor and its
//! standbys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use uuid::Uuid;

use super::super::processor::ProcessorId;
use super::plan::{Plan, RunStage, RunningStep, Step};
use crate::application::ActionId;

/// The plans of all open requests.
#[derive(Debug, Default)]
pub(super) struct Plans {
    plans: BTreeMap<Uuid, Plan>,
    /// Requests about one processor that wait for other requests, in order.
    queued: BTreeMap<ProcessorId, VecDeque<Uuid>>,
    /// Requests about many containers, in order of arrival.
    pub(super) batches: Vec<Uuid>,
    /// The request that works on a processor and its standbys.
    pub(super) busy: BTreeMap<ProcessorId, Uuid>,
    /// The request and the processor of each placement action.
    pub(super) actions: BTreeMap<ActionId, (Uuid, ProcessorId)>,
    /// Steps that wait for a condition that no answer reports.
    pub(super) awaiting: BTreeSet<(Uuid, ProcessorId)>,
    /// Processors whose next request may begin.
    freed: BTreeSet<ProcessorId>,
    last_action: u64,
}

impl Plans {
    pub(super) fn get(&self, request: Uuid) -> Option<&Plan> {
        self.plans.get(&request)
    }

    pub(super) fn get_mut(&mut self, request: Uuid) -> Option<&mut Plan> {
        self.plans.get_mut(&request)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (Uuid, &Plan)> {
        self.plans.iter().map(|(request, plan)| (*request, plan))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Plan> {
        self.plans.values_mut()
    }

    /// Returns the plan and the running step of a request for a processor.
    pub(super) fn running(&self, request: Uuid, group: &ProcessorId) -> Option<(&Plan, &RunningStep)> {
        let plan = self.get(request)?;
        Some((plan, plan.running.get(group)?))
    }

    pub(super) fn running_mut(&mut self, request: Uuid, group: &ProcessorId) -> Option<&mut RunningStep> {
        self.get_mut(request)?.running.get_mut(group)
    }

    /// Returns the hosts being drained, with their requests.
    pub(super) fn drains(&self) -> impl Iterator<Item = (Uuid, &Arc<str>)> {
        let batches = self.batches.iter().filter_map(|request| Some((*request, self.get(*request)?)));
        batches.filter_map(|(request, plan)| Some((request, plan.drained_host()?)))
    }

    /// Counts the requests that wait for a processor and its standbys.
    pub(super) fn queued_for(&self, group: &ProcessorId) -> usize {
        self.queued.get(group).map_or(0, VecDeque::len)
    }

    /// Adds a plan, and queues its steps.
    pub(super) fn add(&mut self, request: Uuid, plan: Plan) {
        if plan.batch.is_some() {
            self.batches.push(request);
        } else {
            for step in &plan.waiting {
                self.queued.entry(step.group.clone()).or_default().push_back(request);
                self.freed.insert(step.group.clone());
            }
        }
        self.plans.insert(request, plan);
    }

    pub(super) fn remove(&mut self, request: Uuid) -> Option<Plan> {
        self.batches.retain(|batch| *batch != request);
        self.plans.remove(&request)
    }

    /// Cancels a plan: no further step of it begins.
    pub(super) fn cancel(&mut self, request: Uuid) -> Option<&mut Plan> {
        let plan = self.plans.get_mut(&request)?;
        plan.is_cancelled = true;
        let queued = plan.waiting.front().filter(|_| plan.batch.is_none()).map(|step| step.group.clone());
        plan.waiting.clear();
        if let Some(queue) = queued.and_then(|group| self.queued.get_mut(&group)) {
            queue.retain(|queued| *queued != request);
        }
        Some(plan)
    }

    /// Returns whether a processor's next request may begin.
    pub(super) fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// Takes the next step of a request about one processor, if the processor is free.
    pub(super) fn take_queued(&mut self) -> Option<(Uuid, Step)> {
        while let Some(group) = self.freed.pop_first() {
            if self.busy.contains_key(&group) {
                continue;
            }
            let Some(queue) = self.queued.get_mut(&group) else { continue };
            let Some(request) = queue.pop_front() else {
                self.queued.remove(&group);
                continue;
            };
            match self.plans.get_mut(&request).and_then(|plan| plan.waiting.pop_front()) {
                Some(step) => return Some((request, step)),
                // It was cancelled while it waited.
                None => {
                    self.freed.insert(group);
                }
            }
        }
        None
    }

    /// Begins a step. Its processor is busy until [`end_step`](Self::end_step).
    pub(super) fn begin_step(&mut self, request: Uuid, running: RunningStep) {
        let group = running.step.group.clone();
        if let Some(plan) = self.plans.get_mut(&request) {
            plan.running.insert(group.clone(), running);
            self.busy.insert(group, request);
        }
    }

    /// Ends a step; the processor's next request may begin.
    pub(super) fn end_step(&mut self, request: Uuid, group: &ProcessorId) -> Option<RunningStep> {
        self.awaiting.remove(&(request, group.clone()));
        let running = self.get_mut(request)?.running.remove(group)?;
        self.busy.remove(group);
        self.freed.insert(group.clone());
        Some(running)
    }

    /// Ends a step, and puts it at the head of its queue.
    pub(super) fn queue_again(&mut self, request: Uuid, group: &ProcessorId) {
        let Some(RunningStep { step, .. }) = self.end_step(request, group) else { return };
        let Some(plan) = self.plans.get_mut(&request) else { return };
        plan.waiting.push_front(step);
        if plan.batch.is_none() {
            self.queued.entry(group.clone()).or_default().push_front(request);
        }
    }

    pub(super) fn transition_stage(&mut self, request: Uuid, group: &ProcessorId, stage: RunStage) {
        if let Some(running) = self.running_mut(request, group) {
            running.stage = stage;
        }
    }

    /// Puts the step into a stage that no answer ends.
    pub(super) fn begin_wait(&mut self, request: Uuid, group: &ProcessorId, stage: RunStage) {
        self.transition_stage(request, group, stage);
        self.awaiting.insert((request, group.clone()));
    }

    pub(super) fn next_action(&mut self) -> ActionId {
        self.last_action += 1;
        ActionId(self.last_action)
    }

    /// Returns the next time at which a wait exceeds its limit.
    pub(super) fn next_deadline_ms(&self) -> Option<u64> {
        let awaited = self.awaiting.iter().filter_map(|(request, group)| {
            let stage = self.running(*request, group)?.1.stage;
            let is_pause = matches!(stage, RunStage::Pausing { .. });
            Some(stage.until_ms()?.saturating_add(u64::from(!is_pause)))
        });
        let batches = self.batches.iter().filter_map(|request| self.get(*request)?.next_deadline_ms());
        awaited.chain(batches).min()
    }
}
