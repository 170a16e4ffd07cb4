//! JSON documents that follow one another in one file, without an array around them or commas between them.

use std::io::BufRead;

use serde::de::DeserializeOwned;

use super::error::{Mistake, TraceError, shown};
use super::source::{Origin, Source};

/// The JSON objects of one file, read one at a time.
pub(super) struct Documents<'a> {
    origin: Origin,
    bytes: Box<dyn BufRead + 'a>,
    /// The position of the next byte, from 1.
    line: u64,
    column: u64,
}

/// One JSON object and its place.
#[derive(Debug)]
pub(super) struct Document<T> {
    /// Its content.
    pub(super) value: T,
    /// The line on which it starts, from 1.
    pub(super) line: u64,
}

/// A scanner of one object's text that tracks just enough to find its end.
#[derive(Default)]
struct Nesting {
    depth: u64,
    is_in_string: bool,
    is_escaped: bool,
}

impl<'a> Documents<'a> {
    /// The documents of this source.
    pub(super) fn new(source: Source<'a>) -> Self {
        let (origin, bytes) = source.into_parts();
        Self { origin, bytes, line: 1, column: 1 }
    }

    /// The next document, or `None` at the end of the file.
    ///
    /// # Errors
    /// When it cannot be read, is not an object, or has wrong content. Line and column are those
    /// in the file.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<Document<T>>, TraceError> {
        let Some(first) = self.skip_blanks()? else { return Ok(None) };
        let (line, column) = (self.line, self.column);
        if first != b'{' {
            let Some(found) = self.next_character()? else {
                return Err(self.origin.not_utf8().on_line(line));
            };
            let found = shown(&found.to_string());
            let message = format!("`{found}` found; objects `{{...}}` one after another are needed");
            return Err(self.error(message).on_line(line).at_column(column));
        }
        let bytes = self.object_bytes()?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let valid = &bytes[..error.valid_up_to()];
            self.origin.not_utf8().on_line(line + valid.iter().filter(|byte| **byte == b'\n').count() as u64)
        })?;
        let value = serde_json::from_str(text).map_err(|error| self.refused(&error, line, column))?;
        Ok(Some(Document { value, line }))
    }

    /// An error about the file as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> TraceError {
        self.origin.error(message)
    }

    /// An error in the document that starts on this line.
    pub(super) fn error_in(&self, line: u64, mistake: Mistake) -> TraceError {
        self.error(mistake.message).on_line(line).in_key(mistake.key)
    }

    /// The parser's error, with its place counted from the start of the file instead of the document.
    fn refused(&self, error: &serde_json::Error, line: u64, column: u64) -> TraceError {
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = error.to_string();
        let message = message.strip_suffix(&place).unwrap_or(&message);
        let column_in_line = error.column() as u64 + if error.line() > 1 { 0 } else { column - 1 };
        let line_in_file = line + (error.line() as u64).max(1) - 1;
        self.error(message).on_line(line_in_file).at_column(column_in_line)
    }

    /// Advances to the next byte that is not blank and returns it.
    fn skip_blanks(&mut self) -> Result<Option<u8>, TraceError> {
        loop {
            let buffer = self.bytes.fill_buf().map_err(|error| self.origin.unreadable(error))?;
            if buffer.is_empty() {
                return Ok(None);
            }
            let blanks = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let found = buffer.get(blanks).copied();
            (self.line, self.column) = advance(self.line, self.column, &buffer[..blanks]);
            self.bytes.consume(blanks);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// The next character, as far as it is in the buffer; `None` if it is not UTF-8.
    fn next_character(&mut self) -> Result<Option<char>, TraceError> {
        let buffer = self.bytes.fill_buf().map_err(|error| self.origin.unreadable(error))?;
        let text = match std::str::from_utf8(buffer) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&buffer[..error.valid_up_to()]).unwrap_or_default(),
        };
        Ok(text.chars().next())
    }

    /// Takes one object out of the file, or the rest of the file if the object does not end.
    fn object_bytes(&mut self) -> Result<Vec<u8>, TraceError> {
        let mut object = Vec::new();
        let mut nesting = Nesting::default();
        loop {
            let buffer = self.bytes.fill_buf().map_err(|error| self.origin.unreadable(error))?;
            if buffer.is_empty() {
                return Ok(object);
            }
            let end = buffer.iter().position(|byte| nesting.ends_with(*byte));
            let taken = end.map_or(buffer.len(), |end| end + 1);
            object.extend_from_slice(&buffer[..taken]);
            (self.line, self.column) = advance(self.line, self.column, &buffer[..taken]);
            self.bytes.consume(taken);
            if end.is_some() {
                return Ok(object);
            }
        }
    }
}

impl Nesting {
    /// Follows one more byte; true if it closes the object. The parser detects wrong nesting.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.is_in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth == 0
    }
}

/// Line and column after these bytes.
fn advance(line: u64, column: u64, bytes: &[u8]) -> (u64, u64) {
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    match bytes.iter().rposition(|byte| *byte == b'\n') {
        Some(last) => (line + lines, (bytes.len() - last) as u64),
        None => (line, column + bytes.len() as u64),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read(text: &str) -> Result<Vec<(u64, Value)>, TraceError> {
        // A reader that gives one byte at a time, so that every buffer boundary is crossed.
        let source = Source::new("t.json", text.as_bytes());
        let mut documents = Documents::new(source);
        documents.bytes = Box::new(std::io::BufReader::with_capacity(1, text.as_bytes()));
        let mut all = Vec::new();
        while let Some(document) = documents.next()? {
            all.push((document.line, document.value));
        }
        Ok(all)
    }

    #[test]
    fn documents_follow_one_another_with_or_without_blanks() {
        let all = read("{\"a\":\"}\\\\\\\"{\"}{}\n\n {\"b\":[{}]}\n").unwrap();
        let lines: Vec<u64> = all.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 1, 3]);
        assert_eq!(all[0].1["a"], "}\\\"{");
        assert!(read(" \n").unwrap().is_empty());
    }

    #[test]
    fn places_are_counted_from_the_start_of_the_file() {
        let place = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(place("{}\n  {\"a\": x}"), "t.json:2:9: expected value");
        assert_eq!(place("{}\n{\n\"a\" 1}"), "t.json:3:5: expected `:`");
        assert_eq!(place("{\"a\":"), "t.json:1:5: EOF while parsing a value");
        assert_eq!(place("{}, {}"), "t.json:1:3: `,` found; objects `{...}` one after another are needed");
        assert!(place("{]").starts_with("t.json:1:2: "));
    }
}
