//! Amounts by name. A resource type may be called by its name without the unit: `memory` for `memory_mib`.

use apportion::{ResourceTypes, Resources};

use super::form::Amounts;
use super::problem::{Done, StepError, unknown};

/// The position of a resource type in every vector.
pub(super) fn index_of(types: &ResourceTypes, name: &str) -> Result<usize, String> {
    let names = types.names();
    if let Some(index) = names.iter().position(|known| known == name) {
        return Ok(index);
    }
    let is_short_for = |known: &String| known.strip_prefix(name).is_some_and(|unit| unit.starts_with('_'));
    let mut found = (0..names.len()).filter(|index| is_short_for(&names[*index]));
    match (found.next(), found.next()) {
        (Some(index), None) => Ok(index),
        (Some(one), Some(other)) => Err(format!("`{name}` could be `{}` or `{}`", names[one], names[other])),
        _ => Err(unknown("resource type", name, names.iter().map(String::as_str))),
    }
}

/// Makes a vector; types that are not named are zero.
pub(super) fn to_resources(types: &ResourceTypes, amounts: &Amounts) -> Done<Resources> {
    let name_of = |(name, amount): (&String, &i64)| {
        index_of(types, name).map(|index| (types.names()[index].as_str(), *amount))
    };
    let named: Vec<_> = amounts.iter().map(name_of).collect::<Result<_, _>>().map_err(StepError::Bad)?;
    Ok(types.resources(&named)?)
}

/// The amounts that are not zero, as text.
pub(super) fn to_text(types: &ResourceTypes, resources: &Resources) -> String {
    let named = types.names().iter().enumerate().filter(|(index, _)| resources[*index] != 0);
    let words: Vec<String> = named.map(|(index, name)| format!("{name} {}", resources[index])).collect();
    if words.is_empty() { "0".into() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_may_be_named_without_its_unit() {
        let types = ResourceTypes::new(["memory_mib", "gpu_milli", "gpu_memory_mib"]).unwrap();
        assert_eq!(index_of(&types, "memory"), Ok(0));
        assert_eq!(index_of(&types, "memory_mib"), Ok(0));
        assert_eq!(index_of(&types, "gpu_memory"), Ok(2));
        assert_eq!(index_of(&types, "gpu"), Err("`gpu` could be `gpu_milli` or `gpu_memory_mib`".into()));
        let unknown = index_of(&types, "memory_mb").unwrap_err();
        assert_eq!(unknown, "unknown resource type `memory_mb`; did you mean `memory_mib`?");
        assert!(index_of(&types, "mem").is_err(), "a part of a word is not a name");
    }

    #[test]
    fn amounts_read_as_they_are_written() {
        let types = ResourceTypes::memory_and_vcores();
        let amounts = Amounts::from([("memory".into(), 4), ("vcore".into(), 0)]);
        let resources = to_resources(&types, &amounts).unwrap();
        assert_eq!(to_text(&types, &resources), "memory_mib 4");
        assert_eq!(to_text(&types, &Resources::ZERO), "0");
        let negative = to_resources(&types, &Amounts::from([("memory".into(), -1)]));
        assert!(matches!(negative, Err(StepError::Bad(_))));
    }
}
