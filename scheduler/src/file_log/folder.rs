//! The files of a log, in their order.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use super::disk::{self, DiskFile};
use super::{FileLogError, Segment, io_error};
use crate::log::take_lock;

/// A file of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// The state at the end of the segment with this number.
    Snapshot(u64),
    /// The segment with this number; the first is 1.
    Segment(u64),
}

impl Name {
    pub(super) fn number(self) -> u64 {
        let (Self::Snapshot(number) | Self::Segment(number)) = self;
        number
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Snapshot(number) => format!("snapshot-{number:010}.log"),
            Self::Segment(number) => format!("segment-{number:010}.log"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let stem = text.strip_suffix(".log")?;
        let number = |prefix| stem.strip_prefix(prefix)?.parse().ok();
        number("snapshot-").map(Self::Snapshot).or_else(|| number("segment-").map(Self::Segment))
    }
}

/// The name under which a snapshot is written before it is whole.
const UNFINISHED: &str = "snapshot.unfinished";

/// A lock on a file. Dropping it unlocks the file, because closing the file may not end the lock at once. A process
/// that lists this one's open files keeps each of them open for a moment.
#[derive(Debug)]
pub(super) struct Lock(pub(super) File);

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, the lock ends with the file.
        let _ = self.0.unlock();
    }
}

#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self, FileLogError> {
        if path.is_file() {
            return Err(FileLogError::NotAFolder { path: path.to_owned() });
        }
        if !path.try_exists().map_err(io_error(path))? {
            disk::make_folder(path).map_err(io_error(path))?;
        }
        Ok(Self(path.to_owned()))
    }

    /// A folder that is there already.
    pub(super) fn existing(path: &Path) -> Result<Self, FileLogError> {
        let is_there = path.try_exists().map_err(io_error(path))?;
        if is_there { Self::open(path) } else { Err(Self(path.to_owned()).no_log()) }
    }

    /// Takes the lock with this name.
    pub(super) fn lock(&self, name: &str) -> Result<Lock, FileLogError> {
        let path = self.0.join(name);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(io_error(&path))?;
        let taken = take_lock(|| match file.try_lock() {
            Ok(()) => Ok(Some(())),
            Err(TryLockError::Error(error)) => Err(io_error(&path)(error)),
            Err(TryLockError::WouldBlock) => Ok(None),
        })?;
        match taken {
            Some(()) => Ok(Lock(file)),
            None => Err(FileLogError::InUse { path }),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    pub(super) fn no_log(&self) -> FileLogError {
        FileLogError::NoLog { path: self.0.clone() }
    }

    /// The newest snapshot, if there is one, and the segments behind it in their order.
    pub(super) fn files(&self) -> Result<Vec<Name>, FileLogError> {
        let mut names = self.all()?;
        names.sort_unstable();
        let snapshot = names.iter().copied().filter(|name| matches!(name, Name::Snapshot(_))).max();
        let is_behind = |name: &Name| match *name {
            Name::Snapshot(_) => Some(*name) == snapshot,
            Name::Segment(number) => number > snapshot.map_or(0, Name::number),
        };
        names.retain(is_behind);
        Ok(names)
    }

    fn all(&self) -> Result<Vec<Name>, FileLogError> {
        let entries = fs::read_dir(&self.0).map_err(io_error(&self.0))?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(io_error(&self.0))?.file_name();
            names.extend(name.to_str().and_then(Name::parse));
        }
        Ok(names)
    }

    /// Fails if a segment is missing.
    pub(super) fn check_order(&self) -> Result<(), FileLogError> {
        let files = self.files()?;
        let (first, segments) = match files.split_first() {
            Some((Name::Snapshot(number), segments)) => (number.saturating_add(1), segments),
            _ => (1, &files[..]),
        };
        match (first..).zip(segments).find(|(number, name)| name.number() != *number) {
            Some((missing, _)) => Err(FileLogError::Gap { path: self.0.clone(), missing }),
            None => Ok(()),
        }
    }

    /// Removes the files that a snapshot replaces, and an unfinished snapshot. A crash may have left them.
    pub(super) fn tidy(&self) -> Result<(), FileLogError> {
        let needed = self.files()?;
        let replaced: Vec<_> = self.all()?.into_iter().filter(|name| !needed.contains(name)).collect();
        if !replaced.is_empty() {
            // A compaction that was killed may not have written the snapshot's name to the disk.
            self.sync().map_err(io_error(&self.0))?;
        }
        replaced.into_iter().try_for_each(|name| self.remove(name))?;
        let unfinished = self.0.join(UNFINISHED);
        match disk::remove(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(&unfinished)(error)),
            _ => Ok(()),
        }
    }

    fn remove(&self, name: Name) -> Result<(), FileLogError> {
        let path = self.path(name);
        disk::remove(&path).map_err(io_error(&path))
    }

    fn path(&self, name: Name) -> PathBuf {
        self.file(&name.text())
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The bytes of the log, up to the end of the segment with this number.
    pub(super) fn read(&self, last: u64) -> Result<Files, FileLogError> {
        let files = self.files()?.into_iter().filter(|name| name.number() <= last);
        Ok(Files { left: files.map(|name| self.path(name)).collect(), file: None })
    }

    /// The length of the log.
    pub(super) fn bytes(&self) -> Result<u64, FileLogError> {
        self.files()?.into_iter().map(|name| self.length(name)).sum()
    }

    fn length(&self, name: Name) -> Result<u64, FileLogError> {
        let path = self.path(name);
        Ok(fs::metadata(&path).map_err(io_error(&path))?.len())
    }

    pub(super) fn create(&self, name: Name) -> io::Result<DiskFile> {
        let file = DiskFile::create_new(&self.path(name))?;
        self.sync()?;
        Ok(file)
    }

    /// Writes the names of files to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        disk::sync_folder(&self.0)
    }

    /// Removes a log without any whole group.
    pub(super) fn clear(&self) -> io::Result<()> {
        for name in self.all().map_err(io::Error::other)? {
            disk::remove(&self.path(name))?;
        }
        Ok(())
    }

    /// The position at which the last segment begins. A crash can leave only that one incomplete.
    pub(super) fn last_begins_at(&self) -> Result<u64, FileLogError> {
        let files = self.files()?;
        let before = files.split_last().map_or(&files[..], |(_, before)| before);
        before.iter().map(|name| self.length(*name)).sum()
    }

    /// Cuts the log off at this position. Returns its last segment, to be continued.
    pub(super) fn cut(&self, at: u64) -> Result<Segment, FileLogError> {
        let (mut begin, mut last, mut behind) = (0, None, Vec::new());
        for name in self.files()? {
            let length = self.length(name)?;
            if begin >= at && last.is_some() {
                behind.push(name);
                continue;
            }
            last = Some((name, at.saturating_sub(begin).min(length)));
            begin += length;
        }
        // Removes the last file first, and writes each removal to the disk, so that a crash leaves no gap.
        for name in behind.into_iter().rev() {
            self.remove(name)?;
            self.sync().map_err(io_error(&self.0))?;
        }
        let Some((name, bytes)) = last else { return Err(self.no_log()) };
        let (number, bytes, file) = match name {
            Name::Segment(number) => {
                let file = DiskFile::cut(&self.path(name), bytes);
                (number, bytes, file.and_then(|file| file.sync_all().map(|()| file)))
            }
            Name::Snapshot(number) => (number + 1, 0, self.create(Name::Segment(number + 1))),
        };
        let file = file.map_err(io_error(&self.path(Name::Segment(number))))?;
        Ok(Segment { number, file, bytes })
    }

    /// Makes the snapshot of the state at the end of a segment, then removes the files that it replaces.
    pub(super) fn put_snapshot(
        &self,
        number: u64,
        write: impl FnOnce(&mut DiskFile) -> io::Result<()>,
    ) -> Result<(), FileLogError> {
        let unfinished = self.0.join(UNFINISHED);
        let mut file = DiskFile::create(&unfinished).map_err(io_error(&unfinished))?;
        write(&mut file).and_then(|()| file.sync_all()).map_err(io_error(&unfinished))?;
        let path = self.path(Name::Snapshot(number));
        disk::rename(&unfinished, &path).and_then(|()| self.sync()).map_err(io_error(&path))?;
        for name in self.all()? {
            if name.number() <= number && name != Name::Snapshot(number) {
                self.remove(name)?;
            }
        }
        Ok(())
    }
}

/// The files of a log, one open at a time.
#[derive(Debug)]
pub(super) struct Files {
    left: VecDeque<PathBuf>,
    file: Option<BufReader<File>>,
}

impl Read for Files {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(file) = &mut self.file {
                let length = file.read(buffer)?;
                if length > 0 || buffer.is_empty() {
                    return Ok(length);
                }
            }
            let Some(next) = self.left.pop_front() else { return Ok(0) };
            self.file = Some(BufReader::with_capacity(1 << 20, File::open(next)?));
        }
    }
}
