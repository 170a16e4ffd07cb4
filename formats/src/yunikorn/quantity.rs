//! Amounts in YuniKorn's notation: memory in bytes (`10Gi`), vcores whole (`2`) or in thousandths (`2500m`).

use std::collections::BTreeMap;

use apportion::ResourceTypes;
use apportion::nearest::{hint, nearest};
use apportion::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX};

use super::entry::Entry;
use crate::file::excerpt;
use crate::{ConfigFileError, NotCarriedOver};

/// The types that have units of their own.
const MEMORY: &str = "memory";
const VCORE: &str = "vcore";

/// Bytes in the engine's unit of memory.
const MEBIBYTE: i128 = 1 << 20;

/// Amounts in YuniKorn's units, by YuniKorn's names; any name is valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantities<'n> {
    by_name: BTreeMap<&'n str, i128>,
}

impl<'n> Quantities<'n> {
    /// Reads a mapping of names to quantities.
    pub(super) fn read(entry: Option<&Entry<'n>>) -> Result<Self, ConfigFileError> {
        let mut quantities = Self::default();
        for amount in entry.map(Entry::entries).transpose()?.unwrap_or_default() {
            let quantity = quantity(amount.text()?, amount.key == VCORE);
            quantities.by_name.insert(amount.key, quantity.map_err(|problem| amount.error(problem))?);
        }
        Ok(quantities)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether all amounts are zero; YuniKorn treats such amounts as absent.
    pub(super) fn is_zero(&self) -> bool {
        self.by_name.values().all(|amount| *amount == 0)
    }

    /// The first type whose amount exceeds the one in `limit`, if `limit` has it.
    pub(super) fn exceeds(&self, limit: &Self) -> Option<&'n str> {
        let is_above = |name: &str, amount: &i128| limit.by_name.get(name).is_some_and(|most| amount > most);
        self.by_name.iter().find(|(name, amount)| is_above(name, amount)).map(|(name, _)| *name)
    }

    /// The smaller amount of each type that either defines.
    pub(super) fn at_most(mut self, limit: &Self) -> Self {
        for (name, most) in &limit.by_name {
            let amount = self.by_name.entry(name).or_insert(*most);
            *amount = (*amount).min(*most);
        }
        self
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (name, amount) in &more.by_name {
            let sum = self.by_name.entry(name).or_insert(0);
            *sum = sum.saturating_add(*amount);
        }
    }

    /// Adds the amounts of `others` for types not defined here.
    pub(super) fn or(mut self, others: &Self) -> Self {
        for (name, amount) in &others.by_name {
            self.by_name.entry(name).or_insert(*amount);
        }
        self
    }

    /// The amounts in the engine's units, rounded down; `None` for a type without an amount.
    pub(super) fn amounts(&self, types: &ResourceTypes) -> [Option<i64>; RESOURCE_TYPES_MAX] {
        let mut amounts = [None; RESOURCE_TYPES_MAX];
        for (name, quantity) in &self.by_name {
            if let Some((position, unit)) = type_of(name, types) {
                let amount = unit.convert(*quantity).min(i128::from(AMOUNT_MAX));
                amounts[position] = i64::try_from(amount).ok();
            }
        }
        amounts
    }
}

/// Reports the amounts below `entry` that the engine does not count or counts in larger units. Refuses amounts that
/// are too large.
pub(super) fn check(
    entry: &Entry<'_>,
    types: &ResourceTypes,
    report: &mut Vec<NotCarriedOver>,
) -> Result<(), ConfigFileError> {
    for (name, quantity) in Quantities::read(Some(entry))?.by_name {
        let Some(written) = entry.get(name) else { continue };
        let Some((position, unit)) = type_of(name, types) else {
            written.report(&uncounted(name, types), report);
            continue;
        };
        let amount = unit.convert(quantity);
        if amount > i128::from(AMOUNT_MAX) {
            return Err(written.error("the amount is too large"));
        }
        if amount * unit.divisor != quantity * unit.factor {
            written.report(&format!("rounded down to {amount} {}", types.names()[position]), report);
        }
    }
    Ok(())
}

/// The conversion of one of YuniKorn's units to the engine's.
#[derive(Clone, Copy, Debug)]
struct Unit {
    factor: i128,
    divisor: i128,
}

impl Unit {
    fn convert(self, quantity: i128) -> i128 {
        quantity * self.factor / self.divisor
    }
}

/// The engine's type for one of YuniKorn's: `memory` is `memory_mib`, `vcore` is `vcore_milli`, and a name like
/// `nvidia.com/gpu` is `gpu_milli` or `gpu`.
fn type_of(name: &str, types: &ResourceTypes) -> Option<(usize, Unit)> {
    let unit = |factor, divisor| Unit { factor, divisor };
    let own = own_name(name);
    let candidates = match name {
        MEMORY => vec![("memory_mib".to_owned(), unit(1, MEBIBYTE))],
        VCORE => vec![("vcore_milli".to_owned(), unit(1, 1))],
        _ => vec![(format!("{own}_milli"), unit(1000, 1)), (own, unit(1, 1)), (name.to_owned(), unit(1, 1))],
    };
    let is_free =
        |own: &str| [MEMORY, VCORE].contains(&name) || !["memory_mib", "vcore_milli"].contains(&own);
    let position = |own: &str| types.names().iter().position(|known| known == own && is_free(own));
    candidates.into_iter().find_map(|(own, unit)| Some((position(&own)?, unit)))
}

/// The name without the vendor, in the engine's spelling.
fn own_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).replace(['-', '.'], "_")
}

fn uncounted(name: &str, types: &ResourceTypes) -> String {
    let own = excerpt(&own_name(name));
    let known = [MEMORY, VCORE].into_iter().chain(types.names().iter().map(String::as_str));
    format!("this engine does not count it (as `{own}`){}", hint(nearest(name, known).as_deref()))
}

/// A whole number with a decimal or binary suffix; for vcores, in thousandths.
fn quantity(text: &str, is_vcore: bool) -> Result<i128, String> {
    let text: String = text.split_whitespace().collect();
    let shown = || excerpt(&text);
    if text.starts_with('-') {
        return Err(format!("`{}` is negative", shown()));
    }
    let digits = text.strip_prefix('+').unwrap_or(&text);
    let (number, suffix) = digits.split_at(digits.bytes().take_while(u8::is_ascii_digit).count());
    let factor: i128 = match suffix {
        "" => 1,
        "m" if is_vcore => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "E" => 1_000_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        "Ei" => 1 << 60,
        _ => return Err(no_quantity(&shown(), is_vcore)),
    };
    let factor = if is_vcore && suffix != "m" { factor * 1000 } else { factor };
    if number.is_empty() {
        return Err(no_quantity(&shown(), is_vcore));
    }
    let amount = number.parse::<i64>().ok().and_then(|number| i128::from(number).checked_mul(factor));
    let amount = amount.filter(|amount| *amount <= i128::from(i64::MAX));
    amount.ok_or_else(|| format!("`{}` is too large", shown()))
}

fn no_quantity(text: &str, is_vcore: bool) -> String {
    let example = if is_vcore { "4 or 500m" } else { "10G or 10Gi" };
    format!("`{text}` is not a whole number with a unit, like {example}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_yunikorn() {
        assert_eq!(quantity("1 Gi", false), Ok(1 << 30));
        assert_eq!(quantity("+2k", false), Ok(2_000));
        assert_eq!(quantity("10", true), Ok(10_000), "cores are counted in thousandths");
        assert_eq!(quantity("500m", true), Ok(500));
        assert_eq!(quantity("2k", true), Ok(2_000_000));
        assert_eq!(
            quantity("500m", false),
            Err("`500m` is not a whole number with a unit, like 10G or 10Gi".into())
        );
        assert_eq!(
            quantity("1.5", true),
            Err("`1.5` is not a whole number with a unit, like 4 or 500m".into())
        );
        assert_eq!(quantity("-1", true), Err("`-1` is negative".into()));
        assert_eq!(quantity("8Ei", false), Err("`8Ei` is too large".into()));
        assert_eq!(
            quantity("99999999999999999999", false),
            Err("`99999999999999999999` is too large".into())
        );
        for text in ["", "Gi", "1K", "0x10", "1e3", "é"] {
            assert!(quantity(text, false).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_type_is_known_by_what_follows_the_vendor() {
        let types =
            ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli", "ephemeral_storage"]).unwrap();
        let position = |name| type_of(name, &types).map(|(position, unit)| (position, unit.convert(3)));
        assert_eq!(position("nvidia.com/gpu"), Some((2, 3000)));
        assert_eq!(position("ephemeral-storage"), Some((3, 3)));
        assert_eq!(position("vcore"), Some((1, 3)));
        assert_eq!(position("pods"), None);
        assert_eq!(position("memory_mib"), None, "bytes under the name of mebibytes");
    }
}
