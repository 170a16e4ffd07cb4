//! The bytes of a trace: from a file or any reader, plain or gzip.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::error::TraceError;

/// Size of one read, in bytes.
const BUFFER_BYTES: usize = 1 << 17;

/// The text of one trace file, read on demand.
///
/// A name that ends in `.gz` means that the bytes are gzip. The reader does not inspect the bytes, so a wrong name
/// leads to an error rather than a guess.
pub struct Source<'a> {
    origin: Origin,
    bytes: Box<dyn BufRead + 'a>,
}

/// The parts of a source that errors need.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    name: String,
    is_gzip: bool,
}

impl Source<'static> {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// When the file does not exist, may not be read, or is empty. A `.gz` file that is not gzip is detected on
    /// reading.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) if is_empty(&file) => Err(TraceError::new(name, "the file is empty")),
            Ok(file) => Ok(Self::new(name, file)),
            Err(cause) => Err(TraceError::new(name, format!("cannot be opened: {cause}")).caused_by(cause)),
        }
    }
}

/// Whether a regular file is empty. The length of a pipe is unknown until it is read.
fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|known| known.is_file() && known.len() == 0)
}

impl<'a> Source<'a> {
    /// A source from any bytes, under the name that errors show.
    pub fn new(name: impl Into<String>, reader: impl Read + 'a) -> Self {
        let name = name.into();
        let is_gzip = Path::new(&name).extension().is_some_and(|end| end.eq_ignore_ascii_case("gz"));
        let bytes: Box<dyn BufRead + 'a> = if is_gzip {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(reader)))
        } else {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
        };
        Self { origin: Origin { name, is_gzip }, bytes }
    }

    /// The name that errors show.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.origin.name
    }

    /// The name for errors, without the bytes.
    pub(super) fn into_parts(self) -> (Origin, Box<dyn BufRead + 'a>) {
        (self.origin, self.bytes)
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Source").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Origin {
    /// An error about the file as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        TraceError::new(&self.name, message)
    }

    /// The error for bytes that could not be read.
    pub(super) fn unreadable(&self, cause: io::Error) -> TraceError {
        let message = match cause.kind() {
            io::ErrorKind::UnexpectedEof if self.is_gzip => "is cut off: the gzip data end too early".into(),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if self.is_gzip => {
                format!(
                    "is named .gz but is not valid gzip ({cause}); a plain file must be named without .gz"
                )
            }
            _ => format!("cannot be read: {cause}"),
        };
        self.error(message).caused_by(cause)
    }

    /// The error for bytes that are not UTF-8.
    pub(super) fn not_utf8(&self) -> TraceError {
        let hint = if self.is_gzip { "" } else { "; a gzip file must be named .gz" };
        self.error(format!("is not UTF-8 text{hint}"))
    }
}
