//! The timers that follow from the facts. An engine that continues a log sets them; the audit looks for them.

use std::collections::BTreeMap;

use super::State;
use crate::backlog::LocalityWaits;
use crate::facts::Facts;
use crate::ids::QueueId;
use crate::timers::{Timer, Timers};

impl State {
    /// Sets the timers again. Those of closed shapes are not needed, because the caller's shapes are open.
    pub(crate) fn restore_timers(&mut self) {
        self.timers = Timers::default();
        for (at_ms, timer) in due_times(&self.facts) {
            self.timers.add(at_ms, timer);
        }
    }

    /// The timers that are not set although the facts call for them.
    pub(crate) fn missing_timers(&self) -> Vec<Timer> {
        let mut first_ms = BTreeMap::new();
        for (at_ms, timer) in self.timers.iter() {
            first_ms.entry(timer).or_insert(at_ms);
        }
        let is_missing = |(at_ms, timer): &(u64, Timer)| {
            *at_ms > self.facts.now_ms && first_ms.get(timer).is_none_or(|first_ms| first_ms > at_ms)
        };
        due_times(&self.facts).filter(is_missing).map(|(_, timer)| timer).collect()
    }
}

/// When the facts will call for an action. A few times may have passed: their actions were found to be needless.
fn due_times(facts: &Facts) -> impl Iterator<Item = (u64, Timer)> {
    let nodes = facts.config.heartbeat.into_iter().flat_map(|policy| {
        let not_silent = facts.nodes.iter().filter(|(_, node)| !node.stale);
        not_silent.map(move |(id, node)| (policy.silent_from_ms(node.last_heartbeat_ms), Timer::Silence(id)))
    });
    let queues = (0..facts.tree.queues.len() as u32)
        .map(QueueId)
        .filter_map(|id| Some((facts.tree.expires_ms(id)?, Timer::QueueIdle(id))));
    let age_limit_ms = facts.config.reservations.age_limit_ms;
    let reservations = facts.reservations.iter().map(move |(id, reservation)| {
        (reservation.created_ms.saturating_add(age_limit_ms), Timer::ReservationAge(id))
    });
    let applications = facts
        .applications
        .iter()
        .filter(|(_, application)| application.ending.is_none())
        .filter_map(|(id, application)| Some((application.expires_ms?, Timer::Lifetime(id))));
    let asks = facts.asks.iter().filter(|(_, ask)| !ask.preference().is_empty()).flat_map(|(id, ask)| {
        LocalityWaits::further_times(facts, ask).map(move |at_ms| (at_ms, Timer::Locality(id)))
    });
    let stops = facts.stopping.iter().map(|(id, stopping)| (stopping.until_ms, Timer::Stop(*id)));
    let gangs = facts.gangs.iter().filter_map(|(id, gang)| Some((gang.until_ms?, Timer::Gang(*id))));
    let reserving = facts.placeholders.gangs();
    let placeholders = reserving.filter_map(|(id, gang)| Some((gang.until_ms?, Timer::Placeholders(id))));
    let gathering = facts.held_rooms.values().map(|held| held.gang);
    let turns = gathering.filter_map(|gang| Some((facts.turn_until_ms(gang)?, Timer::Turn(gang))));
    let gangs = gangs.chain(placeholders).chain(turns);
    nodes.chain(queues).chain(reservations).chain(applications).chain(asks).chain(stops).chain(gangs)
}
