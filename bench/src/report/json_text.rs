//! JSON that is also readable: arrays of numbers stay on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

/// The JSON of a value, indented; each array of numbers on one line.
///
/// # Errors
/// When the value has no JSON.
pub fn to_json_text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, Lines::default()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[derive(Default)]
struct Lines {
    /// Whether the coming element of an array is its first. Its kind decides where it is written.
    element: Option<bool>,
    /// For each open array or object, whether its end gets a separate line.
    is_block: Vec<bool>,
}

impl Lines {
    fn new_line<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if let Some(is_block) = self.is_block.last_mut() {
            *is_block = true;
        }
        writer.write_all(if first { b"\n" } else { b",\n" })?;
        self.is_block.iter().try_for_each(|_| writer.write_all(b"  "))
    }

    /// Prepares for a value that is not a number.
    fn block<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.element.take().map_or(Ok(()), |first| self.new_line(writer, first))
    }

    /// Prepares for a number.
    fn inline<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.element.take() == Some(false) { writer.write_all(b", ") } else { Ok(()) }
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.block(writer)?;
        self.is_block.push(false);
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        if self.is_block.pop() == Some(true) {
            writer.write_all(b"\n")?;
            self.is_block.iter().try_for_each(|_| writer.write_all(b"  "))?;
        }
        writer.write_all(bracket)
    }
}

/// Writes numbers as serde does.
macro_rules! numbers {
    ($($method:ident($number:ty)),+) => {
        $(fn $method<W: ?Sized + Write>(&mut self, writer: &mut W, value: $number) -> io::Result<()> {
            self.inline(writer)?;
            CompactFormatter.$method(writer, value)
        })+
    };
}

impl Formatter for Lines {
    numbers!(write_i8(i8), write_i16(i16), write_i32(i32), write_i64(i64), write_i128(i128));
    numbers!(write_u8(u8), write_u16(u16), write_u32(u32), write_u64(u64), write_u128(u128));
    numbers!(write_f32(f32), write_f64(f64), write_bool(bool));

    fn write_null<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inline(writer)?;
        writer.write_all(b"null")
    }

    fn begin_string<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.block(writer)?;
        writer.write_all(b"\"")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, _: &mut W, first: bool) -> io::Result<()> {
        self.element = Some(first);
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.new_line(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_arrays_of_numbers_are_on_one_line() {
        let value =
            json!({"a": [1, 2.5, null], "b": [], "c": {}, "d": ["x", "y"], "e": [{"f": [[1], [2, 3]]}, 4]});
        let text = to_json_text(&value).unwrap();
        let wanted = "{\n  \"a\": [1, 2.5, null],\n  \"b\": [],\n  \"c\": {},\n  \"d\": [\n    \"x\",\n    \"y\"\n  ],\n  \
                      \"e\": [\n    {\n      \"f\": [\n        [1],\n        [2, 3]\n      ]\n    }, 4\n  ]\n}";
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
