//! Values of capacities as YARN writes them: `25`, `3w`, `[memory=4Gi,vcores=2]`.

use crate::config::file::excerpt;
use crate::config::share::Billionths;
use crate::nearest::{hint, nearest};
use crate::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX, ResourceTypes};

/// The amounts named in brackets, by type of the engine.
pub(super) type Amounts = [Option<i64>; RESOURCE_TYPES_MAX];

/// The largest weight YARN takes.
const WEIGHT_MAX: u64 = 10_000;

/// A capacity or a maximum capacity as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Percent(Billionths),
    Weight(Billionths),
    Amounts(Amounts),
}

/// Reads a size; the error says what is wrong.
pub(super) fn size(text: &str, types: &ResourceTypes) -> Result<Size, String> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('[') {
        let inside = inside.strip_suffix(']').ok_or("the closing bracket is missing")?;
        return amounts(inside, types).map(Size::Amounts);
    }
    match text.strip_suffix('w') {
        Some(number) => decimal(number, WEIGHT_MAX).map(Size::Weight),
        None => decimal(text, 100).map(Size::Percent),
    }
}

/// A decimal number from 0 to `max`.
pub(super) fn decimal(text: &str, max: u64) -> Result<Billionths, String> {
    Billionths::parse(text, max).map_err(|_| {
        let what = if text.trim().starts_with('-') { "is negative, expected" } else { "is not" };
        format!("`{}` {what} a plain number from 0 to {max}", excerpt(text))
    })
}

/// Whether the text is YARN's `-1`, its way to say "none".
pub(super) fn is_minus_one(text: &str) -> bool {
    let number = text.trim().strip_prefix('-').map(|number| Billionths::parse(number, 1));
    number.is_some_and(|number| number.is_ok_and(|number| number.factor() == crate::config::Factor::ONE))
}

fn amounts(inside: &str, types: &ResourceTypes) -> Result<Amounts, String> {
    let mut amounts = [None; RESOURCE_TYPES_MAX];
    for pair in inside.split(',') {
        let no_pair =
            || format!("expected a resource and its amount like `memory=1024`, found `{}`", excerpt(pair));
        let (name, amount) = pair.split_once('=').ok_or_else(no_pair)?;
        let (name, amount) = (name.trim(), amount.trim());
        let (index, factor) = type_of(name, types)?;
        let amount = if name == MEMORY { mebibytes(amount)? } else { whole(amount)? };
        let scaled = amount.checked_mul(factor).filter(|scaled| *scaled <= i128::from(AMOUNT_MAX));
        let scaled = scaled.and_then(|scaled| i64::try_from(scaled).ok());
        let scaled = scaled.ok_or_else(|| format!("{name}: the amount is too large"))?;
        if amounts[index].replace(scaled).is_some() {
            return Err(format!("{name} is given twice"));
        }
    }
    let memory = type_of(MEMORY, types)?.0;
    if amounts[memory].is_none_or(|amount| amount == 0) {
        return Err("memory is missing or 0; YARN ignores such amounts as a whole".to_owned());
    }
    Ok(amounts)
}

const MEMORY: &str = "memory";

/// The engine's type for a resource of YARN, and how many of its units one of YARN's is: `memory` is
/// `memory_mib`, `vcores` is `vcore_milli`, `yarn.io/gpu` is `gpu_milli` or `gpu`.
fn type_of(name: &str, types: &ResourceTypes) -> Result<(usize, i128), String> {
    const VCORES: &str = "vcores";
    const OWN_MEMORY: &str = "memory_mib";
    const OWN_VCORES: &str = "vcore_milli";
    let own = name.strip_prefix("yarn.io/").unwrap_or(name).replace('-', "_");
    let candidates = match name {
        MEMORY => vec![(OWN_MEMORY.to_owned(), 1)],
        VCORES => vec![(OWN_VCORES.to_owned(), 1000)],
        _ => vec![(format!("{own}_milli"), 1000), (own, 1), (name.to_owned(), 1)],
    };
    let is_free = |own: &str| [MEMORY, VCORES].contains(&name) || ![OWN_MEMORY, OWN_VCORES].contains(&own);
    let position = |own: &str| types.names().iter().position(|known| known == own && is_free(own));
    if let Some(found) = candidates.iter().find_map(|(own, factor)| Some((position(own)?, *factor))) {
        return Ok(found);
    }
    let (own, name) = (excerpt(&candidates[0].0), excerpt(name));
    let hint = match name.as_str() {
        MEMORY | VCORES => String::new(),
        _ => hint(nearest(&name, [MEMORY, VCORES]).as_deref()),
    };
    Err(format!("this engine does not count `{name}` (as `{own}`){hint}"))
}

/// A whole number without a unit.
fn whole(text: &str) -> Result<i128, String> {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_whole);
    number.ok_or_else(|| match text.strip_prefix('-') {
        Some(_) => format!("`{}` is negative", excerpt(text)),
        None if text.ends_with(['%', 'w']) => {
            format!("`{}`: shares of a single resource are not supported by this engine yet", excerpt(text))
        }
        None => format!("`{}` is no whole number", excerpt(text)),
    })
}

/// An amount of memory in MiB, which is the unit if none is given; rounded down.
fn mebibytes(text: &str) -> Result<i128, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let bytes: i128 = match unit.trim() {
        "" | "Mi" => 1 << 20,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return whole(text),
    };
    let bytes = whole(number)?.checked_mul(bytes);
    bytes.map(|bytes| bytes >> 20).ok_or_else(|| format!("`{}` is too large", excerpt(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(text: &str) -> Result<[Option<i64>; 4], String> {
        let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli", "fpga"]).unwrap();
        match size(text, &types)? {
            Size::Amounts([memory, vcores, gpus, fpgas, ..]) => Ok([memory, vcores, gpus, fpgas]),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn amounts_have_the_units_of_the_engine() {
        assert_eq!(amounts("[memory=1024,vcores=2]"), Ok([Some(1024), Some(2000), None, None]));
        assert_eq!(amounts("[ memory = 4Gi , yarn.io/gpu = 1 ]"), Ok([Some(4096), None, Some(1000), None]));
        assert_eq!(amounts("[memory=1G,fpga=1]"), Ok([Some(953), None, None, Some(1)]));
    }

    #[test]
    fn amounts_that_are_none_are_refused() {
        for (text, problem) in [
            ("[memory=1", "the closing bracket is missing"),
            ("[]", "expected a resource and its amount like `memory=1024`, found ``"),
            ("[memory=-1]", "`-1` is negative"),
            ("[memory=1.5]", "`1.5` is no whole number"),
            ("[memory=1,vcores=]", "`` is no whole number"),
            ("[memory=1,vcores=2Gi]", "`2Gi` is no whole number"),
            ("[memory=50%]", "`50%`: shares of a single resource are not supported by this engine yet"),
            ("[memory=1,memory=2]", "memory is given twice"),
            ("[vcores=2]", "memory is missing or 0; YARN ignores such amounts as a whole"),
            ("[memory=9999999P]", "memory: the amount is too large"),
            (
                "[memory=99999999999999999999999999999999999999P]",
                "`99999999999999999999999999999999999999P` is too large",
            ),
            (
                "[memory=1,vcore=1]",
                "this engine does not count `vcore` (as `vcore_milli`); did you mean `vcores`?",
            ),
            ("[memory=1,disk=1]", "this engine does not count `disk` (as `disk_milli`)"),
        ] {
            assert_eq!(amounts(text), Err(problem.to_owned()), "{text}");
        }
    }

    #[test]
    fn minus_one_is_none() {
        assert!(["-1", " -1.0 "].into_iter().all(is_minus_one));
        assert!(!["1", "-2", "-1.5", "-", "--1"].into_iter().any(is_minus_one));
    }
}
