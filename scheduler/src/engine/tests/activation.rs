//! Applications that wait for activation.

use super::{Bench, config, leaf, memory};
use crate::change::ApplicationSpec;
use crate::config::{Capacity, ParallelLimits, Percent, QueueConfig, QueueUpdate};
use crate::facts::ApplicationEnd;
use crate::ids::PartitionId;

/// Two applications in two leaves are active when the queue above starts to allow one. Then one moves, and the
/// other ends.
#[test]
fn applications_that_were_active_before_their_number_is_limited_count() {
    let both = leaf("p").with_children([leaf("a"), leaf("b")]);
    let bench = Bench::serial(config([both, leaf("c")]));
    let handle = bench.engine.handle();
    let [first, second] = ["root.p.a", "root.p.b"].map(|leaf| bench.application_of(leaf, "ann"));
    let one = ParallelLimits { per_user: Some(1), ..ParallelLimits::default() };
    let update = QueueUpdate { parallel: Some(one), ..QueueUpdate::default() };
    handle.update_queue(handle.queue("root.p").unwrap(), update).unwrap();
    let third = bench.application_of("root.p.a", "ann");
    let is_active = || {
        bench.commit();
        bench.engine.read(|view| view.application(third).unwrap().is_active())
    };
    assert!(!is_active());
    let _answer = handle.move_application(first, "root.c").unwrap();
    assert!(!is_active(), "the second application is still active");
    handle.end_application(second, ApplicationEnd::Finished).unwrap();
    assert!(is_active());
}

/// A user with an application that waits for activation counts as active, even if the user's other applications ask for
/// nothing more.
#[test]
fn a_user_whose_application_waits_for_activation_counts_as_active() {
    let leaf = QueueConfig::leaf("a", Capacity::Percent(Percent::whole(1)))
        .with_user_limit_factor(None)
        .with_user_limit_minimum(Percent::whole(50))
        .with_parallel(ParallelLimits { per_user: Some(1), ..ParallelLimits::default() });
    let bench = Bench::serial(config([leaf]));
    bench.node("n1", 100);
    let [waits, greedy] = ["waits", "greedy"].map(|user| bench.application_of("root.a", user));
    bench.application_of("root.a", "waits");
    bench.ask(waits, 1, 1);
    bench.ask(greedy, 1, 50);
    bench.commit();
    let batch = bench.pass(0);
    let proposed = batch.requests().len();
    bench.decide(batch);
    assert_eq!(bench.engine.read(|view| view.container_count()), proposed, "and nothing was rejected");
}

/// The leaf's share for masters is 13 % of 500. A user's part of it depends on the number of active users and the
/// leaf's minimum for each user. The user's weight, up to the whole, and the leaf's factor count, too. The part is
/// rounded up to the next container of 10.
#[test]
fn masters_run_within_the_share_of_the_leaf_and_of_their_user() {
    for (minimum, weight, factor, others, active) in [
        (100, "1", None, &[][..], 7),
        (100, "0.5", None, &[], 4),
        (50, "1", None, &["bob"], 4),
        (50, "0.5", None, &["bob"], 2),
        (10, "1", None, &["bob", "cid"], 3),
        (60, "1", None, &["bob", "cid"], 4),
        (50, "3", Some("0.5"), &["bob"], 4),
    ] {
        let leaf = leaf("a")
            .with_user_limit_factor(factor.map(|factor: &str| factor.parse().unwrap()))
            .with_master_share(Some(Percent::whole(13)))
            .with_user_limit_minimum(Percent::whole(minimum))
            .with_user_weight("ann", weight.parse().unwrap());
        let mut config = config([leaf]);
        config.allocation.minimum = memory(10);
        let bench = Bench::serial(config);
        bench.node("n1", 1_000);
        let submit = |user: &str| {
            let spec = ApplicationSpec::new("application", "root.a", user);
            let spec = spec.with_master(memory(10), PartitionId::DEFAULT);
            let application = bench.engine.handle().submit_application(spec, &bench.events).unwrap();
            bench.ask(application, 10, 1);
            bench.commit();
            bench.engine.read(|view| view.application(application).unwrap().is_active())
        };
        assert!(others.iter().all(|user| submit(user)));
        let of_ann = (0..9).filter(|_| submit("ann")).count();
        assert_eq!(of_ann, active, "minimum {minimum} %, weight {weight}, beside {others:?}");
    }
}
