//! The walk within one leaf: its lanes, merged in application order.

use super::batch::Proposals;
use super::queue_walk::{NextAsk, QueueWalk};
use super::scratch::{Head, LaneCursor, ShapeStatus};
use crate::backlog::{Lane, PendingAsk, WaitKey};
use crate::ids::{QueueId, ShapeId};
use crate::resource::Resources;

/// An ask that [`is_available`](QueueWalk::is_available), the `at`-th of its application in a lane.
struct Available<'a> {
    at: u32,
    pending: &'a PendingAsk,
    has_more: bool,
}

impl<'a> QueueWalk<'a> {
    /// Begins the walk over the leaf's runnable lanes.
    pub(super) fn open_leaf(&mut self, leaf: QueueId) {
        let lanes = self.state.backlog.runnable_lanes(leaf, self.share);
        self.scratch.queues[leaf.index()].leaf.unopened.start(lanes);
    }

    /// Opens lanes as long as their first application may come before the top head. With an equal key it is the same
    /// application, whose asks go by priority. Skips lanes whose shape cannot fit, and those that are not due. A lane's
    /// key is a lower bound for its applications: containers of this pass only raise their keys.
    fn open_lanes(&mut self, leaf: QueueId, proposals: &mut Proposals) {
        let backlog = &self.state.backlog;
        loop {
            let cursor = &mut self.scratch.queues[leaf.index()].leaf;
            let top = cursor.heads.top().map(|top| &top.key);
            let lanes = backlog.runnable_lanes(leaf, self.share);
            let Some(lane) = cursor.unopened.next_up_to(top, lanes) else { return };
            let shape = backlog.lane(lane).shape;
            let is_closed = self.scratch.shape_status(shape) == ShapeStatus::Closed;
            if backlog.is_open(shape, self.set) && !is_closed && self.is_due(lane) {
                let cursor = &mut self.scratch.queues[leaf.index()].leaf;
                cursor.lanes.push(LaneCursor::new(lane));
                let index = cursor.lanes.len() - 1;
                self.push_next_application(leaf, index);
                self.report_if_done(leaf, index, proposals);
            }
        }
    }

    /// The next ask of the leaf that is within all limits. It stays on top until the caller charges or leaves it.
    pub(super) fn next_in_leaf(&mut self, leaf: QueueId, proposals: &mut Proposals) -> Option<NextAsk> {
        loop {
            self.open_lanes(leaf, proposals);
            let cursor = &self.scratch.queues[leaf.index()].leaf;
            let head = *cursor.heads.top()?;
            let lane = self.state.backlog.lane(cursor.lanes[head.lane as usize].lane);
            if self.check_head(leaf, &head, lane, proposals) {
                let (user, shape) = (lane.user, lane.shape);
                return Some(NextAsk { leaf, user, slot: head.slot, shape, pending: head.pending });
            }
        }
    }

    /// Checks the leaf's top head. If true, its ask has an available unit within all limits, and stays on top. If
    /// false, the head was removed, held or moved.
    #[inline(always)]
    fn check_head(&mut self, leaf: QueueId, head: &Head, lane: &Lane, proposals: &mut Proposals) -> bool {
        let lane_cursor = &self.scratch.queues[leaf.index()].leaf.lanes[head.lane as usize];
        let (is_left, held_until) = (lane_cursor.is_left, lane_cursor.held_until);
        if is_left || self.scratch.shape_status(lane.shape) == ShapeStatus::Closed {
            self.scratch.queues[leaf.index()].leaf.heads.pop();
            return false;
        }
        if let Some(until) = held_until {
            self.scratch.queues[leaf.index()].leaf.hold(until);
            return false;
        }
        let key = self.key_of(head.slot, leaf, head.key);
        if key != head.key {
            self.open_next_if_fair(leaf);
            self.rekey(leaf, *head, key);
            return false;
        }
        if !self.is_available(&head.pending) {
            self.leave_unavailable(leaf, proposals);
            return false;
        }
        let blocked_at = self.blocked_at(leaf, lane.user, self.size_of(lane.shape));
        if let Some(reason) = blocked_at {
            self.leave_lane(leaf, head.lane as usize, reason, proposals);
        }
        blocked_at.is_none()
    }

    /// Leaves a lane that is blocked: for the rest of the pass, or until the user's share moves.
    fn leave_lane(&mut self, leaf: QueueId, index: usize, reason: WaitKey, proposals: &mut Proposals) {
        let lane = self.scratch.queues[leaf.index()].leaf.lanes[index].lane;
        let may_move = matches!(reason, WaitKey::UserShare(_));
        let held_until = may_move.then(|| self.share_suffices_at(self.state.backlog.lane(lane)));
        let cursor = &mut self.scratch.queues[leaf.index()].leaf.lanes[index];
        (cursor.held_until, cursor.is_left) = (held_until, held_until.is_none());
        if !std::mem::replace(&mut cursor.is_reported, true) {
            let blocks = match reason {
                WaitKey::QueueLimit(limited) => self.block_headroom(leaf, lane, limited),
                _ => Resources::ZERO,
            };
            Self::report_blocked(proposals, lane, reason, blocks);
        }
    }

    /// Leaves the top ask, all of whose units are in flight or reserved, for the rest of the pass.
    pub(super) fn leave_unavailable(&mut self, leaf: QueueId, proposals: &mut Proposals) {
        let cursor = &mut self.scratch.queues[leaf.index()].leaf;
        if let Some(head) = cursor.heads.top() {
            cursor.lanes[head.lane as usize].met_unavailable = true;
        }
        self.leave_ask(leaf, proposals);
    }

    /// Leaves the top ask for the rest of the pass: it was served or cannot be.
    pub(super) fn leave_ask(&mut self, leaf: QueueId, proposals: &mut Proposals) {
        let Some(&head) = self.scratch.queues[leaf.index()].leaf.heads.top() else { return };
        self.open_next_if_fair(leaf);
        let cursor = &self.scratch.queues[leaf.index()].leaf;
        debug_assert!(
            cursor.heads.top().is_some_and(|top| (top.slot, top.pending) == (head.slot, head.pending)),
            "the application behind is served later"
        );
        let index = head.lane as usize;
        let behind = head.at as usize + 1;
        let next = if head.has_more { self.next_available(leaf, head.slot, index, behind) } else { None };
        let cursor = &mut self.scratch.queues[leaf.index()].leaf;
        if let Some(found) = next {
            cursor.heads.change_top(|top| {
                (top.at, top.pending, top.has_more) = (found.at, *found.pending, found.has_more);
            });
        } else if let Some(done) = cursor.heads.pop() {
            cursor.lanes[index].head_count -= 1;
            if done.next_is_unopened {
                self.push_next_application(leaf, index);
            }
            self.report_if_done(leaf, index, proposals);
        }
    }

    /// Skips all asks of an application for the rest of the pass. The observations of such a pass are not recorded.
    pub(super) fn leave_application(&mut self, leaf: QueueId, slot: u32) {
        self.scratch.left_applications.push(slot);
        let heads = self.scratch.queues[leaf.index()].leaf.take_heads_of(slot);
        for head in heads.iter().filter(|head| head.next_is_unopened) {
            self.push_next_application(leaf, head.lane as usize);
        }
    }

    /// Reports a lane as all in flight if no ask of it is left although its shape may fit. A lane whose asks for one
    /// container this pass proposed needs no report. It is empty once they are accepted, and runnable if not.
    fn report_if_done(&mut self, leaf: QueueId, index: usize, proposals: &mut Proposals) {
        let cursor = &mut self.scratch.queues[leaf.index()].leaf.lanes[index];
        let lane = cursor.lane;
        if cursor.head_count > 0 || cursor.is_left {
            return;
        }
        cursor.is_left = true;
        let met_unavailable = cursor.met_unavailable;
        if met_unavailable
            && self.scratch.shape_status(self.state.backlog.lane(lane).shape) == ShapeStatus::Open
        {
            Self::report_blocked(proposals, lane, WaitKey::AllInFlight, Resources::ZERO);
        }
    }

    /// Adds the lane's next application with an available ask to the heads.
    pub(super) fn push_next_application(&mut self, leaf: QueueId, index: usize) {
        let cursor = &self.scratch.queues[leaf.index()].leaf.lanes[index];
        let (lane, mut last) = (cursor.lane, cursor.last);
        let order = &self.state.backlog.lane(lane).order;
        while let Some((key, slot)) = order.after(last) {
            last = Some((key, slot));
            if self.scratch.left_applications.contains(&slot) {
                continue;
            }
            if let Some(found) = self.next_available(leaf, slot, index, 0) {
                let Available { at, pending: &pending, has_more } = found;
                let (key, next_is_unopened) = (self.key_of(slot, leaf, key), order.has_several());
                let cursor = &mut self.scratch.queues[leaf.index()].leaf;
                cursor.lanes[index].head_count += 1;
                let lane = index as u32;
                cursor.heads.push(Head { key, pending, slot, lane, at, next_is_unopened, has_more });
                break;
            }
        }
        self.scratch.queues[leaf.index()].leaf.lanes[index].last = last;
    }

    /// Whether the ask has a unit that is neither in flight nor reserved, or may reserve a further node.
    #[inline(always)]
    fn is_available(&self, pending: &PendingAsk) -> bool {
        let in_flight = self.state.in_flight.of_ask(pending.ask).load();
        if pending.is_single && self.is_unreserved {
            return in_flight == 0;
        }
        self.state.facts.has_unreserved_unit(self.state.facts.asks.at(pending.ask), in_flight)
    }

    /// The application's first available ask in the lane, from the `from`-th on.
    fn next_available(
        &mut self,
        leaf: QueueId,
        slot: u32,
        index: usize,
        from: usize,
    ) -> Option<Available<'a>> {
        let (state, lane) = (self.state, self.scratch.queues[leaf.index()].leaf.lanes[index].lane);
        let asks = &state.backlog.asks_in(slot, lane)?.asks;
        let mut at = from;
        while let Some(pending) = asks.get(at) {
            if self.is_available(pending) {
                let has_more = asks.get(at + 1).is_some();
                return Some(Available { at: at as u32, pending, has_more });
            }
            self.scratch.queues[leaf.index()].leaf.lanes[index].met_unavailable = true;
            at += 1;
        }
        None
    }

    /// The size of one container of the shape.
    pub(super) fn size_of(&self, shape: ShapeId) -> &'a Resources {
        &self.state.facts.shapes.at(shape).need.resources
    }
}
