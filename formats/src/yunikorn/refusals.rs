//! Errors for files that YuniKorn or this engine refuses.

use super::tests::{below_root, import};

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(import(text).expect_err(text).to_string(), format!("q.yaml:{message}"), "{text}");
}

#[track_caller]
fn refused_below_root(lines: &str, message: &str) {
    refused(&below_root(lines), message);
}

#[test]
fn quotas_that_do_not_fit_the_parent_are_refused() {
    let two = |parent: &str, a: &str, b: &str| {
        format!(
            "- name: p\n  resources: {parent}\n  queues:\n  - name: a\n    resources: {a}\n  \
             - name: b\n    resources: {b}"
        )
    };
    refused_below_root(
        &two("{guaranteed: {memory: 10G}}", "{guaranteed: {memory: 6G}}", "{guaranteed: {memory: 5G}}"),
        "6:13: queue `root.p`: the guaranteed memory of its children exceeds its own",
    );
    refused_below_root(
        &two("{max: {vcore: 1}}", "{guaranteed: {vcore: 600m}}", "{guaranteed: {vcore: 500m}}"),
        "6:13: queue `root.p`: the guaranteed vcore of its children exceeds its max",
    );
    refused_below_root(
        &two("{max: {memory: 10G}}", "{max: {memory: 11G}}", "{}"),
        "9:15: queue `root.p.a`: its max of memory is above that of a parent",
    );
    refused_below_root(
        "- name: a\n  resources: {guaranteed: {vcore: 2}, max: {vcore: 1}}",
        "6:13: queue `root.a`: its guaranteed vcore is above its max",
    );
    refused_below_root(
        "- name: p\n  maxapplications: 3\n  queues: [{name: a, maxapplications: 4}]",
        "8:22: queue `root.p.a`: its maxapplications has to be from 1 to the 3 of its parent",
    );
    refused(
        "partitions: [{queues: [{name: root, resources: {max: {memory: 1}}}]}]",
        "1:24: queue `root`: the root always has the whole cluster; YuniKorn refuses resources for it",
    );
}

#[test]
fn a_refused_template_has_the_place_of_its_queue() {
    refused(
        "partitions:\n- placementrules: [{name: user, create: true, parent: {name: fixed, value: a}}]\n  queues:\n  \
         - {name: b}\n  - name: a\n    parent: true\n    \
         childtemplate: {resources: {guaranteed: {vcore: 2}, max: {vcore: 1}}}",
        "5:5: queue `root.a` (auto_creation.leaf): its maximum of vcore_milli is below its capacity",
    );
}

#[test]
fn names_are_checked() {
    refused_below_root(
        "- name: a\n- name: A",
        "7:13: queue `root.a`: is already defined in line 6; YuniKorn ignores the case of names",
    );
    refused_below_root(
        "- name: a b",
        "6:19: root.queues[0].name: `a b` is not a valid queue name; use up to 64 letters, digits and _ : # / @ -",
    );
    refused_below_root("- parent: true", "6:13: root.queues[0]: this queue has no name");
    refused(
        "partitions:\n- name: x\n  queues: []\n- name: X\n  queues: []",
        "4:3: partitions[1]: partition `x` is already defined in line 2",
    );
    refused("partitions: [{queues: []}]", "1:15: queue `root`: needs at least one queue below it");
    refused("", "1:1: the file: has no partitions");
}

#[test]
fn an_unknown_key_names_its_neighbour() {
    refused("partition: []", "1:1: unknown key `partition`; did you mean `partitions`?");
    refused_below_root(
        "- name: a\n  resource: {}",
        "7:13: unknown key `root.a.resource`; did you mean `root.a.resources`?",
    );
    refused_below_root(
        "- name: a\n  resources: {maximum: {}}",
        "7:25: unknown key `root.a.resources.maximum`; did you mean `root.a.resources.max`?",
    );
    refused_below_root(
        "- name: a\n  properties: {application.sort.polcy: fifo}",
        "7:26: unknown key `root.a.properties.application.sort.polcy`; \
         did you mean `root.a.properties.application.sort.policy`?",
    );
}

#[test]
fn values_of_another_form_are_refused() {
    let value = |lines: &str, message: &str| refused_below_root(&format!("- name: a\n{lines}"), message);
    value("  resources: {max: {memory: -1}}", "7:39: root.a.resources.max.memory: `-1` is negative");
    value(
        "  resources: {max: {memory: much}}",
        "7:39: root.a.resources.max.memory: `much` is not a whole number with a unit, like 10G or 10Gi",
    );
    value(
        "  resources: {max: {memory: 99999999999999999999}}",
        "7:39: root.a.resources.max.memory: `99999999999999999999` is too large",
    );
    value("  resources: {max: {vcore: 9P}}", "7:38: root.a.resources.max.vcore: the amount is too large");
    value("  resources: [1]", "7:24: root.a.resources: expected a mapping, found a list");
    value("  queues: {b: 1}", "7:21: root.a.queues: expected a list, found a mapping");
    value("  maxapplications: -3", "7:30: root.a.maxapplications: -3 is negative");
    value(
        "  maxapplications: many",
        "7:30: root.a.maxapplications: expected a whole number from 0, found `many`",
    );
    value("  parent: perhaps", "7:21: root.a.parent: expected true or false, found `perhaps`");
    value(
        "  adminacl: a b c",
        "7:23: root.a.adminacl: expected users, a space and groups, each separated by commas without spaces, or *",
    );
    value(
        "  properties: {application.sort.policy: fare}",
        "7:51: root.a.properties.application.sort.policy: `fare` is not one of fifo, fair, stateaware; \
         did you mean `fair`?",
    );
    value(
        "  properties: {preemption.delay: soon}",
        "7:44: root.a.properties.preemption.delay: `soon` is not a duration like 30s or 1m30s",
    );
}

#[test]
fn limits_are_checked() {
    let limits = |limits: &str, message: &str| {
        let queue = format!(
            "- name: a\n  maxapplications: 5\n  resources: {{max: {{vcore: 2}}}}\n  limits: {limits}"
        );
        refused_below_root(&queue, message);
    };
    let at = "9:22: root.a.limits[0]";
    limits("[{maxapplications: 1}]", &format!("{at}: this limit names neither users nor groups"));
    limits(
        "[{users: [x]}]",
        &format!("{at}: this limit has neither maxresources above 0 nor maxapplications"),
    );
    limits(
        "[{users: [x], maxapplications: 6}]",
        &format!("{at}: maxapplications is above the queue's own 5"),
    );
    limits("[{users: [x], maxresources: {vcore: 3}}]", &format!("{at}: more vcore than the queue's own max"));
    limits(
        "[{users: ['*', x], maxapplications: 1}]",
        "9:36: root.a.limits[0].users[1]: `x` comes after `*`, which must be the last",
    );
    limits(
        "[{users: [x, x], maxapplications: 1}]",
        "9:34: root.a.limits[0].users[1]: user `x` already has a limit",
    );
    limits(
        "[{users: [7up], maxapplications: 1}]",
        "9:31: root.a.limits[0].users[0]: `7up` is not a valid user name",
    );
    limits(
        "[{groups: ['*'], maxapplications: 1}]",
        "9:21: root.a.limits: a limit for all groups needs one for a named group before it",
    );
    refused_below_root(
        "- name: a
  limits: [{users: [x], maxresources: {vcore: 1}}]
  queues:
  - name: b
    limits: [{users: [x], maxresources: {vcore: 2}}]",
        "10:24: root.a.b.limits[0]: user `x` has a lower limit in a queue above",
    );
}

#[test]
fn a_rule_for_an_unknown_queue_is_refused() {
    let rules = |rules: &str| {
        format!(
            "partitions:\n- placementrules: {rules}\n  queues: [{{name: web, parent: true}}, {{name: etl}}]\n"
        )
    };
    let at = "partitions.default.placementrules[0]";
    refused(
        &rules("[{name: fixed, value: root.wab}]"),
        &format!("2:41: {at}.value: unknown queue `root.wab`, and create is false; did you mean `root.web`?"),
    );
    refused(
        &rules("[{name: fixed, value: web}]"),
        &format!("2:41: {at}.value: queue `root.web` is a parent; a leaf is needed"),
    );
    refused(
        &rules("[{name: user, parent: {name: fixed, value: etl}}]"),
        &format!("2:62: {at}.parent.value: queue `root.etl` is a leaf; a parent is needed"),
    );
    refused(
        &rules("[{name: fxed, value: web}]"),
        &format!("2:27: {at}.name: `fxed` is not one of provided, user, fixed, tag; did you mean `fixed`?"),
    );
    refused(&rules("[{name: tag}]"), &format!("2:20: {at}: a rule `tag` needs a value"));
    for fine in
        ["[{name: fixed, value: new, create: true}]", "[{name: user, parent: {name: fixed, value: web}}]"]
    {
        assert!(import(&rules(fine)).is_ok(), "{fine}");
    }
}
