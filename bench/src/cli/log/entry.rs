//! The subjects of a change and its events, by the names of the trace.

mod gang;

use std::collections::{BTreeSet, HashMap};

use crate::cli::log_input::{gang_of_first, time_text};
use crate::report::counted;
use apportion::event::{Event, EventKind};
use apportion::preempt::PreemptionNotice;
use apportion::resource::Amounts;
use apportion::view::View;
use apportion::{ApplicationId, AskId, Change, ContainerId, GangId, NodeId, ResourceTypes, Resources};
use serde::Serialize;

/// A change of the log, with the events that applications received.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) now_ms: u64,
    pub(super) kind: &'static str,
    #[serde(flatten)]
    pub(super) about: About,
    pub(super) events: Vec<EventEntry>,
}

#[derive(Debug, Serialize)]
pub(super) struct EventEntry {
    pub(super) event: &'static str,
    #[serde(flatten)]
    pub(super) about: About,
}

/// The subjects of a change or an event; fields that do not apply are left out.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct About {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) job: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) application: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ask: Option<String>,
    /// The asks of a gang, in the order of its roles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) asks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gang: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) containers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<Amounts>,
    /// Why, for whom and when an announced victim is to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) notice: Option<PreemptionNotice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<String>,
}

#[derive(Debug)]
struct Job {
    name: String,
    user: String,
    queue: String,
}

/// The names of applications, nodes and other objects in the part of the log that was read.
#[derive(Debug)]
pub(super) struct Names {
    types: ResourceTypes,
    nodes: HashMap<NodeId, String>,
    jobs: HashMap<ApplicationId, Job>,
    asks: HashMap<AskId, ApplicationId>,
    gangs: HashMap<GangId, ApplicationId>,
    containers: HashMap<ContainerId, (ApplicationId, NodeId)>,
}

impl Names {
    /// The names of the state with which a log begins.
    pub(super) fn new(view: &View<'_>) -> Self {
        let (mut jobs, mut asks, mut containers) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (id, known) in view.applications() {
            let [name, user, queue] = [known.name(), known.user(), known.queue()].map(str::to_owned);
            jobs.insert(id, Job { name, user, queue });
            for container in known.containers() {
                asks.insert(container.ask, id);
                containers.insert(container.container, (id, container.node));
            }
        }
        asks.extend(view.asks().map(|ask| (ask.id(), ask.application())));
        Self {
            types: view.resource_types().clone(),
            nodes: view.nodes().map(|node| (node.id(), node.name().to_owned())).collect(),
            jobs,
            asks,
            gangs: view.gang_asks().into_iter().map(|of| (of.gang, of.application)).collect(),
            containers,
        }
    }

    /// Learns the names in a change that was applied.
    pub(super) fn learn(&mut self, change: &Change, events: &[Event], view: &View<'_>) {
        match change {
            Change::NodeAdded { node, spec, .. } => {
                self.nodes.insert(*node, spec.name.clone());
            }
            Change::ApplicationSubmitted { application, spec } => {
                // Mapping rules may have led it to a queue other than the requested one.
                let known = view.application(*application);
                let queue = known.map_or(spec.queue.as_str(), |known| known.queue()).to_owned();
                let job = Job { name: spec.name.clone(), user: spec.user.clone(), queue };
                self.jobs.insert(*application, job);
            }
            Change::ApplicationMoved { application, .. } => {
                if let (Some(job), Some(known)) =
                    (self.jobs.get_mut(application), view.application(*application))
                {
                    job.queue = known.queue().to_owned();
                }
            }
            Change::AskSubmitted { ask, application, .. }
            | Change::TaskGroupAskSubmitted { ask, application, .. } => {
                self.asks.insert(*ask, *application);
            }
            Change::ContainerRecovered { ask, container, .. } => {
                self.asks.insert(*ask, container.application);
            }
            Change::GangSubmitted { asks, spec } => {
                self.asks.extend(asks.iter().map(|ask| (*ask, spec.application)));
                let gang = asks.first().and_then(|first| gang_of_first(*first));
                self.gangs.extend(gang.map(|gang| (gang, spec.application)));
            }
            _ => {}
        }
        for event in events {
            if let EventKind::Allocated { container, node, .. }
            | EventKind::OpportunisticAllocated { container, node, .. }
            | EventKind::ContainerRecovered { container, node, .. } = event.kind
            {
                self.containers.insert(container, (event.application, node));
            }
        }
    }

    /// The names of all jobs, users or nodes; none for other things.
    pub(super) fn all(&self, thing: &str) -> BTreeSet<String> {
        match thing {
            "job" => self.jobs.values().map(|job| job.name.clone()).collect(),
            "user" => self.jobs.values().map(|job| job.user.clone()).collect(),
            "node" => self.nodes.values().cloned().collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Whether the state or a change that was read has this thing, by its name or identifier.
    pub(super) fn has(&self, thing: &str, name: &str) -> bool {
        match thing {
            "job" => {
                name.parse().is_ok_and(|id| self.jobs.contains_key(&id)) || self.all(thing).contains(name)
            }
            "ask" => name.parse().is_ok_and(|id| self.asks.contains_key(&id)),
            "gang" => name.parse().is_ok_and(|id| self.gangs.contains_key(&id)),
            "container" => name.parse().is_ok_and(|id| self.containers.contains_key(&id)),
            _ => self.all(thing).contains(name),
        }
    }

    /// Forgets containers that have ended.
    pub(super) fn forget(&mut self, events: &[Event]) {
        for event in events {
            if let EventKind::ContainerEnded { container, .. } = event.kind {
                self.containers.remove(&container);
            }
        }
    }

    pub(super) fn event(&self, event: &Event) -> EventEntry {
        let job = self.application(event.application);
        let about = match event.kind {
            EventKind::Allocated { ask, container, node, locality, .. } => About {
                ask: Some(ask.to_string()),
                container: Some(container.to_string()),
                node: self.node(node),
                detail: Some(word(locality)),
                ..job
            },
            EventKind::OpportunisticAllocated { ask, container, node, .. }
            | EventKind::OpportunisticStarted { ask, container, node }
            | EventKind::ContainerRecovered { ask, container, node, .. } => About {
                ask: Some(ask.to_string()),
                container: Some(container.to_string()),
                node: self.node(node),
                ..job
            },
            EventKind::ContainerResized { container } | EventKind::PreemptionWithdrawn { container } => {
                self.container(container)
            }
            EventKind::PreemptionAnnounced { container, notice } => {
                About { notice: Some(notice), ..self.container(container) }
            }
            EventKind::ContainerStopping { container, until_ms, cause, .. } => {
                let detail = format!("{}, by {}", word(cause).replace('_', " "), time_text(until_ms));
                About { detail: Some(detail), ..self.container(container) }
            }
            EventKind::ExecutionTypeChanged { container, execution_type } => {
                About { detail: Some(word(execution_type)), ..self.container(container) }
            }
            EventKind::ContainerEnded { container, cause, .. } => {
                About { detail: Some(word(cause)), ..self.container(container) }
            }
            EventKind::AskCancelled { ask, units } => {
                About { ask: Some(ask.to_string()), containers: Some(units), ..job }
            }
            EventKind::Reserved { ask, node } | EventKind::Unreserved { ask, node } => {
                About { ask: Some(ask.to_string()), node: self.node(node), ..job }
            }
            EventKind::ApplicationEnding { end } | EventKind::ApplicationEnded { end } => {
                About { detail: Some(word(end)), ..job }
            }
            EventKind::ApplicationRefused { refusal } => About { detail: Some(refusal.to_string()), ..job },
            EventKind::AskRefused { ask, refusal } => {
                About { ask: Some(ask.to_string()), detail: Some(refusal.to_string()), ..job }
            }
            // The application is the subject of an activation.
            _ => self.gang_event(&event.kind).unwrap_or(job),
        };
        EventEntry { event: event.kind.label(), about }
    }

    pub(super) fn change(&self, change: &Change, view: &View<'_>) -> About {
        let queue_of = |id| view.queues().find(|queue| queue.id() == id).map(|queue| queue.path().to_owned());
        match change {
            Change::NodeAdded { node, spec, .. } => {
                About { node: self.node(*node), size: self.size(&spec.capacity), ..About::default() }
            }
            Change::NodeUpdated { node, capacity, .. } => {
                About { node: self.node(*node), size: self.size(capacity), ..About::default() }
            }
            Change::NodePartitionSet { node, .. } | Change::NodeRemoved { node } => {
                About { node: self.node(*node), ..About::default() }
            }
            Change::NodeStateSet { node, state } => {
                About { node: self.node(*node), detail: Some(word(state)), ..About::default() }
            }
            Change::NodeSilenceSet { node, stale } => {
                let detail = if *stale { "silent" } else { "reports again" };
                About { node: self.node(*node), detail: Some(detail.to_owned()), ..About::default() }
            }
            Change::ApplicationEnded { application, end } => {
                About { detail: Some(word(end)), ..self.application(*application) }
            }
            Change::ApplicationSubmitted { application, .. }
            | Change::BlacklistUpdated { application, .. }
            | Change::ApplicationMoved { application, .. } => self.application(*application),
            Change::ApplicationPrioritySet { application, priority } => {
                About { detail: Some(format!("priority {priority}")), ..self.application(*application) }
            }
            Change::DisruptionBudgetsSet { application, budgets } => {
                let detail = Some(counted(budgets.len() as u64, "budget"));
                About { detail, ..self.application(*application) }
            }
            Change::AskSubmitted { ask, spec, .. } => {
                About { containers: Some(spec.count), size: self.size(&spec.size), ..self.ask(*ask) }
            }
            Change::AskCancelled { ask, units } => About { containers: Some(*units), ..self.ask(*ask) },
            Change::OpportunitiesMissed { ask, count } => {
                About { detail: Some(counted((*count).into(), "more node")), ..self.ask(*ask) }
            }
            Change::ReservedAgain { ask, node } => About { node: self.node(*node), ..self.ask(*ask) },
            Change::ContainerRecovered { ask, node, container } => {
                About { node: self.node(*node), size: self.size(&container.size), ..self.ask(*ask) }
            }
            Change::ReservationExpired { reservation } => {
                About { detail: Some(reservation.to_string()), ..About::default() }
            }
            Change::RackNamed { name, .. } => {
                About { detail: Some(format!("rack {name}")), ..About::default() }
            }
            Change::QueueUpdated { queue, .. } | Change::QueueExpired { queue } => {
                About { queue: queue_of(*queue), ..About::default() }
            }
            // Time, heartbeats and reconfigurations concern everything. The events of a commit name its subjects.
            _ => self.container_change(change).or_else(|| self.gang_change(change, view)).unwrap_or_default(),
        }
    }

    /// `None` if the change is not one of a running container.
    fn container_change(&self, change: &Change) -> Option<About> {
        Some(match change {
            Change::ContainerResized { container, size } => {
                About { size: self.size(size), ..self.container(*container) }
            }
            Change::ExecutionTypeSet { container, .. }
            | Change::PromotionRequested { container }
            | Change::PreemptionWithdrawn { container }
            | Change::PreemptionConfirmed { container }
            | Change::ContainerEnded { container, .. } => self.container(*container),
            Change::PreemptionAnnounced { container, notice } => {
                About { notice: Some(*notice), ..self.container(*container) }
            }
            Change::PreemptionCostSet { container, cost } => {
                About { detail: Some(format!("cost {cost}")), ..self.container(*container) }
            }
            Change::ContainerStopping { container, cause } => {
                About { detail: Some(word(cause)), ..self.container(*container) }
            }
            _ => return None,
        })
    }

    fn node(&self, id: NodeId) -> Option<String> {
        Some(self.nodes.get(&id).cloned().unwrap_or_else(|| id.to_string()))
    }

    fn application(&self, id: ApplicationId) -> About {
        let job = self.jobs.get(&id);
        About {
            job: job.map(|job| job.name.clone()),
            application: Some(id.to_string()),
            user: job.map(|job| job.user.clone()),
            queue: job.map(|job| job.queue.clone()),
            ..About::default()
        }
    }

    fn ask(&self, id: AskId) -> About {
        let about = self.asks.get(&id).map(|application| self.application(*application));
        About { ask: Some(id.to_string()), ..about.unwrap_or_default() }
    }

    fn container(&self, id: ContainerId) -> About {
        let (application, node) = match self.containers.get(&id) {
            Some((application, node)) => (self.application(*application), self.node(*node)),
            None => (About::default(), None),
        };
        About { container: Some(id.to_string()), node, ..application }
    }

    fn size(&self, size: &Resources) -> Option<Amounts> {
        Some(self.types.amounts(size))
    }
}

/// The variant name of a value without content, in the style of other labels.
pub(super) fn word(value: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for character in format!("{value:?}").chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}
