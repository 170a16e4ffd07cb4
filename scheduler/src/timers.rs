//! Timers: entries that become due when the clock reaches their time. An idle committer sleeps until the next one.

use std::collections::BTreeSet;

use crate::ids::{ApplicationId, AskId, ContainerId, GangId, NodeId, QueueId, ReservationId, ShapeId};

/// The check to make when the timer is due. A stale entry has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Whether the node has been silent for too long.
    Silence(NodeId),
    /// Whether an auto-created queue is still unused.
    QueueIdle(QueueId),
    /// Whether the reservation is too old.
    ReservationAge(ReservationId),
    /// Whether an ask of the shape has waited long enough to reserve a node.
    Reserve(ShapeId),
    /// Whether the ask may look further than the hosts or racks it names.
    Locality(AskId),
    /// Whether the application has exceeded its lifetime.
    Lifetime(ApplicationId),
    /// Whether the end of a container that is being stopped was not confirmed in time.
    Stop(ContainerId),
    /// Whether the gang has waited for too long.
    Gang(GangId),
    /// Whether placeholders of the gang have waited for too long.
    Placeholders(GangId),
    /// Whether the gang holds room that has not grown for too long.
    Turn(GangId),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(BTreeSet<(u64, Timer)>);

impl Timers {
    pub(crate) fn add(&mut self, at_ms: u64, timer: Timer) {
        self.0.insert((at_ms, timer));
    }

    /// When the next timer is due.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.0.first().map(|(at_ms, _)| *at_ms)
    }

    /// All timers in the order of their times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Timer)> {
        self.0.iter().copied()
    }

    /// Takes the first timer if it is due, with its time.
    pub(crate) fn take_due(&mut self, now_ms: u64) -> Option<(u64, Timer)> {
        if self.next_ms()? > now_ms {
            return None;
        }
        self.0.pop_first()
    }
}
