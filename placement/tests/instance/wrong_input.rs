//! Invalid input: the exit code and the message of each, and that no state changes, not even a byte of a file.

use apportion_placement::instance::{
    ActionAnswer, ActionError, ApplicationHost, ConfTree, CountRule, CountingProvider, Definition,
    DestroyOptions, ExistsOptions, ExitCode, ListOptions, Provider, SizeBounds, StopOptions,
};

use super::support::{AT_ONCE, Bed, Outcome, web};

type Answered = Result<ActionAnswer, ActionError>;

/// The state that must be equal before and after.
fn snapshot(bed: &Bed) -> Result<impl PartialEq + std::fmt::Debug + use<>, Box<dyn std::error::Error>> {
    let reports = bed.host.reports("ann");
    let mut containers = Vec::new();
    for report in &reports {
        containers.push(bed.host.containers(report.id)?);
    }
    Ok((bed.bytes()?, reports, containers))
}

#[track_caller]
fn check(is_running: bool, act: impl Fn(&Bed) -> Answered, code: ExitCode, words: &str) -> Outcome {
    let bed = Bed::with_web(is_running)?;
    let before = snapshot(&bed)?;
    let result = act(&bed);
    let error = result.err().ok_or_else(|| format!("{words}: it was taken"))?;
    assert_eq!(error.exit_code(), code, "{error}");
    assert!(error.to_string().contains(words), "`{error}` does not say `{words}`");
    assert_eq!(snapshot(&bed)?, before, "{words}: something changed");
    Ok(())
}

fn worker(key: &str, value: &str) -> Definition {
    let mut definition = web(2);
    definition.resources = definition.resources.with("worker", key, value);
    definition
}

/// Invalid definitions given to `build`, `create` and `update`.
#[test]
fn wrong_definitions() -> Outcome {
    let global = |key: &str, value: &str| {
        let mut definition = web(2);
        definition.resources = definition.resources.with_global(key, value);
        definition
    };
    let internal = |key: &str, value: &str| {
        let mut definition = web(2);
        definition.internal = ConfTree::default().with_global(key, value);
        definition
    };
    let bad = ExitCode::BadConfiguration;
    let cases = [
        (
            worker("yarn.component.instances", "-1"),
            ExitCode::BadState,
            "`yarn.component.instances` = -1 has to be 0 or more",
        ),
        (global("yarn.component.instances", "-1"), ExitCode::BadState, "resources.json: global"),
        (worker("yarn.component.instances", "two"), bad, "`two` has to be a whole number"),
        (worker("yarn.component.instances", "1000001"), bad, "from 0 to 1000000"),
        (worker("yarn.component.placement.policy", "3"), bad, "4 (anti-affinity)"),
        (worker("yarn.component.placement.policy", "8"), bad, "component `worker`"),
        (worker("yarn.component.placement.policy", "16"), bad, "`yarn.component.placement.policy` = `16`"),
        (worker("yarn.component.placement.policy", "-1"), bad, "`-1`"),
        (
            worker("yarn.role.priority", "1"),
            bad,
            "components `master` and `worker` both have `yarn.role.priority` 1",
        ),
        (worker("yarn.role.priority", "0"), bad, "from 1 to"),
        (worker("yarn.role.priority", "1073741824"), bad, "to 1073741823"),
        (worker("yarn.label.expression", "gpu && ssd"), bad, "a single label"),
        (worker("yarn.label.expression", "gpu||ssd"), bad, "a single label"),
        (worker("yarn.componet.instances", "1"), bad, "did you mean `yarn.component.instances`?"),
        (worker("yarn.container.failure.window.hours", "1"), bad, "it belongs in `global` of resources.json"),
        (worker("internal.container.startup.delay", "1"), bad, "it belongs in `global` of internal.json"),
        (global("yarn.container.failure.window.hours", "-1"), bad, "from 0"),
        (worker("yarn.memory", "-5"), bad, "or `max`"),
        (worker("yarn.resource.normalization.enabled", "perhaps"), bad, "`true` or `false`"),
        (worker("yarn.container.health.threshold.percent", "101"), bad, "from -1 to 100"),
        (internal("internal.provider.name", "hbse"), bad, "did you mean `hbase`?"),
        (internal("internal.provider.name", "hbase"), bad, "has no component `master`"),
        (internal("yarn.memory", "5"), bad, "it belongs in `components` of resources.json"),
        (
            Definition::of(ConfTree::default().with("a", "yarn.memory", 1)),
            bad,
            "component `a` has no `yarn.role.priority`",
        ),
        (Definition::of(ConfTree::default().with("", "yarn.role.priority", 1)), bad, "name is empty"),
    ];
    for (definition, code, words) in &cases {
        check(false, |bed| bed.client.build("db", definition), *code, words)?;
        check(false, |bed| bed.client.create("db", definition, AT_ONCE, 1), *code, words)?;
        check(true, |bed| bed.client.update("web", definition), *code, words)?;
    }
    Ok(())
}

/// A provider's own rules, which also hold for a flex.
#[test]
fn wrong_for_the_provider() -> Outcome {
    let tree = |masters: i64| {
        ConfTree::default()
            .with("HBASE_MASTER", "yarn.role.priority", 1)
            .with("HBASE_MASTER", "yarn.component.instances", masters)
            .with("HBASE_REGIONSERVER", "yarn.role.priority", 2)
    };
    let hbase = |masters| Definition {
        internal: ConfTree::default().with_global("internal.provider.name", "hbase"),
        ..Definition::of(tree(masters))
    };
    let words = "needs at least 1 instances of `HBASE_MASTER`, not 0";
    check(false, |bed| bed.client.build("db", &hbase(0)), ExitCode::BadConfiguration, words)?;
    let bed = Bed::new()?;
    bed.client.create("db", &hbase(1), AT_ONCE, 1)?;
    let before = bed.bytes()?;
    let error = bed.client.flex("db", &[("HBASE_MASTER", "0")]).err().ok_or("it was taken")?;
    assert_eq!((error.exit_code(), error.to_string().contains(words)), (ExitCode::BadConfiguration, true));
    assert_eq!(bed.bytes()?, before);
    Ok(())
}

/// A rule's bounds are admitted themselves.
#[test]
fn a_provider_counts_instances_up_to_its_most() -> Outcome {
    let rule = CountRule { component: "worker".to_owned(), least: 1, most: Some(2) };
    let provider = CountingProvider::new("pairs", vec![rule]);
    for (count, is_admitted) in [(0, false), (1, true), (2, true), (3, false)] {
        let tree = ConfTree::default().with("worker", "yarn.role.priority", 1);
        let tree = tree.with("worker", "yarn.component.instances", count);
        let definition = Definition::of(tree);
        let resolved = definition.resolve(&SizeBounds::default())?;
        assert_eq!(provider.validate(&definition, &resolved).is_ok(), is_admitted, "{count}");
    }
    Ok(())
}

#[test]
fn wrong_names() -> Outcome {
    for name in ["", " ", "-x", "Title", "a[a", "b#", "../web", "web/"] {
        let bad = ExitCode::BadArgument;
        check(true, |bed| bed.client.build(name, &web(1)), bad, "")?;
        check(true, |bed| bed.client.update(name, &web(1)), bad, "")?;
        check(true, |bed| bed.client.start(name, AT_ONCE, 1), bad, "")?;
        check(true, |bed| bed.client.stop(name, &StopOptions::default()), bad, "")?;
        check(true, |bed| bed.client.destroy(name, DestroyOptions { force: true }), bad, "")?;
        check(true, |bed| bed.client.flex(name, &[("worker", "1")]), bad, "")?;
        check(true, |bed| bed.client.list(Some(name), ListOptions::default()), bad, "")?;
        check(true, |bed| bed.client.exists(name, ExistsOptions::default()), bad, "")?;
        check(true, |bed| bed.client.status(name), bad, "")?;
        check(true, |bed| bed.client.kill_container(name, Some("1")), bad, "")?;
        check(true, |bed| bed.client.diagnostics(name), bad, "")?;
    }
    Ok(())
}

#[test]
fn wrong_flexes() -> Outcome {
    let bad = ExitCode::BadArgument;
    let one = |component: &'static str, count: &'static str| {
        move |bed: &Bed| bed.client.flex("web", &[("master", "1"), (component, count)])
    };
    for is_running in [false, true] {
        check(is_running, one("worker", "-3"), bad, "would have -1 instances; there are 2")?;
        check(is_running, one("worker", "--3"), bad, "`--3` is not a number of instances")?;
        check(is_running, one("worker", ""), bad, "give `3`, `+1` or `-1`")?;
        check(is_running, one("worker", "1000001"), bad, "may be 0 to 1000000")?;
        check(is_running, one("worker", "+9223372036854775807"), bad, "may be 0 to")?;
        check(is_running, one("master", "2"), bad, "`master` twice")?;
        let unknown = ExitCode::BadConfiguration;
        check(is_running, one("worken", "2"), unknown, "comes with `update`; did you mean `worker`?")?;
        check(is_running, one("slider-appmaster", "2"), unknown, "`slider-appmaster`")?;
        check(is_running, |bed| bed.client.flex("web", &[]), ExitCode::Usage, "needs a component")?;
    }
    Ok(())
}

/// A container of another user does not belong to this instance.
#[test]
fn wrong_containers() -> Outcome {
    let bed = Bed::with_web(true)?;
    let other = super::support::client(bed.folder.path(), &bed.host, "bob");
    other.create("web", &web(1), AT_ONCE, 1)?;
    let app = bed.host.reports("bob")[0].id;
    let foreign = bed.host.containers(app)?[0].container.0.to_string();
    let before = snapshot(&bed)?;
    let error = bed.client.kill_container("web", Some(&foreign)).err().ok_or("it was ended")?;
    assert_eq!(error.exit_code(), ExitCode::BadState);
    assert!(error.to_string().contains(&format!("no container {foreign}")), "{error}");
    assert_eq!(snapshot(&bed)?, before);
    assert_eq!(bed.host.containers(app)?.len(), 2);
    for (id, words) in [
        (None, "is missing"),
        (Some(""), "is missing"),
        (Some("x7"), "`x7` is no"),
        (Some("-1"), "`-1` is no"),
    ] {
        check(true, |bed| bed.client.kill_container("web", id), ExitCode::BadArgument, words)?;
    }
    Ok(())
}

#[test]
fn refused_commands_change_nothing() -> Outcome {
    check(false, |bed| bed.client.build("web", &web(9)), ExitCode::InstanceExists, "already")?;
    check(true, |bed| bed.client.create("web", &web(9), AT_ONCE, 2), ExitCode::InUse, "stop it first")?;
    check(true, |bed| bed.client.start("web", AT_ONCE, 2), ExitCode::InUse, "which is RUNNING")?;
    check(
        true,
        |bed| bed.client.destroy("web", DestroyOptions { force: true }),
        ExitCode::InUse,
        "stop it first",
    )?;
    check(false, |bed| bed.client.destroy("web", DestroyOptions::default()), ExitCode::Usage, "force it")?;
    let state = ListOptions { state: Some("RUNNIN"), ..ListOptions::default() };
    check(true, |bed| bed.client.list(None, state), ExitCode::BadArgument, "did you mean `RUNNING`?")?;
    let state = ExistsOptions { live: false, state: Some("gone") };
    check(true, |bed| bed.client.exists("web", state), ExitCode::BadArgument, "unknown state `gone`")
}

/// A broken file blocks only the start and the flex of an instance.
#[test]
fn broken_files() -> Outcome {
    for is_running in [false, true] {
        let bed = Bed::with_web(is_running)?;
        std::fs::write(bed.folder.path().join("ann/cluster/web/internal.json"), "{\"schema\": ")?;
        let before = snapshot(&bed)?;
        let error = bed.client.flex("web", &[("worker", "1")]).err().ok_or("it was taken")?;
        assert_eq!(error.exit_code(), ExitCode::BadConfiguration);
        assert!(error.to_string().starts_with("internal.json: EOF"), "{error}");
        let code = if is_running { ExitCode::InUse } else { ExitCode::BadConfiguration };
        assert_eq!(bed.client.start("web", AT_ONCE, 2).map_err(|error| error.exit_code()).err(), Some(code));
        assert_eq!(snapshot(&bed)?, before);
        bed.client.exists("web", ExistsOptions::default())?;
        assert_eq!(bed.client.stop("web", &StopOptions::default())?.exit_code(), ExitCode::Success);
        bed.client.update("web", &web(3))?;
        assert_eq!(bed.client.start("web", AT_ONCE, 3)?.exit_code(), ExitCode::Success);
    }
    Ok(())
}
