//! Writes the log of a run with every kind of change, in every form that this program has, into a folder:
//! `cargo run -p apportion-tests --bin old_logs -- tests/old_logs/version_<n>`. See `README.md`.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a program of a developer may fail loudly")]

use std::fs::{self, File};
use std::path::Path;

use apportion::file_log::{Compactor, FileLog, FileLogOptions};
use apportion::replay::Replay;
use apportion::store_log::{StoreLog, StoreLogOptions};
use apportion_tests::support::every_change::{play, write};

fn main() {
    let folder = std::env::args_os().nth(1);
    let Some(folder) = folder.as_deref().map(Path::new) else {
        eprintln!("usage: old_logs <folder>");
        return;
    };
    write(folder);
    write_snapshot(folder);
    write_segments(&folder.join("folder"));
    write_store(&folder.join("store.redb"));
}

fn write_snapshot(folder: &Path) {
    let mut replay = Replay::read(File::open(folder.join("log")).unwrap(), None).unwrap();
    replay.write_snapshot(File::create(folder.join("snapshot")).unwrap()).unwrap();
}

/// A snapshot of the first half of the run, and segments with the rest.
fn write_segments(folder: &Path) {
    let options = FileLogOptions { segment_bytes: 400, ..FileLogOptions::default() };
    let log = FileLog::open(folder, options).unwrap();
    let compactor = Compactor::open(folder).unwrap();
    drop(play(Box::new(log), || assert!(compactor.compact().unwrap().is_some())));
    // The next writer makes them again.
    for lock in ["lock", "lock.compactor"] {
        fs::remove_file(folder.join(lock)).unwrap();
    }
}

/// A snapshot of the first half of the run, and groups with the rest.
fn write_store(path: &Path) {
    let log = StoreLog::open(path, StoreLogOptions::default()).unwrap();
    let compactor = log.compactor();
    drop(play(Box::new(log), || assert!(compactor.compact().unwrap().is_some())));
}
