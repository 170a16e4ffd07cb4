//! Values of capacities as YARN writes them: `25`, `3w`, `[memory=4Gi,vcores=2]`.

use super::types::Types;
use crate::config::file::excerpt;
use crate::config::share::Billionths;
use crate::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX};

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
pub(super) fn size(text: &str, types: &Types) -> Result<Size, String> {
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

fn amounts(inside: &str, types: &Types) -> Result<Amounts, String> {
    let mut amounts = [None; RESOURCE_TYPES_MAX];
    for pair in inside.split(',') {
        let no_pair =
            || format!("expected a resource and its amount like `memory=1024`, found `{}`", excerpt(pair));
        let (name, amount) = pair.split_once('=').ok_or_else(no_pair)?;
        let (name, amount) = (name.trim(), amount.trim());
        let (index, amount) = types.amount(name, amount)?;
        let amount = i64::try_from(amount).ok().filter(|amount| *amount <= AMOUNT_MAX);
        let amount = amount.ok_or_else(|| format!("{}: the amount is too large", excerpt(name)))?;
        if amounts[index].replace(amount).is_some() {
            return Err(format!("{} is given twice", excerpt(name)));
        }
    }
    let memory = types.memory()?;
    if amounts[memory].is_none_or(|amount| amount == 0) {
        return Err("memory is missing or 0; YARN ignores such amounts as a whole".to_owned());
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::ResourceTypes;

    fn amounts(text: &str) -> Result<[Option<i64>; 4], String> {
        let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli", "fpga"]).unwrap();
        match size(text, &Types::of(types))? {
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
