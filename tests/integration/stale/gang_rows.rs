//! What calls about gangs give with an unknown identifier.

use apportion::event::{Refusal, Subject};
use apportion::gang::GangSpec;
use apportion::{AskSpec, GangId};

use super::answers::*;
use super::rows::{Row, row, size};
use super::world::World;

pub(super) fn gangs() -> Vec<Row> {
    vec![
        row(
            "submit_gang",
            "application",
            |w| {
                let spec = GangSpec::new(w.unknown_ids.application);
                ganged(w, w.handle.submit_gang(spec.with_role("worker", AskSpec::new(size(), 1))))
            },
            |_| Answer::GangRefused(Refusal::ApplicationEnded),
        ),
        row(
            "submit_gang",
            "partition",
            |w| {
                let ask = AskSpec::new(size(), 1).in_partition(w.partition);
                ganged(w, w.handle.submit_gang(GangSpec::new(w.live.application).with_role("worker", ask)))
            },
            no_partition,
        ),
        row(
            "submit_gang",
            "rack",
            |w| {
                let ask = AskSpec::new(size(), 1).on_racks([w.rack]);
                ganged(w, w.handle.submit_gang(GangSpec::new(w.live.application).with_role("worker", ask)))
            },
            |_| Answer::GangRefused(Refusal::UnknownRack),
        ),
        row(
            "cancel_gang",
            "gang",
            |w| listed(w, w.handle.cancel_gang(unknown_gang(w))),
            |w| Answer::Listed(Subject::Gang(unknown_gang(w)), Refusal::UnknownGang),
        ),
    ]
}

pub(super) fn task_groups() -> Vec<Row> {
    vec![
        row(
            "submit_ask_of_group",
            "application",
            |w| {
                let ask = AskSpec::new(size(), 1);
                grouped(w, w.handle.submit_ask_of_group(w.unknown_ids.application, "worker", ask))
            },
            |_| Answer::GroupAskRefused(Refusal::ApplicationEnded),
        ),
        row(
            "submit_ask_of_group",
            "partition",
            |w| {
                let ask = AskSpec::new(size(), 1).in_partition(w.partition);
                grouped(w, w.handle.submit_ask_of_group(w.live.application, "worker", ask))
            },
            no_partition,
        ),
        row(
            "submit_ask_of_group",
            "rack",
            |w| {
                let ask = AskSpec::new(size(), 1).on_racks([w.rack]);
                grouped(w, w.handle.submit_ask_of_group(w.live.application, "worker", ask))
            },
            |_| Answer::GroupAskRefused(Refusal::UnknownRack),
        ),
    ]
}

/// The gang whose first ask would be the unknown one.
fn unknown_gang(w: &World) -> GangId {
    w.unknown_ids.ask.to_string().replace("ask", "gang").parse().unwrap()
}
