//! Resolving definitions (`slider.md` 1.16 and 3, F20).

use std::collections::BTreeSet;

use apportion::preempt::DisruptionLimit;
use apportion_placement::instance::{
    ConfFile, ConfTree, Definition, DefinitionError, ExitCode, MASTER, Options, PRIORITY_MAX, SizeBounds,
};
use apportion_placement::{ComponentId, ComponentSpec, HealthThreshold, PlacementPolicy};
use proptest::prelude::*;
use proptest::sample::select;

use super::support::Outcome;

fn worker(keys: &[(&str, &str)]) -> Definition {
    let start = ConfTree::default().with("worker", "yarn.role.priority", 1);
    Definition::of(keys.iter().fold(start, |tree, (key, value)| tree.with("worker", key, value)))
}

fn spec(keys: &[(&str, &str)]) -> Result<ComponentSpec, Box<dyn std::error::Error>> {
    let resolved = worker(keys).resolve(&SizeBounds::default())?;
    Ok(resolved.components.into_iter().next().ok_or("one component")?)
}

#[test]
fn without_keys_slider_s_defaults_hold() -> Outcome {
    let resolved = worker(&[]).resolve(&SizeBounds::default())?;
    let size = resolved.components[0].size;
    assert_eq!(resolved.components, [ComponentSpec::new("worker", 1, 0, size)]);
    assert_eq!((size[0], size[1]), (256, 1_000));
    let settings = resolved.settings;
    assert_eq!(settings.failure_window_ms, Some(6 * 60 * 60 * 1_000), "six whole hours (D20)");
    assert_eq!(settings.short_life_ms, 60_000);
    assert_eq!(settings.startup_delay_ms, 5_000);
    assert_eq!(settings.escalation_check_interval_ms, 30_000);
    assert_eq!((settings.master_starts_max, settings.master_starts_window_ms), (0, 300_000));
    assert_eq!(settings.provider, "generic");
    Ok(())
}

#[test]
fn every_key_of_a_component_has_its_effect() -> Outcome {
    assert_eq!(spec(&[("yarn.component.instances", "0x10")])?.desired, 16);
    for (bits, policy) in [
        ("0", PlacementPolicy::Normal),
        ("1", PlacementPolicy::Strict),
        ("2", PlacementPolicy::Anywhere),
        ("4", PlacementPolicy::AntiAffinity),
    ] {
        assert_eq!(spec(&[("yarn.component.placement.policy", bits)])?.policy, policy);
    }
    assert_eq!(spec(&[("yarn.placement.escalate.seconds", "7")])?.escalate_after_ms, 7_000);
    for (text, label) in [("gpu", Some("gpu")), (" gpu ", Some("gpu")), ("", None), (" ", None)] {
        assert_eq!(spec(&[("yarn.label.expression", text)])?.label.as_deref(), label, "{text:?}");
    }
    for (text, threshold) in [("0", Some(0)), ("3", Some(3)), ("-1", None), ("-7", None)] {
        let found = spec(&[("yarn.node.failure.threshold", text)])?.node_failure_threshold;
        assert_eq!(found, threshold, "{text}: what is negative is unlimited (D9)");
    }
    for (text, threshold) in [("5", Some(5)), ("0", None), ("-1", None)] {
        let found = spec(&[("yarn.container.failure.threshold", text)])?.container_failure_threshold;
        assert_eq!(found, threshold, "{text}");
    }
    Ok(())
}

#[test]
fn health_is_looked_at_where_a_share_is_given() -> Outcome {
    const PERCENT: &str = "yarn.container.health.threshold.percent";
    assert_eq!(spec(&[(PERCENT, "-1")])?.health, None);
    let defaults = HealthThreshold { percent: 80, window_ms: 600_000, initial_delay_ms: 600_000 };
    assert_eq!(spec(&[(PERCENT, "80")])?.health, Some(defaults));
    let given = spec(&[
        (PERCENT, "1"),
        ("yarn.container.health.threshold.window.secs", "2"),
        ("yarn.container.health.threshold.init.delay.secs", "0"),
    ])?;
    assert_eq!(given.health, Some(HealthThreshold { percent: 1, window_ms: 2_000, initial_delay_ms: 0 }));
    Ok(())
}

#[test]
fn a_disruption_budget_that_can_never_be_met_is_an_error() -> Outcome {
    const MIN: &str = "yarn.component.disruption.min.available";
    const MAX: &str = "yarn.component.disruption.max.unavailable";
    let four = |keys: &[(&str, &str)]| spec(&[&[("yarn.component.instances", "4")], keys].concat());
    for (keys, limit) in [
        (vec![], None),
        (vec![(MIN, "-1"), (MAX, "-1")], None),
        (vec![(MIN, "4")], Some(DisruptionLimit::MinAvailable(4))),
        (vec![(MAX, "0")], Some(DisruptionLimit::MaxUnavailable(0))),
    ] {
        assert_eq!(four(&keys)?.disruption, limit, "{keys:?}");
    }
    let error = |keys: &[(&str, &str)]| four(keys).err().map(|error| error.to_string());
    let never_met = "resources.json: component `worker` has 4 instances, but \
        `yarn.component.disruption.min.available` = 5 of them have to be available; it can never be met";
    assert_eq!(error(&[(MIN, "5")]).as_deref(), Some(never_met));
    let two = "resources.json: component `worker` has `yarn.component.disruption.min.available` and \
        `yarn.component.disruption.max.unavailable`; leave one of them out";
    assert_eq!(error(&[(MIN, "3"), (MAX, "1")]).as_deref(), Some(two));
    Ok(())
}

/// Cluster managers refuse more than 100 budgets. Instances with unique names have one together, and a component
/// without instances has none.
#[test]
fn more_than_a_hundred_disruption_budgets_are_an_error() -> Outcome {
    let tree = |components: u32, instances: u32| {
        let start = ConfTree::default().with_global("yarn.component.disruption.max.unavailable", "1");
        (1..=components).fold(start, |tree, id| {
            let name = format!("worker{id}x");
            let tree = tree.with(&name, "yarn.role.priority", id * 10);
            tree.with(&name, "yarn.component.instances", instances).with(
                &name,
                "component.unique.names",
                true,
            )
        })
    };
    let resolve = |tree| Definition::of(tree).resolve(&SizeBounds::default());
    assert_eq!(resolve(tree(100, 3))?.components.len(), 300);
    assert!(resolve(tree(101, 0)).is_ok());
    let error = resolve(tree(101, 3)).err().ok_or("101 are too many")?;
    let expected = "resources.json: an application has 101 budgets; at most 100 are possible; leave \
        `yarn.component.disruption.*` out of some components";
    assert_eq!((error.to_string().as_str(), error.exit_code()), (expected, ExitCode::BadConfiguration));
    Ok(())
}

#[test]
fn the_failure_window_is_a_sum() -> Outcome {
    const WINDOW: &str = "yarn.container.failure.window";
    for (parts, seconds) in [
        (vec![("hours", "0")], None),
        (vec![("hours", "0"), ("seconds", "90")], Some(90)),
        (vec![("days", "1"), ("hours", "1"), ("minutes", "1"), ("seconds", "1")], Some(90_061)),
        (vec![("minutes", "1")], Some(6 * 3_600 + 60)),
    ] {
        let tree = parts.iter().fold(ConfTree::default(), |tree, (unit, value)| {
            tree.with_global(&format!("{WINDOW}.{unit}"), value)
        });
        let settings = Definition::of(tree).resolve(&SizeBounds::default())?.settings;
        assert_eq!(settings.failure_window_ms, seconds.map(|seconds: u64| seconds * 1_000), "{parts:?}");
    }
    Ok(())
}

/// One component for each instance (`slider.md` 1.16).
#[test]
fn instances_may_have_names_of_their_own() -> Outcome {
    let tree = ConfTree::default()
        .with("node", "component.unique.names", true)
        .with("node", "yarn.role.priority", 5)
        .with("node", "yarn.component.instances", 3)
        .with("other", "yarn.role.priority", 6)
        .with("other", "yarn.component.instances", 2);
    let components = Definition::of(tree.clone()).resolve(&SizeBounds::default())?.components;
    let found: Vec<_> =
        components.iter().map(|one| (one.name.as_str(), one.group.as_str(), one.id.0, one.desired)).collect();
    // The second would get 6, which is taken, so it gets the next after the largest; then 7 is taken too.
    let expected =
        [("node1", "node", 5, 1), ("other", "other", 6, 2), ("node2", "node", 7, 1), ("node3", "node", 8, 1)];
    assert_eq!(found, expected);
    let clash = tree.with("node2", "yarn.role.priority", 9);
    let error = Definition::of(clash).resolve(&SizeBounds::default()).err().ok_or("two called node2")?;
    assert_eq!(error.exit_code(), ExitCode::BadConfiguration);
    assert!(error.to_string().contains("`node2`"), "{error}");
    Ok(())
}

/// Each instance with a name of its own gets a number.
#[test]
fn no_instance_has_a_number_above_the_largest() -> Outcome {
    let resolve = |first: i64, instances: u32| {
        let tree = ConfTree::default()
            .with("node", "component.unique.names", true)
            .with("node", "yarn.role.priority", first)
            .with("node", "yarn.component.instances", instances);
        Definition::of(tree).resolve(&SizeBounds::default())
    };
    for (first, instances) in [(PRIORITY_MAX, 1), (PRIORITY_MAX - 1, 2), (PRIORITY_MAX - 2, 3)] {
        let components = resolve(first, instances)?.components;
        assert_eq!(components.last().map(|last| i64::from(last.id.0)), Some(PRIORITY_MAX));
        let error = resolve(first, instances + 1).err().ok_or("one has no number")?;
        assert_eq!(error.exit_code(), ExitCode::BadConfiguration);
        assert!(error.to_string().contains(&(PRIORITY_MAX + 1).to_string()), "{error}");
    }
    Ok(())
}

/// "Dynamic role conflict on priority 6".
#[test]
fn numbers_are_unique() -> Outcome {
    let tree = ConfTree::default().with("a", "yarn.role.priority", 6).with("b", "yarn.role.priority", 6);
    let error = Definition::of(tree).resolve(&SizeBounds::default()).err().ok_or("two have 6")?;
    let expected =
        DefinitionError::DuplicatePriority { priority: 6, first: "a".to_owned(), second: "b".to_owned() };
    assert_eq!((error.exit_code(), error), (ExitCode::BadConfiguration, expected));
    Ok(())
}

/// Slider's files have a section for the master, which is not a component.
#[test]
fn the_master_has_a_section_and_is_no_component() -> Outcome {
    let tree = worker(&[]).resources.with(MASTER, "yarn.memory", 512).with(
        MASTER,
        "yarn.component.placement.policy",
        16,
    );
    let resolved = Definition::of(tree.clone()).resolve(&SizeBounds::default())?;
    assert_eq!(resolved.components.len(), 1);
    assert_eq!(resolved.settings.master_size[0], 512);
    assert!(
        Definition::of(tree.with("worker", "yarn.component.placement.policy", 16))
            .resolve(&SizeBounds::default())
            .is_err()
    );
    Ok(())
}

/// Well-formed: parts, their kinds, the version (F20).
#[test]
fn a_file_has_to_be_of_the_form() {
    let schema = r#""schema": "http://example.org/specification/v2.0.0""#;
    for (text, expected) in [
        ("", "EOF"),
        ("[]", "the whole file is a list; it has to be an object"),
        ("{}", "`schema` is missing"),
        (r#"{"schema": "v1", "components": {}}"#, "schema `v1` is not supported"),
        (&format!("{{{schema}}}"), "`components` is missing"),
        (&format!(r#"{{{schema}, "componets": {{}}}}"#), "unknown part `componets`"),
        (&format!(r#"{{{schema}, "components": []}}"#), "`components` is a list"),
        (&format!(r#"{{{schema}, "components": {{"a": 3}}}}"#), "`a` is a single value"),
        (&format!(r#"{{{schema}, "components": {{"a": {{"k": null}}}}}}"#), "`k` of `a` is null"),
        (&format!(r#"{{{schema}, "global": null, "components": {{}}}}"#), "`global` is null"),
        (&format!(r#"{{{schema}, "components": {{"a": {{}}, "a": {{}}}}}}"#), "`a` is given twice"),
    ] {
        let error = ConfTree::parse(ConfFile::Resources, text);
        let message = error.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.starts_with("resources.json: ") && message.contains(expected), "{text}: {message}");
    }
    let good = format!(r#"{{{schema}, "components": {{"a": {{"n": 3, "b": true, "s": "x"}}}}}}"#);
    assert!(ConfTree::parse(ConfFile::Resources, &good).is_ok(), "numbers need no quotes");
    assert!(ConfTree::parse(ConfFile::AppConfig, &format!("{{{schema}}}")).is_ok());
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        select(vec!["max", "0x1", "-1", "http://example.org/specification/v2.0.0"]).prop_map(Value::from),
    ];
    let key = prop_oneof![
        select(apportion_placement::instance::KEYS).prop_map(|key| key.name.to_owned()),
        select(vec!["schema", "metadata", "global", "components", "slider-appmaster"])
            .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn options() -> impl Strategy<Value = Options> {
    let key = select(apportion_placement::instance::KEYS).prop_map(|key| key.name.to_owned());
    let value = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (-2..20_i64).prop_map(|number| number.to_string()),
        select(vec!["max", "true", "false", "", "0x7fffffff", "9999999999999999999"]).prop_map(str::to_owned),
    ];
    prop::collection::btree_map(key, value, 0..5)
}

/// Valid values at any level, for keys that components inherit.
fn good_options() -> impl Strategy<Value = Options> {
    let pair = select(vec![
        ("yarn.component.instances", vec!["0", "3", "0x4"]),
        ("component.unique.names", vec!["true", "false"]),
        ("yarn.component.placement.policy", vec!["0", "1", "2", "4"]),
        ("yarn.placement.escalate.seconds", vec!["0", "45"]),
        ("yarn.label.expression", vec!["", "gpu"]),
        ("yarn.node.failure.threshold", vec!["-1", "0", "9"]),
        ("yarn.container.failure.threshold", vec!["-1", "0", "9"]),
        ("yarn.container.health.threshold.percent", vec!["-1", "50"]),
        ("yarn.memory", vec!["max", "1024"]),
        ("yarn.vcores", vec!["max", "2"]),
    ]);
    let pair =
        pair.prop_flat_map(|(key, values)| (Just(key.to_owned()), select(values).prop_map(str::to_owned)));
    prop::collection::vec(pair, 0..6).prop_map(|pairs| pairs.into_iter().collect())
}

proptest! {
    /// F20: any content of the files is either read or refused with an error.
    #[test]
    fn any_json_is_read_or_refused(value in json(), wraps in any::<bool>(), cut in 0..200_usize) {
        let mut text = value.to_string();
        if wraps {
            text = format!(r#"{{"schema": "http://example.org/specification/v2.0.0", "components": {text}}}"#);
        }
        let cut: String = text.chars().take(cut).collect();
        for text in [&text, &cut] {
            let file = ConfFile::Resources;
            if let Ok(tree) = ConfTree::parse(file, text) {
                prop_assert_eq!(ConfTree::parse(file, &tree.to_json()), Ok(tree.clone()));
                let definition = Definition::of(tree);
                let resolved = definition.resolve(&SizeBounds::default());
                prop_assert_eq!(definition.generated().resolve(&SizeBounds::default()).is_ok(), resolved.is_ok());
            }
        }
    }

    /// F20: any set of keys is either refused or resolved to components that can run. These have numbers from 1,
    /// unique numbers and names, and sizes within bounds.
    #[test]
    fn resolved_components_can_run(
        global in options(),
        components in prop::collection::btree_map("[ab]1?", options(), 0..4),
        is_numbered in any::<bool>(),
    ) {
        let mut tree = ConfTree { global, components, ..ConfTree::default() };
        if is_numbered {
            tree.global.clear();
            for (number, options) in tree.components.values_mut().enumerate() {
                options.insert("yarn.role.priority".to_owned(), (number + 1).to_string());
            }
        }
        let Ok(resolved) = Definition::of(tree).resolve(&SizeBounds::default()) else { return Ok(()) };
        let ids: BTreeSet<ComponentId> = resolved.components.iter().map(|spec| spec.id).collect();
        let names: BTreeSet<&str> = resolved.components.iter().map(|spec| spec.name.as_str()).collect();
        prop_assert_eq!((ids.len(), names.len()), (resolved.components.len(), resolved.components.len()));
        prop_assert!(ids.iter().all(|id| id.0 >= 1));
        prop_assert!(resolved.components.is_sorted_by_key(|spec| spec.id));
    }

    /// Inheritance: a component's own value counts, else the global one, else the default. A tree with inherited
    /// values written out resolves to the same.
    #[test]
    fn components_inherit(global in good_options(), own in good_options()) {
        let mut effective = global.clone();
        effective.extend(own.clone());
        let with = |global: Options, mut options: Options| {
            options.insert("yarn.role.priority".to_owned(), "1".to_owned());
            let components = [("worker".to_owned(), options)].into();
            Definition::of(ConfTree { global, components, ..ConfTree::default() })
        };
        let inherited = with(global, own);
        let flat = with(Options::new(), effective.clone());
        let resolved = inherited.resolve(&SizeBounds::default())?;
        prop_assert_eq!(&resolved.components, &flat.resolve(&SizeBounds::default())?.components);
        prop_assert_eq!(&inherited.generated().resolve(&SizeBounds::default())?, &resolved);
        effective.insert("yarn.role.priority".to_owned(), "1".to_owned());
        prop_assert_eq!(&inherited.generated().resources.components["worker"], &effective);
    }
}
