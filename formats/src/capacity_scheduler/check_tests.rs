//! Capacities, maxima, weights of users and templates that YARN accepts or refuses.

use apportion::config::Capacity;

use super::refusals::refused_with;
use super::tests::{file, import, imported, reasons};

type Properties<'p> = Vec<(&'p str, &'p str)>;

/// Adds properties to `base`.
fn with<'p>(base: &[(&'p str, &'p str)], more: &[(&'p str, &'p str)]) -> Properties<'p> {
    [base, more].concat()
}

#[test]
fn siblings_sum_to_100_percent_as_exactly_as_yarn_demands() {
    let two = |a, b| file(&[("root.queues", "a,b"), ("root.a.capacity", a), ("root.b.capacity", b)]);
    for (a, b, is_accepted) in [
        ("50", "49.95", true),
        ("50", "50.05", true),
        ("50", "49.94", false),
        ("50", "50.06", false),
        ("60", "39.98", true),
    ] {
        assert_eq!(import(&two(a, b)).is_ok(), is_accepted, "{a} + {b}");
    }
}

/// Each queue gives the same amount, so that they stay equal.
#[test]
fn six_equal_queues_of_16_67_percent_are_accepted_and_stay_equal() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let keys = names.map(|name| format!("root.{name}.capacity"));
    let capacities = keys.iter().map(|key| (key.as_str(), "16.67"));
    let properties: Properties<'_> = [("root.queues", "a,b,c,d,e,f")].into_iter().chain(capacities).collect();
    let imported = imported(&properties);
    let sixth = Capacity::Percent("16.6666".parse().unwrap());
    assert!(imported.config.root.children.iter().all(|child| child.capacity == sixth), "{imported:?}");
    let note = "taken as 16.6666 %, for a sum of 100 %";
    assert_eq!(reasons(&imported).iter().map(|(_, reason, _)| *reason).collect::<Vec<_>>(), [note; 6]);
}

#[test]
fn shares_of_single_resources_may_exceed_100_percent_by_as_much() {
    let of = |b| {
        let (a, legacy) =
            (("root.a.capacity", "[memory=50%,vcores=2w]"), ("legacy-queue-mode.enabled", "false"));
        import(&file(&[("root.queues", "a,b"), a, ("root.b.capacity", b), legacy]))
    };
    assert!(of("[memory=50.05%,vcores=1]").is_ok());
    assert!(of("[memory=50.06%,vcores=1]").is_err());
}

#[test]
fn templates_that_apply_to_no_listed_queue_are_not_carried_over() {
    let base = [
        ("root.queues", "users,other"),
        ("root.users.capacity", "1w"),
        ("root.other.capacity", "1w"),
        ("root.users.auto-queue-creation-v2.enabled", "true"),
        ("root.users.auto-queue-creation-v2.template.capacity", "2w"),
        ("root.*.auto-queue-creation-v2.leaf-template.capacity", "3w"),
    ];
    assert_eq!(reasons(&imported(&base)), []);
    let deeper = [
        ("root.users.*.auto-queue-creation-v2.template.capacity", "4w"),
        ("root.*.*.auto-queue-creation-v2.leaf-template.maximum-capacity", "5"),
        ("root.*.*.auto-queue-creation-v2.parent-template.maximum-capacity", "5"),
        ("root.other.auto-queue-creation-v2.template.capacity", "6w"),
    ];
    let imported = imported(&with(&base, &deeper));
    let below = "it applies below queues made on demand, which use the template of the listed queue";
    let off = "no listed queue that it applies to makes queues on demand";
    let keys = deeper.map(|(key, _)| key);
    assert_eq!(
        reasons(&imported),
        [(keys[0], below, 8), (keys[1], below, 9), (keys[2], below, 10), (keys[3], off, 11)]
    );
}

#[test]
fn a_template_for_two_levels_applies_where_a_listed_queue_is_as_deep() {
    let imported = imported(&[
        ("root.queues", "a"),
        ("root.a.capacity", "1w"),
        ("root.a.queues", "b"),
        ("root.a.b.capacity", "1w"),
        ("root.a.b.auto-queue-creation-v2.enabled", "true"),
        ("root.*.*.auto-queue-creation-v2.template.capacity", "2w"),
        ("root.a.*.auto-queue-creation-v2.template.capacity", "3w"),
    ]);
    let made = imported.config.root.children[0].children[0].auto_creation.as_ref().unwrap();
    assert_eq!(
        (made.leaf.capacity, made.parent.capacity),
        (Capacity::Weight("3".parse().unwrap()), Capacity::Weight("3".parse().unwrap()))
    );
    assert_eq!(reasons(&imported), []);
}

#[test]
fn a_weight_above_what_the_user_limit_allows_is_refused() {
    let base = [("root.queues", "a"), ("root.a.capacity", "100")];
    let weight = |more: &[(&'static str, &'static str)]| import(&file(&with(&base, more))).is_ok();
    let half = ("root.a.minimum-user-limit-percent", "50");
    assert!(weight(&[half, ("root.a.user-settings.ann.weight", "2")]));
    assert!(weight(&[("root.a.user-settings.ann.weight", "1")]));
    assert!(weight(&[("root.a.minimum-user-limit-percent", "0"), ("root.a.user-settings.ann.weight", "9")]));
    refused_with(
        &with(&base, &[half, ("root.a.user-settings.ann.weight", "2.1")]),
        "5:86: yarn.scheduler.capacity.root.a.user-settings.ann.weight: 2.1 is above 2, which is 100 % divided by the \
         minimum-user-limit-percent of `root.a`; YARN refuses that",
    );
    // Leaves inherit the weights of the queues above them.
    refused_with(
        &with(&base, &[("root.user-settings.ann.weight", "1.5")]),
        "4:84: yarn.scheduler.capacity.root.user-settings.ann.weight: 1.5 is above 1, which is 100 % divided by the \
         minimum-user-limit-percent of `root.a`; YARN refuses that",
    );
    assert!(weight(&[("root.user-settings.ann.weight", "1.5"), ("root.a.user-settings.ann.weight", "1")]));
    assert!(weight(&[("root.user-settings.ann.weight", "1.5"), ("minimum-user-limit-percent", "25")]));
}

/// A parent `a` of these amounts with two leaves.
fn amounts<'p>(parent: &'p str, b: &'p str, c: &'p str) -> Properties<'p> {
    vec![
        ("root.queues", "a"),
        ("root.a.capacity", parent),
        ("root.a.queues", "b,c"),
        ("root.a.b.capacity", b),
        ("root.a.c.capacity", c),
    ]
}

const DOMINANT: (&str, &str) =
    ("resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator");

#[test]
fn amounts_above_those_of_the_parent_are_refused() {
    let (parent, half) = ("[memory=4096,vcores=4]", "[memory=2048,vcores=2]");
    assert_eq!(reasons(&imported(&amounts(parent, half, half))).len(), 0);
    refused_with(
        &amounts(parent, half, "[memory=2049,vcores=2]"),
        "4:17: queue `root.a`: the amounts of memory_mib below it sum to 4097, more than its own 4096; YARN refuses that",
    );
    let more = amounts(parent, half, "[memory=2048,vcores=3]");
    let sum = "the amounts of vcore_milli below it sum to 5000, more than its own 4000";
    // YARN's default calculator compares memory alone.
    assert_eq!(
        reasons(&imported(&more)),
        [("root.a.capacity", format!("{sum}; they shrink together").as_str(), 3)]
    );
    refused_with(&with(&more, &[DOMINANT]), &format!("4:17: queue `root.a`: {sum}; YARN refuses that"));
}

#[test]
fn amounts_for_a_label_above_those_of_the_parent_are_refused() {
    let small = "[memory=1024,vcores=1]";
    let label = [
        ("root.a.accessible-node-labels", "x"),
        ("root.a.accessible-node-labels.x.capacity", small),
        ("root.a.b.accessible-node-labels.x.capacity", small),
        ("root.a.c.accessible-node-labels.x.capacity", small),
    ];
    refused_with(
        &with(&amounts("[memory=4096,vcores=4]", small, small), &label),
        "4:17: queue `root.a`: for label `x` the amounts of memory_mib below it sum to 2048, more than its own 1024; \
         YARN refuses that",
    );
}

#[test]
fn a_maximum_above_that_of_a_queue_above_is_refused() {
    let small = "[memory=1024,vcores=1]";
    let base = amounts("[memory=4096,vcores=4]", small, small);
    let base = with(&base, &[("root.a.maximum-capacity", "[memory=8192,vcores=8]")]);
    let maximum = |value| with(&base, &[("root.a.b.maximum-capacity", value)]);
    assert!(import(&file(&maximum("[memory=8192,vcores=8]"))).is_ok());
    refused_with(
        &maximum("[memory=8193,vcores=1]"),
        "8:80: yarn.scheduler.capacity.root.a.b.maximum-capacity: 8193 of memory_mib is above the maximum of `root.a`, \
         8192; YARN refuses that",
    );
    let vcores = "9000 of vcore_milli is above the maximum of `root.a`, 8000";
    let more = maximum("[memory=1024,vcores=9]");
    assert_eq!(
        reasons(&imported(&more)),
        [("root.a.b.maximum-capacity", format!("{vcores}, which holds").as_str(), 8)]
    );
    refused_with(
        &with(&more, &[DOMINANT]),
        &format!("8:80: yarn.scheduler.capacity.root.a.b.maximum-capacity: {vcores}; YARN refuses that"),
    );
    // A queue without a maximum has the maximum of the queue above.
    let deeper = [
        ("root.a.b.queues", "d"),
        ("root.a.b.d.capacity", small),
        ("root.a.b.d.maximum-capacity", "[memory=8193,vcores=1]"),
    ];
    refused_with(
        &with(&base, &deeper),
        "10:82: yarn.scheduler.capacity.root.a.b.d.maximum-capacity: 8193 of memory_mib is above the maximum of \
         `root.a`, 8192; YARN refuses that",
    );
}
