//! Tables: one record on each line, columns known by name.

use std::io::BufRead;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord};

use super::error::{TraceError, unknown};
use super::number::{at_most, whole};
use super::source::{Origin, Source};
use crate::report::counted;

/// Names of the columns, in order.
pub(super) type Columns = &'static [&'static str];

/// A table, read one row at a time.
pub(super) struct Table<'a> {
    origin: Origin,
    reader: Reader<Box<dyn BufRead + 'a>>,
    record: StringRecord,
    columns: Columns,
}

/// One row of a table.
pub(super) struct Row<'t> {
    origin: &'t Origin,
    record: &'t StringRecord,
    columns: Columns,
    line: u64,
}

impl<'a> Table<'a> {
    /// Reads a table with commas, whose header must be exactly one of these `forms`.
    ///
    /// # Errors
    /// When it cannot be read or has another header; the error compares it with the first form.
    pub(super) fn with_header(source: Source<'a>, forms: &[Columns]) -> Result<Self, TraceError> {
        let (origin, bytes) = source.into_parts();
        let mut reader = ReaderBuilder::new().from_reader(bytes);
        let header = reader.headers().map_err(|error| refused(&origin, error))?.clone();
        let form = forms.iter().find(|form| header.iter().eq(form.iter().copied()));
        let known = forms.first().copied().unwrap_or_default();
        let Some(&columns) = form else { return Err(wrong_header(&origin, &header, known)) };
        Ok(Self { origin, reader, record: StringRecord::new(), columns })
    }

    /// Reads a table with tabs, without a header, whose rows have at least these columns.
    pub(super) fn without_header(source: Source<'a>, columns: Columns) -> Self {
        let (origin, bytes) = source.into_parts();
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).delimiter(b'\t').quoting(false).flexible(true);
        Self { origin, reader: builder.from_reader(bytes), record: StringRecord::new(), columns }
    }

    /// The form of the header, or the given columns.
    pub(super) fn columns(&self) -> Columns {
        self.columns
    }

    /// An error about the file as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        self.origin.error(message)
    }

    /// The next row, or `None` at the end of the file.
    ///
    /// # Errors
    /// When it cannot be read, is not UTF-8, or has too few or too many columns.
    pub(super) fn next(&mut self) -> Result<Option<Row<'_>>, TraceError> {
        let has_row =
            self.reader.read_record(&mut self.record).map_err(|error| refused(&self.origin, error))?;
        if !has_row {
            return Ok(None);
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        if self.record.len() < self.columns.len() {
            return Err(wrong_length(&self.origin, line, self.record.len(), self.columns.len()));
        }
        Ok(Some(Row { origin: &self.origin, record: &self.record, columns: self.columns, line }))
    }
}

impl Row<'_> {
    /// The content of this column; empty if the row has no such column.
    pub(super) fn text(&self, column: usize) -> &str {
        self.record.get(column).unwrap_or_default()
    }

    /// The whole number in this column.
    ///
    /// # Errors
    /// When it is not a whole number.
    pub(super) fn whole(&self, column: usize) -> Result<u64, TraceError> {
        whole(self.text(column)).map_err(|message| self.error(column, message))
    }

    /// The whole number in this column, `None` if it is empty.
    ///
    /// # Errors
    /// When it contains anything else.
    pub(super) fn whole_or_empty(&self, column: usize) -> Result<Option<u64>, TraceError> {
        if self.text(column).is_empty() { Ok(None) } else { self.whole(column).map(Some) }
    }

    /// The whole number in this column if it is at most `most`.
    ///
    /// # Errors
    /// When it is not a whole number, or is larger.
    pub(super) fn at_most<T: TryFrom<u64>>(&self, column: usize, most: u64) -> Result<T, TraceError> {
        at_most(self.whole(column)?, most).map_err(|message| self.error(column, message))
    }

    /// An error about this column of this row.
    pub(super) fn error(&self, column: usize, message: impl Into<String>) -> TraceError {
        let name = self.columns.get(column).copied().unwrap_or("?");
        self.origin.error(message).on_line(self.line).in_key(name)
    }
}

fn refused(origin: &Origin, error: csv::Error) -> TraceError {
    match error.into_kind() {
        ErrorKind::Io(cause) => origin.unreadable(cause),
        ErrorKind::Utf8 { pos, .. } => {
            let error = origin.not_utf8();
            pos.map_or_else(|| origin.not_utf8(), |pos| error.on_line(pos.line()))
        }
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            wrong_length(origin, pos.map_or(0, |pos| pos.line()), len as usize, expected_len as usize)
        }
        _ => origin.error("is not a table"),
    }
}

fn wrong_length(origin: &Origin, line: u64, found: usize, needed: usize) -> TraceError {
    origin.error(format!("the row has {}, and needs {needed}", counted(found as u64, "column"))).on_line(line)
}

fn wrong_header(origin: &Origin, header: &StringRecord, known: Columns) -> TraceError {
    let strange = header.iter().find(|name| !known.contains(name));
    let message = match (strange, known.iter().find(|name| !header.iter().any(|found| found == **name))) {
        (Some(name), _) => unknown("column", name, known),
        (None, Some(missing)) => format!("column `{missing}` is missing; needed are `{}`", known.join(",")),
        (None, None) => {
            format!("the columns are in another order or repeated; needed are `{}`", known.join(","))
        }
    };
    origin.error(message).on_line(1)
}
