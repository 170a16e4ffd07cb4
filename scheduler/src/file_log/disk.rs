//! The operations that change the disk. Unit tests record them to simulate power cuts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
#[cfg(test)]
use std::path::PathBuf;

#[cfg(test)]
use super::tests::disk::{Step, record};

/// A file that is written.
#[derive(Debug)]
pub(super) struct DiskFile {
    file: File,
    #[cfg(test)]
    path: PathBuf,
}

impl DiskFile {
    /// Makes a file that does not exist yet.
    pub(super) fn create_new(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        #[cfg(test)]
        record(Step::Create(path.to_owned()));
        Ok(Self::of(file, path))
    }

    /// Makes a file, or empties an existing one.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        #[cfg(test)]
        record(Step::Create(path.to_owned()));
        Ok(Self::of(file, path))
    }

    /// Opens a file that is continued after this many bytes; the rest is cut off.
    pub(super) fn cut(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(bytes)?;
        file.seek(SeekFrom::Start(bytes))?;
        #[cfg(test)]
        record(Step::Cut(path.to_owned(), bytes));
        Ok(Self::of(file, path))
    }

    #[cfg_attr(not(test), expect(unused_variables, reason = "tests record it"))]
    fn of(file: File, path: &Path) -> Self {
        Self {
            file,
            #[cfg(test)]
            path: path.to_owned(),
        }
    }

    /// Writes the contents to the disk.
    pub(super) fn sync_data(&self) -> io::Result<()> {
        #[cfg(test)]
        record(Step::Sync(self.path.clone()));
        self.file.sync_data()
    }

    /// Writes the contents and the length to the disk.
    pub(super) fn sync_all(&self) -> io::Result<()> {
        #[cfg(test)]
        record(Step::Sync(self.path.clone()));
        self.file.sync_all()
    }
}

impl Write for DiskFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        #[cfg(test)]
        record(Step::Write(self.path.clone(), bytes[..written].to_vec()));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    #[cfg(test)]
    record(Step::Rename(from.to_owned(), to.to_owned()));
    Ok(())
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    #[cfg(test)]
    record(Step::Remove(path.to_owned()));
    Ok(())
}

/// Writes the names in a folder to the disk.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(test)]
    record(Step::SyncFolder(path.to_owned()));
    File::open(path)?.sync_all()
}

/// Makes a folder and those above it, and writes their names to the disk.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let Some(parent) = parent(path) else { return Ok(()) };
    if !parent.try_exists()? {
        make_folder(parent)?;
    }
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    #[cfg(test)]
    record(Step::MakeFolder(path.to_owned()));
    sync_folder(parent)
}

/// The folder with the entry of this path.
fn parent(path: &Path) -> Option<&Path> {
    path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

#[cfg(test)]
#[test]
fn the_parent_of_a_relative_path_is_the_working_folder() {
    assert_eq!(parent(Path::new("log")), Some(Path::new(".")));
    assert_eq!(parent(Path::new("a/log")), Some(Path::new("a")));
    assert_eq!(parent(Path::new("/")), None);
}
