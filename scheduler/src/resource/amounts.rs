//! Amounts with their names, and as text for people.

use std::fmt::{self, Display, Formatter};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{ResourceTypes, Resources};

/// Amounts by type name, in the engine's order; types with zero are left out.
///
/// [`ResourceTypes::amounts`] makes them. They display with units, exactly: `4 GiB, 1.5 vcores`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(Vec<(String, i64)>);

impl Amounts {
    pub(super) fn new(types: &ResourceTypes, resources: &Resources) -> Self {
        let named = types.names().iter().cloned().zip(resources.amounts().iter().copied());
        Self(named.filter(|(_, amount)| *amount != 0).collect())
    }

    /// The amount of one type; 0 if it is absent.
    #[must_use]
    pub fn get(&self, name: &str) -> i64 {
        self.iter().find(|(known, _)| *known == name).map_or(0, |(_, amount)| amount)
    }

    /// Whether every amount is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names and amounts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), *amount))
    }
}

impl Serialize for Amounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Amounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AmountsVisitor)
    }
}

/// Keeps the order of the entries.
struct AmountsVisitor;

impl<'de> Visitor<'de> for AmountsVisitor {
    type Value = Amounts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("amounts by resource type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Amounts, A::Error> {
        let mut amounts = Vec::new();
        while let Some(entry) = map.next_entry()? {
            amounts.push(entry);
        }
        Ok(Amounts(amounts))
    }
}

/// Writes the amounts with units. Without any amount: `nothing`.
impl Display for Amounts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (place, (name, amount)) in self.iter().enumerate() {
            let separator = if place > 0 { ", " } else { "" };
            write!(f, "{separator}{}", WithUnit { name, amount })?;
        }
        Ok(())
    }
}

/// One amount as text. The end of the type's name says the unit: `memory_mib` is memory in MiB, `vcore_milli` counts
/// vcores in thousandths. Other types are counted one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WithUnit<'a> {
    pub(crate) name: &'a str,
    pub(crate) amount: i64,
}

impl Display for WithUnit<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { name, amount } = *self;
        if let Some(name) = name.strip_suffix("_mib") {
            write_memory(f, amount)?;
            return if name == "memory" { Ok(()) } else { write!(f, " of {name}") };
        }
        match name.strip_suffix("_milli") {
            Some(name) => {
                let plural = if amount == 1_000 || name.ends_with('s') { "" } else { "s" };
                write_decimal(f, amount.into(), 1_000)?;
                write!(f, " {name}{plural}")
            }
            None => write!(f, "{amount} {name}"),
        }
    }
}

/// Writes MiB in the largest unit in which the amount needs no more than three decimals.
fn write_memory(f: &mut Formatter<'_>, mib: i64) -> fmt::Result {
    const UNITS: [(i128, &str); 3] = [(1 << 30, "PiB"), (1 << 20, "TiB"), (1 << 10, "GiB")];
    let mib = i128::from(mib);
    let is_exact = |(unit, _): &&(i128, &str)| mib.abs() >= *unit && mib * 1_000 % unit == 0;
    let (unit, word) = UNITS.iter().find(is_exact).unwrap_or(&(1, "MiB"));
    write_decimal(f, mib * 1_000 / unit, 1_000)?;
    write!(f, " {word}")
}

/// Writes `amount / scale` without trailing zeros; `scale` is a power of ten.
fn write_decimal(f: &mut Formatter<'_>, amount: i128, scale: i128) -> fmt::Result {
    let sign = if amount < 0 { "-" } else { "" };
    let (whole, fraction) = (amount.abs() / scale, amount.abs() % scale);
    let decimals = format!(".{:03}", fraction * 1_000 / scale);
    write!(f, "{sign}{whole}{}", decimals.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(name: &str, amount: i64) -> String {
        WithUnit { name, amount }.to_string()
    }

    #[test]
    fn amounts_have_units() {
        let memory = [0, 1, 1_000, 1_024, 1_025, 1_536, 4_096, 1 << 20, 3 << 19, 1 << 31, -2_048];
        assert_eq!(
            memory.map(|mib| text("memory_mib", mib)),
            [
                "0 MiB", "1 MiB", "1000 MiB", "1 GiB", "1025 MiB", "1.5 GiB", "4 GiB", "1 TiB", "1.5 TiB",
                "2 PiB", "-2 GiB"
            ]
        );
        let vcores = [0, 1, 50, 500, 1_000, 1_001, 2_000, -1_500];
        assert_eq!(
            vcores.map(|milli| text("vcore_milli", milli)),
            [
                "0 vcores",
                "0.001 vcores",
                "0.05 vcores",
                "0.5 vcores",
                "1 vcore",
                "1.001 vcores",
                "2 vcores",
                "-1.5 vcores"
            ]
        );
        assert_eq!(text("scratch_mib", 2_048), "2 GiB of scratch");
        assert_eq!(text("licences", 3), "3 licences");
        assert_eq!(
            text("_mib", 1) + "; " + &text("_milli", 2_000) + "; " + &text("", 7),
            "1 MiB of ; 2 s; 7 "
        );
    }

    #[test]
    fn a_vector_is_listed_by_type() {
        let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"]).unwrap();
        let text = |amounts: &[i64]| types.amounts(&Resources::new(amounts)).to_string();
        assert_eq!(text(&[4_096, 1_000, 2_000]), "4 GiB, 1 vcore, 2 gpus");
        assert_eq!(text(&[0, 1_000, 0]), "1 vcore");
        assert_eq!(text(&[]), "nothing");
    }

    proptest! {
        /// No amount is rounded: the text leads back to it.
        #[test]
        fn a_text_has_the_exact_amount(mib in any::<i64>(), bits in 0_u32..63) {
            let mib = mib >> bits;
            let text = text("memory_mib", mib);
            let (number, unit) = text.split_once(' ').unwrap();
            let scale: i128 = match unit { "PiB" => 1 << 30, "TiB" => 1 << 20, "GiB" => 1 << 10, _ => 1 };
            let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
            let milli: i128 = format!("{whole}{decimals:0<3}").parse().unwrap();
            prop_assert_eq!(milli * scale, i128::from(mib) * 1_000);
        }
    }
}
