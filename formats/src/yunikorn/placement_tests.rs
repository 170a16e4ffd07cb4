//! Placement rules and access lists in YuniKorn's notation.

use apportion::config::{AccessList, QueueConfig};

use super::tests::{import, imported};
use crate::Imported;
use crate::toml::to_toml;

fn with_rules(rules: &str) -> Imported {
    imported(&format!(
        "partitions:\n- placementrules: {rules}\n  queues:\n  - {{name: a, queues: [{{name: b}}]}}\n  - {{name: web, parent: true}}\n"
    ))
}

/// The rules in the native form, one per line.
fn rules(imported: &Imported) -> Vec<String> {
    let text = to_toml(&imported.config);
    let rules = text.split("[[placement.rules]]\n").skip(1);
    rules.map(|rule| rule.split("\n\n").next().unwrap_or("").trim().replace('\n', "; ")).collect()
}

#[test]
fn rules_become_rules_with_one_that_rejects_behind_them() {
    for (rule, expected) in [
        ("{name: provided}", "queue = \"root.%provided\"; "),
        ("{name: user, create: true}", "queue = \"root.%user\"; create = \"path\"; "),
        ("{name: fixed, value: root.A.b}", "queue = \"root.a.b\"; "),
        ("{name: fixed, value: a.b}", "queue = \"root.a.b\"; "),
        ("{name: tag, value: Name.Space}", "queue = \"root.%tag(name.space)\"; "),
        ("{name: user, parent: {name: fixed, value: a}}", "queue = \"root.a.%user\"; "),
        (
            "{name: user, create: true, parent: {name: tag, value: x}}",
            "queue = \"root.%tag(x).%user\"; create = \"leaf\"; ",
        ),
        (
            "{name: fixed, value: c, create: true, parent: {name: user, create: true, parent: {name: fixed, value: a}}}",
            "queue = \"root.a.%user.c\"; create = \"path\"; ",
        ),
        (
            "{name: user, filter: {users: [ann, bob], groups: [dev]}}",
            "users = [\"ann\", \"bob\"]; groups = [\"dev\"]; queue = \"root.%user\"; ",
        ),
        (
            "{name: user, filter: {type: deny, groups: [dev]}}",
            "groups = [\"dev\"]; except = true; queue = \"root.%user\"; ",
        ),
        ("{name: user, filter: {type: deny}}", "queue = \"root.%user\"; "),
    ] {
        let expected = [format!("{expected}if_permitted = true"), "reject = true".to_owned()];
        assert_eq!(rules(&with_rules(&format!("[{rule}]"))), expected, "{rule}");
    }
    assert_eq!(rules(&with_rules("[]")), [""; 0]);
}

#[test]
fn rules_that_cannot_be_carried_over_are_reported() {
    for (rule, reason) in [
        ("{name: user, filter: {users: ['a.*']}}", "this engine has no regular expressions"),
        (
            "{name: user, parent: {name: fixed, value: a, filter: {users: [ann]}}}",
            "only the rule itself can have a filter",
        ),
        ("{name: user, parent: {name: fixed, value: web}}", "no queues are below that queue"),
    ] {
        let imported = with_rules(&format!("[{rule}]"));
        let rules = imported.not_carried_over.iter().filter(|entry| entry.line == 2);
        let reasons: Vec<_> = rules.map(|entry| entry.reason.as_str()).collect();
        assert!(
            !reasons.is_empty() && reasons.iter().all(|it| it.starts_with(reason)),
            "{rule}: {reasons:?}"
        );
    }
}

#[test]
fn access_lists_begin_with_nobody_at_the_root() {
    let lists = |queues: &str| {
        let imported = import(&format!("partitions:\n- queues:\n  - {{name: root, {queues}}}\n")).unwrap();
        let root = imported.config.root;
        let lists = |queue: &QueueConfig| {
            [&queue.submitters, &queue.administrators].map(|list| list.as_ref().map(AccessList::to_string))
        };
        [lists(&root), lists(&root.children[0])]
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(lists("queues: [{name: a}]"), [[None, None], [None, None]]);
    assert_eq!(
        lists("submitacl: '*', queues: [{name: a, adminacl: ann ops}]"),
        [[text("*"), text("")], [None, text("ann ops")]]
    );
    assert_eq!(lists("queues: [{name: a, submitacl: ' dev'}]"), [[text(""), text("")], [text(" dev"), None]]);
}
