//! Preemption in YARN's files.

use apportion::config::{Percent, PreemptionPolicy, PreemptionRounds, WithinQueueOrder, WithinQueuePolicy};

use super::refusals::refused_with;
use super::tests::{imported, reasons};
use super::*;

/// Two leaves below `root.a`, the leaf `root.b`, and the monitor's switch in line 7.
const QUEUES: [(&str, &str); 8] = [
    ("root.queues", "a,b"),
    ("root.a.queues", "x,y"),
    ("root.a.capacity", "50"),
    ("root.a.x.capacity", "50"),
    ("root.a.y.capacity", "50"),
    ("yarn.resourcemanager.scheduler.monitor.enable", "true"),
    ("root.b.capacity", "50"),
    ("root.a.state", "RUNNING"),
];

/// A file with further properties from line 10 on.
fn with(more: &[(&str, &str)]) -> Imported {
    imported(&[&QUEUES[..], more].concat())
}

fn key(name: &str) -> String {
    format!("{}{name}", known::PREEMPTION_PREFIX)
}

fn within(name: &str) -> String {
    key(&format!("intra-queue-preemption.{name}"))
}

#[test]
fn rounds_are_as_the_monitor_says() {
    assert_eq!(with(&[]).config.preemption, Some(PreemptionRounds::default()), "the defaults are YARN's");
    assert_eq!(
        imported(&QUEUES[..5].iter().chain(&QUEUES[6..]).copied().collect::<Vec<_>>()).config.preemption,
        None
    );
    let names = [
        ("monitoring_interval", "1000"),
        ("max_wait_before_kill", "0"),
        ("observe_only", "true"),
        ("total_preemption_per_round", "1.0"),
        ("max_ignored_over_capacity", "0.05"),
        ("natural_termination_factor", "1"),
        ("preemption-to-balance-queue-after-satisfied.enabled", "true"),
        ("preemption-to-balance-queue-after-satisfied.max-wait-before-kill", "0"),
        ("intra-queue-preemption.enabled", "true"),
        ("intra-queue-preemption.minimum-threshold", "0.6"),
        ("intra-queue-preemption.max-allowable-limit", "0.25"),
        ("intra-queue-preemption.preemption-order-policy", "PRIORITY_FIRST"),
        ("select_based_on_reserved_containers", "true"),
    ];
    let keys = names.map(|(name, value)| (key(name), value));
    let mut properties: Vec<_> = keys.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    properties.push(("lazy-preemption-enabled", "true"));
    properties.push(("root.b.disable_preemption", "true"));
    properties.push(("root.a.intra-queue-preemption.disable_preemption", "true"));
    let imported = with(&properties);
    let policy = PreemptionPolicy {
        dead_zone: Percent::whole(5),
        natural_termination: Percent::ALL,
        per_round: Percent::ALL,
        exempt: ["root.b".to_owned()].into(),
        balances: true,
        within_queue: Some(WithinQueuePolicy {
            order: WithinQueueOrder::PriorityFirst,
            minimum_use: Percent::whole(60),
            max_part: Percent::whole(25),
            exempt: ["root.a".to_owned()].into(),
        }),
        ..PreemptionPolicy::default()
    };
    let rounds =
        PreemptionRounds { policy, interval_ms: 1_000, max_wait_before_kill_ms: 0, observe_only: true };
    assert_eq!(imported.config.preemption, Some(rounds));
    assert_eq!(reasons(&imported), []);
}

/// YARN accepts a part of 0, with which it never takes anything.
#[test]
fn parts_of_nothing_are_reported() {
    let (round, natural) = (key("total_preemption_per_round"), key("natural_termination_factor"));
    let nothing = "with 0 a round takes nothing, so the engine makes no rounds";
    for key in [&round, &natural] {
        let imported = with(&[(key, "0")]);
        assert_eq!((&imported.config.preemption, reasons(&imported)), (&None, vec![(&**key, nothing, 10)]));
    }
    let (enabled, part) = (within("enabled"), within("max-allowable-limit"));
    let imported = with(&[(&enabled, "true"), (&part, "0.0")]);
    let reason = "with 0 a round takes nothing within queues, so the engine does not try";
    assert_eq!(imported.config.preemption, Some(PreemptionRounds::default()));
    assert_eq!(reasons(&imported), [(&*part, reason, 11)]);
    let only_within = with(&[(&enabled, "true"), (&natural, "0")]).config.preemption.unwrap();
    assert!(only_within.policy.within_queue.is_some());
}

#[test]
fn queues_below_a_disabled_one_may_enable_preemption_again() {
    let exempt = |more: &[(&str, &str)]| with(more).config.preemption.unwrap().policy.exempt;
    let (off, on) = (("root.a.disable_preemption", "true"), ("root.a.y.disable_preemption", "false"));
    assert_eq!(exempt(&[off]), ["root.a".to_owned()].into());
    assert_eq!(exempt(&[off, on]), ["root.a.x".to_owned()].into());
    assert_eq!(exempt(&[("root.disable_preemption", "true")]), ["root".to_owned()].into());
    let all_but_y = ["root.a.x".to_owned(), "root.b".to_owned()].into();
    assert_eq!(exempt(&[("root.disable_preemption", "TRUE"), on]), all_but_y);
    let imported = with(&[("root.a.auto-queue-creation-v2.enabled", "true"), off, on]);
    let reason =
        "queues that are made on demand below `root.a` are not exempt, since another queue below it is not";
    assert_eq!(reasons(&imported), [("root.a.disable_preemption", reason, 11)]);
}

#[test]
fn other_policies_of_the_monitor_are_reported() {
    let class = |name| format!("org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.{name}");
    let (ours, other) =
        (class("ProportionalCapacityPreemptionPolicy"), class("AutoCreatedQueueDeletionPolicy"));
    let policies = "yarn.resourcemanager.scheduler.monitor.policies";
    let reason = "of the monitor's policies this engine has preemption alone";
    let both = with(&[(policies, &format!("{ours}, {other}"))]);
    assert_eq!((both.config.preemption.is_some(), reasons(&both)), (true, vec![(policies, reason, 10)]));
    let only_other = with(&[(policies, &other)]);
    assert_eq!((&only_other.config.preemption, reasons(&only_other)), (&None, vec![(policies, reason, 10)]));
    assert_eq!(with(&[(policies, "")]).config.preemption, None);
}

#[test]
fn differences_from_preemption_in_yarn_are_reported() {
    let balance = key("preemption-to-balance-queue-after-satisfied.enabled");
    let reserved = key("select_based_on_reserved_containers");
    let (strict, dead) = (key("conservative-drf"), key("max_ignored_over_capacity"));
    let threshold = within("minimum-threshold");
    let imported = with(&[
        (&balance, "true"),
        (&reserved, "false"),
        (&strict, "true"),
        (&dead, "1.5"),
        (&threshold, "2"),
        ("lazy-preemption-enabled", "false"),
        ("root.b.intra-queue-preemption.disable_preemption", "true"),
        ("ordering-policy.priority-utilization.underutilized-preemption.enabled", "true"),
    ]);
    let off = "YARN preempts within queues only if intra-queue-preemption.enabled is true";
    let expected = [
        (&*balance, "all victims have the time of max_wait_before_kill, also those of balance", 10),
        (&*reserved, "a node that is reserved for the beneficiary is always cleared first", 11),
        (&*strict, "amounts are compared type by type, and the room of each victim is used", 12),
        (&*dead, "at most 100 % is possible, which is used", 13),
        (&*threshold, off, 14),
        (
            "lazy-preemption-enabled",
            "a victim always ends only together with the start of the container that needs its room",
            15,
        ),
        ("root.b.intra-queue-preemption.disable_preemption", off, 16),
        (
            "ordering-policy.priority-utilization.underutilized-preemption.enabled",
            "no leaf loses anything below its guarantee, and no reservation is moved",
            17,
        ),
    ];
    assert_eq!(reasons(&imported), expected);
    assert_eq!(imported.config.preemption.unwrap().policy.dead_zone, Percent::ALL);
}

#[test]
fn mistakes_are_refused_even_if_preemption_is_off() {
    let leaf = [("root.queues", "a"), ("root.a.capacity", "100")];
    let refused = |name: &str, value: &str, message: &str| {
        let key = key(name);
        let column = 17 + key.len() + "</name><value>".len();
        let message = format!("4:{column}: {key}: {message}");
        refused_with(&[leaf[0], leaf[1], (&key, value)], &message);
    };
    refused("monitoring_interval", "0", "`0` is not a whole number from 1");
    refused(
        "natural_termination_factor",
        "-1",
        "`-1` is negative, expected a plain number from 0 to 1000000",
    );
    refused("observe_only", "perhaps", "expected true or false");
    refused(
        "intra-queue-preemption.preemption-order-policy",
        "priority",
        "`priority` is not one of userlimit_first, priority_first; did you mean `priority_first`?",
    );
    let (wrong, right) = (key("monitoring_intervall"), key("monitoring_interval"));
    let message = format!("4:17: unknown key `{wrong}`; did you mean `{right}`?");
    refused_with(&[leaf[0], leaf[1], (&wrong, "1")], &message);
}
