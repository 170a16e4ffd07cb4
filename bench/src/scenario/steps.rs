//! Execution of one step.

use std::fmt::Display;

use apportion::Ticket;
use apportion::config::{QueueConfig, QueueUpdate};
use apportion::engine::{PassError, SubmitError};
use apportion::event::Refusal;
use apportion::{ApplicationEnd, Blacklist, CommitSeq, ContainerId, Handle, NodeId, PassScope};

use super::amounts::to_resources;
use super::cluster::Cluster;
use super::configuration::{queue_of, reconfiguration};
use super::containers::Running;
use super::form::{
    AnsweredForm, BlacklistForm, ContainersForm, MoveForm, NamesForm, PassForm, ReconfigureForm,
    ResizeContainersForm, ResizeForm, Step, UpdateQueueForm,
};
use super::preempt::cost_of;
use super::problem::{Done, StepError};
use super::submit::{expect_reason, not_refused};

impl Cluster {
    /// Executes a step, up to its immediately visible effects.
    pub(super) fn perform(&mut self, step: &Step) -> Done {
        match step {
            Step::RunUntilQuiet => self.run_until_quiet(),
            Step::Pass(form) => self.pass(form),
            Step::AdvanceMs(ms) => self.advance(*ms),
            Step::Heartbeat(names) => {
                let nodes = self.names.nodes_in(names)?;
                Ok(self.handle.heartbeat(&nodes)?)
            }
            Step::AddNode(form) => self.add_nodes(form),
            Step::RecoverNode(form) => self.recover_node(form),
            Step::DrainNode(names) => self.for_nodes(names, |cluster, node| cluster.handle.drain_node(node)),
            Step::ActivateNode(names) => {
                self.for_nodes(names, |cluster, node| cluster.handle.activate_node(node))
            }
            Step::RemoveNode(names) => {
                self.for_nodes(names, |cluster, node| cluster.handle.remove_node(node).map(drop))
            }
            Step::ResizeNode(form) => self.resize(form),
            Step::SetNodePartition(form) => {
                let partition = self.handle.partition(&form.partition)?;
                self.for_nodes(&form.node, |cluster, node| cluster.handle.set_node_partition(node, partition))
            }
            Step::Submit(form) => self.submit_application(form),
            Step::EndApplication(names) => self.end(names, ApplicationEnd::Finished),
            Step::KillApplication(names) => self.end(names, ApplicationEnd::Killed),
            Step::UpdateBlacklist(form) => self.update_blacklist(form),
            Step::MoveApplication(form) => self.move_application(form),
            Step::SetPriority(form) => {
                let application = self.names.application(&form.application)?;
                Ok(self.handle.set_application_priority(application, form.priority)?)
            }
            Step::Ask(form) => self.submit_ask(form),
            Step::Cancel(form) => {
                let ask = self.names.ask(&form.ask)?.id;
                Ok(self.handle.cancel_ask(ask, form.units.unwrap_or(u32::MAX))?)
            }
            Step::Gang(form) => self.submit_gang(form),
            Step::CancelGang(name) => self.cancel_gang(name),
            Step::ResizeContainers(form) => self.resize_containers(form),
            Step::DemoteContainers(form) => self.change_containers(form, Handle::demote_container),
            Step::PromoteContainers(form) => self.change_containers(form, Handle::promote_container),
            Step::RequestPromotion(form) => self.change_containers(form, Handle::request_promotion),
            Step::StopContainers(form) => self.change_containers(form, Handle::stop_container),
            Step::SetPreemptionCost(form) => {
                let cost = cost_of(form.cost);
                self.for_containers(&form.of, |cluster, it| {
                    cluster.handle.set_preemption_cost(it.container, cost)
                })
            }
            Step::SetDisruptionBudgets(form) => self.set_disruption_budgets(form),
            Step::ConfirmPreemption(form) => {
                self.for_containers(form, |cluster, it| cluster.handle.confirm_preemption(it.container))
            }
            Step::Complete(form) => {
                self.for_containers(form, |cluster, it| cluster.handle.complete_container(it.container))
            }
            Step::Release(form) => {
                self.for_containers(form, |cluster, it| cluster.handle.release_container(it.container))
            }
            Step::UpdateQueue(form) => self.update_queue(form),
            Step::Reconfigure(form) => self.reconfigure(form),
            Step::Prepare(form) => self.prepare(form),
            Step::Commit(form) => self.commit(form),
            Step::PlanPreemption(form) => self.plan_preemption(form),
            Step::CommitPlan => self.commit_plan(),
            Step::Expect(form) => self.expect(form),
        }
    }

    /// A pass for each node in turn, the whole list repeated as often as the form says.
    fn pass(&mut self, form: &PassForm) -> Done {
        let nodes = form.node.as_ref().map(|names| self.names.nodes_in(names)).transpose()?;
        let nodes: Vec<Option<NodeId>> =
            nodes.map_or_else(|| vec![None], |nodes| nodes.into_iter().map(Some).collect());
        let leaf = form.leaf.as_deref().map(|path| self.handle.queue(path)).transpose()?;
        for _ in 0..form.times.unwrap_or(1) {
            for node in &nodes {
                let pass = self.engine.pass_once(PassScope { node: *node, leaf });
                pass.map_err(|error| match (error, &form.leaf) {
                    (PassError::NotALeaf(_), Some(path)) => StepError::bad(format!(
                        "`{path}` is not a leaf; a pass covers either one leaf or all"
                    )),
                    _ => StepError::bad(error.to_string()),
                })?;
            }
        }
        Ok(())
    }

    fn for_nodes(&self, names: &NamesForm, act: impl Fn(&Self, NodeId) -> Result<(), SubmitError>) -> Done {
        let nodes = self.names.nodes_in(names)?;
        Ok(nodes.into_iter().try_for_each(|node| act(self, node))?)
    }

    fn resize(&self, form: &ResizeForm) -> Done {
        let capacity = to_resources(self.types(), &form.resources)?;
        for node in self.names.nodes_in(&form.node)? {
            let attributes = self.engine.read(|view| view.node(node).map(|node| node.attributes().clone()));
            let attributes = attributes.ok_or_else(|| StepError::bad("the node is gone"))?;
            self.handle.update_node(node, capacity, attributes)?;
        }
        Ok(())
    }

    fn end(&self, names: &NamesForm, end: ApplicationEnd) -> Done {
        for name in &names.0 {
            let application = self.names.application(name)?;
            self.handle.end_application(application, end)?;
        }
        Ok(())
    }

    fn update_blacklist(&self, form: &BlacklistForm) -> Done {
        let application = self.names.application(&form.application)?;
        let list = |hosts: &NamesForm, racks: &NamesForm| -> Done<Blacklist> {
            let hosts = self.names.host_names_in(hosts)?;
            Ok(Blacklist::new().with_hosts(hosts).with_racks(self.names.racks_in(racks)?))
        };
        let add = list(&form.add_hosts, &form.add_racks)?;
        let remove = list(&form.remove_hosts, &form.remove_racks)?;
        Ok(self.handle.update_blacklist(application, add, remove)?)
    }

    fn for_containers(
        &self,
        form: &ContainersForm,
        act: impl Fn(&Self, Running) -> Result<(), SubmitError>,
    ) -> Done {
        let containers = self.containers(form)?;
        Ok(containers.into_iter().try_for_each(|container| act(self, container))?)
    }

    fn resize_containers(&mut self, form: &ResizeContainersForm) -> Done {
        let size = to_resources(self.types(), &form.size)?;
        for running in self.containers(&form.of)? {
            let ticket = match (self.handle.resize_container(running.container, size), &form.refused) {
                (Ok(ticket), _) => ticket,
                (Err(error), Some(reason)) => return expect_reason(reason, &error.to_string()),
                (Err(error), None) => return Err(error.into()),
            };
            self.await_answers()?;
            expect_answer(ticket.try_take(), form.refused.as_deref())?;
        }
        Ok(())
    }

    fn change_containers(
        &mut self,
        form: &AnsweredForm,
        change: impl Fn(&Handle, ContainerId) -> Result<Ticket<Result<CommitSeq, Refusal>>, SubmitError>,
    ) -> Done {
        for running in self.containers(&form.of)? {
            let ticket = change(&self.handle, running.container)?;
            self.await_answers()?;
            expect_answer(ticket.try_take(), form.refused.as_deref())?;
        }
        Ok(())
    }

    /// The oldest of the containers that the form selects.
    pub(super) fn containers(&self, form: &ContainersForm) -> Done<Vec<Running>> {
        if form.ask.is_none() && form.application.is_none() {
            return Err(StepError::bad("say whose containers: `ask: NAME` or `application: NAME`"));
        }
        let ask = form.ask.as_deref().map(|name| self.names.ask(name)).transpose()?.map(|ask| ask.id);
        let application = form.application.as_deref().map(|name| self.names.application(name)).transpose()?;
        let node = form.node.as_deref().map(|name| self.names.node(name)).transpose()?;
        let is_meant = |it: &&Running| {
            ask.is_none_or(|ask| ask == it.ask)
                && application.is_none_or(|application| application == it.application)
                && node.is_none_or(|node| node == it.node)
        };
        let all = if form.waiting { &self.told.waiting } else { &self.told.running };
        let mut found: Vec<Running> = all.iter().filter(is_meant).copied().collect();
        let count = form.count.unwrap_or(found.len());
        if found.is_empty() || found.len() < count {
            let verb = if form.waiting { "wait" } else { "run" };
            return Err(StepError::failed(format!("{} such containers {verb}, wanted {count}", found.len())));
        }
        found.truncate(count);
        Ok(found)
    }

    fn update_queue(&mut self, form: &UpdateQueueForm) -> Done {
        let queue = self.handle.queue(&form.queue)?;
        let queue_config = queue_of(form, self.types())?;
        let QueueConfig { capacity, maximum, user_limit_factor, user_limit_minimum, .. } = queue_config;
        let QueueConfig { priority, state, applications, parallel, master_share, .. } = queue_config;
        let limits_applications =
            form.maximum_applications.is_some() || form.maximum_applications_per_user.is_some();
        let limits_parallel = form.maximum_parallel_applications.is_some()
            || form.maximum_parallel_applications_per_user.is_some();
        let update = QueueUpdate {
            capacity: form.capacity.as_ref().map(|_| capacity),
            maximum: form.maximum_capacity.as_ref().map(|_| maximum),
            user_limit_factor: form.user_limit_factor.as_ref().map(|_| user_limit_factor),
            user_limit_minimum: form.user_limit_minimum.as_ref().map(|_| user_limit_minimum),
            priority: form.priority.as_ref().map(|_| priority),
            state: form.state.as_ref().map(|_| state),
            applications: limits_applications.then_some(applications),
            parallel: limits_parallel.then_some(parallel),
            master_share: form.maximum_master_share.as_ref().map(|_| master_share),
        };
        let ticket = self.handle.update_queue(queue, update)?;
        self.await_answers()?;
        expect_answer(ticket.try_take(), form.refused.as_deref())
    }

    fn move_application(&mut self, form: &MoveForm) -> Done {
        let application = self.names.application(&form.application)?;
        let ticket = match (self.handle.move_application(application, &form.queue), &form.refused) {
            (Ok(ticket), _) => ticket,
            (Err(error), Some(reason)) => return expect_reason(reason, &error.to_string()),
            (Err(error), None) => return Err(error.into()),
        };
        self.await_answers()?;
        expect_answer(ticket.try_take(), form.refused.as_deref())
    }

    /// Replaces the whole tree at once.
    fn reconfigure(&mut self, form: &ReconfigureForm) -> Done {
        let refused = form.refused.as_deref();
        let configuration = match (reconfiguration(&form.config, self.handle.config()), refused) {
            (Ok(configuration), _) => configuration,
            (Err(error), Some(reason)) => return expect_reason(reason, &error.problem.to_string()),
            (Err(error), None) => return Err(StepError::Bad(error.problem.to_string())),
        };
        if form.dry_run {
            return expect_answer(Some(self.handle.check_reconfiguration(&configuration)), refused);
        }
        let ticket = self.handle.reconfigure(configuration)?;
        self.await_answers()?;
        expect_answer(ticket.try_take(), refused)
    }
}

/// Checks an answer against the expected one.
pub(super) fn expect_answer<T, E: Display>(answer: Option<Result<T, E>>, refused: Option<&str>) -> Done {
    match (answer, refused) {
        (Some(Ok(_)), None) => Ok(()),
        (Some(Ok(_)), Some(reason)) => Err(not_refused(reason)),
        (Some(Err(error)), None) => Err(StepError::failed(format!("refused with: {error}"))),
        (Some(Err(error)), Some(reason)) => expect_reason(reason, &error.to_string()),
        (None, _) => Err(StepError::failed("the engine gave no answer")),
    }
}
