//! Queues made on demand with YARN's templates.

use apportion::Resources;
use apportion::config::{ApplicationOrdering, AutoCreation, Capacity, Factor, Maximum, Percent, QueueConfig};

use super::refusals::refused_with;
use super::tests::{imported, reasons};

#[test]
fn queues_are_made_on_demand_as_the_templates_say() {
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "1w"),
        ("root.a.auto-queue-creation-v2.enabled", "true"),
        ("root.*.auto-queue-creation-v2.template.capacity", "2w"),
        ("root.*.auto-queue-creation-v2.template.maximum-capacity", "50"),
        ("root.a.auto-queue-creation-v2.leaf-template.capacity", "3w"),
        ("root.a.auto-queue-creation-v2.leaf-template.ordering-policy", "fair"),
        ("root.a.auto-queue-creation-v2.maximum-queue-depth", "1"),
        ("auto-queue-creation-v2.queue-expiration-time", "60"),
        ("root.a.auto-queue-creation-v2.template.disable_preemption", "true"),
        ("root.a.bob.max-parallel-apps", "7"),
    ]);
    let half = Maximum::Percent(Percent::whole(50));
    let made = |weight| {
        let capacity = Capacity::Weight(Factor::whole(weight));
        QueueConfig::leaf("", capacity).with_maximum(half).with_user_limit_factor(None)
    };
    let expected = AutoCreation {
        depth_max: 1,
        queues_max: 1_000,
        expiry_ms: Some(60_000),
        leaf: made(3).with_ordering(ApplicationOrdering::Fair),
        parent: made(2),
    };
    assert_eq!(imported.config.root.children[0].auto_creation.as_deref(), Some(&expected));
    let template = "not taken over into queues that are made on demand yet";
    let unlisted = "its queue is not listed; queues that are made on demand have no keys of their own here";
    let reported = [
        ("root.a.auto-queue-creation-v2.template.disable_preemption", template, 11),
        ("root.a.bob.max-parallel-apps", unlisted, 12),
    ];
    assert_eq!(reasons(&imported), reported);
}

#[test]
fn queues_that_are_made_may_be_guaranteed_amounts() {
    let of = |capacity| {
        let template = ("root.a.auto-queue-creation-v2.leaf-template.capacity", capacity);
        let enabled = ("root.a.auto-queue-creation-v2.enabled", "true");
        let imported = imported(&[("root.queues", "a"), ("root.a.capacity", "1w"), enabled, template]);
        let leaf = imported.config.root.children[0].auto_creation.as_ref().unwrap().leaf.capacity;
        (leaf, reasons(&imported).len())
    };
    assert_eq!(of("[memory=2048,vcores=2]"), (Capacity::Absolute(Resources::new(&[2048, 2000])), 0));
    assert_eq!(of("10"), (Capacity::Weight(Factor::ONE), 1));
    assert_eq!(of("[memory=50%,vcores=2]"), (Capacity::Weight(Factor::ONE), 1));
}

#[test]
fn numbers_of_templates_are_checked_and_rounded_like_those_of_queues() {
    const FACTOR: &str = "root.a.auto-queue-creation-v2.template.user-limit-factor";
    const MINIMUM: &str = "root.a.auto-queue-creation-v2.leaf-template.minimum-user-limit-percent";
    let with = |key, value| {
        [
            ("root.queues", "a"),
            ("root.a.capacity", "1w"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            (key, value),
        ]
    };
    for (key, value, reason) in
        [(FACTOR, "1.2345", "rounded down to 1.234"), (MINIMUM, "33.33333", "rounded down to 33.3333 %")]
    {
        assert_eq!(reasons(&imported(&with(key, value))), [(key, reason, 5)]);
    }
    let problem = "must be above 0, or -1 for no limit";
    refused_with(&with(FACTOR, "0.0004"), &format!("5:111: yarn.scheduler.capacity.{FACTOR}: {problem}"));
}

#[test]
fn a_refused_template_has_the_place_of_its_queue() {
    refused_with(
        &[
            ("root.queues", "b,a"),
            ("root.b.capacity", "1w"),
            ("root.a.capacity", "1w"),
            ("root.a.auto-queue-creation-v2.enabled", "true"),
            ("root.a.auto-queue-creation-v2.leaf-template.capacity", "0w"),
        ],
        "4:17: queue `root.a` (auto_creation.leaf): its weight is 0; it must be above 0",
    );
}
