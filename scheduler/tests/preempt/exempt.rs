//! Queues, applications and containers that lose nothing, and containers that go first.

use apportion::preempt::{PreemptionPolicy, UnhelpedReason, WithinQueuePolicy};
use apportion::{ApplicationSpec, AskSpec, Resources};

use crate::{Cluster, at_once, by_queue, queue, reasons, victims};

const ONE: &[i64] = &[1];

/// Two queues with half of the cluster each, of which the first has all, in two applications.
fn full() -> (Cluster, [apportion::ApplicationId; 2]) {
    let cluster = Cluster::new([queue("a", &[10], None), queue("b", &[10], None)]);
    cluster.nodes(20, ONE);
    let submit = |name: &str, tag: Option<&str>| {
        let application = cluster.submit(ApplicationSpec::new(name, "root.a", "user"));
        let spec = AskSpec::new(Resources::new(ONE), 10);
        cluster.ask_for(application, tag.map_or(spec.clone(), |tag| spec.with_tag(tag)));
        cluster.run();
        application
    };
    let applications = [submit("plain", None), submit("ledger", Some("keep"))];
    (cluster, applications)
}

#[test]
fn exempt_applications_and_tagged_containers_lose_nothing() {
    let by_name = PreemptionPolicy { exempt_applications: ["ledger".to_owned()].into(), ..at_once() };
    let by_tag = PreemptionPolicy { exempt_tags: ["keep".to_owned()].into(), ..at_once() };
    for (policy, expected) in [(at_once(), [0, 6]), (by_name, [6, 0]), (by_tag, [6, 0])] {
        let (cluster, applications) = full();
        cluster.demand("root.b", ONE, 6);
        let plan = cluster.plan(&policy);
        let counts = victims(&plan, |victim| victim.application);
        let taken = applications.map(|id| counts.get(&id).copied().unwrap_or(0));
        assert_eq!(taken, expected, "{plan}");
        cluster.execute(&plan);
    }
}

/// What exempt containers use above the guarantee of their queue is lost by other queues.
#[test]
fn other_queues_lose_more_instead_of_exempt_applications() {
    let cluster = || {
        let cluster =
            Cluster::new([queue("a", &[55], None), queue("b", &[25], None), queue("c", &[20], None)]);
        cluster.nodes(100, ONE);
        let exempt = cluster.submit(ApplicationSpec::new("ledger", "root.b", "user"));
        cluster.ask(exempt, ONE, 54);
        cluster.demand("root.c", ONE, 46);
        cluster.run();
        cluster.demand("root.a", ONE, 10);
        cluster
    };
    let policy = PreemptionPolicy { exempt_applications: ["ledger".to_owned()].into(), ..at_once() };
    assert_eq!(by_queue(&cluster().plan(&policy)), [("c".to_owned(), 10)].into());
    assert_eq!(by_queue(&cluster().plan(&at_once())).len(), 2, "otherwise both queues lose some");
}

#[test]
fn an_ask_that_only_exempt_containers_could_help_has_that_reason() {
    let (cluster, _) = full();
    cluster.demand("root.b", ONE, 1);
    let names = ["ledger".to_owned(), "plain".to_owned()];
    let plan = cluster.plan(&PreemptionPolicy { exempt_applications: names.into(), ..at_once() });
    assert_eq!((plan.preemptions.len(), reasons(&plan)), (0, vec![UnhelpedReason::Exempt]), "{plan}");
}

#[test]
fn paths_without_a_queue_are_named_with_the_nearest_one() {
    let (cluster, _) = full();
    let within = WithinQueuePolicy { exempt: ["root.nowhere.else".to_owned()].into(), ..Default::default() };
    let exempt = ["root.aa".to_owned(), "root.b".to_owned()].into();
    let plan = cluster.plan(&PreemptionPolicy { exempt, within_queue: Some(within), ..at_once() });
    let unknown: Vec<_> =
        plan.unknown_exempt.iter().map(|one| (one.path.as_str(), one.nearest.as_deref())).collect();
    assert_eq!(unknown[0], ("root.aa", Some("root.a")));
    assert_eq!(unknown.len(), 2, "{unknown:?}");
    let text = plan.to_string();
    assert!(
        text.contains("The policy exempts root.aa, but there is no such queue; did you mean `root.a`?"),
        "{text}"
    );
    assert!(cluster.plan(&at_once()).unknown_exempt.is_empty());
}
