//! Stores that fail or wait on command, and histories to put into them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};

use apportion_placement::{
    HistoryEntry, HistoryFile, HistoryStore, StoreAction, StoreError, StoredFile, history_name, write_history,
};
use parking_lot::Mutex;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

pub(crate) fn entry(host: &str, role: u32, is_active: bool, last_used_ms: u64) -> HistoryEntry {
    HistoryEntry { host: host.into(), role, is_active, last_used_ms }
}

/// Two components on two hosts.
pub(crate) fn sample(saved_ms: u64) -> HistoryFile {
    HistoryFile {
        saved_ms,
        roles: 3,
        mapping: BTreeMap::from([("master".to_owned(), 1), ("worker".to_owned(), 2)]),
        entries: vec![
            entry("192.168.1.85", 1, true, 0),
            entry("192.168.1.85", 2, false, 1_384_183_476_028),
            entry("192.168.1.86", 2, true, 17),
        ],
    }
}

pub(crate) fn written(history: &HistoryFile) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    write_history(history, &mut bytes)?;
    Ok(bytes)
}

pub(crate) fn written_text(history: &HistoryFile) -> Result<String, Box<dyn Error>> {
    Ok(String::from_utf8(written(history)?)?)
}

/// A store in memory with injected faults.
#[derive(Default)]
pub(crate) struct MemoryStore {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    faults: Mutex<BTreeSet<(Fault, String)>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    List,
    Read,
    Write,
    Delete,
}

/// Matches every file.
pub(crate) const ALL: &str = "*";

impl MemoryStore {
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let store = Self::default();
        for (name, bytes) in files {
            store.put(name, bytes);
        }
        store
    }

    /// A store with readable files saved at these times.
    pub(crate) fn saved_at(times: impl IntoIterator<Item = u64>) -> Result<Self, Box<dyn Error>> {
        let store = Self::default();
        for ms in times {
            store.put(&history_name(ms), &written(&sample(ms))?);
        }
        Ok(store)
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        self.files.lock().insert(name.to_owned(), bytes.to_vec());
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.files.lock().keys().cloned().collect()
    }

    pub(crate) fn fail(&self, fault: Fault, name: &str) {
        self.faults.lock().insert((fault, name.to_owned()));
    }

    pub(crate) fn heal(&self) {
        self.faults.lock().clear();
    }

    fn check(&self, fault: Fault, action: StoreAction, name: &str) -> Result<(), StoreError> {
        let faults = self.faults.lock();
        if faults.contains(&(fault, name.to_owned())) || faults.contains(&(fault, ALL.to_owned())) {
            let source = io::Error::other("as the test asked for");
            return Err(StoreError::Io { action, what: name.to_owned(), source });
        }
        Ok(())
    }
}

fn missing(name: &str) -> StoreError {
    StoreError::Missing { name: name.to_owned() }
}

impl HistoryStore for MemoryStore {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        self.check(Fault::List, StoreAction::List, ALL)?;
        let files = self.files.lock();
        Ok(files
            .iter()
            .map(|(name, bytes)| StoredFile { name: name.clone(), bytes: bytes.len() as u64 })
            .collect())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        self.check(Fault::Read, StoreAction::Read, name)?;
        self.files.lock().get(name).cloned().ok_or_else(|| missing(name))
    }

    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.check(Fault::Write, StoreAction::Write, name)?;
        if self.files.lock().contains_key(name) {
            return Err(StoreError::Exists { name: name.to_owned() });
        }
        self.put(name, bytes);
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.check(Fault::Delete, StoreAction::Delete, name)?;
        self.files.lock().remove(name).map(drop).ok_or_else(|| missing(name))
    }
}

/// A store whose writes report their begin and then wait for permission.
pub(crate) struct GatedStore {
    pub(crate) files: MemoryStore,
    begun: Mutex<Sender<String>>,
    leave: Mutex<Receiver<()>>,
}

/// The test's side of the gate. Once it is dropped, writes no longer wait.
pub(crate) struct Gate {
    pub(crate) begun: Receiver<String>,
    pub(crate) leave: Sender<()>,
}

impl GatedStore {
    pub(crate) fn new() -> (Self, Gate) {
        let (say, begun) = channel();
        let (leave, wait) = channel();
        (
            Self { files: MemoryStore::default(), begun: Mutex::new(say), leave: Mutex::new(wait) },
            Gate { begun, leave },
        )
    }
}

impl HistoryStore for GatedStore {
    fn list(&self) -> Result<Vec<StoredFile>, StoreError> {
        self.files.list()
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        self.files.read(name)
    }

    fn write_atomically(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if self.begun.lock().send(name.to_owned()).is_ok() {
            // An error means that the test has dropped the gate.
            let _ = self.leave.lock().recv();
        }
        self.files.write_atomically(name, bytes)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.files.delete(name)
    }
}
