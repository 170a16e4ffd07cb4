//! Drives jobs whose containers start together.

use apportion::engine::SubmittedGang;
use apportion::explain::{Blocker, PendingReason, Standing};
use apportion::gang::GangSpec;
use apportion::view::View;
use apportion::{AskId, ContainerId};
use rustc_hash::FxHashMap;

use super::WaitReason;
use super::room::Members;
use crate::amounts::multiplied;
use crate::sim::jobs::{AskRun, Part};
use crate::sim::run::{Agenda, SimError, Simulation, closed, size_of};

/// The members of a stage that run together.
#[derive(Debug, Default)]
pub(in crate::sim) struct Attempt {
    stage: usize,
    /// The sizes of all members, in the first resource type.
    size: u64,
    members: Vec<ContainerId>,
    /// Members that do not run yet.
    missing: u64,
    /// Whether all members ran and the work is not over.
    has_begun: bool,
    /// Whether a member was preempted since then.
    is_lost: bool,
}

/// A gang whose submission the engine has not answered.
#[derive(Debug)]
pub(in crate::sim) struct AwaitedGang {
    job: usize,
    submitted: SubmittedGang,
}

impl Simulation<'_> {
    /// Asks for all containers of a stage: as a gang, or as plain asks if there is one container or gangs are off.
    pub(in crate::sim) fn ask_together(
        &mut self,
        job: usize,
        stage: usize,
        now_ms: u64,
    ) -> Result<(), SimError> {
        let workload = self.workload;
        let tasks = workload.jobs[job].stages[stage].iter().enumerate();
        let parts: Vec<_> = tasks.filter(|(_, tasks)| !tasks.durations_ms.is_empty()).collect();
        let members: Vec<Members> =
            parts.iter().map(|(_, tasks)| (tasks.size, tasks.durations_ms.len() as u64)).collect();
        let missing = members.iter().map(|(_, count)| count).sum();
        let size = members.iter().map(|(size, count)| size[0].max(0) as u64 * count).sum();
        self.jobs[job].attempt = Attempt { stage, size, missing, ..Attempt::default() };
        if let Some(watch) = &mut self.watch {
            watch.attempted(job, missing, size);
            watch.asked(job, members);
        }
        self.has_sent = true;
        if !self.as_gangs || missing == 1 {
            return parts.iter().try_for_each(|(tasks, _)| self.ask(job, Some((stage, *tasks)), now_ms));
        }
        let Some(application) = self.jobs[job].application else { return Ok(()) };
        let role = |spec: GangSpec, (number, tasks): &(usize, &_)| {
            spec.with_role(format!("members {number}"), self.spec_of(tasks))
        };
        let spec = parts.iter().fold(GangSpec::new(application), role);
        let submit = |error| SimError::Submit {
            what: format!("the gang of job `{}`", workload.jobs[job].name),
            error,
        };
        let submitted = self.handle.submit_gang(spec).map_err(submit)?;
        for (ask, (number, tasks)) in submitted.asks.iter().zip(&parts) {
            let (part, last) = (Part { job, tasks: Some((stage, *number)) }, tasks.durations_ms.len() - 1);
            self.record_ask(*ask, AskRun { part, submitted_ms: now_ms, next: 0, last });
        }
        self.awaited_gangs.push(AwaitedGang { job, submitted });
        Ok(())
    }

    /// Counts the members of gangs that the engine refused: they can never start.
    pub(in crate::sim) fn take_refused_gangs(&mut self) {
        for AwaitedGang { job, submitted } in std::mem::take(&mut self.awaited_gangs) {
            match submitted.ticket.try_take() {
                Some(Ok(_)) => {}
                None => self.awaited_gangs.push(AwaitedGang { job, submitted }),
                Some(Err(refusal)) => {
                    for ask in submitted.asks {
                        let Some(run) = self.asks.remove(&ask) else { continue };
                        let count = (run.last + 1 - run.next) as u64;
                        // If no node could hold them, they are counted since they were asked for.
                        if self.metrics.cancelled(run.part, count) {
                            self.tally.hopeless += count;
                        }
                        *self.refused.entry(refusal.refusal().label().to_owned()).or_default() += count;
                    }
                    if let Some(watch) = &mut self.watch {
                        watch.refused(job);
                    }
                }
            }
        }
    }

    /// Counts a member that runs. When all run, their work begins, and ends for all of them at the same time.
    pub(in crate::sim) fn member_started(&mut self, job: usize, container: ContainerId, now_ms: u64) {
        let workload = self.workload;
        let attempt = &mut self.jobs[job].attempt;
        attempt.members.push(container);
        attempt.missing -= 1;
        if attempt.missing > 0 {
            return;
        }
        attempt.has_begun = true;
        if let Some(watch) = &mut self.watch {
            watch.begun(job, attempt.size);
        }
        let stage = &workload.jobs[job].stages[attempt.stage];
        let durations = stage.iter().flat_map(|tasks| &tasks.durations_ms);
        // A member that runs for ever keeps the others.
        let duration_ms =
            durations.copied().collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max());
        if let Some(duration_ms) = duration_ms {
            for member in self.jobs[job].attempt.members.clone() {
                self.schedule(now_ms, duration_ms.max(1), Agenda::Complete(member));
            }
        }
    }

    /// A member has completed, so the work of its attempt is done.
    pub(in crate::sim) fn member_completed(&mut self, job: usize) {
        self.jobs[job].attempt.has_begun = false;
        if let Some(watch) = &mut self.watch {
            watch.over(job, false);
        }
    }

    /// A member was preempted. Returns whether its attempt is lost; otherwise the work had not begun, and only this
    /// member is asked for again.
    pub(in crate::sim) fn member_preempted(&mut self, part: Part, container: ContainerId) -> bool {
        let (job, size) = (part.job, size_of(self.workload, part));
        let attempt = &mut self.jobs[job].attempt;
        attempt.members.retain(|member| *member != container);
        if attempt.is_lost {
            return true;
        }
        if attempt.has_begun {
            attempt.is_lost = true;
            self.lost_attempts.push(job);
            if let Some(watch) = &mut self.watch {
                watch.over(job, true);
            }
            return true;
        }
        attempt.missing += 1;
        if let Some(watch) = &mut self.watch {
            watch.asked(job, vec![(size, 1)]);
        }
        false
    }

    /// Gives back the other members of lost attempts, and asks for all of them again.
    pub(in crate::sim) fn restart_lost_attempts(&mut self, now_ms: u64) -> Result<(), SimError> {
        for job in std::mem::take(&mut self.lost_attempts) {
            let Attempt { stage, members, .. } = std::mem::take(&mut self.jobs[job].attempt);
            for member in members {
                self.handle.release_container(member).map_err(closed)?;
            }
            self.ask_together(job, stage, now_ms)?;
        }
        Ok(())
    }

    /// A member of a lost attempt has ended.
    pub(in crate::sim) fn member_given_back(&mut self, container: ContainerId, now_ms: u64) {
        let Some(running) = self.containers.remove(&container) else { return };
        let (size, lost_ms) = (size_of(self.workload, running.part), now_ms - running.started_ms);
        self.metrics.given_back(container, running.part, lost_ms);
        self.tally.given_back(running.node, self.leaves[running.part.job], &size, lost_ms);
        if let Some(watch) = &mut self.watch {
            watch.freed(running.node, &size);
            watch.given_back();
        }
    }

    /// Finds out why jobs wait, now that the engine is quiet.
    pub(in crate::sim) fn find_waiting_reasons(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let with_room = watch.find_reasons();
        if !with_room.is_empty() {
            let asks: FxHashMap<usize, AskId> =
                self.asks.iter().map(|(ask, run)| (run.part.job, *ask)).collect();
            let reasons = self.engine.read(|view| self.reasons_with_room(view, &asks, &with_room));
            if let Some(watch) = &mut self.watch {
                reasons.into_iter().for_each(|(job, reason)| watch.set_reason(job, reason));
            }
        }
        if let Some(watch) = &mut self.watch {
            watch.sample();
        }
    }

    /// Why jobs wait although there is room for their members.
    fn reasons_with_room(
        &self,
        view: &View<'_>,
        asks: &FxHashMap<usize, AskId>,
        with_room: &[(usize, Vec<Members>)],
    ) -> Vec<(usize, WaitReason)> {
        let reserved = self.reserved_nodes(view);
        // Thousands of jobs may wait, but jobs of one user in one leaf with the same members have the same reason.
        let mut known: FxHashMap<(usize, &str, &[Members]), WaitReason> = FxHashMap::default();
        let mut reasons = Vec::new();
        for (job, members) in with_room {
            let ask = asks.get(job).copied();
            let application = self.jobs[*job].application.and_then(|id| view.application(id));
            let is_active = application.is_none_or(|application| application.is_active());
            let reason = || self.reason_with_room(view, *job, ask, members, &reserved);
            let reason = if !is_active {
                WaitReason::Limited
            } else if reserved.iter().any(|(of, _)| of == job) {
                reason()
            } else {
                let user = self.workload.jobs[*job].user.as_str();
                *known.entry((self.leaves[*job], user, members)).or_insert_with(reason)
            };
            reasons.push((*job, reason));
        }
        reasons
    }

    /// The jobs for which a node is reserved or room is held, each with the node.
    fn reserved_nodes(&self, view: &View<'_>) -> Vec<(usize, usize)> {
        let job_of = |ask: &AskId| Some(self.asks.get(ask)?.part.job);
        let reservations = view.reservations().map(|(_, of)| (of.ask, of.node));
        let reserved =
            reservations.filter_map(|(ask, node)| Some((job_of(&ask)?, *self.node_index.get(&node)?)));
        // The program simulates one partition, in which one gang holds room.
        let mut gathering = view.gangs().filter(|gang| gang.held() > 0 || gang.is_gathering);
        let job = gathering.find_map(|gang| gang.roles.iter().find_map(|role| job_of(&role.ask)));
        let held = view.nodes().filter(|node| job.is_some() && !node.held().is_zero());
        let held = held.filter_map(|node| Some((job?, *self.node_index.get(&node.id())?)));
        reserved.chain(held).collect()
    }

    fn reason_with_room(
        &self,
        view: &View<'_>,
        job: usize,
        ask: Option<AskId>,
        members: &[Members],
        reserved: &[(usize, usize)],
    ) -> WaitReason {
        let of_others = reserved.iter().filter(|(of, _)| *of != job);
        let nodes: Vec<usize> = of_others.map(|(_, node)| *node).collect();
        let without = self.watch.as_ref().map(|watch| watch.reason_without(&nodes, members));
        if without.is_some_and(|reason| reason != WaitReason::Room) {
            return WaitReason::Reserved;
        }
        let in_queues = self.reason_in_queues(view, job, members);
        if in_queues == WaitReason::Room {
            ask.map_or(in_queues, |ask| reason_of_engine(view, ask))
        } else {
            in_queues
        }
    }

    /// Whether the maximum of a queue admits the members: for certain, only without reservations, or not at all.
    fn reason_in_queues(&self, view: &View<'_>, job: usize, members: &[Members]) -> WaitReason {
        let needed: apportion::Resources = members.iter().map(|(size, count)| multiplied(size, *count)).sum();
        let path = &self.leaf_paths[self.leaves[job]];
        let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
        let Some(partition) = view.partition_ids().next() else { return WaitReason::Room };
        let mut reason = WaitReason::Room;
        for queue in ends.filter_map(|end| view.queue(&path[..end])) {
            let quota = queue.quota(partition);
            if !(quota.used - quota.reserved + needed).within(&quota.maximum) {
                return WaitReason::Limited;
            }
            if !(quota.used + needed).within(&quota.maximum) {
                reason = WaitReason::Reserved;
            }
        }
        reason
    }
}

/// The reason that the engine gives, if it is a limit of the user or headroom that is held back for another queue.
fn reason_of_engine(view: &View<'_>, ask: AskId) -> WaitReason {
    let Some(known) = view.ask(ask) else { return WaitReason::Room };
    let is_limited_gang = |blocker| matches!(blocker, Some(Blocker::Gang(wait)) if wait.is_limited);
    match known.pending_reason() {
        PendingReason::UserLimit => WaitReason::Limited,
        PendingReason::BlockedHeadroom => WaitReason::Reserved,
        PendingReason::WaitsForGang => match view.explain(ask).standing {
            Standing::Pending(why) if is_limited_gang(why.blocker.clone()) => WaitReason::Limited,
            _ => WaitReason::Room,
        },
        _ => WaitReason::Room,
    }
}
