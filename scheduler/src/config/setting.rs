//! Keys of the configuration, for messages about limits.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use super::{Bound, HolderLimit, Maximum, QueueConfig};
use crate::resource::ResourceTypes;

/// A key of a native configuration file and its value, in the notation of such a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// The table and the key, such as `queues."root.a".maximum_capacity`.
    pub key: String,
    /// The value, such as `"40 %"`.
    pub value: String,
}

impl Setting {
    /// The table of a queue.
    #[must_use]
    pub fn table(path: &str) -> String {
        format!("queues.{}", quoted_text(path))
    }

    pub(crate) fn new(table: &str, key: impl Display, value: impl Display) -> Self {
        Self { key: format!("{table}.{key}"), value: value.to_string() }
    }

    /// The maximum of the queue in a partition.
    #[must_use]
    pub fn maximum(table: &str, queue: &QueueConfig, partition: &str, types: &ResourceTypes) -> Self {
        let is_own = queue.partitions.get(partition).is_some_and(|own| own.maximum.is_some());
        let key = match is_own {
            true => format!("partitions.{}.maximum_capacity", quoted_key(partition)),
            false => "maximum_capacity".to_owned(),
        };
        let value = match queue.maximum_in(partition) {
            Maximum::Percent(percent) => quoted(percent),
            maximum => table_by_type(types, |index| match maximum.bound(index) {
                Bound::NONE => None,
                Bound::Amount(amount) => Some(amount.to_string()),
                Bound::Percent(percent) => Some(quoted(percent)),
            }),
        };
        Self::new(table, key, value)
    }

    /// The limit of one user regardless of the others, as a multiple of the guarantee.
    #[must_use]
    pub fn user_limit_factor(table: &str, queue: &QueueConfig) -> Self {
        let factor = queue.user_limit_factor.map(|factor| factor.to_string());
        Self::new(table, "user_limit_factor", factor.unwrap_or_else(|| quoted("unlimited")))
    }

    /// The limit of one user while others have pending asks.
    #[must_use]
    pub fn user_limit_minimum(table: &str, queue: &QueueConfig) -> Self {
        Self::new(table, "user_limit_minimum", quoted(queue.user_limit_minimum))
    }

    /// The limit for masters of active applications (YARN's AM share), if there is one.
    #[must_use]
    pub fn master_share(table: &str, queue: &QueueConfig) -> Option<Self> {
        queue.master_share.map(|share| Self::new(table, "maximum_master_share", quoted(share)))
    }

    /// The limit of a user or a group: one of the queue's `limits`, counted from 0.
    pub(crate) fn holder_maximum(
        table: &str,
        number: usize,
        limit: &HolderLimit,
        types: &ResourceTypes,
    ) -> Self {
        let value = table_by_type(types, |index| limit.maximum[index].map(|amount| amount.to_string()));
        Self::new(table, format!("limits[{number}].maximum"), value)
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key, self.value)
    }
}

fn quoted(value: impl Display) -> String {
    quoted_text(&value.to_string())
}

/// A key as a native configuration file has it: bare where TOML allows it.
#[must_use]
pub fn quoted_key(key: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !key.is_empty() && key.bytes().all(is_bare) { key.to_owned() } else { quoted_text(key) }
}

/// A text as a TOML string on one line.
#[must_use]
pub fn quoted_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// A TOML table with a value for each resource type, without the types for which `value_of` returns `None`.
#[must_use]
pub fn table_by_type(types: &ResourceTypes, value_of: impl Fn(usize) -> Option<String>) -> String {
    let named = types.names().iter().enumerate();
    let pairs: Vec<String> = named
        .filter_map(|(index, name)| Some(format!("{} = {}", quoted_key(name), value_of(index)?)))
        .collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Capacity, PartitionCapacity, Percent};

    #[test]
    fn names_with_dots_are_quoted_in_keys_and_values() {
        let types = ResourceTypes::new(["memory_mib", "example.com/disk"]).unwrap();
        let own = PartitionCapacity { capacity: None, maximum: Some(Maximum::absolute(&[8, 2])) };
        let queue = QueueConfig::leaf("a", Capacity::Percent(Percent::ALL)).with_partition("gpu.a", own);
        assert_eq!(
            Setting::maximum(&Setting::table("root.a"), &queue, "gpu.a", &types).to_string(),
            "queues.\"root.a\".partitions.\"gpu.a\".maximum_capacity = { memory_mib = 8, \"example.com/disk\" = 2 }"
        );
        assert_eq!(Setting::table("root.\u{e9}\u{7}"), "queues.\"root.\u{e9}\\u0007\"");
    }
}
