//! Stores in files: opening, reopening, and files that are not stores.

use std::fs;
use std::path::Path;

use apportion_placement::control::{
    Change, ControlStore, Counts, Deployment, FORMAT_VERSION, OpenStoreError, RedbControlStore, request_key,
};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::support::{Bed, TestResult, accepted, full, plain, uuid};

const FORMAT: TableDefinition<'static, &str, u64> = TableDefinition::new("format");

fn refused(path: &Path) -> OpenStoreError {
    RedbControlStore::open(path).expect_err("it is refused")
}

/// Writes a store file of 700 kB.
fn filled(path: &Path) -> TestResult {
    let store = RedbControlStore::open(path)?;
    let changes: Vec<Change> = (0..500).map(|number| Change::PutRequest(full(number, 1))).collect();
    store.apply(&changes)?;
    Ok(())
}

#[test]
fn a_store_that_is_opened_again_has_everything() -> TestResult {
    let bed = Bed::redb()?;
    let deployment =
        Deployment { id: "app-1".to_owned(), job: "wiki".to_owned(), started_ms: 1, is_current: true };
    bed.put(&[plain(1, 9), full(2, 8), plain(3, 7)])?;
    bed.apply(&[
        Change::PutResponse(accepted(&plain(3, 7))),
        Change::DeleteRequest(uuid(3)),
        Change::PutRawRequest { key: request_key(uuid(4)), bytes: b"{}".to_vec() },
        Change::PutDeployment(deployment.clone()),
    ])?;
    let page = bed.store.requests(None, 10)?;
    let bed = bed.reopened()?;
    assert_eq!(bed.store.requests(None, 10)?, page);
    assert_eq!(page.requests, [full(2, 8), plain(1, 9)]);
    assert_eq!(bed.store.response(uuid(3))?, Some(accepted(&plain(3, 7))));
    assert_eq!(bed.store.deployments()?, [deployment]);
    assert_eq!((bed.counts()?, bed.store.written()), ((2, 1, 1), 0));
    assert!(bed.put(&[plain(3, 1)]).is_err(), "the outcome is still known");
    Ok(())
}

#[test]
fn a_store_is_open_once_at_a_time() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    let store = RedbControlStore::open(&path)?;
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::Locked { .. }), "{error}");
    assert!(error.to_string().contains("is open elsewhere"), "{error}");
    drop(store);
    RedbControlStore::open(&path)?;
    Ok(())
}

#[test]
fn a_foreign_file_stays_unchanged() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    for bytes in [b"x".to_vec(), b"hello, world".repeat(10), b"{}\n".repeat(100_000), vec![0; 8_192]] {
        fs::write(&path, &bytes)?;
        let error = refused(&path);
        assert!(matches!(error, OpenStoreError::Foreign { .. } | OpenStoreError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("control.redb"), "{error}");
        assert_eq!(fs::read(&path)?, bytes);
    }
    fs::write(&path, "")?;
    RedbControlStore::open(&path)?;
    Ok(())
}

#[test]
fn a_database_of_another_program_is_not_touched() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("other.redb");
    let table: TableDefinition<'static, u64, u64> = TableDefinition::new("accounts");
    let database = Database::create(&path)?;
    let transaction = database.begin_write()?;
    transaction.open_table(table)?.insert(1, 2)?;
    transaction.commit()?;
    drop(database);
    let error = refused(&path);
    assert!(error.to_string().contains("the table `accounts`"), "{error}");
    let names = Database::open(&path)?.begin_read()?.list_tables()?.count();
    assert_eq!(names, 1);
    Ok(())
}

#[test]
fn a_later_version_is_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    filled(&path)?;
    for (version, words) in
        [(3, "version 3; this release reads version 2"), (0, "version 0, which never was")]
    {
        let database = Database::create(&path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(FORMAT)?.insert("version", version)?;
        transaction.commit()?;
        drop(database);
        let error = refused(&path);
        assert!(error.to_string().contains(words), "{error}");
    }
    let database = Database::create(&path)?;
    let transaction = database.begin_write()?;
    transaction.delete_table(FORMAT)?;
    transaction.open_table(TableDefinition::<u64, &str>::new("format"))?.insert(1, "version")?;
    transaction.commit()?;
    drop(database);
    let error = refused(&path);
    assert!(matches!(error, OpenStoreError::Foreign { .. }), "{error}");
    Ok(())
}

#[test]
fn a_file_of_version_1_becomes_one_of_this_version() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    filled(&path)?;
    let database = Database::create(&path)?;
    let transaction = database.begin_write()?;
    transaction.open_table(FORMAT)?.insert("version", 1)?;
    let records: TableDefinition<'static, &[u8], &[u8]> =
        TableDefinition::new("samza-place-container-v1/job-records");
    assert!(transaction.delete_table(records)?, "version 1 had none");
    transaction.commit()?;
    drop(database);
    let store = RedbControlStore::open(&path)?;
    assert_eq!((store.counts()?.requests, store.job_records("wiki")?), (500, Vec::new()));
    drop(store);
    let database = Database::create(&path)?;
    let transaction = database.begin_write()?;
    let version = transaction.open_table(FORMAT)?.get("version")?.map(|version| version.value());
    assert_eq!(version, Some(FORMAT_VERSION));
    Ok(())
}

#[test]
fn a_file_without_its_folder_is_not_made() -> TestResult {
    let folder = tempfile::tempdir()?;
    let error = refused(&folder.path().join("nowhere/control.redb"));
    assert!(matches!(error, OpenStoreError::NoFolder { .. }), "{error}");
    assert!(error.to_string().contains("make it first"), "{error}");
    let error = refused(folder.path());
    assert!(matches!(error, OpenStoreError::Io { .. }), "{error}");
    fs::write(folder.path().join("file"), "")?;
    let error = refused(&folder.path().join("file/control.redb"));
    assert!(matches!(error, OpenStoreError::NoFolder { .. }), "{error}");
    Ok(())
}

/// A truncated or corrupted file is refused or is complete; nothing panics.
#[test]
fn a_damaged_file_is_refused_or_whole() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("control.redb");
    filled(&path)?;
    let whole = fs::read(&path)?;
    let step = whole.len() / 12 + 1;
    for place in (0..whole.len()).step_by(step) {
        let mut spoilt = whole.clone();
        let end = (place + 512).min(whole.len());
        spoilt[place..end].iter_mut().for_each(|byte| *byte ^= 0x5a);
        for bytes in [&whole[..place], &spoilt[..]] {
            fs::write(&path, bytes)?;
            match RedbControlStore::open(&path) {
                Ok(store) if !bytes.is_empty() => {
                    assert_eq!(store.requests(None, 1_000)?.requests.len(), 500, "spoilt at {place}");
                }
                Ok(store) => assert_eq!(store.counts()?, Counts::default()),
                Err(error) => assert!(error.to_string().contains("control.redb"), "{error}"),
            }
        }
    }
    Ok(())
}
