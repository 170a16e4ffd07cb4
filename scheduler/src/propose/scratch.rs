//! A proposer's working memory, kept from pass to pass so that a pass seldom allocates.

use rustc_hash::FxHashMap;

use super::demand_priority::RemainingDemand;
use super::level::Level;
use crate::backlog::{Given, LaneWalk, OrderKey, PendingAsk};
use crate::facts::{Facts, QueueKey};
use crate::ids::{LaneId, LeafUserId, LimitUsageId, QueueId, ShapeId};
use crate::min_heap::MinHeap;
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

/// Working memory of a proposer. An entry belongs to the current pass if it carries its stamp.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) stamp: u64,
    /// By queue.
    pub(super) queues: Vec<QueueScratch>,
    /// By leaf user.
    pub(super) users: Vec<UserScratch>,
    /// By limit usage.
    pub(super) limit_usages: Vec<Level>,
    /// By shape.
    shapes: Vec<(u64, ShapeStatus)>,
    /// Upper bound on the wanted shapes that may fit and that this pass has not closed. It counts reservations, too.
    pub(super) open_shapes: u32,
    /// Resources and containers that this pass gave to applications of fair leaves, by slot.
    pub(super) given: FxHashMap<u32, Given>,
    /// Containers and reservations proposed in this pass.
    pub(super) picks: u64,
    /// By queue: the headroom that is blocked by children which this pass has left. Usually empty.
    pub(super) blocked_headroom: FxHashMap<QueueId, Resources>,
    /// By queue: the headroom that lanes at or below the queue block at limits above it, as this pass found.
    pub(super) blocks: FxHashMap<QueueId, Resources>,
    /// Used only where queues are ordered by demand.
    pub(super) demand: RemainingDemand,
    /// Slots of applications that get nothing more in this pass, because one of their higher keys waits for its hosts.
    pub(super) left_applications: Vec<u32>,
    /// Queues, users and limit usages to which this pass gave something.
    pub(super) touched_queues: Vec<QueueId>,
    pub(super) touched_users: Vec<LeafUserId>,
    pub(super) touched_limit_usages: Vec<LimitUsageId>,
}

#[derive(Debug, Default)]
pub(super) struct QueueScratch {
    pub(super) level: Level,
    /// Index into the batch's amounts, if the queue is listed and picks are put in flight at once.
    pub(super) place: usize,
    /// Children that this pass has not left, the most deserving on top; parents only.
    pub(super) children: MinHeap<QueueKey>,
    /// Leaves only.
    pub(super) leaf: LeafCursor,
}

#[derive(Debug, Default)]
pub(super) struct UserScratch {
    pub(super) level: Level,
    /// Units that got containers in this pass.
    pub(super) given_units: u64,
}

/// The weight and the use of users whose pending units all got containers in this pass.
#[derive(Debug, Default)]
pub(super) struct Satisfied {
    pub(super) weight_milli: u64,
    pub(super) used: Resources,
}

/// The position of a pass in one leaf, whose lanes it merges in application order.
#[derive(Debug, Default)]
pub(super) struct LeafCursor {
    pub(super) heads: MinHeap<Head>,
    pub(super) lanes: Vec<LaneCursor>,
    pub(super) satisfied: Satisfied,
    held: Held,
    /// The walk over the runnable lanes that this pass has not come to.
    pub(super) unopened: LaneWalk,
}

/// An amount of one resource type in use by a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub(super) resource: usize,
    pub(super) level: i64,
}

/// Heads of held lanes, and for each resource type the lowest use of the leaf at which one of them may go on.
#[derive(Debug)]
struct Held {
    heads: Vec<(Threshold, Head)>,
    next: [i64; RESOURCE_TYPES_MAX],
}

const NEVER: [i64; RESOURCE_TYPES_MAX] = [i64::MAX; RESOURCE_TYPES_MAX];

impl Default for Held {
    fn default() -> Self {
        Self { heads: Vec::new(), next: NEVER }
    }
}

#[derive(Debug)]
pub(super) struct LaneCursor {
    pub(super) lane: LaneId,
    /// The last application of the lane that was looked at.
    pub(super) last: Option<(OrderKey, u32)>,
    /// The number of heads of this lane, in the heap or held, while the pass serves it.
    pub(super) head_count: u32,
    /// Whether the pass has left the lane.
    pub(super) is_left: bool,
    /// Held until the leaf's use reaches this threshold: each container in the leaf moves its users' shares.
    pub(super) held_until: Option<Threshold>,
    /// Whether the pass has reported the lane as blocked.
    pub(super) is_reported: bool,
    /// Whether the pass met an ask of the lane whose units are all in flight or reserved, also by this pass.
    pub(super) met_unavailable: bool,
}

impl LaneCursor {
    pub(super) fn new(lane: LaneId) -> Self {
        Self {
            lane,
            last: None,
            head_count: 0,
            is_left: false,
            held_until: None,
            is_reported: false,
            met_unavailable: false,
        }
    }
}

/// An application with an available ask in one lane. The order of the fields is the order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    pub(super) key: OrderKey,
    pub(super) pending: PendingAsk,
    pub(super) slot: u32,
    /// Index into the cursor's lanes.
    pub(super) lane: u32,
    /// Index among the application's asks in the lane.
    pub(super) at: u32,
    /// Whether the pass has not looked at the lane's next application yet.
    pub(super) next_is_unopened: bool,
    /// Whether the application has more asks in the lane behind this one.
    pub(super) has_more: bool,
}

/// The finding of the pass about a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShapeStatus {
    /// The set may have room for it.
    #[default]
    Open,
    /// There is no room, but a node of the set may be reserved.
    MayReserve,
    /// There is nothing for it in this set.
    Closed,
}

impl Scratch {
    /// Begins a pass.
    pub(super) fn start(&mut self, facts: &Facts) {
        self.stamp += 1;
        let (queues, users) = (facts.tree.queues.len(), facts.tree.users.len());
        let (limit_usages, shapes) = (facts.tree.limit_usages().len(), facts.shapes.slots());
        if self.queues.len() < queues {
            self.queues.resize_with(queues, QueueScratch::default);
        }
        if self.users.len() < users {
            self.users.resize_with(users, UserScratch::default);
        }
        if self.limit_usages.len() < limit_usages {
            self.limit_usages.resize_with(limit_usages, Level::default);
        }
        if self.shapes.len() < shapes {
            self.shapes.resize(shapes, (0, ShapeStatus::Open));
        }
        self.given.clear();
        self.picks = 0;
        self.blocked_headroom.clear();
        self.blocks.clear();
        if facts.tree.looks_at_demand {
            self.demand.clear();
        }
        self.left_applications.clear();
        self.touched_queues.clear();
        self.touched_users.clear();
        self.touched_limit_usages.clear();
    }

    pub(super) fn shape_status(&self, shape: ShapeId) -> ShapeStatus {
        let (stamp, status) = self.shapes[shape.index()];
        if stamp == self.stamp { status } else { ShapeStatus::Open }
    }

    pub(super) fn set_shape_status(&mut self, shape: ShapeId, status: ShapeStatus) {
        if status == ShapeStatus::Closed && self.shape_status(shape) != ShapeStatus::Closed {
            self.open_shapes = self.open_shapes.saturating_sub(1);
        }
        self.shapes[shape.index()] = (self.stamp, status);
    }
}

impl QueueScratch {
    /// Begins to count for the pass with this stamp.
    pub(super) fn begin(&mut self, stamp: u64, level: Resources) {
        self.level.begin(stamp, level);
        // Also for a leaf, which may have been a parent before a reconfiguration.
        self.children.clear();
        self.leaf.clear();
    }
}

impl LeafCursor {
    /// Removes an application's heads, including held ones.
    pub(super) fn take_heads_of(&mut self, slot: u32) -> Vec<Head> {
        let is_its = |head: &Head| head.slot == slot;
        let all = self.heads.as_slice().iter().copied().chain(self.held.heads.iter().map(|held| held.1));
        let taken: Vec<Head> = all.filter(is_its).collect();
        self.heads.retain(|head| !is_its(head));
        self.held.heads.retain(|(_, head)| !is_its(head));
        taken.iter().for_each(|head| self.lanes[head.lane as usize].head_count -= 1);
        taken
    }

    /// Holds the top head until the leaf's use reaches the threshold.
    pub(super) fn hold(&mut self, until: Threshold) {
        let Some(head) = self.heads.pop() else { return };
        self.held.heads.push((until, head));
        let next = &mut self.held.next[until.resource];
        *next = until.level.min(*next);
    }

    /// Releases the held heads whose threshold the leaf's use has reached.
    #[inline]
    pub(super) fn release_held(&mut self, level: &Resources) {
        if !self.held.heads.is_empty() && (0..RESOURCE_TYPES_MAX).any(|i| level[i] >= self.held.next[i]) {
            self.release_due(level);
        }
    }

    #[inline(never)]
    fn release_due(&mut self, level: &Resources) {
        let Self { held, lanes, heads, .. } = self;
        held.next = NEVER;
        held.heads.retain(|(until, head)| {
            let is_due = level[until.resource] >= until.level;
            if is_due {
                lanes[head.lane as usize].held_until = None;
                heads.push(*head);
            } else {
                held.next[until.resource] = until.level.min(held.next[until.resource]);
            }
            !is_due
        });
    }

    /// Releases all held heads.
    pub(super) fn release_all_held(&mut self) {
        self.release_held(&Resources::all(UNLIMITED));
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.lanes.clear();
        self.held.heads.clear();
        self.held.next = NEVER;
        self.satisfied = Satisfied::default();
        self.unopened.clear();
    }
}
