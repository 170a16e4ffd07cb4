//! Writing result files: a file is complete or absent.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use apportion::log::{LogSink, LoggedGroup};
use tempfile::NamedTempFile;
use thiserror::Error;

use crate::interrupt::{self, Listed};

/// Why an output cannot be written to its destination. Detected before the work begins.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {problem}", path.display())]
pub struct OutputError {
    path: PathBuf,
    problem: String,
}

/// A file that appears under its name when it is complete; the file that it replaces stays until then.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stdout,
    /// A device or a pipe, written to directly.
    Special(File),
    /// A temporary file in the folder of the final one.
    Temporary {
        file: NamedTempFile,
        place: PathBuf,
        _listed: Listed,
    },
}

impl OutputFile {
    /// Checks that `path` can be written; `-` is standard output.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let wrong = |problem: String| OutputError { path: path.to_owned(), problem };
        let target = if path == Path::new("-") {
            Target::Stdout
        } else {
            match fs::metadata(path) {
                Ok(known) if known.is_dir() => return Err(wrong("is a folder".into())),
                Ok(known) if !known.is_file() => {
                    let file = File::options().write(true).open(path);
                    Target::Special(file.map_err(|error| wrong(error.to_string()))?)
                }
                _ => {
                    let place = resolved(path);
                    let file = interrupt::list(|| temporary_beside(&place));
                    let (file, listed) = file.map_err(|error| match error.kind() {
                        io::ErrorKind::NotFound => wrong("cannot be written: there is no such folder".into()),
                        kind => wrong(format!("cannot be written: {kind}")),
                    })?;
                    Target::Temporary { file, place, _listed: listed }
                }
            }
        };
        Ok(Self { path: path.to_owned(), target })
    }

    /// Writes the content that `content` produces, and gives the file its name.
    ///
    /// # Errors
    /// When part of it could not be written.
    pub fn write_with(
        mut self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let mut buffered = BufWriter::new(&mut self.target);
        let written = content(&mut buffered).and_then(|()| buffered.flush());
        drop(buffered);
        let written = written.and_then(|()| self.target.finish());
        written.with_context(|| writing(&self.path))
    }

    /// Writes `text`, and gives the file its name.
    ///
    /// # Errors
    /// When part of it could not be written.
    pub fn write_text(mut self, text: &str) -> anyhow::Result<()> {
        let written = match &self.target {
            Target::Stdout => writeln!(self.target, "{text}"),
            _ => self.target.write_all(text.as_bytes()),
        };
        let written = written.and_then(|()| self.target.finish());
        written.with_context(|| writing(&self.path))
    }
}

impl Target {
    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Temporary { file, place, .. } => file.persist(place).map(drop).map_err(|error| error.error),
            Self::Stdout | Self::Special(_) => Ok(()),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout => io::stdout().write(bytes),
            Self::Special(file) => file.write(bytes),
            Self::Temporary { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().flush(),
            Self::Special(file) => file.flush(),
            Self::Temporary { file, .. } => file.flush(),
        }
    }
}

/// Checks that no output is an input or another output. Each comes with the option that names it.
///
/// # Errors
/// When an output is an input or another output.
pub fn check_distinct(outputs: &[(&str, &Path)], inputs: &[(&str, &Path)]) -> Result<(), OutputError> {
    let stdout = Path::new("-");
    let printed: Vec<&str> =
        outputs.iter().filter(|(_, path)| *path == stdout).map(|(option, _)| *option).collect();
    if let [one, other, ..] = printed[..] {
        let problem = format!("given with {one} and with {other}; standard output takes one of them");
        return Err(OutputError { path: stdout.to_owned(), problem });
    }
    for (place, (option, path)) in outputs.iter().enumerate() {
        let same = |(_, other): &&(&str, &Path)| resolved(other) == resolved(path) && is_file(path);
        if let Some((other, _)) = outputs[..place].iter().chain(inputs).find(same) {
            let problem = format!("given with {other} and with {option}; one of them would be lost");
            return Err(OutputError { path: (*path).to_owned(), problem });
        }
    }
    Ok(())
}

/// Whether a path is, or would become, a regular file.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).map_or(path != Path::new("-"), |known| known.is_file())
}

/// The canonical path, also for a file that does not exist yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(known) = fs::canonicalize(path) {
        return known;
    }
    match (fs::canonicalize(folder_of(path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The failed operation, for messages.
fn writing(path: &Path) -> String {
    if path == Path::new("-") {
        return "writing standard output".to_owned();
    }
    format!("writing {}", path.display())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A log file that appears under its name when the run has succeeded.
#[derive(Debug)]
pub struct LogFile {
    file: SharedFile,
    path: PathBuf,
}

type SharedFile = Arc<Mutex<Option<BufWriter<Target>>>>;

/// Writes an engine's log into a [`LogFile`].
#[derive(Debug)]
pub struct LogFileSink(SharedFile);

impl LogFile {
    /// Begins a log in the folder of its final place.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn create(path: &Path) -> Result<(Self, LogFileSink), OutputError> {
        if path == Path::new("-") {
            let problem = "a log is not text; give it a file".into();
            return Err(OutputError { path: path.to_owned(), problem });
        }
        let target = OutputFile::create(path)?.target;
        let file = Arc::new(Mutex::new(Some(BufWriter::with_capacity(1 << 20, target))));
        Ok((Self { file: Arc::clone(&file), path: path.to_owned() }, LogFileSink(file)))
    }

    /// Gives the log its name.
    ///
    /// # Errors
    /// When part of it could not be written.
    pub fn finish(self) -> anyhow::Result<()> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(file) = file else { return Ok(()) };
        let written = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(Target::finish);
        written.with_context(|| writing(&self.path))
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
    let mut builder = tempfile::Builder::new();
    builder.prefix(".apportion-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The mode of any new file; the user's mask removes permissions.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(path))
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
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let (log, mut sink) = LogFile::create(&path).unwrap();
        sink.start(b"head").unwrap();
        log.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"head");
        assert!(sink.start(b"more").is_err());
    }

    #[test]
    #[cfg(unix)]
    fn links_and_devices_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        OutputFile::create(&link).unwrap().write_text("new").unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        OutputFile::create(Path::new("/dev/null")).unwrap().write_text("gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn two_names_of_one_file_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, detour) = (folder.path().join("a"), folder.path().join("./a"));
        let found = check_distinct(&[("--json", &file), ("--log", &detour)], &[]).unwrap_err();
        assert!(found.to_string().ends_with("given with --json and with --log; one of them would be lost"));
        assert!(check_distinct(&[("--json", &detour)], &[("--workload", &file)]).is_err());
        assert!(check_distinct(&[("--json", &file)], &[("--workload", &folder.path().join("b"))]).is_ok());
        let null = Path::new("/dev/null");
        assert!(check_distinct(&[("--json", null), ("--report", null)], &[]).is_ok());
        let printed = ("--json", Path::new("-"));
        assert!(check_distinct(&[printed, ("--report", Path::new("-"))], &[]).is_err());
        assert!(check_distinct(&[printed, ("--report", &file)], &[("--workload", Path::new("-"))]).is_ok());
    }
}
