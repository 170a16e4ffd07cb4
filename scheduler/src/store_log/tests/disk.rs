//! Disks that crash, fail and are damaged.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::start;
use crate::log::tests::{add_node, begin_or_go_on, work};
use crate::store_log::store::{Store, open_database};
use crate::store_log::{Durability, StoreLog, StoreLogError, StoreLogOptions, rows};
use crate::sync::Mutex;

/// A disk that forgets what was not synced when the machine crashes.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    now: Vec<u8>,
    synced: Vec<u8>,
    fails: bool,
}

impl Disk {
    fn of(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(Written { now: bytes.clone(), synced: bytes, fails: false })))
    }

    fn try_open(&self, durability: Durability) -> Result<StoreLog, StoreLogError> {
        let path = Path::new("disk");
        let database = open_database(self.clone()).map_err(|error| StoreLogError::of(path, error))?;
        Ok(StoreLog::on(Store::of(database, path)?, StoreLogOptions { durability }))
    }

    fn open(&self, durability: Durability) -> StoreLog {
        self.try_open(durability).unwrap()
    }

    /// The disk after a crash of the machine at this moment.
    fn crashed(&self) -> Self {
        Self::of(self.0.lock().synced.clone())
    }
}

impl redb::StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        out.copy_from_slice(&self.0.lock().now[offset as usize..][..out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut written = self.0.lock();
        written.synced = written.now.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.0.lock();
        if written.fails {
            return Err(io::Error::other("the disk is full"));
        }
        written.now[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }
}

#[test]
fn a_crash_of_the_machine_costs_no_more_than_the_durability_allows() {
    // Without a group on the disk, the header of the log is not there either.
    let grouped = 300 + crate::log::HEADER.len() as u64;
    for (durability, costs) in [(Durability::BeforeEvents, 0), (Durability::Grouped { bytes: 300 }, grouped)]
    {
        let disk = Disk::default();
        let log = disk.open(durability);
        let store = Arc::clone(&log.store);
        let engine = start(log);
        for number in 0..20 {
            add_node(&engine.handle(), &format!("node{number}"));
            engine.run_until_quiet();
            let length = |rows: Option<rows::Rows>| rows.map_or(0, |rows| rows.length().unwrap());
            let written = length(store.contents().unwrap());
            let after = disk.crashed().open(durability);
            let kept = length(after.store.contents().unwrap());
            assert!(written - kept <= costs, "{durability:?}: {kept} of {written} bytes");
            if kept == written {
                assert_eq!(start(after).digest(), engine.digest());
            }
        }
    }
}

#[test]
fn an_engine_ends_if_its_store_fails() {
    let disk = Disk::default();
    let engine = start(disk.open(Durability::BeforeEvents));
    work(&engine, "a");
    let digest = engine.digest();
    disk.0.lock().fails = true;
    add_node(&engine.handle(), "b");
    engine.run_until_quiet();
    assert!(!engine.is_running());
    let error = engine.log_error().unwrap();
    assert!(error.contains("the disk is full"), "{error}");
    disk.0.lock().fails = false;
    assert_eq!(start(disk.crashed().open(Durability::BeforeEvents)).digest(), digest);
    let disk = Disk::default();
    let engine = start(disk.open(Durability::None));
    disk.0.lock().fails = true;
    work(&engine, "a");
    assert!(engine.is_running() && engine.log_error().is_some(), "it goes on without a log");
}

/// More than the header of a store.
const HEADER_BYTES: usize = 400;

/// Wherever a byte is damaged, the log is refused, or the byte is not a part of it.
#[test]
fn a_damaged_store_is_refused() {
    let disk = Disk::default();
    let engine = start(disk.open(Durability::BeforeEvents));
    work(&engine, "a");
    let digest = engine.digest();
    drop(engine);
    let whole = disk.0.lock().now.clone();
    // Of the header, and of the pages behind it.
    let mut refused = [0; 2];
    for at in (0..HEADER_BYTES).chain((HEADER_BYTES..whole.len()).step_by(37)) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x11;
        let opened = Disk::of(damaged).try_open(Durability::BeforeEvents);
        let contents = opened.and_then(|log| Ok((log.contents()?, log)));
        match contents.map(|(contents, log)| begin_or_go_on(contents, Box::new(log))) {
            Ok(Ok(engine)) => assert_eq!(engine.digest(), digest, "byte {at}"),
            Ok(Err(_)) | Err(_) => refused[usize::from(at >= HEADER_BYTES)] += 1,
        }
    }
    assert!(refused[0] > 100 && refused[1] > 30, "{refused:?}");
}
