//! Decides whether a gang may wait, and whether a request starts gangs as a whole.

use std::collections::BTreeMap;

use super::admit_ask::{PENDING_MAX, admit_described_ask, partition_for, unended};
use super::apply::shape_for;
use super::committer::Committer;
use super::placeholders::{admit_ask_of_group, check_group_names, have_timed_out};
use super::sums::accept_sums;
use crate::change::{Change, GangRole, GangSpec};
use crate::event::{GangRefusal, Refusal};
use crate::facts::{Application, Facts, GangTopology, HeldRole, Node, Quota, Shape};
use crate::ids::{AskId, GangId, NodeId, PartitionId, RackId};
use crate::propose::{GangSearch, propose_gang};
use crate::request::{CommitOutcome, RejectReason, ResourceAllocationCommitRequest};
use crate::resource::{Resources, fits};
use crate::state::State;

/// Whether a change of a gang is valid.
pub(super) fn admit_change_of_gang(state: &State, change: &Change) -> Result<(), Refusal> {
    match change {
        Change::GangSubmitted { asks, spec } => admit_gang(state, asks, spec).map_err(Refusal::from),
        Change::GangEnded { gang, .. } if !state.facts.gangs.contains_key(gang) => Err(Refusal::UnknownGang),
        Change::TaskGroupAskSubmitted { ask, application, group, spec } => {
            admit_ask_of_group(&state.facts, *ask, *application, group, spec)
        }
        Change::PlaceholdersTimedOut { gang } => have_timed_out(&state.facts, *gang),
        Change::RoomHeld { ask, node } => {
            let gang = state.facts.gang_of(*ask).ok_or(Refusal::UnknownGang)?;
            state.facts.room_gain(gang, *ask, *node).map(drop).ok_or(Refusal::NoRoomToHold)
        }
        Change::RoomGivenBack { gang, partition } => {
            let gathering = state.facts.held_rooms.get(partition).map(|held| held.gang);
            if gathering == Some(*gang) { Ok(()) } else { Err(not_due(&state.facts, *gang)) }
        }
        Change::GangTurnEnded { gang } => {
            if state.facts.turn_has_expired(*gang) {
                Ok(())
            } else {
                Err(not_due(&state.facts, *gang))
            }
        }
        _ => Ok(()),
    }
}

/// Why a gang that holds no room, or whose time is not over, is left alone.
pub(super) fn not_due(facts: &Facts, gang: GangId) -> Refusal {
    let is_known = facts.gangs.contains_key(&gang) || facts.placeholders.gang(gang).is_some();
    if is_known { Refusal::GangNotDue } else { Refusal::UnknownGang }
}

/// Whether the gang may wait. Limits must be computed. A gang that could not start on an empty cluster is refused with
/// the numbers. That check is generous: it looks at each role alone and at the sums, not at limits of tags.
pub(crate) fn admit_gang(state: &State, asks: &[AskId], spec: &GangSpec) -> Result<(), GangRefusal> {
    let facts = &state.facts;
    admit_asks(facts, asks, spec)?;
    let application = unended(facts, spec.application)?;
    check_group_names(facts, spec)?;
    let wanted = Wanted::of(facts, application, spec);
    wanted.check_maxima(facts, application)?;
    match spec.topology {
        GangTopology::Anywhere | GangTopology::NearestRacks => {
            let nodes = |partition| state.node_shards.nodes_of(partition).collect();
            wanted.check_nodes(state, &NodesByPartition::new(state, nodes))
        }
        GangTopology::SameRack => wanted.check_racks(state),
    }
}

fn admit_asks(facts: &Facts, asks: &[AskId], spec: &GangSpec) -> Result<(), Refusal> {
    let is_repeated = |(place, ask): (usize, &AskId)| asks[..place].contains(ask);
    if asks.iter().any(|ask| !facts.is_ask_vacant(*ask)) {
        return Err(Refusal::IdentifierTaken);
    }
    if spec.check_but_names().is_err()
        || asks.len() != spec.roles.len()
        || asks.iter().enumerate().any(is_repeated)
    {
        return Err(Refusal::OutOfRange);
    }
    if facts.gangs.contains_key(&GangId::with_first(asks[0])) {
        return Err(Refusal::IdentifierTaken);
    }
    for (ask, GangRole { ask: of_role, .. }) in asks.iter().zip(&spec.roles) {
        admit_described_ask(facts, *ask, spec.application, of_role)?;
    }
    // Each role is within what may be pending. All of them together must be, too.
    let amounts = |role: &GangRole| {
        let count = i64::from(role.ask.count);
        role.ask.size.combine(&role.ask.size, |amount, _| amount.saturating_mul(count))
    };
    let add = |sum: Resources, role| sum.combine(&amounts(role), i64::saturating_add);
    let total = spec.roles.iter().fold(Resources::ZERO, add);
    let leaf = facts.queue(facts.applications.at(spec.application).leaf);
    let is_countable = |quota: &Quota| {
        total.types().all(|index| total[index] == 0 || total[index] <= PENDING_MAX - quota.pending[index])
    };
    if leaf.quota.iter().all(is_countable) { Ok(()) } else { Err(Refusal::OutOfRange) }
}

/// What the minimum of a gang needs.
struct Wanted<'a> {
    roles: Vec<(&'a GangRole, Shape)>,
    /// The sums by partition.
    sums: BTreeMap<PartitionId, Resources>,
    topology: GangTopology,
}

/// The nodes on which a gang may start, by partition.
struct NodesByPartition(BTreeMap<PartitionId, Vec<NodeId>>);

impl NodesByPartition {
    fn new(state: &State, nodes: impl Fn(PartitionId) -> Vec<NodeId>) -> Self {
        Self(state.partitions().map(|partition| (partition, nodes(partition))).collect())
    }

    fn nodes<'a>(&'a self, facts: &'a Facts, partition: PartitionId) -> impl Iterator<Item = &'a Node> {
        self.0.get(&partition).into_iter().flatten().map(|id| facts.nodes.at(*id))
    }

    fn capacity(&self, facts: &Facts, partition: PartitionId) -> Resources {
        self.nodes(facts, partition).map(|node| node.capacity).sum()
    }
}

impl<'a> Wanted<'a> {
    fn of(facts: &Facts, application: &Application, spec: &'a GangSpec) -> Self {
        let (mut roles, mut sums) = (Vec::new(), BTreeMap::<_, Resources>::new());
        for role in spec.roles.iter().filter(|role| role.minimum > 0) {
            let partition = partition_for(facts.queue(application.leaf), &role.ask);
            *sums.entry(partition).or_default() += role.ask.size.times(i64::from(role.minimum));
            roles.push((role, shape_for(facts, spec.application, &role.ask)));
        }
        Self { roles, sums, topology: spec.topology }
    }

    /// Whether each queue of the chain admits the minimum if nothing else uses it. A queue that may use all of the
    /// cluster is not a limit: the nodes are, and the refusal should name them.
    fn check_maxima(&self, facts: &Facts, application: &Application) -> Result<(), GangRefusal> {
        for (partition, needed) in &self.sums {
            for queue in facts.queue(application.leaf).chain.iter().map(|id| facts.queue(*id)) {
                let quota = queue.quota(*partition);
                let capacity = &facts.tree.partitions[partition.index()].capacity;
                if capacity.within(&quota.maximum) || quota.admits(&Resources::ZERO, needed) {
                    continue;
                }
                let short = |of: &Resources| {
                    of.combine(
                        &needed.saturating_sub(&quota.maximum),
                        |of, short| if short > 0 { of } else { 0 },
                    )
                };
                let amounts = |of: &Resources| facts.config.resources.amounts(&short(of));
                let (needed, maximum) = (amounts(needed), amounts(&quota.maximum));
                return Err(GangRefusal::AboveMaximum { queue: queue.path.to_string(), needed, maximum });
            }
        }
        Ok(())
    }

    /// Whether the nodes could hold each role's minimum, and the sum of all, if they were empty.
    fn check_nodes(&self, state: &State, nodes: &NodesByPartition) -> Result<(), GangRefusal> {
        let (facts, topology) = (&state.facts, self.topology);
        for (role, shape) in &self.roles {
            let possible = members_possible(facts, role, shape, nodes.nodes(facts, shape.partition));
            if possible < role.minimum {
                let (role, minimum) = (role.name.clone(), role.minimum);
                return Err(GangRefusal::AboveCluster { role, minimum, possible, topology });
            }
        }
        for (partition, needed) in &self.sums {
            let capacity = nodes.capacity(facts, *partition);
            if !Resources::ZERO.can_grow(needed, &capacity) {
                let amounts = |of| facts.config.resources.amounts(of);
                let (needed, capacity) = (amounts(needed), amounts(&capacity));
                return Err(GangRefusal::AboveCapacity { needed, capacity, topology });
            }
        }
        Ok(())
    }

    /// Whether some rack could hold the minimum if it were empty. The refusal is that of the rack that comes nearest.
    fn check_racks(&self, state: &State) -> Result<(), GangRefusal> {
        let facts = &state.facts;
        let mut nearest = None;
        for rack in facts.rack_ids() {
            let here = state.node_shards.nodes_on(rack);
            let of = |partition| {
                let is_of = |id: &&NodeId| facts.nodes.at(**id).partition == partition;
                here.iter().filter(is_of).copied().collect()
            };
            let Err(refusal) = self.check_nodes(state, &NodesByPartition::new(state, of)) else {
                return Ok(());
            };
            let key = match &refusal {
                GangRefusal::AboveCluster { role, possible, .. } => {
                    let place = self.roles.iter().position(|(known, _)| known.name == *role);
                    (place.unwrap_or(0), i64::from(*possible))
                }
                GangRefusal::AboveCapacity { capacity, .. } => {
                    (self.roles.len(), capacity.iter().map(|(_, amount)| amount).sum())
                }
                _ => (0, 0),
            };
            if nearest.as_ref().is_none_or(|(known, _)| *known < key) {
                nearest = Some((key, refusal));
            }
        }
        match nearest {
            Some((_, refusal)) => Err(refusal),
            None => self.check_nodes(state, &NodesByPartition(BTreeMap::new())),
        }
    }
}

/// The number of the role's members that the nodes could hold if they were empty, counted up to its minimum.
fn members_possible<'a>(
    facts: &Facts,
    role: &GangRole,
    shape: &Shape,
    nodes: impl Iterator<Item = &'a Node>,
) -> u32 {
    let mut members = 0;
    for node in nodes.filter(|node| role.ask.preference.will_do(node.id, node.rack)) {
        if members < role.minimum && facts.could_hold(shape, node) {
            let mut room = node.empty_room();
            while members < role.minimum && fits(&shape.need, &room) {
                room.take(&shape.need);
                members += 1;
            }
        }
    }
    members
}

/// Whether the request starts each of its gangs with at least the minimum, and on one rack if the gang asks for that.
/// Held asks get no reservations. Out of line, because nearly always no gang waits.
#[cold]
pub(super) fn check_starts(
    facts: &Facts,
    request: &ResourceAllocationCommitRequest,
) -> Result<(), RejectReason> {
    if request.reserve.iter().any(|proposal| facts.gang_of(proposal.ask).is_some()) {
        return Err(RejectReason::GangIncomplete);
    }
    let mut members = BTreeMap::<(GangId, AskId), u32>::new();
    let mut racks = BTreeMap::<GangId, RackId>::new();
    for proposal in &request.allocate {
        let Some(gang) = facts.gang_of(proposal.ask) else { continue };
        *members.entry((gang, proposal.ask)).or_default() += 1;
        let node = facts.nodes.get(proposal.node).ok_or(RejectReason::UnknownNode)?;
        let first = *racks.entry(gang).or_insert(node.rack);
        if first != node.rack && facts.gangs[&gang].topology == GangTopology::SameRack {
            return Err(RejectReason::GangAcrossRacks);
        }
    }
    let count = |gang: GangId, ask: AskId| members.get(&(gang, ask)).copied().unwrap_or(0);
    let is_whole = |gang: &GangId| {
        facts.gangs[gang].roles.iter().all(|HeldRole { ask, minimum, .. }| count(*gang, *ask) >= *minimum)
    };
    if racks.keys().all(is_whole) { Ok(()) } else { Err(RejectReason::GangIncomplete) }
}

/// Whether a proposer may send the request: the committer would accept it in this state.
pub(crate) fn would_accept(state: &State, request: &ResourceAllocationCommitRequest) -> bool {
    // Not through `accept`, which checks single containers without sums: with one caller, the compiler inlines it
    // there.
    let facts = &state.facts;
    !state.limits_are_stale() && check_starts(facts, request).is_ok() && accept_sums(facts, request).is_ok()
}

impl Committer<'_> {
    /// Ends a turn, holds room and decides requests, as a search for gangs found them. If other requests took a gang's
    /// room first, the committer looks again for that gang itself, so no other thread can be quicker.
    pub(super) fn commit_gangs(
        &mut self,
        search: &mut GangSearch,
        starts: &mut Vec<ResourceAllocationCommitRequest>,
    ) -> usize {
        let mut rejected = 0;
        let found = std::mem::take(&mut search.found);
        for gang in &found.reviewed {
            // The end may help a gang that the search did not see.
            if self.state.facts.rivals_since(*gang, found.asks).next().is_none() {
                self.state.gang_waits.overdue_turns.remove(gang);
            }
        }
        if let Some(end) = &found.turn_end {
            self.end_turn(end, found.asks);
        }
        for gathering in &found.gatherings {
            if !self.hold_places(gathering) {
                search.memory.forget_begun_anew(gathering.gang);
            }
        }
        for request in std::mem::take(starts) {
            let gang = request.units().find_map(|ask| self.state.facts.gang_of(ask));
            if let CommitOutcome::Rejected(_) = self.commit(request) {
                rejected += 1;
                if let Some(request) = gang.and_then(|gang| propose_gang(self.state, gang).ok()) {
                    self.commit(request);
                }
            }
        }
        rejected
    }
}
