//! The names of the resource types that an engine counts.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::vector::COMMON_TYPES;
use super::{AMOUNT_MAX, Amounts, RESOURCE_TYPES_MAX, Resources};
use crate::nearest::nearest;

/// The resource types of one engine, registered by name once; their order is the order of every
/// [`Resources`] vector. The unit is part of the name: `memory_mib`, `vcore_milli`, `gpu_milli`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceTypes {
    names: Vec<String>,
    /// The type that counts devices, if nodes have any. Its amount on a node is the sum of the devices'
    /// thousandths.
    device_type: Option<usize>,
}

/// Why a set of resource types or an amount was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResourceError {
    /// No types, or more than a vector holds.
    #[error("{count} resource types given, from 1 to {RESOURCE_TYPES_MAX} are possible")]
    TypeCount {
        /// The number given.
        count: usize,
    },
    /// The same name twice.
    #[error("resource type `{name}` is named twice")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name that is not a resource type of this engine.
    #[error("unknown resource type `{name}`{}", hint_or_known(.nearest.as_deref(), .known))]
    Unknown {
        /// The name.
        name: String,
        /// The names of the engine's types.
        known: String,
        /// The known name closest to it.
        nearest: Option<String>,
    },
    /// A negative amount, or one too large for the engine to add up.
    #[error("{name} = {amount} is out of range (0 to {AMOUNT_MAX})")]
    OutOfRange {
        /// The type.
        name: String,
        /// The amount given.
        amount: i64,
    },
    /// The vector was made for other resource types than the engine's.
    #[error(
        "the vector has an amount of a resource type number {number}, but the engine counts {counted}; make it with \
         `Handle::resources`"
    )]
    Uncounted {
        /// The place of the type in the vector, counted from 1.
        number: usize,
        /// The engine's types.
        counted: String,
    },
    /// An ask or a node has devices, but no resource type counts them.
    #[error("devices are given, but the engine was configured without a resource type for them")]
    NoDeviceType,
    /// An amount of the device type that differs from the sum of the devices.
    #[error(
        "{name} = {amount} is given, but the given devices add up to {milli}; leave it out, or give other devices"
    )]
    NotByDevices {
        /// The type.
        name: String,
        /// The amount given.
        amount: i64,
        /// The sum of the devices' thousandths.
        milli: i64,
    },
}

/// The nearest name, or all of them if none is near.
fn hint_or_known(nearest: Option<&str>, known: &str) -> String {
    nearest.map_or_else(|| format!("; the engine counts {known}"), |_| crate::nearest::hint(nearest))
}

impl ResourceTypes {
    /// Registers the types.
    ///
    /// # Errors
    /// If there are no names, too many, or duplicates.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self, ResourceError> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.is_empty() || names.len() > RESOURCE_TYPES_MAX {
            return Err(ResourceError::TypeCount { count: names.len() });
        }
        for (position, name) in names.iter().enumerate() {
            if names[..position].contains(name) {
                return Err(ResourceError::Duplicate { name: name.clone() });
            }
        }
        Ok(Self { names, device_type: None })
    }

    /// Memory in MiB and virtual cores in thousandths, the types of most clusters.
    #[must_use]
    pub fn memory_and_vcores() -> Self {
        Self { names: vec!["memory_mib".into(), "vcore_milli".into()], device_type: None }
    }

    /// Sets the type that counts shareable devices (GPUs), in thousandths of a device.
    ///
    /// # Errors
    /// If there is no such type.
    pub fn with_devices(mut self, name: &str) -> Result<Self, ResourceError> {
        self.device_type = Some(self.index(name)?);
        Ok(self)
    }

    /// The names, in vector order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of types.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Always false: an engine has at least one type.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The position of the type that counts devices.
    #[must_use]
    pub fn device_type(&self) -> Option<usize> {
        self.device_type
    }

    /// The position of `name` in every vector.
    ///
    /// # Errors
    /// If the engine does not count that type; the error names the nearest one.
    pub fn index(&self, name: &str) -> Result<usize, ResourceError> {
        self.names.iter().position(|known| known == name).ok_or_else(|| ResourceError::Unknown {
            name: name.to_owned(),
            known: self.names.join(", "),
            nearest: nearest(name, self.names.iter().map(String::as_str)),
        })
    }

    /// A vector from named amounts; types not named are zero.
    ///
    /// # Errors
    /// If a name is unknown or given twice, or an amount is below 0 or above [`AMOUNT_MAX`].
    pub fn resources(&self, amounts: &[(&str, i64)]) -> Result<Resources, ResourceError> {
        let mut resources = Resources::ZERO;
        for (place, (name, amount)) in amounts.iter().enumerate() {
            if amounts[..place].iter().any(|(known, _)| known == name) {
                return Err(ResourceError::Duplicate { name: (*name).to_owned() });
            }
            resources.set(self.index(name)?, *amount);
        }
        self.check(&resources)?;
        Ok(resources)
    }

    /// The amounts of a vector with their names. They display with units: `4 GiB, 1 vcore`.
    #[must_use]
    pub fn amounts(&self, resources: &Resources) -> Amounts {
        Amounts::new(self, resources)
    }

    /// Checks that every amount is in range and has a type.
    pub(crate) fn check(&self, resources: &Resources) -> Result<(), ResourceError> {
        // Nearly all amounts are of the common types and well below the maximum.
        let are_common = self.len() >= COMMON_TYPES && !resources.may_have_rare_types();
        if are_common && (0..COMMON_TYPES).all(|i| (0..=AMOUNT_MAX).contains(&resources[i])) {
            return Ok(());
        }
        self.check_each(resources)
    }

    /// The same for amounts of any types.
    fn check_each(&self, resources: &Resources) -> Result<(), ResourceError> {
        for (index, &amount) in resources.amounts().iter().enumerate() {
            match self.names.get(index) {
                None if amount == 0 => {}
                Some(_) if (0..=AMOUNT_MAX).contains(&amount) => {}
                Some(name) => return Err(ResourceError::OutOfRange { name: name.clone(), amount }),
                None => {
                    let counted = self.names.join(", ");
                    return Err(ResourceError::Uncounted { number: index + 1, counted });
                }
            }
        }
        Ok(())
    }

    /// Sets the amount of the device type to the sum of the devices, `milli` thousandths. The caller may leave the
    /// amount out, but must not give another one.
    pub(crate) fn count_devices(&self, resources: &mut Resources, milli: i64) -> Result<(), ResourceError> {
        match self.device_type {
            None if milli == 0 => Ok(()),
            None => Err(ResourceError::NoDeviceType),
            Some(index) if resources[index] == 0 || resources[index] == milli => {
                resources.set(index, milli);
                Ok(())
            }
            Some(index) => {
                let (name, amount) = (self.names[index].clone(), resources[index]);
                Err(ResourceError::NotByDevices { name, amount, milli })
            }
        }
    }

    /// Whether the amounts pass [`check`](Self::check) and the device type has `milli` thousandths.
    pub(crate) fn is_counted(&self, resources: &Resources, milli: i64) -> bool {
        let counted = self.device_type.map_or(0, |index| resources[index]);
        counted == milli && self.check(resources).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_type_names_its_neighbour() {
        let error = ResourceTypes::memory_and_vcores().resources(&[("memory_mb", 1)]).unwrap_err();
        assert_eq!(error.to_string(), "unknown resource type `memory_mb`; did you mean `memory_mib`?");
        let error = ResourceTypes::memory_and_vcores().with_devices("quantum").unwrap_err();
        let known = "unknown resource type `quantum`; the engine counts memory_mib, vcore_milli";
        assert_eq!(error.to_string(), known);
    }

    #[test]
    fn amounts_outside_the_range_are_refused() {
        let types = ResourceTypes::memory_and_vcores();
        assert!(types.resources(&[("memory_mib", -1)]).is_err());
        assert!(types.resources(&[("memory_mib", AMOUNT_MAX + 1)]).is_err());
        assert!(types.resources(&[("memory_mib", AMOUNT_MAX)]).is_ok());
        let twice = types.resources(&[("memory_mib", 1), ("memory_mib", 2)]).unwrap_err();
        assert_eq!(twice.to_string(), "resource type `memory_mib` is named twice");
        assert!(types.check(&Resources::new(&[0, 0, 7])).is_err(), "an amount of a type nobody registered");
    }
}
