//! Broken, hostile and random files.

use proptest::collection::vec;
use proptest::prelude::*;

use super::fuzz_queues_yaml;
use super::tests::{below_root, import};
use crate::damage::damage;

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(import(text).expect_err(text).to_string(), format!("q.yaml:{message}"));
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let above = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{above}]\n"));
    }
    refused(&bomb, "6:10: with this alias, aliases repeat more than 100000 values");
}

#[test]
fn aliases_that_nest_are_refused() {
    let mut chain = String::from("a0: &a0 [x]\n");
    for level in 1..100_000 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    let error = import(&chain).unwrap_err().to_string();
    assert!(error.ends_with(": nested deeper than 128 levels"), "{error}");
}

#[test]
fn a_queue_listed_below_itself_is_refused() {
    refused(
        "partitions:\n- queues:\n  - &a\n    name: a\n    queues: [*a]",
        "5:14: this alias stands inside its own anchor",
    );
}

#[test]
fn deep_nesting_is_refused() {
    for text in ["[", "- ", "{a: "] {
        let error = import(&text.repeat(100_000)).unwrap_err().to_string();
        assert!(error.ends_with(": nested deeper than 128 levels"), "{error}");
    }
    let mut queues = String::from("[{name: x}]");
    for _ in 0..40 {
        queues = format!("[{{name: x, queues: {queues}}}]");
    }
    let error = import(&format!("partitions: [{{queues: {queues}}}]")).unwrap_err().to_string();
    assert!(error.ends_with(": is deeper than 32 levels"), "{error}");
}

#[test]
fn what_is_not_the_format_is_refused_where_it_breaks() {
    for (text, place) in [
        ("partitions: [", "1:13: not YAML: unclosed bracket"),
        ("partitions:\n\t- a", "2:2: not YAML: tabs"),
        ("a: *b", "1:4: not YAML: "),
        ("hello", "1:1: the file: expected a mapping, found `hello`"),
        ("a: 1\na: 2", "2:1: `a` is already given in line 1"),
        ("a: 1\n---\nb: 2", "2:1: a second document starts here; one file is one document"),
        ("{[a]: 1}", "1:2: a key is a text, not a collection"),
        ("~: 1", "1:1: a key is a text"),
        ("x: &x 1\npartitions:\n- <<: *x", "3:3: `<<` merges mappings only"),
    ] {
        let error = import(text).expect_err(text).to_string();
        assert!(error.starts_with(&format!("q.yaml:{place}")), "{text:?}: {error}");
    }
}

#[test]
fn a_long_text_is_refused() {
    refused(&format!("a: {}", "x".repeat(70_000)), "1:4: a text has at most 65536 bytes");
}

fn whole() -> String {
    below_root(
        "- name: a
  resources: &r {guaranteed: {memory: 1Gi, vcore: 500m}, max: {memory: 2G}}
  properties: {application.sort.policy: fair, priority.offset: '-1'}
  limits: [{users: [x, '*'], maxresources: {memory: 1G}}]
- name: b
  resources: *r
  queues: [{name: c}, {<<: {name: d}}]",
    )
}

/// Lines of the format, so that broken files still get past the first checks.
fn lines() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "- name: a",
        "- name: b",
        "  queues:",
        "  - name: c",
        "  resources: {guaranteed: {memory: 1Gi}}",
        "  resources: {max: {vcore: 1}}",
        "  resources: &x",
        "  limits: *x",
        "  limits: [{users: ['*'], maxapplications: 1}]",
        "  properties: {application.sort.policy: fair}",
        "  properties: {preemption.policy: disabled}",
        "  properties: {preemption.policy: default, preemption.delay: 1.5m}",
        "  maxapplications: 1",
        "  childtemplate: {}",
        "  parent: true",
        "  <<: *x",
        "    - [é, ~]",
        "    ? a",
        "",
    ]);
    vec(words, 0..12).prop_map(|lines| below_root(&lines.join("\n")))
}

proptest! {
    #[test]
    fn no_bytes_make_the_importer_panic(data in vec(any::<u8>(), 0..200)) {
        fuzz_queues_yaml(&data);
    }

    #[test]
    fn no_lines_make_the_importer_panic(text in lines()) {
        fuzz_queues_yaml(text.as_bytes());
    }

    #[test]
    fn no_damage_makes_the_importer_panic(damage in damage()) {
        assert!(import(&whole()).is_ok());
        damage.read_with(whole(), fuzz_queues_yaml);
    }
}
