//! Crashes between any two steps.

use super::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn definition(instances: u32) -> Definition {
    let resources = ConfTree::default().with("worker", "yarn.role.priority", 1).with(
        "worker",
        "yarn.component.instances",
        instances,
    );
    let internal = ConfTree::default().with_global("internal.container.startup.delay", instances);
    let app_config = ConfTree::default().with_global("version", instances);
    Definition { resources, internal, app_config }
}

fn directory(root: &Path) -> Result<(InstanceDirectories, InstanceDirectory), Box<dyn std::error::Error>> {
    let all = InstanceDirectories::new(root);
    let one = all.of(&"web".parse()?);
    Ok((all, one))
}

/// F2: a build that stops after any step leaves nothing or all.
#[test]
fn a_crash_while_building_leaves_nothing_or_all() -> Outcome {
    let count = {
        let folder = tempfile::tempdir()?;
        directory(folder.path())?.1.build_steps(folder.path(), &definition(1)).len()
    };
    for crash_after in 0..=count {
        let folder = tempfile::tempdir()?;
        let (all, one) = directory(folder.path())?;
        let part = storage::temporary_folder(folder.path())?;
        storage::run(&one.build_steps(&part, &definition(1))[..crash_after])?;
        match one.presence() {
            Presence::Absent => {
                assert!(all.names()?.is_empty(), "after {crash_after} steps");
                one.build(&definition(2))?;
                assert_eq!(one.load()?, definition(2));
            }
            Presence::Complete => assert_eq!(one.load()?, definition(1)),
            Presence::Incomplete { missing } => return Err(format!("{crash_after}: no {missing}").into()),
        }
    }
    Ok(())
}

/// A replacement that stops after any step leaves the old or the new definition, and the next one works.
#[test]
fn a_crash_while_replacing_leaves_the_old_or_the_new() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (_, one) = directory(folder.path())?;
    let count = one.replace_steps(folder.path(), &definition(2)).len();
    let mut found_new = 0;
    for crash_after in 0..=count {
        let folder = tempfile::tempdir()?;
        let (_, one) = directory(folder.path())?;
        one.build(&definition(1))?;
        let part = storage::temporary_folder(one.path())?;
        storage::run(&one.replace_steps(&part, &definition(2))[..crash_after])?;
        assert_eq!(one.presence(), Presence::Complete, "after {crash_after} steps");
        let found = one.load()?;
        assert!(found == definition(1) || found == definition(2), "after {crash_after} steps: {found:?}");
        assert!(found_new == 0 || found == definition(2), "the new one stays");
        found_new += usize::from(found == definition(2));
        one.save_resources(&definition(3))?;
        assert_eq!(one.load()?.resources, definition(3).resources);
        assert_eq!(one.load()?.internal, found.internal, "what was pending is not lost");
        one.replace(&definition(4))?;
        assert_eq!(one.load()?, definition(4));
    }
    assert!(found_new > 0);
    Ok(())
}

/// A folder with any part missing is not an instance, and can be destroyed.
#[test]
fn a_folder_with_something_missing_is_incomplete() -> Outcome {
    for missing in
        ["resources.json", "internal.json", "app_config.json", "snapshot", "generated", "database", "history"]
    {
        let folder = tempfile::tempdir()?;
        let (all, one) = directory(folder.path())?;
        one.build(&definition(1))?;
        let path = one.path().join(missing);
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
        assert_eq!(one.presence(), Presence::Incomplete { missing: missing.to_owned() });
        assert!(matches!(one.load(), Err(LoadError::Incomplete { .. })));
        assert_eq!(one.build(&definition(2)), Err(BuildError::Exists(one.path().to_owned())));
        one.destroy()?;
        assert_eq!(one.presence(), Presence::Absent);
        assert_eq!(fs::read_dir(folder.path())?.count(), 0, "nothing is left");
        assert!(all.names()?.is_empty());
    }
    Ok(())
}

#[test]
fn one_of_many_builders_succeeds() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (_, one) = directory(folder.path())?;
    let built: Vec<Result<(), BuildError>> = std::thread::scope(|scope| {
        let one = &one;
        let start = |number| scope.spawn(move || one.build(&definition(number)));
        let builders: Vec<_> = (0..8).map(start).collect();
        builders.into_iter().filter_map(|builder| builder.join().ok()).collect()
    });
    let firsts: Vec<usize> = (0..8).filter(|number| built[*number].is_ok()).collect();
    let [first] = firsts[..] else { return Err(format!("{built:?}").into()) };
    assert_eq!(one.load()?, definition(first.try_into()?));
    assert_eq!(fs::read_dir(folder.path())?.count(), 1, "the others left nothing");
    Ok(())
}

#[test]
fn names_are_those_of_folders() -> Outcome {
    let folder = tempfile::tempdir()?;
    let all = InstanceDirectories::new(folder.path().join("cluster"));
    assert!(all.names()?.is_empty());
    for name in ["web", "db-1"] {
        all.of(&name.parse()?).build(&definition(1))?;
    }
    fs::write(folder.path().join("cluster/file"), "")?;
    fs::create_dir(folder.path().join("cluster/Not An Instance"))?;
    let names: Vec<String> = all.names()?.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["db-1", "web"]);
    Ok(())
}
