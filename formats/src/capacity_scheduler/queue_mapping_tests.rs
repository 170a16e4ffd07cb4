//! Mappings and access lists in YARN's notation.

use apportion::config::{AccessList, QueueConfig};

use super::refusals::refused_with;
use super::tests::{import, imported, reasons};
use crate::Imported;
use crate::toml::to_toml;

/// The queues `a`, with `b` and `c` below, and `default`.
const QUEUES: [(&str, &str); 6] = [
    ("root.queues", "a,default"),
    ("root.a.queues", "b,c"),
    ("root.a.capacity", "50"),
    ("root.default.capacity", "50"),
    ("root.a.b.capacity", "50"),
    ("root.a.c.capacity", "50"),
];

fn with(more: &[(&str, &str)]) -> Imported {
    imported(&[&QUEUES[..], more].concat())
}

/// The rules in the native form, one per line.
fn rules(imported: &Imported) -> Vec<String> {
    let text = to_toml(&imported.config);
    let rules = text.split("[[placement.rules]]\n").skip(1);
    rules.map(|rule| rule.split("\n\n").next().unwrap_or("").trim().replace('\n', "; ")).collect()
}

#[track_caller]
fn refused(more: &[(&str, &str)], place: &str, message: &str) {
    refused_with(&[&QUEUES[..], more].concat(), &format!("{place}: {message}"));
}

#[test]
fn mappings_become_rules_that_fall_back_to_the_default_queue() {
    let imported = with(&[
        ("queue-mappings", "u:ann:b, g:ops:root.a.c,u:%user:a.%primary_group,u:%user:%user"),
        ("yarn.scheduler.queue-placement-rules.app-name", "etl:root.a.b,%application:%application"),
    ]);
    let tail = "create = \"path\"; otherwise = \"default\"";
    let expected = [
        format!("users = [\"ann\"]; queue = \"b\"; {tail}"),
        format!("groups = [\"ops\"]; queue = \"root.a.c\"; {tail}"),
        format!("queue = \"a.%primary_group\"; {tail}"),
        format!("queue = \"%user\"; {tail}"),
        format!("applications = [\"etl\"]; queue = \"root.a.b\"; {tail}"),
        format!("queue = \"%application\"; {tail}"),
    ];
    assert_eq!(rules(&imported), expected);
    assert!(!imported.config.queue_mapping.override_requested, "as YARN has it without the key");
    assert_eq!(reasons(&imported), []);
    let overriding = with(&[("queue-mappings", "u:ann:b"), ("queue-mappings-override.enable", "true")]);
    assert!(overriding.config.queue_mapping.override_requested);
}

#[test]
fn rules_in_json_become_rules() {
    let json = r#"{"rules": [
        {"type": "user", "matches": "ann", "policy": "setDefaultQueue", "value": "root.a.b"},
        {"type": "user", "matches": "*", "policy": "specified", "create": false, "fallbackResult": "skip"},
        {"type": "group", "matches": "ops", "policy": "secondaryGroupUser", "parentQueue": "root.a"},
        {"type": "application", "matches": "etl", "policy": "custom", "customPlacement": "root.a.%application",
         "fallbackResult": "placeDefault"},
        {"type": "user", "matches": "*", "policy": "user", "parentQueue": "a", "fallbackResult": "reject"},
        {"type": "user", "matches": "bob", "policy": "reject"},
        {"type": "user", "matches": "*", "policy": "defaultQueue"}
    ]}"#;
    let format = ("mapping-rule-format", "json");
    let imported = with(&[format, ("mapping-rule-json", json), ("queue-mappings", "u:ann:b")]);
    let expected = [
        "users = [\"ann\"]; default_queue = \"root.a.b\"",
        "queue = \"%specified\"",
        "groups = [\"ops\"]; queue = \"root.a.%secondary_group.%user\"; create = \"path\"",
        "applications = [\"etl\"]; queue = \"root.a.%application\"; create = \"path\"; otherwise = \"default\"",
        "queue = \"a.%user\"; create = \"path\"; otherwise = \"reject\"",
        "users = [\"bob\"]; reject = true",
        "queue = \"%default\"; create = \"path\"; otherwise = \"reject\"",
    ];
    assert_eq!(rules(&imported), expected);
    let reason = "YARN reads mappings in the format `json` (mapping-rule-format)";
    assert_eq!(reasons(&imported), [("queue-mappings", reason, 19)]);
}

#[test]
fn mappings_that_yarn_would_not_read_are_reported() {
    let placed = |more: &[(&str, &str)]| {
        let imported = with(&[&[("queue-mappings", "u:ann:b")], more].concat());
        let reasons = reasons(&imported).into_iter().map(|(key, why, _)| format!("{key}: {why}"));
        (imported.config.queue_mapping.rules.len(), reasons.collect::<Vec<_>>())
    };
    let rules = "yarn.scheduler.queue-placement-rules";
    assert_eq!(placed(&[(rules, "user-group,app-name")]), (1, Vec::new()));
    let class = "org.apache.hadoop.yarn.server.resourcemanager.placement.CSMappingPlacementRule";
    assert_eq!(placed(&[(rules, class)]), (1, Vec::new()));
    let other = format!("{rules}: `org.example.Mine` cannot be carried over");
    assert_eq!(placed(&[(rules, "user-group,org.example.Mine")]), (1, vec![other.clone()]));
    let none = format!("{other}; without user-group YARN reads no mappings");
    assert_eq!(placed(&[(rules, "org.example.Mine")]), (0, vec![none]));
    let legacy = "mapping-rule-json: YARN reads mappings in the format `legacy` (mapping-rule-format)";
    assert_eq!(placed(&[("mapping-rule-json", "{}")]), (1, vec![legacy.to_owned()]));
    let format = "mapping-rule-format: neither json nor legacy; YARN uses legacy";
    assert_eq!(placed(&[("mapping-rule-format", "xml")]), (1, vec![format.to_owned()]));
    let file = "mapping-rule-json-file: another file is not read; its rules can stand in mapping-rule-json";
    assert_eq!(placed(&[("mapping-rule-json-file", "/x")]), (1, vec![file.to_owned()]));
}

#[test]
fn rules_in_json_that_lead_nowhere_are_refused() {
    let json = |rule: &str, message: &str| {
        let json = format!(r#"{{"rules": [{rule}]}}"#);
        let key = "yarn.scheduler.capacity.mapping-rule-json";
        refused(
            &[("mapping-rule-format", "json"), ("mapping-rule-json", &json)],
            "9:72",
            &format!("{key}: {message}"),
        );
    };
    let head = r#""type": "user", "matches": "*", "policy""#;
    json(
        &format!(r#"{{{head}: "user", "parentQueue": "root.d"}}"#),
        "unknown queue `root.d.%user`; did you mean `root.a`?",
    );
    json(
        &format!(r#"{{{head}: "custom", "customPlacement": "root.a"}}"#),
        "queue `root.a` is a parent; a leaf is needed",
    );
    json(&format!(r#"{{{head}: "custom"}}"#), "rule 1: `custom` needs a `customPlacement`");
    json(&format!(r#"{{{head}: "setDefaultQueue"}}"#), "rule 1: `setDefaultQueue` needs a `value`");
    json(
        &format!(r#"{{{head}: "custom", "customPlacement": "root.a.%group"}}"#),
        "queue `root.a.%group`: unknown variable `%group`",
    );
    json(
        r#"{"type": "group", "matches": "*", "policy": "primaryGroup"}"#,
        "rule 1: a rule for groups names one, `*` is not possible",
    );
    json(
        r#"{"type": "usr", "matches": "*", "policy": "user"}"#,
        "not the JSON of mapping rules: unknown variant `usr`, expected one of `user`, `group`, `application` \
         at line 1 column 25",
    );
}

/// The lists of the root, `a` and `b`: submitters, then administrators.
fn lists(imported: &Imported) -> [[Option<String>; 2]; 3] {
    let root = &imported.config.root;
    let lists = |queue: &QueueConfig| {
        [&queue.submitters, &queue.administrators].map(|list| list.as_ref().map(AccessList::to_string))
    };
    [lists(root), lists(&root.children[0]), lists(&root.children[0].children[0])]
}

#[test]
fn access_lists_hold_if_yarn_checks_them() {
    let enabled = ("yarn.acl.enable", "true");
    let text = |text: &str| Some(text.to_owned());
    let everybody = || [text("*"), text("*")];
    let some = with(&[enabled, ("root.a.acl_submit_applications", "ann,bob ops")]);
    assert_eq!(lists(&some), [everybody(), [text("ann,bob ops"), None], [None, None]]);
    let closed = with(&[
        enabled,
        ("root.acl_submit_applications", " "),
        ("root.acl_administer_queue", " ops"),
        ("root.a.b.acl_submit_applications", "ann"),
    ]);
    assert_eq!(lists(&closed), [[text(""), text(" ops")], [None, None], [text("ann"), None]]);
    assert_eq!(lists(&with(&[enabled])), [[None, None], [None, None], [None, None]]);
    let unchecked = with(&[("root.a.acl_submit_applications", "ann")]);
    assert_eq!(lists(&unchecked), [[None, None], [None, None], [None, None]]);
    assert_eq!(reasons(&unchecked).len(), 1);
    let odd = [enabled, ("root.a.acl_submit_applications", "ann, bob")];
    let error = import(&super::tests::file(&[&QUEUES[..], &odd].concat())).unwrap_err().to_string();
    assert!(error.contains("expected users, a space and groups"), "{error}");
}
