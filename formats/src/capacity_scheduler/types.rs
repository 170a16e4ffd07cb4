//! The resource types of the files, and the engine's type for each of YARN's.

use std::collections::BTreeMap;

use apportion::ResourceTypes;
use apportion::config::ConfigError;
use apportion::nearest::{hint, nearest};

use super::property::Settings;
use crate::ConfigFileError;
use crate::file::excerpt;

const MEMORY: &str = "memory";
const VCORES: &str = "vcores";
const LIST: &str = "yarn.resource-types";

/// The engine's types for YARN's resources, and the units of those resources.
#[derive(Debug)]
pub(super) struct Types {
    engine: ResourceTypes,
    /// The unit of each listed resource, by YARN's name; empty for plain counts.
    units: BTreeMap<String, String>,
}

impl Types {
    /// The types of `engine`, else memory, vcores and all listed resources. `yarn.io/gpu` becomes `gpu`, and a
    /// resource with the unit `Gi` gets a name that ends in `_gi`.
    pub(super) fn read(
        settings: &Settings<'_>,
        engine: Option<&ResourceTypes>,
    ) -> Result<Self, ConfigFileError> {
        let mut units = BTreeMap::new();
        let mut names = ResourceTypes::memory_and_vcores().names().to_vec();
        let list = settings.get(LIST);
        let listed = list.map(|setting| settings.value(&setting)).transpose()?.unwrap_or("");
        for name in listed.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let setting = settings.get(&format!("{LIST}.{name}.units"));
            let unit = setting.map(|setting| settings.value(&setting)).transpose()?.unwrap_or("");
            if let (None, Some(setting)) = (thousandths(unit), setting) {
                return Err(settings.refused(&setting, format!("`{}` is not a known unit", excerpt(unit))));
            }
            if !["memory-mb", MEMORY, VCORES].contains(&name) {
                names.push(engine_name(name, unit));
                units.insert(name.to_owned(), unit.to_owned());
            }
        }
        let refused = |error| match list {
            Some(setting) => setting.source.config(setting.key_offset, ConfigError::Resource(error)),
            None => settings.source().config(0, ConfigError::Resource(error)),
        };
        let own = ResourceTypes::new(names).map_err(refused);
        Ok(Self { engine: engine.map_or(own, |engine| Ok(engine.clone()))?, units })
    }

    #[cfg(test)]
    pub(super) fn of(engine: ResourceTypes) -> Self {
        Self { engine, units: BTreeMap::new() }
    }

    pub(super) fn engine(&self) -> &ResourceTypes {
        &self.engine
    }

    /// The index of the memory type.
    pub(super) fn memory(&self) -> Result<usize, String> {
        self.index(MEMORY)
    }

    /// The index of the type for one of YARN's resources.
    pub(super) fn index(&self, name: &str) -> Result<usize, String> {
        self.type_of(name).map(|(index, _)| index)
    }

    /// An amount of one of YARN's resources: the type's index and the amount, rounded down.
    pub(super) fn amount(&self, name: &str, text: &str) -> Result<(usize, i128), String> {
        let (index, factor) = self.type_of(name)?;
        let unit = if name == MEMORY { "Mi" } else { self.units.get(name).map_or("", String::as_str) };
        let has_units = name == MEMORY || self.units.contains_key(name);
        let amount = if has_units { converted(text, unit)? } else { whole(text)? };
        let amount = amount.checked_mul(factor).ok_or_else(|| too_large(text))?;
        Ok((index, amount))
    }

    /// The engine's type for a resource of YARN, and the number of the engine's units per unit of YARN. `memory` is
    /// `memory_mib`, `vcores` is `vcore_milli`, `yarn.io/gpu` is `gpu_milli` or `gpu`.
    fn type_of(&self, name: &str) -> Result<(usize, i128), String> {
        const OWN_MEMORY: &str = "memory_mib";
        const OWN_VCORES: &str = "vcore_milli";
        let unit = self.units.get(name).map_or("", String::as_str);
        let candidates = match name {
            MEMORY => vec![(OWN_MEMORY.to_owned(), 1)],
            VCORES => vec![(OWN_VCORES.to_owned(), 1000)],
            _ if !unit.is_empty() => vec![(engine_name(name, unit), 1)],
            _ => {
                let own = engine_name(name, "");
                vec![(format!("{own}_milli"), 1000), (own, 1), (name.to_owned(), 1)]
            }
        };
        let names = self.engine.names();
        let is_free =
            |own: &str| [MEMORY, VCORES].contains(&name) || ![OWN_MEMORY, OWN_VCORES].contains(&own);
        let position = |own: &str| names.iter().position(|known| known == own && is_free(own));
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
}

/// The engine's name for a resource: without YARN's prefix, and with the unit at the end.
fn engine_name(name: &str, unit: &str) -> String {
    let own = name.strip_prefix("yarn.io/").unwrap_or(name).replace('-', "_");
    match unit {
        "" => own,
        "m" => format!("{own}_milli"),
        _ => format!("{own}_{}", unit.to_ascii_lowercase()),
    }
}

/// A whole number without a unit.
fn whole(text: &str) -> Result<i128, String> {
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_whole);
    number.ok_or_else(|| match text.strip_prefix('-') {
        Some(_) => format!("`{}` is negative", excerpt(text)),
        None => format!("`{}` is not a whole number", excerpt(text)),
    })
}

/// Converts an amount to `unit`, rounded down. Text without a unit is in `unit` already.
fn converted(text: &str, unit: &str) -> Result<i128, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, own) = text.split_at(digits);
    let own = if own.trim().is_empty() { unit } else { own.trim() };
    let (Some(from), Some(to)) = (thousandths(own), thousandths(unit)) else { return whole(text) };
    let amount = whole(number)?.checked_mul(from).ok_or_else(|| too_large(text))?;
    Ok(amount / to)
}

fn too_large(text: &str) -> String {
    format!("`{}` is too large", excerpt(text))
}

/// The value of a unit in thousandths.
fn thousandths(unit: &str) -> Option<i128> {
    let ones: i128 = match unit {
        "m" => return Some(1),
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    Some(ones * 1_000)
}
