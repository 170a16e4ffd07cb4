//! Follows the log and checks each change.

use std::collections::BTreeMap;

use apportion::event::EventKind;
use apportion::log::LogReader;
use apportion::preempt::PreemptionCost;
use apportion::replay::Replay;
use apportion::request::ResourceAllocationCommitRequest;
use apportion::view::{ContainerView, View};
use apportion::{ApplicationId, Change, ContainerId, EndCause, ExecutionType, Resources};
use proptest::sample::Index;

use crate::Cluster;
use crate::property::{Running, Waiting, check_change, check_replacements, record_gang};

/// Follows the log of the cluster; at some position, a second replay goes on from a snapshot.
pub(crate) fn check(cluster: &Cluster, middle: Index) {
    let log = cluster.log.bytes();
    let changes = changes(&log);
    let middle = middle.index(changes.len());
    let mut replay = Replay::begin(&mut LogReader::new(&log[..]).unwrap()).unwrap();
    let (mut waiting, mut running, mut events) = (Waiting::new(), Running::new(), Vec::new());
    let mut from_snapshot: Option<Replay> = None;
    for (number, change) in changes.into_iter().enumerate() {
        record_gang(&mut waiting, &change);
        let losses = match &change {
            Change::Committed { request } if !request.release.is_empty() => {
                Some(Losses::of(&replay.view(), request))
            }
            _ => None,
        };
        replay.step_with_events(change.clone(), &mut events).unwrap();
        let kinds: Vec<EventKind> = events.iter().map(|event| event.kind).collect();
        check_change(&mut replay, &mut waiting, &change, &kinds);
        check_replacements(&mut replay, &mut running, &kinds);
        if let (Some(losses), Change::Committed { request }) = (losses, &change) {
            losses.check(&replay.view(), request, &kinds);
        }
        check_use(&replay.view(), &change);
        let report = replay.audit();
        assert!(report.is_clean(), "after {change:?}: {report}");
        match &mut from_snapshot {
            Some(other) => {
                other.step(change).unwrap();
            }
            None if number == middle => from_snapshot = Some(copy(&mut replay)),
            None => {}
        }
    }
    assert_eq!(replay.digest(), cluster.engine.digest());
    let mut from_snapshot = from_snapshot.unwrap();
    assert_eq!(from_snapshot.digest(), replay.digest(), "after a snapshot at {middle}");
    assert!(from_snapshot.audit().is_clean());
}

/// The last commits that took something, and the queues: for the message of a run without an end.
pub(crate) fn last_commits(cluster: &Cluster) -> String {
    let log = cluster.log.bytes();
    let mut replay = Replay::begin(&mut LogReader::new(&log[..]).unwrap()).unwrap();
    let mut lines = Vec::new();
    for change in changes(&log) {
        match &change {
            Change::Committed { request } if !request.release.is_empty() => {
                lines.push(exchange(&replay.view(), request));
            }
            _ => {}
        }
        replay.step(change).unwrap();
    }
    let mut lines = lines.split_off(lines.len().saturating_sub(10));
    let view = replay.view();
    let partition = view.partition_ids().next().unwrap();
    lines.extend(view.queues().map(|queue| format!("{}: {:?}", queue.path(), queue.quota(partition))));
    lines.extend(view.gangs().map(|gang| format!("{gang:?}")));
    lines.join("\n")
}

fn exchange(view: &View<'_>, request: &ResourceAllocationCommitRequest) -> String {
    let lost = request.release.iter().map(|id| {
        let one = view.container(*id).unwrap();
        format!("-{id} of {}", leaf_of(view, one.application))
    });
    let won = request.allocate.iter().map(|one| {
        let application = view.ask(one.ask).unwrap().application();
        format!("+{} of {} on {}", one.ask, leaf_of(view, application), one.node)
    });
    lost.chain(won).collect::<Vec<_>>().join(" ")
}

fn changes(log: &[u8]) -> Vec<Change> {
    let mut reader = LogReader::new(log).unwrap();
    drop(Replay::begin(&mut reader).unwrap());
    std::iter::from_fn(|| reader.next_change().unwrap()).collect()
}

fn copy(replay: &mut Replay) -> Replay {
    let mut snapshot = Vec::new();
    replay.write_snapshot(&mut snapshot).unwrap();
    Replay::read(&snapshot[..], None).unwrap()
}

/// The queue and those above it without the root.
fn chain(leaf: &str) -> impl Iterator<Item = &str> {
    let ends = leaf.match_indices('.').skip(1).map(|(at, _)| at).chain([leaf.len()]);
    ends.map(|end| &leaf[..end])
}

fn leaf_of<'a>(view: &View<'a>, id: ApplicationId) -> &'a str {
    view.application(id).unwrap().queue()
}

/// The use of each queue is that of its guaranteed containers, its reservations and its held room.
fn check_use(view: &View<'_>, change: &Change) {
    let mut used: BTreeMap<&str, Resources> = BTreeMap::new();
    for (_, container) in view.containers().filter(|(_, one)| is_guaranteed(one)) {
        for queue in chain(leaf_of(view, container.application)) {
            *used.entry(queue).or_default() += container.size;
        }
    }
    let partition = view.partition_ids().next().unwrap();
    for queue in view.queues().filter(|queue| queue.path() != "root") {
        let (quota, used) = (queue.quota(partition), used.remove(queue.path()).unwrap_or_default());
        assert_eq!(quota.used, used + quota.reserved, "{} after {change:?}", queue.path());
    }
}

fn is_guaranteed(container: &ContainerView) -> bool {
    container.execution_type == ExecutionType::Guaranteed
}

/// Use and loss of one queue in units.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    used: i64,
    lost: i64,
}

/// The losses by a preemption, read before its victims end.
struct Losses {
    queues: BTreeMap<String, Loss>,
    /// Whether all victims are of the beneficiary's leaf.
    is_within: bool,
}

impl Losses {
    /// Victims may cost something, and leave each budget met.
    fn of(view: &View<'_>, request: &ResourceAllocationCommitRequest) -> Self {
        let known = |id: &ContainerId| view.container(*id).unwrap();
        let victims = || request.release.iter().map(known);
        assert!(victims().all(|victim| victim.preemption_cost != PreemptionCost::Never), "{request:?}");
        check_budgets(view, request);
        let to = leaf_of(view, view.ask(request.allocate[0].ask).unwrap().application());
        let is_within = victims().all(|victim| leaf_of(view, victim.application) == to);
        let mut queues: BTreeMap<String, Loss> = BTreeMap::new();
        let charged = |one: &ContainerView| one.stopping.is_none() && is_guaranteed(one);
        for victim in victims().filter(charged) {
            for queue in chain(leaf_of(view, victim.application)) {
                queues.entry(queue.to_owned()).or_default().lost += victim.size[0];
            }
        }
        for (_, container) in view.containers().filter(|(_, one)| charged(one)) {
            for queue in chain(leaf_of(view, container.application)) {
                queues.entry(queue.to_owned()).or_default().used += container.size[0];
            }
        }
        // A queue above both keeps the room for its other leaves.
        queues.retain(|queue, _| queue == to || !chain(to).any(|above| above == queue));
        Self { queues, is_within }
    }

    /// The victims have ended in the same step in which every container of the beneficiary started, and no queue
    /// falls below its guarantee.
    fn check(&self, view: &View<'_>, request: &ResourceAllocationCommitRequest, events: &[EventKind]) {
        for victim in &request.release {
            let is_end = |event: &&EventKind| {
                matches!(event, EventKind::ContainerEnded { container, cause: EndCause::Preempted, .. }
                    if container == victim)
            };
            assert_eq!(events.iter().filter(is_end).count(), 1, "{victim}: {events:?}");
        }
        let asks: Vec<_> = request.allocate.iter().map(|proposal| proposal.ask).collect();
        let is_start =
            |event: &&EventKind| matches!(event, EventKind::Allocated { ask, .. } if asks.contains(ask));
        let started = events.iter().filter(is_start).count();
        assert!(started > 0 && started == request.allocate.len(), "{request:?}: {events:?}");
        let partition = view.partition_ids().next().unwrap();
        for (path, loss) in self.queues.iter().filter(|(_, loss)| loss.lost > 0 && !self.is_within) {
            let queue = view.queue(path).unwrap();
            let guaranteed = queue.quota(partition).guaranteed[0];
            let was_below = !queue.is_leaf() && loss.used < guaranteed;
            assert!(was_below || loss.used - loss.lost >= guaranteed, "{path}: {loss:?} of {guaranteed}");
        }
    }
}

/// The containers that work after the victims have ended are as many as each budget wants.
fn check_budgets(view: &View<'_>, request: &ResourceAllocationCommitRequest) {
    let works = |one: &ContainerView| one.stopping.is_none() && one.placeholder.is_none() && !one.is_waiting;
    let victims: Vec<ContainerView> =
        request.release.iter().map(|id| view.container(*id).unwrap()).filter(works).collect();
    for application in victims.iter().map(|victim| victim.application) {
        for budget in view.disruption_budgets(application) {
            // Numbers of asks tell their tag.
            let has_tag = |one: &ContainerView| one.allocation_request_id % 10 == 1;
            let covers = |one: &ContainerView| {
                one.application == application && (budget.tag.is_none() || has_tag(one))
            };
            if !victims.iter().any(covers) {
                continue;
            }
            let works = view.containers().filter(|(_, one)| covers(one) && works(one));
            let left = works.filter(|(id, _)| !request.release.contains(id));
            assert!(left.count() as u32 >= budget.least(), "{budget} of {application}: {request:?}");
        }
    }
}
