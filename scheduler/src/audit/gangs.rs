//! Checks of gangs that have not started.

use super::AuditReport;
use crate::facts::{Facts, HeldAsks, HeldRole};
use crate::propose::propose_gang;
use crate::state::State;

/// I4: no ask of a waiting gang has a container or a reservation, and each has at least its minimum outstanding. I12:
/// the held asks are those of the waiting gangs.
pub(super) fn check(facts: &Facts, report: &mut AuditReport) {
    let mut held = HeldAsks::default();
    for (id, gang) in &facts.gangs {
        for HeldRole { ask, minimum, .. } in &gang.roles {
            held.insert(*ask, *id);
            let is_whole = facts.asks.get(*ask).is_some_and(|ask| {
                ask.application == gang.application
                    && ask.allocated == 0
                    && ask.reservations().is_empty()
                    && ask.outstanding() >= *minimum
            });
            report.check(is_whole, "I4", || format!("{id} waits, but {ask} cannot start with {minimum}"));
        }
    }
    let is_equal = held == facts.held_asks;
    report.check(is_equal, "I12", || format!("gangs hold {held:?}, listed are {:?}", facts.held_asks));
}

/// I13: no waiting gang could start. Holds whenever the engine is quiet.
pub(super) fn check_waiting(state: &State, report: &mut AuditReport) {
    for id in state.facts.gangs.keys() {
        let could_start = !state.limits_are_stale() && propose_gang(state, *id).is_ok();
        report.check(!could_start, "I13", || format!("{id} waits, and all of its members have room"));
    }
}
