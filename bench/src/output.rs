//! Writing results: all of a file or nothing of it.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use apportion::{LogSink, LoggedGroup};
use tempfile::NamedTempFile;

/// Writes `text` to `path`, or to standard output for `-`. The file appears when it is complete.
///
/// # Errors
/// When the file cannot be written.
pub fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return writeln!(io::stdout(), "{text}").context("writing to standard output");
    }
    let attempt = || -> io::Result<()> {
        let mut file = temporary_beside(path)?;
        file.write_all(text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    attempt().with_context(|| format!("writing {}", path.display()))
}

/// A log file that appears under its name when the run is over and well.
#[derive(Debug)]
pub struct LogFile {
    file: SharedFile,
    path: PathBuf,
}

type SharedFile = Arc<Mutex<Option<BufWriter<NamedTempFile>>>>;

/// Writes an engine's log into a [`LogFile`].
#[derive(Debug)]
pub struct LogFileSink(SharedFile);

impl LogFile {
    /// Begins a log beside its later place.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn create(path: &Path) -> anyhow::Result<(Self, LogFileSink)> {
        let file = temporary_beside(path).with_context(|| format!("creating {}", path.display()))?;
        let file = Arc::new(Mutex::new(Some(BufWriter::with_capacity(1 << 20, file))));
        Ok((Self { file: Arc::clone(&file), path: path.to_owned() }, LogFileSink(file)))
    }

    /// Gives the log its name.
    ///
    /// # Errors
    /// When not all of it could be written.
    pub fn finish(self) -> anyhow::Result<()> {
        let writing = || format!("writing {}", self.path.display());
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(file) = file else { return Ok(()) };
        let file = file.into_inner().map_err(io::IntoInnerError::into_error).with_context(writing)?;
        file.persist(&self.path).with_context(writing)?;
        Ok(())
    }
}

impl LogFileSink {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(file) => file.write_all(bytes),
            None => Err(io::Error::other("the log file was finished")),
        }
    }
}

impl LogSink for LogFileSink {
    fn start(&mut self, header: &[u8]) -> io::Result<()> {
        self.write(header)
    }

    fn append(&mut self, group: &LoggedGroup<'_>) -> io::Result<()> {
        self.write(group.frame())
    }
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".apportion-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; the user's mask takes away what it should.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_file_that_was_not_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.log");
        let (log, mut sink) = LogFile::create(&path).unwrap();
        sink.start(b"head").unwrap();
        drop((log, sink));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let (log, mut sink) = LogFile::create(&path).unwrap();
        sink.start(b"head").unwrap();
        log.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"head");
        assert!(sink.start(b"more").is_err());
    }
}
