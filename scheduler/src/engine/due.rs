//! Time: the clock advances, and timers that are due act.

use super::group::GroupCommitter;
use crate::change::Change;
use crate::facts::{ApplicationEnd, EndCause, GangEnd};
use crate::ids::{GangId, NodeId};
use crate::state::State;
use crate::timers::Timer;

impl GroupCommitter {
    /// Advances the engine's time to the clock's.
    pub(super) fn advance_time(&mut self, state: &mut State) {
        let now_ms = self.shared.clock.now_ms();
        if now_ms > state.facts.now_ms {
            self.committer(state).apply(Change::TimeAdvanced { now_ms });
            self.rounds.count_clock_change();
        }
    }

    pub(super) fn ring_timers(&mut self, state: &mut State) {
        while let Some((at_ms, timer)) = state.timers.take_due(state.facts.now_ms) {
            self.ring(state, at_ms, &timer);
        }
    }

    /// Records the group's time, and when the committer has to act next if no message comes.
    pub(super) fn set_next_timer(&mut self, state: &State) {
        let round_ms = self.rounds.next_ms(state.facts.now_ms);
        self.next_timer_ms = state.timers.next_ms().into_iter().chain(round_ms).min();
        self.now_ms = state.facts.now_ms;
    }

    /// Acts on a timer that was due at `at_ms`. A stale one has no effect.
    fn ring(&mut self, state: &mut State, at_ms: u64, timer: &Timer) {
        match *timer {
            Timer::Silence(node) => self.check_silence(state, node, at_ms),
            Timer::QueueIdle(queue) => {
                // The queue may have been used and become idle again since; a later timer is then set.
                if state.facts.tree.expires_ms(queue).is_some_and(|expires_ms| expires_ms <= at_ms) {
                    self.committer(state).apply(Change::QueueExpired { queue });
                }
            }
            Timer::ReservationAge(reservation) => {
                if state.facts.reservations.get(reservation).is_some() {
                    self.committer(state).apply(Change::ReservationExpired { reservation });
                }
            }
            Timer::Lifetime(application) => {
                let known = state.facts.applications.get(application);
                if known.is_some_and(|known| known.ending.is_none()) {
                    let end = ApplicationEnd::Expired;
                    self.committer(state).apply(Change::ApplicationEnded { application, end });
                }
            }
            Timer::Stop(container) => {
                if state.facts.stopping.contains_key(&container) {
                    let cause = EndCause::StopTimedOut;
                    self.committer(state).apply(Change::ContainerEnded { container, cause });
                }
            }
            Timer::Gang(gang) => {
                if state.facts.gangs.contains_key(&gang) {
                    let end = GangEnd::TimedOut;
                    self.committer(state).apply(Change::GangEnded { gang, end });
                }
            }
            Timer::Placeholders(gang) => {
                let waiting = state.facts.placeholders.gang(gang);
                if waiting.and_then(|gang| gang.until_ms).is_some_and(|until_ms| until_ms <= at_ms) {
                    self.committer(state).apply(Change::PlaceholdersTimedOut { gang });
                }
            }
            Timer::Turn(gang) => self.review_turn(state, gang),
            Timer::Reserve(_) | Timer::Locality(_) => {
                state.ring(timer);
                // The ask may use other nodes now, and a round may help it there.
                self.rounds.record_news();
            }
        }
    }

    /// Acts on the timer of a node at `at_ms`. A heartbeat sets no timer. A timer that rings sets the next one, even
    /// if that one is due as well. So nodes fall silent in the order of their last heartbeats.
    fn check_silence(&mut self, state: &mut State, node: NodeId, at_ms: u64) {
        let (Some(policy), Some(facts)) = (state.facts.config.heartbeat, state.facts.nodes.get(node)) else {
            return;
        };
        let silent_from_ms = policy.silent_from_ms(facts.last_heartbeat_ms);
        if facts.stale {
            return;
        }
        if silent_from_ms <= at_ms {
            self.committer(state).apply(Change::NodeSilenceSet { node, stale: true });
            self.publisher.silent.push(node);
        } else {
            state.timers.add(silent_from_ms, Timer::Silence(node));
        }
    }

    /// Lets the next search for gangs decide whether a turn should end, if the held room has not grown for long.
    fn review_turn(&mut self, state: &mut State, gang: GangId) {
        let Some(until_ms) = state.facts.turn_until_ms(gang) else { return };
        let now_ms = state.facts.now_ms;
        if until_ms > now_ms {
            state.timers.add(until_ms, Timer::Turn(gang));
            return;
        }
        state.gang_waits.overdue_turns.insert(gang);
        // Nodes or gangs that come later may make the end useful. The timer rings again whole limits later, so that a
        // gang has one timer only. Past the end of the clock it no longer rings.
        let limit_ms = state.facts.config.gather_limit_ms.unwrap_or(u64::MAX);
        let limits = (now_ms - until_ms) / limit_ms + 1;
        if let Some(next_ms) = limits.checked_mul(limit_ms).and_then(|late_ms| until_ms.checked_add(late_ms))
        {
            state.timers.add(next_ms, Timer::Turn(gang));
        }
    }
}
