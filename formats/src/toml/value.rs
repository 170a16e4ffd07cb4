//! Values of a TOML file: numbers, percentages, names.

use std::str::FromStr;

use ::toml::de::DeValue;
use apportion::config::{Factor, ParseDecimalError, Percent};
use apportion::nearest::{hint, nearest};
use apportion::resource::AMOUNT_MAX;

use super::table::Entry;
use crate::ConfigFileError;
use crate::file::excerpt;

/// Longer texts are not numbers; this keeps messages short.
const NUMBER_BYTES_MAX: usize = 40;

impl<'a> Entry<'a> {
    pub(super) fn text(&self) -> Result<&'a str, ConfigFileError> {
        self.value.get_ref().as_str().ok_or_else(|| self.expected("a string"))
    }

    pub(super) fn texts(&self) -> Result<Vec<String>, ConfigFileError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array of strings"))?;
        array.iter().map(|value| self.item(value).text().map(str::to_owned)).collect()
    }

    pub(super) fn switch(&self) -> Result<bool, ConfigFileError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    /// A whole number that is not negative.
    pub(super) fn whole<T: TryFrom<u64>>(&self) -> Result<T, ConfigFileError> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            return Err(self.expected("a whole number"));
        };
        if integer.as_str().starts_with('-') {
            return Err(self.error(format!("{} is negative", excerpt(integer.as_str()))));
        }
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| self.error(format!("{} is too large", excerpt(integer.as_str()))))
    }

    /// A whole number of either sign.
    pub(super) fn priority(&self) -> Result<i32, ConfigFileError> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            return Err(self.expected("a whole number"));
        };
        let number = i32::from_str_radix(integer.as_str(), integer.radix());
        let range = || format!("{} is not between {} and {}", excerpt(integer.as_str()), i32::MIN, i32::MAX);
        number.map_err(|_| self.error(range()))
    }

    /// An amount of one resource type.
    pub(super) fn amount(&self) -> Result<i64, ConfigFileError> {
        let amount: i64 = self.whole()?;
        if amount > AMOUNT_MAX {
            return Err(self.error(format!("{amount} is too large; the maximum is {AMOUNT_MAX}")));
        }
        Ok(amount)
    }

    /// Reads `"40 %"` or the plain number.
    pub(super) fn percent(&self) -> Result<Percent, ConfigFileError> {
        let Some(text) = self.value.get_ref().as_str() else {
            return self.number("a percentage like \"40 %\"");
        };
        match text.trim().strip_suffix('%') {
            Some(number) => self.decimal(number),
            None => Err(self.error(format!("`{}` is not a percentage like \"40 %\"", excerpt(text)))),
        }
    }

    /// Reads `"3w"`.
    pub(super) fn weight(&self, text: &str) -> Result<Factor, ConfigFileError> {
        self.decimal(text.trim().trim_end_matches('w'))
    }

    /// Reads `1.5`.
    pub(super) fn factor(&self) -> Result<Factor, ConfigFileError> {
        self.number("a number")
    }

    /// Reads `1.5`, or `"unlimited"` as `None`.
    pub(super) fn limit_factor(&self) -> Result<Option<Factor>, ConfigFileError> {
        if self.value.get_ref().as_str() == Some("unlimited") {
            return Ok(None);
        }
        self.number("a number or \"unlimited\"").map(Some)
    }

    fn number<T: FromStr<Err = ParseDecimalError>>(&self, what: &str) -> Result<T, ConfigFileError> {
        match self.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => self.decimal(number.as_str()),
            DeValue::Float(number) => self.decimal(number.as_str()),
            _ => Err(self.expected(what)),
        }
    }

    /// Parses digit by digit, so that 33.3333 is exact.
    fn decimal<T: FromStr<Err = ParseDecimalError>>(&self, text: &str) -> Result<T, ConfigFileError> {
        let text = text.trim();
        if text.len() > NUMBER_BYTES_MAX {
            return Err(self.error(format!("`{}` is not a number", excerpt(text))));
        }
        let number = text.strip_prefix('+').unwrap_or(text);
        number.parse().map_err(|error: ParseDecimalError| self.error(error.to_string()))
    }

    /// The meaning whose word is the value.
    pub(super) fn word<T: Copy>(
        &self,
        meanings: &[T],
        word_of: impl Fn(T) -> &'static str,
    ) -> Result<T, ConfigFileError> {
        let text = self.text()?;
        if let Some(meaning) = meanings.iter().find(|meaning| word_of(**meaning) == text) {
            return Ok(*meaning);
        }
        let text = excerpt(text);
        let words: Vec<_> = meanings.iter().map(|meaning| word_of(*meaning)).collect();
        let hint = hint(nearest(&text, words.iter().copied()).as_deref());
        Err(self.error(format!("`{text}` is not one of \"{}\"{hint}", words.join("\", \""))))
    }
}
