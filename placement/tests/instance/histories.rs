//! Histories of hosted services: read at the start, saved until the end, and reported when either fails.

use std::fs;
use std::path::PathBuf;

use apportion_placement::instance::{
    ApplicationHost, FakeFactory, InstanceDirectories, RunState, SizeBounds, StopOptions, Submission,
};
use apportion_placement::{DirectoryStore, HistoryFile, HistoryStore, history_name, save_now};

use super::hosts::{Bed, Factory, on_both};
use super::support::{AT_ONCE, Outcome, web};

fn folder<F: Factory>(bed: &Bed<F>) -> Result<PathBuf, Box<dyn std::error::Error>> {
    Ok(InstanceDirectories::new(bed.folder.path().join("cluster")).of(&"web".parse()?).history_path())
}

on_both!(an_unreadable_history_is_reported);
/// The service starts all the same, on the hosts of the newest readable history.
fn an_unreadable_history_is_reported<F: Factory>() -> Outcome {
    let bed = Bed::<F>::new()?;
    bed.client.create("web", &web(2), AT_ONCE, 1_000)?;
    let was = bed.workers()?;
    bed.client.stop("web", &StopOptions::default())?;
    fs::write(folder(&bed)?.join("rolehistory-7fffffffffffffff.json"), "{broken")?;
    bed.client.start("web", AT_ONCE, 2_000)?;
    assert!(bed.report()?.diagnostics.contains("rolehistory-7fffffffffffffff.json was passed over"));
    assert_eq!(bed.workers()?, was);
    Ok(())
}

/// There are fewer files than a saver keeps, so only the start can have deleted one.
#[test]
fn a_start_deletes_older_histories() -> Outcome {
    let bed = Bed::<FakeFactory>::new()?;
    bed.client.build("web", &web(0))?;
    let folder = folder(&bed)?;
    let store = DirectoryStore::new(&folder);
    for saved_ms in 1..=3 {
        save_now(&store, &HistoryFile { saved_ms, ..HistoryFile::default() })?;
    }
    let left_by_a_crash = folder.join(".rolehistory-abcd1234.tmp");
    fs::write(&left_by_a_crash, "")?;
    bed.client.start("web", AT_ONCE, 1_000)?;
    let names: Vec<String> = store.list()?.into_iter().map(|file| file.name).collect();
    assert!(names.contains(&history_name(3)), "{names:?}");
    assert!(!names.contains(&history_name(1)) && !names.contains(&history_name(2)), "{names:?}");
    assert!(!left_by_a_crash.exists());
    Ok(())
}

/// The given reason for the end comes first, and the failed save is reported once.
#[test]
fn a_failed_save_is_reported_at_the_end() -> Outcome {
    let (definition, name) = (web(2), "web".parse()?);
    let resolved = definition.resolve(&SizeBounds::default())?;
    for (message, before) in [("", ""), ("enough", "enough; ")] {
        let bed = Bed::<FakeFactory>::new()?;
        let history = bed.folder.path().join("history");
        fs::write(&history, "no folder")?;
        let because = fs::read_dir(&history).err().ok_or("it is a file")?;
        let (user, name, now_ms) = ("ann", &name, 1_000);
        let (definition, resolved, folder) = (&definition, &resolved, history.as_path());
        let submission = Submission { user, name, definition, resolved, history: folder, now_ms };
        let app = bed.host.submit(submission)?;
        bed.host.stop(app, message)?;
        let report = bed.report()?;
        assert_eq!(report.state, RunState::Finished);
        let expected =
            format!("{before}the history was not saved: listing {} failed: {because}", history.display());
        assert_eq!(report.diagnostics, expected);
    }
    Ok(())
}
