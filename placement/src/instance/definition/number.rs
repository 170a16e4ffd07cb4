//! Parses numbers and truth values.

use super::error::{DefinitionError, Place};
use super::keys::{INSTANCES, Key};

/// Parses a whole number, decimal or with `0x` before hexadecimal digits.
///
/// Java reads digits after a leading zero as octal; such texts are rejected as probable mistakes.
pub(crate) fn decode(text: &str) -> Option<i64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None => (10, digits),
    };
    let is_octal = radix == 10 && digits.len() > 1 && digits.starts_with('0');
    if is_octal || !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    i64::try_from(sign * magnitude).ok()
}

/// Parses a truth value.
pub(crate) fn flag(text: &str) -> Option<bool> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("true") => Some(true),
        text if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Parses a number within inclusive bounds.
pub(crate) fn bounded(
    key: &Key,
    value: &str,
    place: &Place,
    least: i64,
    most: i64,
) -> Result<i64, DefinitionError> {
    match decode(value) {
        Some(number) if (least..=most).contains(&number) => Ok(number),
        Some(count) if count < 0 && key.name == INSTANCES.name => {
            Err(DefinitionError::NegativeInstances { place: place.clone(), count })
        }
        _ => Err(key.wrong(value, place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        for (text, number) in [
            ("0", Some(0)),
            (" 12 ", Some(12)),
            ("0x10", Some(16)),
            ("-0X1f", Some(-31)),
            ("+3", Some(3)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("010", None),
            ("", None),
            ("-", None),
            ("--1", None),
            ("+-1", None),
            ("0x", None),
            ("0x-1", None),
            ("1.5", None),
            ("1 2", None),
            ("one", None),
        ] {
            assert_eq!(decode(text), number, "{text:?}");
        }
    }
}
