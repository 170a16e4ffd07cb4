//! Folders in an odd state: links without a target and links in a circle.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use apportion_placement::{
    DirectoryStore, HistorySaver, HistoryStore, SaveError, SaverError, StoreError, history_name, load_newest,
    save_now,
};

use crate::support::{TestResult, sample};

#[test]
fn a_folder_on_a_volume_that_is_not_there_is_no_name_in_use() -> TestResult {
    let folder = tempfile::tempdir()?;
    let link = folder.path().join("history");
    symlink(folder.path().join("volume/history"), &link)?;
    let store = DirectoryStore::new(&link);
    let refused = store.write_atomically(&history_name(1), b"x");
    assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
    let failed = save_now(&store, &sample(1));
    assert!(matches!(failed, Err(SaveError::Store(StoreError::Io { .. }))), "{failed:?}");

    let saver = HistorySaver::start(Arc::new(store), HistorySaver::KEEP)?;
    saver.offer(sample(1));
    let failed = saver.flush();
    assert!(matches!(failed, Err(SaverError::Save(_))), "{failed:?}");
    std::fs::create_dir(folder.path().join("volume"))?;
    std::fs::create_dir(folder.path().join("volume/history"))?;
    saver.stop()?;
    let loaded = load_newest(&DirectoryStore::new(&link)).loaded;
    assert_eq!(loaded.map(|loaded| loaded.history.file), Some(sample(1)), "the volume came back");
    Ok(())
}

#[test]
fn a_link_that_leads_in_a_circle_hides_no_history() -> TestResult {
    let folder = tempfile::tempdir()?;
    let store = DirectoryStore::new(folder.path());
    save_now(&store, &sample(1))?;
    symlink("circle", folder.path().join("circle"))?;
    symlink("nowhere", folder.path().join(history_name(7)))?;
    let report = load_newest(&store);
    assert!(report.listing_error.is_none() && report.skipped.is_empty(), "{report:?}");
    assert_eq!(report.loaded.map(|loaded| loaded.history.file), Some(sample(1)));
    assert_eq!(save_now(&store, &sample(2))?.name, history_name(2));
    Ok(())
}
