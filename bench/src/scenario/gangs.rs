//! Gangs and asks of task groups: submission, events and expectations.

use std::collections::{BTreeMap, BTreeSet};

use apportion::event::EventKind;
use apportion::gang::{GangEnd, GangSpec, GangStyle};
use apportion::view::View;
use apportion::{ApplicationId, AskId, GangId};

use super::cluster::Cluster;
use super::compare::Comparison;
use super::containers::{Refused, Told};
use super::form::{AskForm, GangForm, GangState, GangWanted, RoleForm};
use super::names::{NamedAsk, NamedGang, Names, check_new};
use super::problem::Done;
use super::steps::expect_answer;
use super::submit::submitted_or_refused;

impl Cluster {
    pub(super) fn submit_gang(&mut self, form: &GangForm) -> Done {
        check_new("a gang", &form.name, self.names.gangs.contains_key(&form.name))?;
        let application = self.names.application(&form.application)?;
        let mut spec = GangSpec {
            timeout_ms: form.timeout_ms,
            style: form.style,
            topology: form.topology,
            gathers: form.gathers,
            placeholder_timeout_ms: form.placeholder_timeout_ms,
            ..GangSpec::new(application)
        };
        let asks: Vec<AskForm> = form.roles.iter().map(|role| role.ask(form)).collect();
        for (role, ask) in form.roles.iter().zip(&asks) {
            spec = self.with_role(spec, role, ask)?;
        }
        let refused = form.refused.as_deref();
        let Some(submitted) = submitted_or_refused(refused, self.handle.submit_gang(spec))? else {
            return Ok(());
        };
        // Named first, so that events of the commit find the names.
        for (ask, id) in asks.iter().zip(&submitted.asks) {
            let has_locality = !(ask.hosts.0.is_empty() && ask.racks.0.is_empty());
            self.names.asks.insert(ask.name.clone(), NamedAsk { id: *id, has_locality });
        }
        let groups = form.roles.iter().filter(|role| role.placeholders).map(|role| role.name.clone());
        let groups = groups.collect();
        let gang = NamedGang { id: submitted.gang, application, asks: submitted.asks, groups };
        self.names.gangs.insert(form.name.clone(), gang);
        self.await_answers()?;
        expect_answer(submitted.ticket.try_take(), refused)
    }

    fn with_role(&self, spec: GangSpec, role: &RoleForm, ask: &AskForm) -> Done<GangSpec> {
        check_new("an ask", &ask.name, self.names.asks.contains_key(&ask.name))?;
        let (name, minimum, ask) = (&role.name, role.minimum.unwrap_or(role.count), self.ask_spec(ask)?);
        Ok(if role.placeholders {
            spec.with_placeholders(name, ask, minimum)
        } else {
            spec.with_role_of_at_least(name, ask, minimum)
        })
    }

    pub(super) fn cancel_gang(&mut self, name: &str) -> Done {
        let gang = self.names.gang(name)?.id;
        Ok(self.handle.cancel_gang(gang)?)
    }

    /// An ask for real containers of a task group.
    pub(super) fn submit_ask_of_group(&mut self, form: &AskForm, group: &str) -> Done {
        let application = self.names.application(&form.application)?;
        let spec = self.ask_spec(form)?;
        let has_locality = !spec.preference.is_empty();
        let refused = form.refused.as_deref();
        let submitted = self.handle.submit_ask_of_group(application, group, spec);
        let Some(submitted) = submitted_or_refused(refused, submitted)? else { return Ok(()) };
        self.names.asks.insert(form.name.clone(), NamedAsk { id: submitted.ask, has_locality });
        // The event tells less than the ticket.
        self.take_refusal(Refused::Ask(submitted.ask))?;
        expect_answer(submitted.ticket.try_take(), refused)
    }
}

impl Told {
    /// Records an event of a gang, and its line.
    pub(super) fn record_gang(&mut self, kind: &EventKind, names: &Names) -> String {
        let (gang, state, line) = match *kind {
            EventKind::GangStarted { gang } => (gang, GangState::Started, "gang started"),
            EventKind::GangTurnEnded { gang, .. } => (gang, GangState::Waiting, "gang gave back its room"),
            EventKind::GangEnded { gang, end: GangEnd::TimedOut, .. } => {
                (gang, GangState::TimedOut, "gang timed out")
            }
            EventKind::GangEnded { gang, end: GangEnd::Cancelled, .. } => {
                (gang, GangState::Cancelled, "gang cancelled")
            }
            EventKind::GangEnded { gang, .. } => (gang, GangState::ApplicationEnded, "gang ended"),
            EventKind::PlaceholdersTimedOut { gang, style: GangStyle::Hard } => {
                (gang, GangState::Failed, "gang failed")
            }
            EventKind::PlaceholdersTimedOut { gang, .. } => {
                (gang, GangState::PlaceholdersTimedOut, "placeholders timed out")
            }
            EventKind::GangRefused { gang, refusal } => {
                self.gangs.insert(gang, GangState::Refused);
                return format!("gang refused {}: {refusal}", names.gang_called(gang));
            }
            _ => return format!("{kind:?}"),
        };
        self.gangs.insert(gang, state);
        format!("{line} {}", names.gang_called(gang))
    }
}

/// Compares gangs with the expectations.
pub(super) fn compare(
    cluster: &Cluster,
    view: &View<'_>,
    to: &mut Comparison<'_>,
    wanted: &BTreeMap<String, GangWanted>,
) -> Done {
    for (name, wanted) in wanted {
        let gang = cluster.names.gang(name)?;
        for group in wanted.placeholders.keys().chain(wanted.pending_placeholders.keys()) {
            gang.check_group(group)?;
        }
        let state = cluster.told.gangs.get(&gang.id).map_or(GangState::Waiting, |state| *state);
        let groups = groups_of(view, gang.application, gang.id);
        let racks = racks_of(cluster, view, &gang.asks);
        let running = |group: &str| groups.get(group).map_or(0, |(running, _)| *running);
        let pending = |group: &str| groups.get(group).map_or(0, |(_, pending)| *pending);
        to.look_at(format!("gang {name}"), |to| {
            to.equal("state", state.text(), wanted.state.map(GangState::text));
            to.equal("racks", racks, wanted.racks);
            for (group, wanted) in &wanted.placeholders {
                to.equal(&format!("placeholders of {group}"), running(group), Some(*wanted));
            }
            for (group, wanted) in &wanted.pending_placeholders {
                to.equal(&format!("pending placeholders of {group}"), pending(group), Some(*wanted));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The running and the pending placeholders of the gang, by task group.
fn groups_of(view: &View<'_>, application: ApplicationId, gang: GangId) -> BTreeMap<String, (usize, u32)> {
    let groups = view.application(application).map_or_else(Vec::new, |known| known.task_groups());
    let its = groups.into_iter().filter(|group| group.gang == Some(gang));
    its.map(|group| (group.name, (group.placeholders.len(), group.pending))).collect()
}

/// The number of racks with containers of these asks.
fn racks_of(cluster: &Cluster, view: &View<'_>, asks: &[AskId]) -> usize {
    let running = cluster.told.running.iter().filter(|known| asks.contains(&known.ask));
    let racks = running.filter_map(|known| Some(view.node(known.node)?.rack()));
    racks.collect::<BTreeSet<_>>().len()
}
