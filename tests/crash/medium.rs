//! The place of the log: a folder or a store.

use std::io::Read;
use std::path::{Path, PathBuf};

use apportion::file_log::{Compactor, FileLog, FileLogOptions};
use apportion::log::{Durability, LogSink};
use apportion::store_log::{StoreLog, StoreLogOptions};

const FOLDER: &str = "APPORTION_CRASH_FOLDER";
const STORE: &str = "APPORTION_CRASH_STORE";

/// The place of the log. The environment passes it to the child.
#[derive(Clone, Debug)]
pub(crate) enum Medium {
    Folder(PathBuf),
    Store(PathBuf),
}

pub(crate) type Contents = Option<Box<dyn Read>>;
pub(crate) type Compact = Box<dyn FnMut() + Send>;

impl Medium {
    pub(crate) fn of_environment() -> Option<Self> {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        path(FOLDER).map(Self::Folder).or_else(|| path(STORE).map(Self::Store))
    }

    pub(crate) fn variable(&self) -> (&'static str, &Path) {
        match self {
            Self::Folder(path) => (FOLDER, path),
            Self::Store(path) => (STORE, path),
        }
    }

    /// The log, its contents, and a compaction of it.
    pub(crate) fn open(&self, durability: Durability) -> (Box<dyn LogSink>, Contents, Compact) {
        fn boxed(contents: impl Read + 'static) -> Box<dyn Read> {
            Box::new(contents)
        }
        match self {
            Self::Folder(path) => {
                // Segments of a few thousand changes, so that every round has several and compacts some.
                let options = FileLogOptions { durability, segment_bytes: 10_000 };
                let (log, compactor) =
                    (FileLog::open(path, options).unwrap(), Compactor::open(path).unwrap());
                let contents = log.contents().unwrap().map(boxed);
                (
                    Box::new(log),
                    contents,
                    Box::new(move || {
                        compactor.compact().unwrap();
                    }),
                )
            }
            Self::Store(path) => {
                let log = StoreLog::open(path, StoreLogOptions { durability }).unwrap();
                let (contents, compactor) = (log.contents().unwrap().map(boxed), log.compactor());
                (
                    Box::new(log),
                    contents,
                    Box::new(move || {
                        compactor.compact().unwrap();
                    }),
                )
            }
        }
    }
}
