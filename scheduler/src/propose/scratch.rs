//! A proposer's working memory, kept from pass to pass so that a pass allocates nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use crate::backlog::{Given, OrderKey, PendingAsk, Place};
use crate::facts::{ActiveUsers, PendingPriorities, QueueKey};
use crate::ids::{AskId, LaneId, LeafUserId, LimitUsageId, QueueId, ShapeId};
use crate::resource::{RESOURCE_TYPES_MAX, Resources, UNLIMITED};

/// Entries belong to the present pass if they carry its stamp.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) stamp: u64,
    /// By queue.
    pub(super) queues: Vec<QueueScratch>,
    /// By leaf user.
    pub(super) users: Vec<UserScratch>,
    /// By limit usage.
    pub(super) limit_usages: Vec<LimitUsageScratch>,
    /// By shape.
    shapes: Vec<(u64, ShapeStatus)>,
    /// Of the shapes that may fit and are wanted, how many this pass has not closed: no more than that are left to be
    /// found. Reservations are counted with them, so it may be more.
    pub(super) open_shapes: u32,
    /// Resources and containers that this pass gave to applications of fair leaves, by slot.
    pub(super) given: FxHashMap<u32, Given>,
    /// Containers and reservations proposed in this pass.
    pub(super) picks: u64,
    /// Whether any queue keeps anything from those that come later.
    pub(super) blocks_headroom: bool,
    /// How many of the units that are listed as given it has counted: of asks, and of applications by slot. And what
    /// leaves have pending without applications that get all. Only where queues are ordered by it.
    pub(super) units_seen: usize,
    pub(super) given_of_asks: FxHashMap<AskId, u32>,
    pub(super) given_units: FxHashMap<u32, u64>,
    pub(super) demands: FxHashMap<QueueId, PendingPriorities>,
    /// Priorities that are others with that.
    pub(super) priorities: FxHashMap<QueueId, i32>,
    /// Slots of applications that get nothing more in this pass: a higher key of theirs waits for its hosts.
    pub(super) left_applications: Vec<u32>,
    /// Queues and users to which this pass gave something.
    pub(super) touched_queues: Vec<QueueId>,
    pub(super) touched_users: Vec<LeafUserId>,
    pub(super) touched_limit_usages: Vec<LimitUsageId>,
}

#[derive(Debug, Default)]
pub(super) struct QueueScratch {
    pub(super) stamp: u64,
    /// Used, in flight and given by this pass.
    pub(super) level: Resources,
    /// Given by this pass.
    pub(super) given: Resources,
    /// Listed among those to which this pass gave something.
    pub(super) is_touched: bool,
    /// Its place among the amounts of the batch, if it is listed and picks are published at once.
    pub(super) place: usize,
    /// The headroom that children block which this pass has left behind.
    pub(super) blocked_headroom: Resources,
    /// The headroom that lanes at or below it block, at limits above it, as this pass found.
    pub(super) blocks: Resources,
    /// Children that may have something, the most deserving on top; parents only.
    pub(super) children: BinaryHeap<Reverse<QueueKey>>,
    /// Leaves only.
    pub(super) leaf: LeafCursor,
}

#[derive(Debug, Default)]
pub(super) struct UserScratch {
    pub(super) stamp: u64,
    pub(super) level: Resources,
    pub(super) given: Resources,
    /// How many containers that was.
    pub(super) given_units: u64,
    pub(super) is_touched: bool,
}

#[derive(Debug, Default)]
pub(super) struct LimitUsageScratch {
    pub(super) stamp: u64,
    /// Used, in flight and given by this pass.
    pub(super) level: Resources,
    /// Given by this pass.
    pub(super) given: Resources,
    pub(super) is_touched: bool,
}

/// Users without pending units after this pass, and their use.
#[derive(Debug, Default)]
pub(super) struct Satisfied {
    pub(super) users: ActiveUsers,
    pub(super) used: Resources,
}

/// Where a pass stands in one leaf: its lanes merged in application order.
#[derive(Debug, Default)]
pub(super) struct LeafCursor {
    pub(super) heads: BinaryHeap<Reverse<Head>>,
    pub(super) lanes: Vec<LaneCursor>,
    pub(super) satisfied: Satisfied,
    held: Held,
    /// The next lane to open, with its first application.
    pub(super) upcoming: Option<(Place, LaneId)>,
}

/// So much of one resource type in use by a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub(super) resource: usize,
    pub(super) level: i64,
}

/// Heads of lanes that are held, and of each resource type the lowest use of the leaf at which any may go on.
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
    /// Heads of this lane in the heap.
    pub(super) heads: u32,
    /// Out of this pass.
    pub(super) dropped: bool,
    /// Held until then: each container of the leaf moves the shares of its users.
    pub(super) held_until: Option<Threshold>,
    /// The committer is told that it is blocked.
    pub(super) is_reported: bool,
}

impl LaneCursor {
    pub(super) fn new(lane: LaneId) -> Self {
        Self { lane, last: None, heads: 0, dropped: false, held_until: None, is_reported: false }
    }
}

/// An application with something available in one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    pub(super) key: OrderKey,
    pub(super) pending: PendingAsk,
    pub(super) slot: u32,
    /// Index into the cursor's lanes.
    pub(super) lane: u32,
    /// Where the ask stands among the application's asks in the lane.
    pub(super) at: u32,
    /// Whether the application behind it in the lane has not been looked at yet.
    pub(super) is_last: bool,
}

/// The findings of the pass about a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ShapeStatus {
    /// Its set may have room for it.
    #[default]
    Open,
    /// There is no room, but a node of the set may be reserved.
    MayReserve,
    /// There is nothing for it in this set.
    Closed,
}

impl Scratch {
    /// Begins a pass.
    pub(super) fn start(&mut self, queues: usize, users: usize, limit_usages: usize, shapes: usize) {
        self.stamp += 1;
        if self.queues.len() < queues {
            self.queues.resize_with(queues, QueueScratch::default);
        }
        if self.users.len() < users {
            self.users.resize_with(users, UserScratch::default);
        }
        if self.limit_usages.len() < limit_usages {
            self.limit_usages.resize_with(limit_usages, LimitUsageScratch::default);
        }
        if self.shapes.len() < shapes {
            self.shapes.resize(shapes, (0, ShapeStatus::Open));
        }
        self.given.clear();
        self.picks = 0;
        self.blocks_headroom = false;
        self.units_seen = 0;
        self.given_of_asks.clear();
        self.given_units.clear();
        self.demands.clear();
        self.priorities.clear();
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

impl LeafCursor {
    /// Takes an application's heads out, those that were put aside too.
    pub(super) fn take_heads_of(&mut self, slot: u32) -> Vec<Head> {
        let is_its = |head: &Head| head.slot == slot;
        let all = self.heads.iter().map(|head| head.0).chain(self.held.heads.iter().map(|held| held.1));
        let taken: Vec<Head> = all.filter(is_its).collect();
        self.heads.retain(|head| !is_its(&head.0));
        self.held.heads.retain(|(_, head)| !is_its(head));
        taken.iter().for_each(|head| self.lanes[head.lane as usize].heads -= 1);
        taken
    }

    /// Puts the top head aside.
    pub(super) fn hold(&mut self, until: Threshold) {
        let Some(Reverse(head)) = self.heads.pop() else { return };
        self.held.heads.push((until, head));
        let next = &mut self.held.next[until.resource];
        *next = until.level.min(*next);
    }

    /// Held users are looked at again as far as the leaf's use allows.
    pub(super) fn release_held(&mut self, level: &Resources) {
        let Self { held, lanes, heads, .. } = self;
        if held.heads.is_empty() || (0..RESOURCE_TYPES_MAX).all(|i| level[i] < held.next[i]) {
            return;
        }
        held.next = NEVER;
        held.heads.retain(|(until, head)| {
            let is_due = level[until.resource] >= until.level;
            if is_due {
                lanes[head.lane as usize].held_until = None;
                heads.push(Reverse(*head));
            } else {
                held.next[until.resource] = until.level.min(held.next[until.resource]);
            }
            !is_due
        });
    }

    /// All that was held is looked at again.
    pub(super) fn release_all_held(&mut self) {
        self.release_held(&Resources::all(UNLIMITED));
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.lanes.clear();
        self.held.heads.clear();
        self.held.next = NEVER;
        self.satisfied = Satisfied::default();
        self.upcoming = None;
    }
}
