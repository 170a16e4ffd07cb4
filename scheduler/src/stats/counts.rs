//! Deserialises counts by label. Their keys are static names, so a label that this version does not know is an error.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::event::Refusal;
use crate::request::RejectReason;

type Counts = BTreeMap<&'static str, u64>;

pub(super) fn rejected<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
    let labels: Vec<&str> = RejectReason::ALL.iter().map(|reason| reason.label()).collect();
    read(deserializer, &labels)
}

pub(crate) fn refused<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Counts, D::Error> {
    read(deserializer, Refusal::LABELS)
}

/// The present label of a reason.
fn renamed(name: &str) -> &str {
    if name == "invalid_limits" { "invalid_configuration" } else { name }
}

fn read<'de, D: Deserializer<'de>>(deserializer: D, labels: &[&'static str]) -> Result<Counts, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let known = counts.into_iter().map(|(name, count)| {
        let label = labels.iter().find(|label| **label == renamed(&name));
        label.map(|label| (*label, count)).ok_or_else(|| {
            D::Error::custom(format_args!("unknown reason `{name}`; known are {}", labels.join(", ")))
        })
    });
    known.collect()
}
