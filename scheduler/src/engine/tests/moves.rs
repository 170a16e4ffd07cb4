//! Applications that are moved while something is in flight for them.

use super::{Bench, config, leaf};
use crate::config::Maximum;
use crate::ids::ApplicationId;
use crate::propose::ProposalBatch;

/// Four containers are proposed for an application that is moved to a leaf which may use two.
fn moved_in_flight() -> (Bench, ApplicationId, Box<ProposalBatch>) {
    let bench = Bench::serial(config([leaf("a"), leaf("b").with_maximum(Maximum::absolute(&[2]))]));
    bench.node("n1", 8);
    let application = bench.application("root.a");
    bench.ask(application, 1, 4);
    bench.commit();
    let batch = bench.pass(0);
    assert_eq!(batch.requests().len(), 4);
    let _answer = bench.engine.handle().move_application(application, "root.b").unwrap();
    (bench, application, batch)
}

#[test]
fn what_was_proposed_is_judged_by_the_new_queues() {
    let (bench, _, batch) = moved_in_flight();
    bench.decide(batch);
    bench.expect_running(2);
}

#[test]
fn what_was_proposed_and_is_dropped_comes_back_to_the_old_queues() {
    let (bench, application, batch) = moved_in_flight();
    bench.commit();
    drop(batch);
    bench.expect_running(2);
    // Where nothing is in its way any more, the rest is placed.
    let _answer = bench.engine.handle().move_application(application, "root.a").unwrap();
    bench.expect_running(4);
}
