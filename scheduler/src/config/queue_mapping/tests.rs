//! Tables of mapping rules and where applications go.

use std::collections::BTreeMap;

use super::validate::find;
use super::*;
use crate::config::{Capacity, Factor, QueueConfig};

fn queue(name: &str, children: &[QueueConfig]) -> QueueConfig {
    QueueConfig::leaf(name, Capacity::Weight(Factor::ONE)).with_children(children.iter().cloned())
}

/// `twin` exists twice, and no user may submit to `closed`.
fn tree() -> QueueConfig {
    let leaf = |name| queue(name, &[]);
    QueueConfig::root([
        leaf("default"),
        leaf("closed"),
        queue("users", &[leaf("ann"), leaf("j_dot_doe"), leaf("twin")]),
        queue("groups", &[queue("dev", &[leaf("ann"), leaf("bob")]), leaf("ops"), leaf("twin")]),
        queue("apps", &[leaf("etl")]),
    ])
}

struct Tree(QueueConfig);

impl Queues for Tree {
    fn find(&self, path: &str) -> Option<FoundQueue> {
        let queue = find(&self.0, path)?;
        // The model's own search for the full path, from the root down.
        fn path_to(at: &QueueConfig, path: String, wanted: &QueueConfig) -> Option<String> {
            if std::ptr::eq(at, wanted) {
                return Some(path);
            }
            at.children.iter().find_map(|child| path_to(child, format!("{path}.{}", child.name), wanted))
        }
        let path = path_to(&self.0, "root".to_owned(), queue)?;
        Some(FoundQueue { path, is_leaf: queue.children.is_empty() })
    }

    /// Queues are made below `root.groups`.
    fn made_for(&self, path: &str) -> Option<usize> {
        let names = path.strip_prefix("root.groups.")?.split('.').count();
        find(&self.0, path).is_none().then_some(names)
    }

    fn may_submit(&self, path: &str) -> bool {
        path != "root.closed"
    }
}

fn path(text: &str) -> QueuePath {
    text.parse().expect(text)
}

fn to(queue: &str) -> PlaceIn {
    PlaceIn::existing(path(queue))
}

fn place(place: PlaceIn) -> MappingRule {
    MappingRule { filter: RuleFilter::everybody(), action: MappingAction::Place(place) }
}

fn queue_mapping(rules: impl IntoIterator<Item = MappingRule>) -> QueueMapping {
    QueueMapping { override_requested: true, rules: rules.into_iter().collect() }
}

struct Given {
    user: &'static str,
    groups: Vec<String>,
    application: &'static str,
    queue: &'static str,
    tags: BTreeMap<String, String>,
}

/// User ann in the groups dev, none and ops, who requests no queue.
fn ann() -> Given {
    let groups = vec!["dev".to_owned(), "none".to_owned(), "ops".to_owned()];
    let tags = [("namespace", "ann"), ("ns.full", "root.apps.etl"), ("dots", "j.doe"), ("empty", "")];
    let tags = tags.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Given { user: "ann", groups, application: "etl", queue: "", tags }
}

fn requesting(queue: &'static str) -> Given {
    Given { queue, ..ann() }
}

fn decide(queue_mapping: &QueueMapping, given: &Given) -> Result<String, NotPlaced> {
    let Given { user, groups, application, queue, tags } = given;
    queue_mapping.place(&Submission { user, groups, application, queue, tags }, &Tree(tree()))
}

/// The queue in which one rule alone places the application; `-` if the rule passes it on to a rule that rejects
/// it.
fn alone(rule: PlaceIn, given: &Given) -> String {
    let rejected = MappingRule { filter: RuleFilter::everybody(), action: MappingAction::Reject };
    decide(&queue_mapping([place(rule), rejected]), given).unwrap_or_else(|_| "-".to_owned())
}

#[test]
fn each_variable_stands_for_its_value() {
    let doe = Given { user: "j.doe", groups: Vec::new(), ..ann() };
    for (queue, of_ann, of_doe) in [
        ("root.default", "root.default", "root.default"),
        ("root.users.%user", "root.users.ann", "root.users.j_dot_doe"),
        ("users.%user", "root.users.ann", "root.users.j_dot_doe"),
        ("%user", "-", "root.users.j_dot_doe"), // two queues are called ann
        ("root.groups.%primary_group.%user", "root.groups.dev.ann", "-"),
        ("root.groups.%primary_group", "-", "-"), // a parent
        ("root.groups.%secondary_group", "root.groups.ops", "-"),
        ("%secondary_group", "root.groups.ops", "-"),
        ("root.users.%secondary_group", "-", "-"),
        ("root.apps.%application", "root.apps.etl", "root.apps.etl"),
        ("%default", "root.default", "root.default"),
        ("root.users.twin", "root.users.twin", "root.users.twin"),
        ("twin", "-", "-"),
        ("root.users.%tag(namespace)", "root.users.ann", "root.users.ann"),
        ("root.users.%tag(ns.full)", "root.apps.etl", "root.apps.etl"),
        ("root.users.%tag(dots)", "root.users.j_dot_doe", "root.users.j_dot_doe"),
        ("root.users.%tag(empty)", "-", "-"),
        ("root.users.%tag(absent)", "-", "-"),
        ("root.groups.%tag(namespace).x", "-", "-"),
    ] {
        assert_eq!(alone(to(queue), &ann()), of_ann, "{queue} of ann");
        assert_eq!(alone(to(queue), &doe), of_doe, "{queue} of j.doe");
    }
}

#[test]
fn requested_queues_are_read_as_yarn_and_yunikorn_read_them() {
    for (requested, specified, provided) in [
        ("", "-", "-"),
        ("default", "-", "root.default"), // YARN's clients send it for nothing
        ("root.default", "root.default", "root.default"),
        ("etl", "root.apps.etl", "-"), // YARN looks for the name everywhere, YuniKorn below the root
        ("apps.etl", "root.apps.etl", "-"),
        ("root.users.ann", "root.users.ann", "root.users.ann"),
        ("root.users", "-", "-"),
        ("closed", "root.closed", "root.closed"),
    ] {
        assert_eq!(alone(to("%specified"), &requesting(requested)), specified, "{requested:?}");
        assert_eq!(alone(to("root.%provided"), &requesting(requested)), provided, "{requested:?}");
    }
    assert_eq!(alone(to("root.users.%provided"), &requesting("j.doe")), "root.users.j_dot_doe");
}

#[test]
fn a_rule_applies_to_its_users_groups_and_applications() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let filter = |users: &[&str], groups: &[&str], applications: &[&str]| RuleFilter {
        users: names(users),
        groups: names(groups),
        applications: names(applications),
        except: false,
    };
    for (filter, is_ann_meant) in [
        (RuleFilter::everybody(), true),
        (filter(&["ann"], &[], &[]), true),
        (filter(&["bob"], &[], &[]), false),
        (filter(&["bob", "ann"], &[], &[]), true),
        (filter(&[], &["ops"], &[]), true),
        (filter(&["bob"], &["ops"], &[]), true),
        (filter(&["ops"], &["ann"], &["ann"]), false),
        (filter(&[], &[], &["etl"]), true),
    ] {
        let given = ann();
        let Given { user, groups, application, queue, tags } = &given;
        let submission = Submission { user, groups, application, queue, tags };
        assert_eq!(filter.includes(&submission), is_ann_meant, "{filter:?}");
        if filter != RuleFilter::everybody() {
            let others = RuleFilter { except: true, ..filter };
            assert_eq!(others.includes(&submission), !is_ann_meant, "{others:?}");
        }
    }
}

#[test]
fn a_rule_without_a_leaf_skips_rejects_or_uses_the_default_queue() {
    let last = place(to("root.apps.etl"));
    for (fallback, ends) in [
        (Fallback::Skip, Ok("root.apps.etl".to_owned())),
        (Fallback::Reject, Err(NotPlaced::Rejected)),
        (Fallback::Default, Ok("root.default".to_owned())),
    ] {
        for queue in ["root.users.bob", "root.users", "root.users.%tag(absent)", "twin"] {
            // None of these queues can be created, so a missing queue stays missing.
            for create in [Creation::Nothing, Creation::Leaf, Creation::Path] {
                let rule = PlaceIn { fallback, create, ..to(queue) };
                assert_eq!(decide(&queue_mapping([place(rule), last.clone()]), &ann()), ends, "{queue}");
            }
        }
    }
}

#[test]
fn the_default_queue_is_what_the_last_rule_about_it_says() {
    let set = |queue| MappingRule {
        filter: RuleFilter::everybody(),
        action: MappingAction::SetDefault(path(queue)),
    };
    let fall_back = || place(PlaceIn { fallback: Fallback::Default, ..to("root.none") });
    let ends = |first, second| decide(&queue_mapping([set(first), set(second), fall_back()]), &ann());
    assert_eq!(ends("root.closed", "root.users.%user"), Ok("root.users.ann".to_owned()));
    assert_eq!(ends("root.users", "root.groups.dev.%user"), Ok("root.groups.dev.ann".to_owned()));
    assert_eq!(ends("root.closed", "root.users"), Err(NotPlaced::Rejected), "a parent");
    assert_eq!(ends("root.closed", "root.users.%tag(absent)"), Err(NotPlaced::Rejected), "no value");
    assert_eq!(ends("root.closed", "%default"), Ok("root.closed".to_owned()));
}

#[test]
fn a_rule_may_skip_queues_that_the_user_may_not_submit_to() {
    assert_eq!(alone(to("root.closed"), &ann()), "root.closed");
    assert_eq!(alone(PlaceIn { if_permitted: true, ..to("root.closed") }, &ann()), "-");
    assert_eq!(alone(PlaceIn { if_permitted: true, ..to("root.default") }, &ann()), "root.default");
}

#[test]
fn without_a_matching_rule_the_requested_queue_counts() {
    let of_bob = RuleFilter { users: vec!["bob".to_owned()], ..RuleFilter::default() };
    let rules = queue_mapping([MappingRule { filter: of_bob, action: MappingAction::Reject }]);
    for (requested, ends) in [
        ("", Ok("root.default")),
        ("default", Ok("root.default")),
        ("root.users.ann", Ok("root.users.ann")),
        ("etl", Ok("root.apps.etl")),
        ("root.users", Err(NotPlaced::NotALeaf)),
        ("root.absent", Err(NotPlaced::UnknownQueue)),
        ("twin", Err(NotPlaced::UnknownQueue)),
    ] {
        assert_eq!(decide(&rules, &requesting(requested)), ends.map(str::to_owned), "{requested:?}");
    }
}

#[test]
fn rules_may_apply_only_to_applications_that_request_no_queue() {
    let mut rules = queue_mapping([place(to("root.users.%user"))]);
    rules.override_requested = false;
    for (requested, ends) in [
        ("", "root.users.ann"),
        ("default", "root.users.ann"),
        ("root.default", "root.users.ann"), // as YARN has it
        ("etl", "root.apps.etl"),
    ] {
        assert_eq!(decide(&rules, &requesting(requested)), Ok(ends.to_owned()), "{requested:?}");
    }
}

#[test]
fn paths_are_written_as_they_are_read() {
    for text in ["a", "root.users.%user", "%primary_group.%user", "root.%tag(a.b).x", "%tag(a)", "root.a b"] {
        assert_eq!(path(text).to_string(), text);
    }
    for (text, problem) in [
        ("", "a name in the queue path is empty"),
        ("root..a", "a name in the queue path is empty"),
        ("root.", "a name in the queue path is empty"),
        ("%tag()", "a name in the queue path is empty"),
        ("root.%usr", "unknown variable `%usr`; did you mean `%user`?"),
        ("%tag(a)b", "unknown variable `%tag(a)b`; did you mean `%tag(name)`?"),
    ] {
        assert_eq!(text.parse::<QueuePath>().expect_err(text).to_string(), problem);
    }
}

#[test]
fn rules_about_queues_that_are_not_there_are_refused() {
    let refused = |rule: PlaceIn| {
        let refused = check(&queue_mapping([place(to("root.default")), place(rule)]), &tree());
        refused.err().map(|error| error.to_string())
    };
    let nothing = |queue| refused(to(queue));
    assert_eq!(nothing("root.users.ann"), None);
    assert_eq!(nothing("users.%user"), None);
    assert_eq!(nothing("%user"), None);
    let unknown = "mapping rule 2: unknown queue `root.user`; did you mean `root.users`?";
    assert_eq!(nothing("root.user.%user").as_deref(), Some(unknown));
    let refusal = "is the name of several queues, root.users.twin and root.groups.twin; write the whole path";
    assert!(nothing("twin").unwrap().ends_with(refusal), "{:?}", nothing("twin"));
    let parent = "mapping rule 2: queue `root.users` is a parent; a leaf is needed";
    assert_eq!(nothing("root.users").as_deref(), Some(parent));
    let leaf = "mapping rule 2: queue `root.default` is a leaf; a parent is needed";
    assert_eq!(nothing("root.default.%user").as_deref(), Some(leaf));
    let create = |create, queue| refused(PlaceIn { create, ..to(queue) });
    assert_eq!(create(Creation::Leaf, "root.users.new"), None);
    assert_eq!(create(Creation::Leaf, "root.default.%user"), None, "it may become a parent");
    assert!(create(Creation::Leaf, "root.new.new").is_some());
    assert_eq!(create(Creation::Path, "root.new.new"), None);
    assert!(create(Creation::Path, "new.new").is_some());
    let name = |name: &str| PathPart::Name(name.to_owned());
    let odd = QueuePath::new(vec![name("root"), name("%user")]);
    assert!(refused(PlaceIn::existing(odd)).is_some(), "it could not be written");
}
