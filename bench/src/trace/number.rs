//! Parsing of numbers in trace files.

use super::error::shown;

/// The largest number in a trace. Every format can write it exactly, including formats that have only
/// floating point. As seconds, it can still be converted to milliseconds.
pub(super) const WHOLE_MAX: u64 = 1 << 53;

/// A whole number from 0 to [`WHOLE_MAX`]; `12.0` is accepted too.
///
/// # Errors
/// A description of the mistake in the text.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (magnitude, is_negative) = text.strip_prefix('-').map_or((text, false), |rest| (rest, true));
    let digits = match magnitude.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|byte| byte == b'0') => digits,
        _ => magnitude,
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(needed(text, "is not a whole number"));
    }
    if is_negative {
        return Err(needed(text, "is negative"));
    }
    let number: Option<u64> = digits.parse().ok();
    number.filter(|number| *number <= WHOLE_MAX).ok_or_else(|| needed(text, "is too large"))
}

/// A number from 0 to [`WHOLE_MAX`], with or without a fraction.
///
/// # Errors
/// A description of the mistake in the text.
pub(super) fn decimal(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let problem = match text.parse::<f64>() {
        Ok(number) if number.is_nan() => "is not a number",
        Ok(number) if number < 0.0 => "is negative",
        Ok(number) if number > WHOLE_MAX as f64 => "is too large",
        Ok(number) => return Ok(number),
        Err(_) => "is not a number",
    };
    Err(format!("`{}` {problem}; a number from 0 to {WHOLE_MAX} is needed", shown(text)))
}

/// A whole number that must fit a smaller type or range.
///
/// # Errors
/// When it is above `most`.
pub(super) fn at_most<T: TryFrom<u64>>(number: u64, most: u64) -> Result<T, String> {
    let fitting = if number <= most { T::try_from(number).ok() } else { None };
    fitting.ok_or_else(|| format!("{number} is too large; at most {most} is possible"))
}

/// Converts seconds to milliseconds.
pub(super) fn milliseconds(seconds: u64) -> u64 {
    debug_assert!(seconds <= WHOLE_MAX, "no reader lets a larger number in");
    seconds.saturating_mul(1000)
}

fn needed(text: &str, problem: &str) -> String {
    format!("`{}` {problem}; a whole number from 0 to {WHOLE_MAX} is needed", shown(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_carry_a_point() {
        assert_eq!(whole("12"), Ok(12));
        assert_eq!(whole(" 12.0 "), Ok(12));
        assert_eq!(whole("12."), Ok(12));
        assert_eq!(whole(&WHOLE_MAX.to_string()), Ok(WHOLE_MAX));
    }

    #[test]
    fn errors_tell_apart_why_a_text_is_no_whole_number() {
        assert!(whole("-1").unwrap_err().starts_with("`-1` is negative"));
        assert!(whole("1.5").unwrap_err().starts_with("`1.5` is not a whole number"));
        assert!(whole("").unwrap_err().starts_with("`` is not a whole number"));
        assert!(whole("+1").is_err());
        assert!(whole("9007199254740993").unwrap_err().contains("is too large"));
        assert!(whole("99999999999999999999999").unwrap_err().contains("is too large"));
    }

    #[test]
    fn decimals_are_finite_and_not_negative() {
        assert_eq!(decimal("0.5"), Ok(0.5));
        for text in ["-0.1", "NaN", "inf", "1e300", "x", ""] {
            assert!(decimal(text).is_err(), "{text}");
        }
    }
}
