//! Compares the explanations of a quiet engine with independent knowledge.

use apportion::explain::{Blocker, Explanation, PendingReason, Stage, WhyPending};
use apportion::request::RejectReason;
use apportion::view::View;
use apportion::{Engine, ResourceAllocationCommitRequest};

use crate::support::oracle::{Hints, Oracle};

/// Panics if an explanation does not add up, or names no reason for a pending ask. An ask below all limits must have
/// no fitting node left, unless it waits for its reserved nodes.
pub(super) fn check_quiet(engine: &Engine, continues_looking: bool) {
    engine.read(|view| {
        for explanation in pending(view) {
            let why = explanation.pending().unwrap();
            assert_eq!(why.funnel.stages.values().sum::<usize>(), view.node_count(), "{explanation}");
            assert_eq!((why.in_flight, why.funnel.at(Stage::InFlight)), (0, 0), "{explanation}");
            let is_kept = !continues_looking && !why.reservations.is_empty();
            let is_explained = is_kept || why.blocker.is_some() || why.funnel.at(Stage::Fits) == 0;
            assert!(is_explained, "the engine is quiet, but nothing blocks the ask: {explanation}");
            assert!(agree(why.reason, why.blocker.as_ref()), "{:?}: {explanation}", why.reason);
            assert_eq!(why.setting.is_some(), is_configured(why.blocker.as_ref()), "{explanation}");
            let is_short = why.funnel.at(Stage::NoRoom) + why.funnel.at(Stage::NoDevice) > 0;
            let is_small = why.funnel.at(Stage::TooSmall) > 0;
            assert_eq!(why.shortage.is_some(), is_short || is_small, "{explanation}");
        }
    });
}

/// Whether a reason that is not a node, and the blocker, say the same.
fn agree(reason: PendingReason, blocker: Option<&Blocker>) -> bool {
    match reason {
        PendingReason::Runnable => matches!(blocker, None | Some(Blocker::InFlight { .. })),
        PendingReason::QueueLimit => matches!(blocker, Some(Blocker::QueueMaximum(_))),
        PendingReason::UserLimit => {
            matches!(blocker, Some(Blocker::UserLimit { .. } | Blocker::HolderLimit { .. }))
        }
        PendingReason::BlockedHeadroom => matches!(blocker, Some(Blocker::BlockedHeadroom { .. })),
        _ => true,
    }
}

/// Whether a configuration key limits the ask. The root may use all nodes in any configuration.
fn is_configured(blocker: Option<&Blocker>) -> bool {
    match blocker {
        Some(Blocker::QueueMaximum(reached)) => reached.queue != "root",
        Some(Blocker::Inactive(_) | Blocker::HolderLimit { .. } | Blocker::UserLimit { .. }) => true,
        _ => false,
    }
}

/// Compares each explanation with the model's verdicts on one container of the ask on each node.
pub fn compare_explanations(engine: &Engine, oracle: &Oracle) {
    engine.read(|view| {
        for explanation in pending(view) {
            let why = explanation.pending().unwrap();
            assert!(agree(why.reason, why.blocker.as_ref()), "{:?}: {explanation}", why.reason);
            // A reservation is already charged, and its node may be used. The model does not count the nodes offered
            // to an ask.
            let counts_offers = why.locality.as_ref().is_some_and(|wait| wait.until_ms.is_none());
            if why.reservations.is_empty() && !counts_offers {
                compare(&explanation, why, oracle);
            }
        }
    });
}

fn pending<'a>(view: &'a View<'_>) -> impl Iterator<Item = Explanation> + 'a {
    view.asks().map(|ask| view.explain(ask.id()))
}

fn compare(explanation: &Explanation, why: &WhyPending, oracle: &Oracle) {
    let (mut unmet, mut full, mut kept, mut fits) = (0, 0, 0, 0);
    // For each node of the ask's partition, the first limit that blocks the ask. All nodes must have the same one.
    let mut limits: Vec<Option<RejectReason>> = Vec::new();
    for &node in oracle.nodes.keys() {
        let request = ResourceAllocationCommitRequest::allocate(explanation.ask, node);
        let reasons = oracle.clone().validate(&request, &Hints::default()).reasons;
        let has = |reason| reasons.contains(&reason);
        let is_unmet = has(RejectReason::NodeNotCandidate)
            || has(RejectReason::WrongPartition)
            || has(RejectReason::ConstraintViolated)
            || has(RejectReason::NodeBlacklisted)
            || has(RejectReason::TagLimit)
            || !oracle.may_take(explanation.ask, node)
            || (oracle.is_borrowed(&oracle.asks[&explanation.ask], node)
                && (has(RejectReason::QueueLimit) || has(RejectReason::UserLimit)));
        match () {
            () if is_unmet => unmet += 1,
            () if has(RejectReason::NodeFull) => full += 1,
            () if has(RejectReason::NodeReserved) => kept += 1,
            () => fits += 1,
        }
        if oracle.nodes[&node].partition != oracle.asks[&explanation.ask].partition {
            continue;
        }
        let limit = [RejectReason::ApplicationInactive, RejectReason::QueueLimit, RejectReason::UserLimit];
        limits.push(limit.into_iter().find(|reason| has(*reason)));
    }
    let at = |stages: &[Stage]| stages.iter().map(|stage| why.funnel.at(*stage)).sum::<usize>();
    let filters = [
        Stage::OtherPartition,
        Stage::Draining,
        Stage::Silent,
        Stage::NotNamed,
        Stage::WrongAttributes,
        Stage::Blacklisted,
        Stage::TagLimit,
        Stage::LaterByLocality,
        Stage::BorrowedLimit,
    ];
    let rooms = [Stage::TooSmall, Stage::NoRoom, Stage::NoDevice];
    let counted = [at(&filters), at(&rooms), at(&[Stage::ReservedForOther]), at(&[Stage::Fits])];
    assert_eq!(counted, [unmet, full, kept, fits], "left explained, right expected: {explanation}");
    let limit = match &why.blocker {
        Some(Blocker::Inactive(_)) => Some(RejectReason::ApplicationInactive),
        Some(Blocker::QueueMaximum(_)) => Some(RejectReason::QueueLimit),
        Some(Blocker::HolderLimit { .. } | Blocker::UserLimit { .. }) => Some(RejectReason::UserLimit),
        _ => None,
    };
    assert!(limits.iter().all(|expected| *expected == limit), "the model sees {limits:?}: {explanation}");
}
