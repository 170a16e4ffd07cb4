//! One pass: the proposals for one placement set.

use super::batch::{Observation, Proposals};
use super::borrowed::serve_borrowing;
use super::pick::{Pick, Picker};
use super::queue_walk::QueueWalk;
use super::scope::PassScope;
use super::scratch::Scratch;
use crate::backlog::WaitKey;
use crate::place::PlacementSet;
use crate::state::State;

/// How much one pass does, and on which nodes and for which asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassLimits {
    /// The most requests (B).
    pub(crate) requests: usize,
    /// The most nodes visited (V).
    pub(crate) visits: usize,
    /// The nodes and asks that the pass may look at.
    pub(crate) scope: PassScope,
    /// A single step records no observations, so it cannot rely on those of earlier passes.
    pub(crate) is_single_step: bool,
}

/// The most requests for which a pass allocates memory in advance; B may be unbounded.
const EXPECTED_MAX: usize = 256;

/// Proposes containers on the nodes of `set` for the asks pending in `state`.
///
/// Ends after B requests, after V visited nodes, or when the set can serve no further ask. In the last case each wanted
/// shape has an observation, or all of its lanes have one if it is still open. Once they are recorded, the set is
/// unwanted until something changes.
pub(crate) fn run_pass(
    state: &State,
    set: &mut PlacementSet,
    scratch: &mut Scratch,
    limits: &PassLimits,
    proposals: &mut Proposals,
) {
    proposals.version = state.version;
    set.sync(state.nodes());
    let mut walk = QueueWalk::start(state, scratch, set.id(), limits);
    let mut picker = Picker::new(state, set, limits.scope);
    picker.fulfil_or_swap_reservations(limits.requests, proposals);
    walk.count_fulfilled(&proposals.requests);
    // Visits for reservations use nothing up, or a shape whose reservations find no node could never reserve another.
    let visits_max = picker.visits + limits.visits;
    let is_exhausted = serve(walk, &mut picker, visits_max, limits, proposals);
    if is_exhausted {
        picker.swap_reservations_at_limits(scratch, limits.requests, proposals);
    }
    // A pass serves borrowing asks only if it proposed nothing for the partition's own asks.
    if proposals.requests.is_empty() {
        serve_borrowing(&mut picker, scratch, visits_max, limits, proposals);
    }
    if picker.in_use && proposals.requests.is_empty() {
        proposals.observations.push(Observation::InUse);
    }
    proposals.visits = picker.visits;
    proposals.lost_race = proposals.requests.is_empty() && proposals.observations.iter().any(is_in_flight);
}

/// Proposes for the asks of one walk, in order. Returns whether the set can serve no further ask.
pub(super) fn serve(
    mut walk: QueueWalk<'_>,
    picker: &mut Picker<'_>,
    visits_max: usize,
    limits: &PassLimits,
    proposals: &mut Proposals,
) -> bool {
    let mut is_exhausted = false;
    while proposals.requests.len() < limits.requests && picker.visits < visits_max {
        let Some(next) = walk.next(proposals) else {
            is_exhausted = true;
            break;
        };
        if proposals.requests.capacity() == 0 {
            // One allocation: most passes that propose anything propose B requests.
            proposals.requests.reserve_exact(limits.requests.min(EXPECTED_MAX));
        }
        let size = walk.size_of(next.shape);
        let pick = picker.pick(&next, walk.scratch, proposals);
        if walk.puts_each_pick_in_flight {
            walk.put_pick_in_flight(&next, pick, &mut proposals.amounts);
        }
        match pick {
            Pick::Proposed => {
                // First, because the charge and the count of the unit may put a lane that waited for its user's share
                // on top.
                if next.pending.is_single {
                    walk.leave_ask(next.leaf, proposals);
                } else {
                    walk.open_next_if_fair(next.leaf);
                }
                walk.charge(&next, size);
                walk.count_unit(next.leaf, next.user);
            }
            Pick::Reserved => {
                walk.open_next_if_fair(next.leaf);
                walk.charge(&next, size);
            }
            Pick::Waits => walk.leave_ask(next.leaf, proposals),
            Pick::InFlight => walk.leave_unavailable(next.leaf, proposals),
            Pick::HoldsBack => walk.leave_application(next.leaf, next.slot),
            // The pick closed the shape, so the walk skips its asks.
            Pick::NoRoom | Pick::NextPass => {}
        }
    }
    // Other passes count the amounts as used, until the committer decides the batch or the batch is dropped.
    walk.put_amounts_in_flight(proposals);
    is_exhausted
}

/// Whether the observation concerns only units and amounts in flight.
fn is_in_flight(observation: &Observation) -> bool {
    matches!(observation, Observation::InUse | Observation::Blocked { reason: WaitKey::AllInFlight, .. })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{EngineConfig, QueueConfig};
    use crate::facts::LocalityPreference;
    use crate::ids::{PartitionId, SetId};
    use crate::resource::Resources;
    use crate::{ApplicationSpec, AskSpec, Engine, ManualClock, Mode, NodeSpec, ResourceTypes};

    /// One full node, one empty node, and an ask for a container on `host`.
    fn state_with_ask_for(host: Option<&str>) -> State {
        let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
        let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let events = handle.event_stream(16);
        let application = ApplicationSpec::new("application", "root.default", "user");
        let application = handle.submit_application(application, &events).unwrap();
        let size = Resources::new(&[8]);
        handle.add_node(NodeSpec::new("full", size)).unwrap();
        handle.submit_ask(application, AskSpec::new(size, 1)).unwrap();
        engine.run_until_quiet();
        handle.add_node(NodeSpec::new("empty", size)).unwrap();
        let hosts = host.map(|name| handle.node(name).unwrap()).into_iter().collect();
        let preference = LocalityPreference { hosts, relax_locality: true, ..LocalityPreference::default() };
        handle.submit_ask(application, AskSpec { preference, ..AskSpec::new(size, 1) }).unwrap();
        engine.commit_waiting().unwrap();
        engine.shared_state()
    }

    fn proposals(state: &State) -> Proposals {
        let mut set = PlacementSet::new(SetId::new(PartitionId::DEFAULT, 0), state.facts.config.node_order);
        let limits =
            PassLimits { requests: 8, visits: 8, scope: PassScope::default(), is_single_step: false };
        let mut proposals = Proposals::default();
        run_pass(state, &mut set, &mut Scratch::default(), &limits, &mut proposals);
        proposals
    }

    /// Such a pass says nothing about other passes, so it must not lower the number of sets that are let out.
    #[test]
    fn an_ask_that_waits_for_its_host_is_no_lost_race() {
        let proposals = proposals(&state_with_ask_for(Some("full")));
        assert!(matches!(proposals.observations[..], [Observation::Waits { .. }]), "{proposals:?}");
        assert!(!proposals.lost_race);
    }

    #[test]
    fn an_ask_that_another_pass_placed_is_a_lost_race() {
        let state = state_with_ask_for(None);
        let first = proposals(&state);
        assert_eq!((first.requests.len(), first.lost_race), (1, false));
        let second = proposals(&state);
        assert_eq!((second.requests.len(), second.lost_race), (0, true));
    }
}
