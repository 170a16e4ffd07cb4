//! JSON objects with a fixed set of keys, as YARN's formats name them.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Visitor};

use super::error::unknown;

/// The treatment of an unknown key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    /// It is a mistake.
    Refused,
    /// Other programs use it.
    Skipped,
}

/// Declares a struct of optional fields that is read from a JSON object. Each field names its key, or several
/// keys with the same meaning. `null` is the same as omitting the key.
///
/// Serde's own derive cannot offer the nearest known key. It also checks after the object has ended, when
/// line and column are those of the end.
macro_rules! record {
    ($(#[$about:meta])* $access:vis struct $name:ident, unknown keys $unknown:ident, {
        $($field:ident: $value:ty = $($key:literal)|+,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Default)]
        $access struct $name {
            $($access $field: Option<$value>,)+
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;

                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        out.write_str("an object")
                    }

                    fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<$name, M::Error> {
                        const KEYS: $crate::trace::record::Keys = $crate::trace::record::Keys {
                            known: &[$($($key,)+)+],
                            unknown: $crate::trace::record::Unknown::$unknown,
                        };
                        let mut record = $name::default();
                        while let Some(key) = map.next_key_seed(KEYS)? {
                            match key {
                                $(Some($($key)|+) => record.$field = map.next_value()?,)+
                                _ => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(record)
                    }
                }

                deserializer.deserialize_map(Fields)
            }
        }
    };
}
pub(super) use record;

/// The keys of one kind of record. Reading a key gives the known key, or `None` for a key to skip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) known: &'static [&'static str],
    pub(super) unknown: Unknown,
}

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Keys {
    type Value = Option<&'static str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        let found = self.known.iter().copied().find(|known| *known == name);
        if found.is_none() && self.unknown == Unknown::Refused {
            return Err(E::custom(unknown("key", name, self.known)));
        }
        Ok(found)
    }
}
