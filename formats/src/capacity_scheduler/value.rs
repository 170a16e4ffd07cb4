//! Values of capacities in YARN's notation: `25`, `3w`, `[memory=4Gi,vcores=2]`, `[memory=50%,vcores=2w]`.

use apportion::config::Factor;
use apportion::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX};

use super::types::Types;
use crate::billionths::Billionths;
use crate::file::excerpt;

/// The values in brackets, by type of the engine.
pub(super) type Vector = [Option<Figure>; RESOURCE_TYPES_MAX];

/// The largest weight that YARN accepts.
const WEIGHT_MAX: u64 = 10_000;

/// A capacity or a maximum capacity as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Percent(Billionths),
    Weight(Billionths),
    Vector(Vector),
}

/// The value of a size for one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    Percent(Billionths),
    Weight(Billionths),
    Amount(i64),
}

impl Size {
    /// The value for one type, if any.
    pub(super) fn figure(&self, resource: usize) -> Option<Figure> {
        match self {
            Self::Percent(percent) => Some(Figure::Percent(*percent)),
            Self::Weight(weight) => Some(Figure::Weight(*weight)),
            Self::Vector(figures) => figures[resource],
        }
    }

    /// The kind of the size. Siblings of one kind are valid in every file.
    pub(super) fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }

    /// Whether the brackets contain values other than amounts.
    pub(super) fn is_mixed(&self) -> bool {
        let is_share = |figure: &Figure| !matches!(figure, Figure::Amount(_));
        matches!(self, Self::Vector(figures) if figures.iter().flatten().any(is_share))
    }
}

/// Reads a size; the error describes the mistake.
pub(super) fn size(text: &str, types: &Types) -> Result<Size, String> {
    let text = text.trim();
    if let Some(inside) = text.strip_prefix('[') {
        let inside = inside.strip_suffix(']').ok_or("the closing bracket is missing")?;
        return vector(inside, types).map(Size::Vector);
    }
    match text.strip_suffix('w') {
        Some(number) => decimal(number, WEIGHT_MAX).map(Size::Weight),
        None => decimal(text, 100).map(Size::Percent),
    }
}

/// A decimal number from 0 to `max`.
pub(super) fn decimal(text: &str, max: u64) -> Result<Billionths, String> {
    Billionths::parse(text, max).ok_or_else(|| {
        let what = if text.trim().starts_with('-') { "is negative, expected" } else { "is not" };
        format!("`{}` {what} a plain number from 0 to {max}", excerpt(text))
    })
}

/// Whether the text is `-1`, with which YARN means "none".
pub(super) fn is_minus_one(text: &str) -> bool {
    let number = text.trim().strip_prefix('-').map(|number| Billionths::parse(number, 1));
    number.flatten().is_some_and(|number| number.factor() == Factor::ONE)
}

fn vector(inside: &str, types: &Types) -> Result<Vector, String> {
    let mut figures = [None; RESOURCE_TYPES_MAX];
    for pair in inside.split(',') {
        let no_pair =
            || format!("expected a resource and its amount like `memory=1024`, found `{}`", excerpt(pair));
        let (name, value) = pair.split_once('=').ok_or_else(no_pair)?;
        let (name, value) = (name.trim(), value.trim());
        let (index, figure) = figure(name, value, types)?;
        if figures[index].replace(figure).is_some() {
            return Err(format!("{} is given twice", excerpt(name)));
        }
    }
    let memory = figures[types.memory()?];
    if !Size::Vector(figures).is_mixed() && memory.is_none_or(|amount| amount == Figure::Amount(0)) {
        return Err("memory is missing or 0; YARN then ignores all amounts".to_owned());
    }
    Ok(figures)
}

fn figure(name: &str, value: &str, types: &Types) -> Result<(usize, Figure), String> {
    if let Some(number) = value.strip_suffix('%') {
        return Ok((types.index(name)?, Figure::Percent(decimal(number, 100)?)));
    }
    if let Some(number) = value.strip_suffix('w') {
        return Ok((types.index(name)?, Figure::Weight(decimal(number, WEIGHT_MAX)?)));
    }
    let (index, amount) = types.amount(name, value)?;
    let amount = i64::try_from(amount).ok().filter(|amount| *amount <= AMOUNT_MAX);
    let amount = amount.ok_or_else(|| format!("{}: the amount is too large", excerpt(name)))?;
    Ok((index, Figure::Amount(amount)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use apportion::ResourceTypes;

    fn amounts(text: &str) -> Result<[Option<i64>; 4], String> {
        let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli", "fpga"]).unwrap();
        match size(text, &Types::of(types))? {
            Size::Vector(figures) if !Size::Vector(figures).is_mixed() => {
                let amount =
                    |figure| if let Some(Figure::Amount(amount)) = figure { Some(amount) } else { None };
                Ok([0, 1, 2, 3].map(|i| amount(figures[i])))
            }
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn each_type_may_have_a_kind_of_its_own() {
        let types = Types::of(ResourceTypes::new(["memory_mib", "vcore_milli", "gpu"]).unwrap());
        let Ok(Size::Vector(figures)) = size("[memory=50%, vcores=2.5w, yarn.io/gpu=4]", &types) else {
            panic!("a vector");
        };
        let number = |text| Billionths::parse(text, 100).unwrap();
        let expected = [Figure::Percent(number("50")), Figure::Weight(number("2.5")), Figure::Amount(4)];
        assert_eq!(figures[..4], [Some(expected[0]), Some(expected[1]), Some(expected[2]), None]);
        for (text, problem) in [
            ("[memory=101%]", "`101` is not a plain number from 0 to 100"),
            ("[memory=1,vcores=-1w]", "`-1` is negative, expected a plain number from 0 to 10000"),
            ("[memory=1%,memory=2]", "memory is given twice"),
            ("[memory=1,disk=1%]", "this engine does not count `disk` (as `disk_milli`)"),
        ] {
            assert_eq!(size(text, &types), Err(problem.to_owned()), "{text}");
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
            ("[memory=1.5]", "`1.5` is not a whole number"),
            ("[memory=1,vcores=]", "`` is not a whole number"),
            ("[memory=1,vcores=2Gi]", "`2Gi` is not a whole number"),
            ("[memory=1,memory=2]", "memory is given twice"),
            ("[vcores=2]", "memory is missing or 0; YARN then ignores all amounts"),
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
