//! The expectations of a scenario, compared with the engine's state.

use std::collections::BTreeMap;
use std::fmt::Debug;

use apportion::view::{QueueStatus, View};
use apportion::{ApplicationId, NodeId, NodeState, PartitionId, Resources};
use serde::Serialize;

use super::cluster::Cluster;
use super::compare::Comparison;
use super::form::{
    ApplicationWanted, AskWanted, ExpectForm, NodeStateWord, NodeWanted, QueueStatusWord, QueueWanted,
    ReservationWanted, UserWanted,
};
use super::gangs;
use super::names::{NamedAsk, expand};
use super::problem::{Done, StepError};
use crate::amounts::multiplied;

/// The `reserved_by` of a node without a reservation.
const NOBODY: &str = "nobody";

impl Cluster {
    pub(super) fn expect(&mut self, form: &ExpectForm) -> Done {
        let lines = self.take_lines(&form.applications)?;
        let compared = self.engine.read(|view| {
            let mut comparison = Comparison::new(self.types());
            let mut expected = Expected { cluster: self, view, to: &mut comparison };
            expected.compare(form, &lines)?;
            comparison.finish()
        });
        compared?;
        let report = self.engine.audit();
        if report.is_clean() { Ok(()) } else { Err(StepError::Failed(vec![report.to_string()])) }
    }

    /// The event lines of the applications whose events are checked.
    fn take_lines(&mut self, wanted: &BTreeMap<String, ApplicationWanted>) -> Done<Lines> {
        let looked_at = wanted.iter().filter(|(_, wanted)| wanted.events.is_some());
        looked_at
            .map(|(name, _)| {
                let id = self.names.application(name)?;
                Ok((id, self.told.lines.remove(&id).unwrap_or_default()))
            })
            .collect()
    }
}

type Lines = BTreeMap<ApplicationId, Vec<String>>;

struct Expected<'a, 'c> {
    cluster: &'a Cluster,
    view: &'a View<'a>,
    to: &'a mut Comparison<'c>,
}

impl Expected<'_, '_> {
    fn compare(&mut self, form: &ExpectForm, lines: &Lines) -> Done {
        let mut is_empty = form.reservations.is_none();
        for (path, wanted) in &form.queues {
            is_empty = false;
            self.queue(path, wanted)?;
        }
        for (leaf, users) in &form.users {
            for (user, wanted) in users {
                is_empty = false;
                self.user(leaf, user, wanted)?;
            }
        }
        for (name, wanted) in &form.applications {
            is_empty = false;
            self.application(name, wanted, lines)?;
        }
        for (name, wanted) in &form.asks {
            is_empty = false;
            self.ask(name, wanted)?;
        }
        is_empty &= form.gangs.is_empty();
        gangs::compare(self.cluster, self.view, self.to, &form.gangs)?;
        for (range, wanted) in &form.nodes {
            is_empty = false;
            for name in expand(range)? {
                self.node(&name, wanted)?;
            }
        }
        if let Some(wanted) = &form.reservations {
            self.reservations(wanted)?;
        }
        if is_empty { Err(StepError::bad("nothing is expected")) } else { Ok(()) }
    }

    fn queue(&mut self, path: &str, wanted: &QueueWanted) -> Done {
        if wanted.contradicts_itself() {
            return Err(StepError::bad(format!(
                "queue {path}: with `exists: false` nothing else can be expected"
            )));
        }
        let exists = self.view.queues().any(|queue| queue.path() == path);
        if let Some(wanted) = wanted.exists.filter(|wanted| !wanted || !exists) {
            self.to.look_at(format!("queue {path}"), |to| {
                to.equal("exists", exists, Some(wanted));
                Ok(())
            })?;
            return Ok(());
        }
        let id = self.cluster.handle.queue(path)?;
        let partition = self.cluster.handle.partition(&wanted.partition)?;
        let Some(queue) = self.view.queues().find(|queue| queue.id() == id) else {
            return Err(StepError::failed(format!("queue {path} is gone")));
        };
        let (quota, within) = (queue.quota(partition), queue.pending_within_limits(partition));
        self.to.look_at(format!("queue {path}"), |to| {
            to.equal("exists", true, wanted.exists);
            to.amounts("used", &quota.used, wanted.used.as_ref())?;
            to.amounts("reserved", &quota.reserved, wanted.reserved.as_ref())?;
            to.amounts("pending", &quota.pending, wanted.pending.as_ref())?;
            to.amounts("pending within limits", &within.all, wanted.pending_within_limits.as_ref())?;
            let unreserved = wanted.unreserved_within_limits.as_ref();
            to.amounts("unreserved within limits", &within.unreserved, unreserved)?;
            to.amounts("guaranteed", &quota.guaranteed, wanted.guaranteed.as_ref())?;
            to.amounts("maximum", &quota.maximum, wanted.maximum.as_ref())?;
            to.amounts("user limit", &quota.user_limit, wanted.user_limit.as_ref())?;
            to.equal("containers", quota.containers, wanted.containers);
            to.equal("applications", queue.application_count(), wanted.applications);
            let inactive = queue.inactive_application_count();
            to.equal("inactive applications", inactive, wanted.inactive_applications);
            to.equal("priority", queue.demand_priority(), wanted.priority);
            to.equal("active users", queue.active_user_count(), wanted.active_users);
            to.equal("held back users", queue.held_back_user_count(), wanted.held_back_users);
            to.amounts("masters", &queue.masters(partition), wanted.masters.as_ref())?;
            to.equal("status", status_text(queue.status()), wanted.status.map(QueueStatusWord::text));
            Ok(())
        })
    }

    fn user(&mut self, leaf: &str, user: &str, wanted: &UserWanted) -> Done {
        let id = self.cluster.handle.queue(leaf)?;
        let partition = self.cluster.handle.partition(&wanted.partition)?;
        let queue = self.view.queues().find(|queue| queue.id() == id);
        let used = queue.map_or(Resources::ZERO, |queue| queue.used_by(user, partition));
        self.to
            .look_at(format!("user {user} in {leaf}"), |to| to.amounts("used", &used, wanted.used.as_ref()))
    }

    fn application(&mut self, name: &str, wanted: &ApplicationWanted, lines: &Lines) -> Done {
        let id = self.cluster.names.application(name)?;
        let application = self.view.application(id);
        let (mut pending, mut reserved) = (Resources::ZERO, Resources::ZERO);
        for ask in self.view.asks().filter(|ask| ask.application() == id) {
            pending += multiplied(&ask.size(), ask.outstanding().into());
            reserved += multiplied(&ask.size(), ask.reserved().into());
        }
        let used = application.map_or(Resources::ZERO, |application| application.used());
        let containers = application.map_or(0, |application| application.containers().count());
        let queue = application.map_or("none", |application| application.queue());
        let headroom =
            application.map_or(Resources::ZERO, |application| application.headroom(PartitionId::DEFAULT));
        self.to.look_at(format!("application {name}"), |to| {
            to.equal("queue", queue, wanted.queue.as_deref());
            to.equal("containers", containers, wanted.containers);
            to.amounts("used", &used, wanted.used.as_ref())?;
            to.amounts("reserved", &reserved, wanted.reserved.as_ref())?;
            to.amounts("pending", &pending, wanted.pending.as_ref())?;
            to.amounts("headroom", &headroom, wanted.headroom.as_ref())?;
            to.equal("ended", application.is_none(), wanted.ended);
            to.equal(
                "priority",
                application.map_or(0, |application| application.priority()),
                wanted.priority,
            );
            to.equal("active", application.is_some_and(|application| application.is_active()), wanted.active);
            if let Some(wanted) = &wanted.events {
                to.lines("events", lines.get(&id).map_or(&[], Vec::as_slice), wanted);
            }
            Ok(())
        })
    }

    fn ask(&mut self, name: &str, wanted: &AskWanted) -> Done {
        let NamedAsk { id, .. } = self.cluster.names.ask(name)?;
        let view = self.view.ask(id);
        let running = self.cluster.told.running.iter().filter(|it| it.ask == id);
        let nodes: Vec<NodeId> = running.map(|it| it.node).collect();
        let mut on = Vec::new();
        for (range, count) in &wanted.on {
            for node in expand(range)? {
                on.push((self.cluster.names.node(&node)?, node, *count));
            }
        }
        self.to.look_at(format!("ask {name}"), |to| {
            to.equal("running", nodes.len(), wanted.running);
            to.equal("pending", view.map_or(0, |ask| ask.outstanding()), wanted.pending);
            to.equal("reserved", view.map_or(0, |ask| ask.reserved()), wanted.reserved);
            let missed = view.map_or(0, |ask| ask.missed_opportunities());
            to.equal("missed opportunities", missed, wanted.missed_opportunities);
            let again = view.map_or(0, |ask| ask.re_reservations());
            to.equal("re-reservations", again, wanted.re_reservations);
            for (node, name, count) in on {
                let got = nodes.iter().filter(|id| **id == node).count();
                to.equal(&format!("running on {name}"), got, Some(count));
            }
            let reason = view.map_or_else(|| "is not pending".into(), |ask| word(ask.pending_reason()));
            let why = wanted.why.map(word);
            to.equal("why", reason.as_str(), why.as_deref());
            Ok(())
        })
    }

    fn node(&mut self, name: &str, wanted: &NodeWanted) -> Done {
        let NodeWanted { used, free, opportunistic, queue, containers, reserved_by, state } = wanted;
        let id = self.cluster.names.node(name)?;
        let node = self.view.node(id);
        if let Some(asked_for) = reserved_by.as_deref().filter(|name| *name != NOBODY) {
            self.cluster.names.ask(asked_for)?;
        }
        self.to.look_at(format!("node {name}"), |to| {
            let word = node.map_or("gone", |node| match node.state() {
                _ if node.is_stale() => "stale",
                NodeState::Active => "active",
                NodeState::Draining => "draining",
            });
            to.equal("state", word, state.map(NodeStateWord::text));
            let Some(node) = node else {
                let amounts = [used, free, opportunistic].into_iter().any(Option::is_some);
                if amounts || queue.is_some() || containers.is_some() || reserved_by.is_some() {
                    to.differ("is gone");
                }
                return Ok(());
            };
            to.amounts("used", &node.allocated(), used.as_ref())?;
            to.amounts("free", &node.free(), free.as_ref())?;
            to.amounts("opportunistic", &node.opportunistic(), opportunistic.as_ref())?;
            to.equal("queue", node.queue().count(), *queue);
            to.equal("containers", node.containers().len(), *containers);
            let reservation = self.view.reservations().find(|(_, reservation)| reservation.node == id);
            let holder =
                reservation.map_or(NOBODY, |(_, reservation)| self.cluster.names.ask_called(reservation.ask));
            to.equal("reserved by", holder, reserved_by.as_deref());
            Ok(())
        })
    }

    fn reservations(&mut self, wanted: &[ReservationWanted]) -> Done {
        let names = &self.cluster.names;
        let line = |ask: &str, node: &str| format!("{ask} on {node}");
        let mut wanted_lines = Vec::new();
        for wanted in wanted {
            names.ask(&wanted.ask)?;
            names.node(&wanted.node)?;
            wanted_lines.push(line(&wanted.ask, &wanted.node));
        }
        let reservations = self.view.reservations();
        let mut got: Vec<String> = reservations
            .map(|(_, reservation)| {
                line(names.ask_called(reservation.ask), names.node_called(reservation.node))
            })
            .collect();
        got.sort();
        wanted_lines.sort();
        self.to.look_at("all".into(), |to| {
            to.lines("reservations", &got, &wanted_lines);
            Ok(())
        })
    }
}

/// A reason as in scenario files.
pub(super) fn word(reason: impl Serialize + Debug) -> String {
    let word = serde_json::to_value(&reason).ok().and_then(|value| value.as_str().map(str::to_owned));
    word.unwrap_or_else(|| format!("{reason:?}"))
}

fn status_text(status: QueueStatus) -> &'static str {
    match status {
        QueueStatus::Running => "running",
        QueueStatus::Draining => "draining",
        QueueStatus::Stopped => "stopped",
    }
}

impl QueueStatusWord {
    fn text(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Stopped => "stopped",
        }
    }
}

impl NodeStateWord {
    fn text(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Draining => "draining",
            Self::Stale => "stale",
            Self::Gone => "gone",
        }
    }
}
