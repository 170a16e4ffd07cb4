//! Placeholders: room that a gang takes in one step, and that the application's real containers take over one by one.
//!
//! A role of a gang may be a *task group*: its members are placeholders. They are charged like any container. An ask
//! that names the task group takes the place of one placeholder with each of its units. What is left after a timeout is
//! released.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::gang::GangStyle;
use super::{Application, Facts, FactsImage};
use crate::ids::{ApplicationId, AskId, ContainerId, GangId, NodeId};
use crate::resource::Resources;

/// The placeholder that a container is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Placeholder {
    /// The gang that it started with.
    pub gang: GangId,
    /// The place of its role among the roles of the gang.
    pub role: u32,
}

/// The task groups of all applications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Placeholders {
    /// The names of each application's task groups, until it ends.
    names: BTreeMap<ApplicationId, BTreeSet<Box<str>>>,
    /// Gangs with task groups, until no placeholder runs or is pending.
    gangs: BTreeMap<GangId, PlaceholderGang>,
    /// The running placeholders. They follow from the gangs.
    #[serde(skip)]
    running: BTreeMap<ContainerId, Placeholder>,
    /// The asks for placeholders. They follow from the gangs.
    #[serde(skip)]
    asks: BTreeMap<AskId, GangId>,
}

/// A gang with task groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceholderGang {
    pub(crate) application: ApplicationId,
    pub(crate) style: GangStyle,
    /// How long placeholders may wait for real containers, from the start on.
    pub(crate) timeout_ms: Option<u64>,
    /// When that timeout passes. `None` before the start, and after the timeout.
    pub(crate) until_ms: Option<u64>,
    pub(crate) groups: Vec<TaskGroup>,
    /// The other asks of the gang, and real asks of its task groups: a hard gang cancels them if it fails.
    pub(crate) others: BTreeSet<AskId>,
}

/// A role whose members are placeholders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskGroup {
    pub(crate) name: Box<str>,
    /// Its place among the roles of the gang.
    pub(crate) role: u32,
    /// The ask for the placeholders, which is gone once all of them were placed or cancelled.
    pub(crate) ask: AskId,
    /// The placeholders that run, oldest first.
    pub(crate) running: Vec<ContainerId>,
}

impl Placeholders {
    /// Whether a container that is placed now might be a placeholder.
    #[inline]
    pub(crate) fn are_asked_for(&self) -> bool {
        !self.asks.is_empty()
    }

    /// Whether any container is a placeholder.
    #[inline]
    pub(crate) fn any_run(&self) -> bool {
        !self.running.is_empty()
    }

    /// The placeholder that the container is, if it is one.
    pub(crate) fn of(&self, container: ContainerId) -> Option<Placeholder> {
        if self.running.is_empty() { None } else { self.running.get(&container).copied() }
    }

    pub(crate) fn gangs(&self) -> impl Iterator<Item = (GangId, &PlaceholderGang)> {
        self.gangs.iter().map(|(id, gang)| (*id, gang))
    }

    pub(crate) fn gang(&self, id: GangId) -> Option<&PlaceholderGang> {
        self.gangs.get(&id)
    }

    /// The gangs of the application, with their task groups.
    pub(crate) fn gangs_of(&self, application: ApplicationId) -> Vec<GangId> {
        let its = self.gangs.iter().filter(|(_, gang)| gang.application == application);
        its.map(|(id, _)| *id).collect()
    }

    /// The names of the application's task groups, in order.
    pub(crate) fn names_of(&self, application: ApplicationId) -> impl Iterator<Item = &str> {
        self.names.get(&application).into_iter().flatten().map(|name| &**name)
    }

    pub(crate) fn knows(&self, application: ApplicationId, name: &str) -> bool {
        self.names.get(&application).is_some_and(|names| names.contains(name))
    }

    /// The task group with this name that still waits, or has placeholders.
    pub(crate) fn group(&self, application: ApplicationId, name: &str) -> Option<(GangId, &TaskGroup)> {
        let its = self.gangs.iter().filter(|(_, gang)| gang.application == application);
        its.flat_map(|(id, gang)| gang.groups.iter().map(|group| (*id, group)))
            .find(|(_, group)| &*group.name == name)
    }

    /// Whether the derived parts follow from the gangs.
    pub(crate) fn is_consistent(&self) -> bool {
        let mut rebuilt = self.clone();
        rebuilt.restore();
        rebuilt == *self
    }

    /// Computes the derived parts.
    pub(super) fn restore(&mut self) {
        let groups = || self.gangs.iter().flat_map(|(id, gang)| gang.groups.iter().map(|group| (*id, group)));
        self.asks = groups().map(|(id, group)| (group.ask, id)).collect();
        let of_group = |(gang, group): (GangId, &TaskGroup)| {
            let placeholder = Placeholder { gang, role: group.role };
            group.running.iter().map(move |container| (*container, placeholder)).collect::<Vec<_>>()
        };
        self.running = groups().flat_map(of_group).collect();
    }

    /// Whether everything that they refer to is in the image.
    pub(super) fn is_coherent(&self, image: &FactsImage) -> bool {
        self.names.keys().all(|id| image.has_application(*id))
            && self.gangs.values().all(|gang| {
                image.has_application(gang.application)
                    && gang.groups.iter().flat_map(|group| &group.running).all(|id| image.has_container(*id))
            })
    }
}

impl Facts {
    /// The container that counts as the application's master, if it has one: its earliest that is not a placeholder.
    pub(crate) fn master_container(&self, application: &Application) -> Option<ContainerId> {
        let is_real = |id: &ContainerId| self.placeholders.of(*id).is_none();
        application.master.and_then(|_| application.containers.iter(&self.containers).find(is_real))
    }

    /// A gang with task groups begins to wait.
    pub(crate) fn transition_name_groups(&mut self, id: GangId, gang: PlaceholderGang) {
        let of_application = self.placeholders.names.entry(gang.application).or_default();
        of_application.extend(gang.groups.iter().map(|group| group.name.clone()));
        self.placeholders.asks.extend(gang.groups.iter().map(|group| (group.ask, id)));
        self.placeholders.gangs.insert(id, gang);
    }

    /// A gang with task groups starts: the timeout of its placeholders begins. Returns when it passes.
    pub(crate) fn transition_start_placeholders(&mut self, id: GangId) -> Option<u64> {
        let gang = self.placeholders.gangs.get_mut(&id)?;
        gang.until_ms = gang.timeout_ms.map(|timeout_ms| self.now_ms.saturating_add(timeout_ms));
        gang.until_ms
    }

    /// The placeholders of a gang wait no longer for a timeout.
    pub(crate) fn transition_stop_waiting(&mut self, id: GangId) {
        if let Some(gang) = self.placeholders.gangs.get_mut(&id) {
            gang.until_ms = None;
        }
    }

    /// An ask belongs to a gang with task groups from now on.
    pub(crate) fn transition_join(&mut self, id: GangId, ask: AskId) {
        if let Some(gang) = self.placeholders.gangs.get_mut(&id) {
            gang.others.insert(ask);
        }
    }

    /// A container was placed: a placeholder if its ask is for placeholders.
    #[cold]
    pub(crate) fn transition_place_placeholder(&mut self, ask: AskId, container: ContainerId) {
        let Placeholders { gangs, running, asks, .. } = &mut self.placeholders;
        if let Some(id) = asks.get(&ask)
            && let Some(gang) = gangs.get_mut(id)
            && let Some(group) = gang.groups.iter_mut().find(|group| group.ask == ask)
        {
            group.running.push(container);
            running.insert(container, Placeholder { gang: *id, role: group.role });
        }
    }

    /// A container ended: it is no longer a placeholder.
    #[cold]
    pub(super) fn transition_end_placeholder(&mut self, container: ContainerId) {
        let Some(Placeholder { gang: id, role }) = self.placeholders.running.remove(&container) else {
            return;
        };
        if let Some(gang) = self.placeholders.gangs.get_mut(&id) {
            let groups = gang.groups.iter_mut().filter(|group| group.role == role);
            groups.for_each(|group| group.running.retain(|running| *running != container));
        }
        self.transition_forget_spent(id);
    }

    /// A real container took the place of a placeholder on the node, which may have shrunk below its use before.
    pub(crate) fn transition_update_overcommitted(&mut self, node: NodeId) {
        let node = self.nodes.at_mut(node);
        node.overcommitted = !Resources::ZERO.within(&node.room.free);
    }

    /// Forgets a gang that has started and whose placeholders are all gone.
    pub(crate) fn transition_forget_spent(&mut self, id: GangId) {
        let is_pending = |group: &TaskGroup| self.asks.get(group.ask).is_some();
        let is_spent = |gang: &PlaceholderGang| {
            gang.groups.iter().all(|group| group.running.is_empty() && !is_pending(group))
        };
        if !self.gangs.contains_key(&id) && self.placeholders.gangs.get(&id).is_some_and(is_spent) {
            self.transition_forget_groups(id);
        }
    }

    /// Does the same after units of an ask were cancelled.
    #[cold]
    pub(crate) fn transition_forget_spent_by(&mut self, ask: AskId) {
        if let Some(id) = self.placeholders.asks.get(&ask).copied() {
            self.transition_forget_spent(id);
        }
    }

    /// Forgets a gang without placeholders: it is spent, or ended without a start.
    pub(crate) fn transition_forget_groups(&mut self, id: GangId) {
        if let Some(gang) = self.placeholders.gangs.remove(&id) {
            for group in &gang.groups {
                self.placeholders.asks.remove(&group.ask);
            }
        }
    }

    /// An application without asks and containers leaves, and its task groups with it.
    #[cold]
    pub(super) fn transition_forget_names(&mut self, application: ApplicationId) {
        for id in self.placeholders.gangs_of(application) {
            self.transition_forget_groups(id);
        }
        self.placeholders.names.remove(&application);
    }

    /// Whether any application has task groups.
    pub(super) fn has_task_groups(&self) -> bool {
        !self.placeholders.names.is_empty()
    }
}
