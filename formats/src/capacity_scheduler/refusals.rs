//! Errors for files that YARN or this engine refuses.

use super::tests::{file, import};
use super::*;

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(import(text).expect_err(text).to_string(), format!("cs.xml:{message}"), "{text}");
}

#[track_caller]
pub(super) fn refused_with(properties: &[(&str, &str)], message: &str) {
    refused(&file(properties), message);
}

const ONE_LEAF: [(&str, &str); 2] = [("root.queues", "a"), ("root.a.capacity", "100")];

#[test]
fn children_that_do_not_sum_to_100_percent_are_refused() {
    let two = |a, b| [("root.queues", "a,b"), ("root.a.capacity", a), ("root.b.capacity", b)];
    let place = "2:17: queue `root`: the capacities below it";
    refused_with(&two("60", "50"), &format!("{place} sum to 110 %, YARN demands 100 %"));
    refused_with(&two("60", "39.94"), &format!("{place} sum to 99.94 %, YARN demands 100 %"));
    refused_with(
        &two("0", "0"),
        &format!("{place} sum to 0 %, YARN demands 100 %, or allow-zero-capacity-sum"),
    );
    assert!(import(&file(&two("60", "39.95"))).is_ok(), "0.05 % is tolerated");
    assert!(import(&file(&two("60", "40.05"))).is_ok(), "0.05 % is tolerated");
    let mut zero = two("0", "0").to_vec();
    zero.push(("root.allow-zero-capacity-sum", "true"));
    assert!(import(&file(&zero)).is_ok());
    let mut mixed = two("60", "1w").to_vec();
    refused_with(
        &mixed,
        &format!(
            "{place} mix percentages, weights and amounts; YARN allows that only with \
             `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false"
        ),
    );
    mixed.push(("legacy-queue-mode.enabled", "False"));
    assert!(import(&file(&mixed)).is_ok());
    refused_with(&two("0w", "1w"), "3:17: queue `root.a`: its weight is 0; it must be above 0");
}

#[test]
fn shares_of_single_resources_are_refused_as_yarn_refuses_them() {
    let two = |a, b| [("root.queues", "a,b"), ("root.a.capacity", a), ("root.b.capacity", b)];
    let legacy = ("legacy-queue-mode.enabled", "false");
    let (first, second) = ("[memory=50%,vcores=2w]", "[memory=51%,vcores=1]");
    refused_with(
        &two(first, second),
        "2:17: queue `root`: the capacities below it mix percentages, weights and amounts; YARN allows that only \
         with `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false",
    );
    let with = |more: &[(&'static str, &'static str)]| [&two(first, second)[..], &[legacy], more].concat();
    refused_with(
        &with(&[]),
        "2:17: queue `root`: the capacities of memory_mib below it sum to 101 %, more than 100 %",
    );
    let below = [("root.b.capacity", "[memory=1%,vcores=1]"), ("root.b.maximum-capacity", "[memory=1w]")];
    refused_with(
        &with(&below),
        "7:78: yarn.scheduler.capacity.root.b.maximum-capacity: a maximum is a percentage or amounts, not a weight",
    );
    refused_with(
        &[ONE_LEAF[0], ONE_LEAF[1], ("root.a.maximum-capacity", "[memory=1%]")],
        "4:78: yarn.scheduler.capacity.root.a.maximum-capacity: YARN takes shares of single resources only with \
         `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false",
    );
}

#[test]
fn labels_that_do_not_go_together_are_refused() {
    let label = |key: &'static str, value: &'static str| [ONE_LEAF[0], ONE_LEAF[1], (key, value)];
    refused_with(
        &label("root.a.accessible-node-labels.gpu.capacity", "99"),
        "2:17: queue `root`: for label `gpu` the capacities below it sum to 99 %, YARN demands 100 %",
    );
    let place = "3:17: queue `root.a`:";
    let root = ("root.accessible-node-labels", "fast");
    let with_root = |key, value| [&label(key, value)[..], &[root]].concat();
    refused_with(
        &with_root("root.a.accessible-node-labels", "*"),
        &format!("{place} may use all partitions, but the queue above may not"),
    );
    refused_with(
        &with_root("root.a.default-node-label-expression", "gpu"),
        &format!("{place} its default partition is `gpu`, which it may not use"),
    );
    let zero = [
        ONE_LEAF[0],
        ONE_LEAF[1],
        ("root.a.accessible-node-labels.gpu.capacity", "100"),
        ("root.a.accessible-node-labels.gpu.maximum-capacity", "99"),
    ];
    refused_with(
        &zero,
        "5:105: yarn.scheduler.capacity.root.a.accessible-node-labels.gpu.maximum-capacity: 99 % is below the \
         queue's capacity",
    );
}

#[test]
fn an_unknown_key_names_its_neighbour() {
    let unknown = |key: &str, message: &str| {
        refused_with(&[ONE_LEAF[0], ONE_LEAF[1], (key, "1")], &format!("4:17: {message}"));
    };
    let prefix = known::PREFIX;
    unknown(
        "root.a.capcity",
        &format!("unknown key `{prefix}root.a.capcity`; did you mean `{prefix}root.a.capacity`?"),
    );
    unknown(
        "node-locality-dely",
        &format!("unknown key `{prefix}node-locality-dely`; did you mean `{prefix}node-locality-delay`?"),
    );
    unknown(
        "yarn.schedular.capacity.root.a.state",
        "unknown key `yarn.schedular.capacity.root.a.state`; \
         did you mean `yarn.scheduler.capacity.root.a.state`?",
    );
    unknown("root.a.xyz", &format!("unknown key `{prefix}root.a.xyz`"));
    unknown(
        "root.aa.capacity",
        &format!(
            "{prefix}root.aa.capacity: queue `root.aa` is not listed in `{prefix}root.queues`; \
             did you mean `root.a`?"
        ),
    );
    unknown(
        "root.*.capacity",
        &format!(
            "{prefix}root.*.capacity: queue `root.*` is not listed in `{prefix}root.queues`; \
             did you mean `root.a`?"
        ),
    );
    refused_with(
        &[("root.quues", "a")],
        &format!("2:17: unknown key `{prefix}root.quues`; did you mean `{prefix}root.queues`?"),
    );
}

#[test]
fn lists_of_queues_that_make_no_tree_are_refused() {
    refused("<configuration/>", "1:1: queue `root`: needs at least one queue below it");
    refused_with(&[("root.queues", "a,b,a")], "2:17: queue `root.a`: is listed twice");
    refused_with(
        &[("root.queues", "a,b"), ("root.a.capacity", "100")],
        "2:17: queue `root.b`: is listed, but there is no `yarn.scheduler.capacity.root.b.capacity`",
    );
    refused_with(
        &[ONE_LEAF[0], ONE_LEAF[1], ("root.a.queues", "a")],
        "4:17: queue `root.a.a`: `root.a` lists itself: there is no `yarn.scheduler.capacity.root.a.a.capacity`",
    );
    refused_with(
        &[("root.queues", "root.a")],
        "2:66: yarn.scheduler.capacity.root.queues: `root.a` has a dot; \
         below a queue its children's short names are listed",
    );
    let key = |depth: usize| format!("root{}.queues", ".a".repeat(depth));
    let keys: Vec<_> = (0..70).map(key).collect();
    let deep: Vec<_> = keys.iter().map(|key| (key.as_str(), "a")).collect();
    let error = import(&file(&deep)).unwrap_err().to_string();
    assert!(error.ends_with(": a path has at most 64 names"), "{error}");
}

#[test]
fn a_mapping_to_an_unknown_queue_is_refused() {
    let key = "queue-mappings";
    let mapping = |value: &str, message: &str| {
        let message = format!("4:69: {}{key}: {message}", known::PREFIX);
        refused_with(&[ONE_LEAF[0], ONE_LEAF[1], (key, value)], &message);
    };
    mapping("u:ann:a,g:ops:root.b", "unknown queue `root.b`; did you mean `root.a`?");
    mapping("u:%user:b.%user", "unknown queue `b.%user`");
    mapping("x:ann:a", "`x:ann:a` does not have the form u:USER:QUEUE or g:GROUP:QUEUE");
    mapping("u::a", "`u::a` has an empty name");
    for fine in ["u:ann:a, g:ops:root.a", "u:%user:%user", "u:%user:root.a.%user"] {
        assert!(import(&file(&[ONE_LEAF[0], ONE_LEAF[1], (key, fine)])).is_ok(), "{fine}");
    }
    let creates = ("root.auto-queue-creation-v2.enabled", "true");
    assert!(import(&file(&[ONE_LEAF[0], ONE_LEAF[1], creates, (key, "u:ann:root.new")])).is_ok());
    let doubles = [
        ("root.queues", "a,b"),
        ("root.a.capacity", "50"),
        ("root.b.capacity", "50"),
        ("root.b.queues", "a"),
    ];
    let doubles = [&doubles[..], &[("root.b.a.capacity", "100"), (key, "u:ann:a")]].concat();
    let error = import(&file(&doubles)).unwrap_err().to_string();
    assert!(
        error.ends_with("`a` is the name of several queues, root.a and root.b.a; write the whole path"),
        "{error}"
    );
}

#[test]
fn a_file_of_the_fair_scheduler_is_refused_by_name() {
    let text = "<?xml version='1.0'?>\n<allocations><queue name='a'/></allocations>";
    refused(
        text,
        "2:1: this is a file of the fair scheduler, which is not read; \
         write its queues as a capacity-scheduler.xml or as native TOML",
    );
}

#[test]
fn values_that_are_none_are_refused_where_they_are() {
    let refused_value = |key: &str, value: &str, message: &str| {
        let property = (key, value);
        let rest = ONE_LEAF.iter().copied().filter(|(other, _)| *other != key);
        let column = 17 + known::PREFIX.len() + key.len() + "</name><value>".len();
        refused_with(
            &[property].into_iter().chain(rest).collect::<Vec<_>>(),
            &format!("2:{column}: {}{key}: {message}", known::PREFIX),
        );
    };
    refused_value("root.a.capacity", "much", "`much` is not a plain number from 0 to 100");
    refused_value("root.a.capacity", "-5", "`-5` is negative, expected a plain number from 0 to 100");
    refused_value("root.a.capacity", "100.5", "`100.5` is not a plain number from 0 to 100");
    refused_value("root.a.capacity", "-1w", "`-1` is negative, expected a plain number from 0 to 10000");
    refused_value("root.a.capacity", "${x}", "variables are not expanded; write the value itself");
    refused_value("root.a.capacity", "[memory=-1]", "`-1` is negative");
    refused_value("root.a.maximum-capacity", "99", "99 % is below the queue's capacity");
    refused_value("root.a.maximum-capacity", "2w", "a maximum is a percentage or amounts, not a weight");
    refused_value(
        "root.a.user-limit-factor",
        "-2",
        "`-2` is negative, expected a plain number from 0 to 1000000",
    );
    refused_value("root.a.user-limit-factor", "0", "must be above 0, or -1 for no limit");
    refused_value("root.a.ordering-policy", "fare", "`fare` is not one of fifo, fair; did you mean `fair`?");
    refused_value("root.a.state", "off", "`off` is neither RUNNING nor STOPPED");
    refused_value("root.a.maximum-applications", "-1", "`-1` is not a whole number from 0");
    refused_value("root.a.minimum-user-limit-percent", "101", "`101` is not a plain number from 0 to 100");
    refused_value("root.a.user-settings.j.r.weight", "0", "must be above 0");
    refused_value("root.a.priority", "high", "`high` is not a whole number of 32 bits");
    refused_value("root.a.priority", "4294967296", "`4294967296` is not a whole number of 32 bits");
    refused_value("root.ordering-policy", "fifo", "`fifo` is not one of utilization, priority-utilization");
    refused_value("root.allow-zero-capacity-sum", "perhaps", "expected true or false");
    refused_value("node-locality-delay", "4.5", "`4.5` is not a whole number from 0, nor -1");
}
