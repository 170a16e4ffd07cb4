//! Submission of nodes, applications and asks, with expected refusals.

use apportion::engine::SubmitError;
use apportion::event::Refusal;
use apportion::resource::DeviceNeed;
use apportion::{
    ApplicationSpec, AskSpec, AttributeCondition, AttributeRule, AttributeTest, NodeSpec, RunningContainer,
    TagLimit, TagNamespace, TagScope,
};

use super::amounts::to_resources;
use super::cluster::Cluster;
use super::containers::Refused;
use super::form::{
    ApplicationForm, AskForm, AttributeForm, NamespaceForm, NodeForm, RecoverForm, RunningForm, ScopeForm,
    TagLimitForm,
};
use super::names::{NamedAsk, check_new, expand};
use super::problem::{Done, StepError};
use super::steps::expect_answer;

impl Cluster {
    pub(super) fn add_nodes(&mut self, form: &NodeForm) -> Done {
        for name in expand(&form.name)? {
            let spec = self.node_spec(&name, form)?;
            let rack = spec.rack.clone();
            let Some(node) = submitted_or_refused(form.refused.as_deref(), self.handle.add_node(spec))?
            else {
                continue;
            };
            if let Some(reason) = &form.refused {
                return Err(not_refused(reason));
            }
            self.names.nodes.insert(name, node);
            self.names.racks.insert(rack);
        }
        Ok(())
    }

    fn node_spec(&self, name: &str, form: &NodeForm) -> Done<NodeSpec> {
        let capacity = to_resources(self.types(), &form.resources)?;
        let mut spec = NodeSpec::new(name, capacity).with_devices(form.devices);
        spec.attributes.clone_from(&form.attributes);
        spec.partition = self.handle.partition(&form.partition)?;
        Ok(match &form.rack {
            Some(rack) => spec.on_rack(rack),
            None => spec,
        })
    }

    /// A node with its running containers; each container is named like one of an ask of that name.
    pub(super) fn recover_node(&mut self, form: &RecoverForm) -> Done {
        let RecoverForm { node: node_form, containers } = form;
        let spec = self.node_spec(&node_form.name, node_form)?;
        let running = containers.iter().map(|form| self.running(form)).collect::<Done<Vec<_>>>()?;
        self.names.racks.insert(spec.rack.clone());
        let recovery = self.handle.recover_node(spec, running)?;
        self.names.nodes.insert(node_form.name.clone(), recovery.node);
        for (form, id) in containers.iter().zip(recovery.asks) {
            self.names.asks.insert(form.name.clone(), NamedAsk { id, has_locality: false });
        }
        self.await_answers()?;
        let answers = recovery.containers.try_take().unwrap_or_default();
        for (form, answer) in containers.iter().zip(answers) {
            expect_answer(Some(answer), form.refused.as_deref())?;
        }
        Ok(())
    }

    fn running(&self, form: &RunningForm) -> Done<RunningContainer> {
        let size = to_resources(self.types(), &form.size)?;
        let mut running = RunningContainer::new(self.names.application(&form.application)?, size);
        running.devices =
            form.devices.as_ref().map(|form| DeviceNeed { count: form.count, milli: form.milli });
        Ok(form.tags.0.iter().fold(running, RunningContainer::with_tag))
    }

    pub(super) fn submit_application(&mut self, form: &ApplicationForm) -> Done {
        check_new("an application", &form.name, self.names.applications.contains_key(&form.name))?;
        let mut spec = ApplicationSpec::new(&form.name, &form.queue, &form.user).in_groups(&form.groups.0);
        spec.tags.clone_from(&form.tags);
        spec.priority = form.priority;
        if let Some(lifetime_ms) = form.lifetime_ms {
            spec = spec.with_lifetime_ms(lifetime_ms);
        }
        if let Some(master) = &form.master {
            let size = to_resources(self.types(), &master.size)?;
            spec = spec.with_master(size, self.handle.partition(&master.partition)?);
        }
        let submitted = self.handle.submit_application(spec, &self.stream);
        let Some(application) = submitted_or_refused(form.refused.as_deref(), submitted)? else {
            return Ok(());
        };
        self.names.applications.insert(form.name.clone(), application);
        let Some(reason) = &form.refused else { return Ok(()) };
        let told = self.take_refusal(Refused::Application(application))?;
        expect_refusal(reason, told)
    }

    pub(super) fn submit_ask(&mut self, form: &AskForm) -> Done {
        check_new("an ask", &form.name, self.names.asks.contains_key(&form.name))?;
        if let Some(group) = &form.task_group {
            return self.submit_ask_of_group(form, group);
        }
        let application = self.names.application(&form.application)?;
        let spec = self.ask_spec(form)?;
        let has_locality = !spec.preference.is_empty();
        let Some(id) =
            submitted_or_refused(form.refused.as_deref(), self.handle.submit_ask(application, spec))?
        else {
            return Ok(());
        };
        self.names.asks.insert(form.name.clone(), NamedAsk { id, has_locality });
        let Some(reason) = &form.refused else { return Ok(()) };
        let told = self.take_refusal(Refused::Ask(id))?;
        expect_refusal(reason, told)
    }

    pub(super) fn ask_spec(&self, form: &AskForm) -> Done<AskSpec> {
        let mut spec = AskSpec::new(to_resources(self.types(), &form.size)?, form.count);
        spec.execution_type = form.execution;
        spec.priority = form.priority;
        spec.partition = form.partition.as_ref().map(|name| self.handle.partition(name)).transpose()?;
        spec = spec.on_hosts(self.names.nodes_in(&form.hosts)?);
        let racks = self.names.racks_in(&form.racks)?;
        spec = spec.on_racks(racks.iter().map(|rack| self.handle.rack(rack)));
        if form.strict {
            spec = spec.strictly_local();
        }
        if form.master {
            spec = spec.as_master();
        }
        if let Some(devices) = &form.devices {
            spec = spec.with_devices(DeviceNeed { count: devices.count, milli: devices.milli });
        }
        spec = form.tags.0.iter().fold(spec, AskSpec::with_tag);
        spec = form.tag_limits.iter().map(tag_limit).fold(spec, AskSpec::with_tag_limit);
        let conditions = form.attribute.iter().chain(&form.attributes);
        let rule = conditions.map(condition).collect::<Done<Vec<_>>>()?;
        if rule.is_empty() { Ok(spec) } else { Ok(spec.with_rule(AttributeRule { conditions: rule })) }
    }

    /// The refusal of a submission that the handle had accepted, if there was one.
    pub(super) fn take_refusal(&mut self, what: Refused) -> Done<Option<Refusal>> {
        self.await_answers()?;
        let at = self.told.refused.iter().position(|(refused, _)| *refused == what);
        Ok(at.map(|at| self.told.refused.remove(at).1))
    }

    /// Fails if there was an unexpected refusal.
    pub(super) fn expect_nothing_refused(&mut self) -> Done {
        let all = std::mem::take(&mut self.told.refused);
        let line = |(what, refusal): &(Refused, Refusal)| match what {
            Refused::Ask(ask) => format!("ask {} was refused: {refusal}", self.names.ask_called(*ask)),
            Refused::Application(application) => {
                format!("application {} was refused: {refusal}", self.names.application_called(*application))
            }
        };
        let lines: Vec<String> = all.iter().map(line).collect();
        if lines.is_empty() { Ok(()) } else { Err(StepError::Failed(lines)) }
    }
}

fn tag_limit(form: &TagLimitForm) -> TagLimit {
    let scope = match form.per {
        ScopeForm::Node => TagScope::Node,
        ScopeForm::Rack => TagScope::Rack,
    };
    let namespace = match form.of {
        NamespaceForm::All => TagNamespace::All,
        NamespaceForm::Application => TagNamespace::Application,
    };
    TagLimit { tag: form.tag.clone(), most: form.most, scope, namespace }
}

fn condition(form: &AttributeForm) -> Done<AttributeCondition> {
    let test = match (&form.one_of, &form.none_of, form.present) {
        (Some(values), None, None) => AttributeTest::In(values.0.clone()),
        (None, Some(values), None) => AttributeTest::NotIn(values.0.clone()),
        (None, None, Some(true)) => AttributeTest::Exists,
        (None, None, Some(false)) => AttributeTest::Absent,
        _ => {
            let problem =
                format!("attribute `{}`: give exactly one of `one_of`, `none_of` and `present`", form.name);
            return Err(StepError::Bad(problem));
        }
    };
    Ok(AttributeCondition { attribute: form.name.clone(), test })
}

/// The submitted object, or `None` for an expected refusal. The engine may still refuse the object later. An unexpected
/// refusal here is a mistake in the file: the handle refuses only impossible submissions.
pub(super) fn submitted_or_refused<T>(
    reason: Option<&str>,
    submitted: Result<T, SubmitError>,
) -> Done<Option<T>> {
    match (submitted, reason) {
        (Ok(submitted), _) => Ok(Some(submitted)),
        (Err(error), None) => Err(error.into()),
        (Err(error), Some(reason)) => expect_reason(reason, &error.to_string()).map(|()| None),
    }
}

fn expect_refusal(reason: &str, refusal: Option<Refusal>) -> Done {
    refusal.map_or_else(|| Err(not_refused(reason)), |refusal| expect_reason(reason, &refusal.to_string()))
}

pub(super) fn expect_reason(wanted: &str, got: &str) -> Done {
    if got.contains(wanted) {
        return Ok(());
    }
    Err(StepError::failed(format!("refused with: {got}; wanted: {wanted}")))
}

pub(super) fn not_refused(wanted: &str) -> StepError {
    StepError::failed(format!("accepted, but a refusal was wanted: {wanted}"))
}
