//! The actions of timers that are due.

use super::group::GroupCommitter;
use crate::change::Change;
use crate::facts::{ApplicationEnd, EndCause, GangEnd};
use crate::state::State;
use crate::timers::Timer;

impl GroupCommitter {
    /// Acts on a timer that was due at `at_ms`. A stale one has no effect.
    pub(super) fn ring(&mut self, state: &mut State, at_ms: u64, timer: &Timer) {
        match *timer {
            Timer::Silence(node) => self.check_silence(state, node, at_ms),
            Timer::QueueIdle(queue) => {
                // The queue may have been used and become idle again since; a later timer is then set.
                if state.facts.expires_ms(queue).is_some_and(|expires_ms| expires_ms <= at_ms) {
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
}
