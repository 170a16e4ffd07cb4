//! The records of a history file: identified by name, with fields in any order (Slider role history,
//! "Persistence").

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// The namespace of records since the project is called Slider.
pub(super) const NAMESPACE: &str = "org.apache.slider.server.avro.";
/// The namespace of 2013.
const NAMESPACE_2013: &str = "org.apache.hoya.avro.";
/// The only version of the format so far.
pub(super) const VERSION: i64 = 1;
/// The largest value of Avro's signed `long`.
pub(super) const LONG_MAX: u64 = i64::MAX.unsigned_abs();
/// The largest value of Avro's signed `int`.
pub(super) const INT_MAX: u32 = i32::MAX.unsigned_abs();

/// A record; one line of a file that Slider wrote.
#[derive(Deserialize)]
#[serde(expecting = "a record, which is an object with the field `entry`")]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) entry: Branch<'a>,
}

/// The types of records.
pub(super) enum Branch<'a> {
    Header(Header),
    Mapping(Mapping),
    Node(NodeEntry<'a>),
    Footer(Footer),
    /// A record of this unknown type.
    Unknown(String),
}

/// A header. It has the time of saving three times; two of them are for people and ignored.
#[derive(Deserialize)]
#[serde(expecting = "a RoleHistoryHeader, which is an object")]
pub(super) struct Header {
    #[serde(deserialize_with = "version")]
    pub(super) version: i64,
    #[serde(deserialize_with = "saved")]
    pub(super) saved: u64,
    #[serde(deserialize_with = "roles")]
    pub(super) roles: u32,
}

#[derive(Deserialize)]
#[serde(expecting = "a RoleHistoryMapping, which is an object")]
pub(super) struct Mapping {
    pub(super) rolemap: BTreeMap<String, RoleId>,
}

#[derive(Deserialize)]
#[serde(expecting = "a NodeEntryRecord, which is an object")]
pub(super) struct NodeEntry<'a> {
    #[serde(borrow)]
    pub(super) host: Cow<'a, str>,
    pub(super) role: RoleId,
    pub(super) active: bool,
    #[serde(deserialize_with = "last_used")]
    pub(super) last_used: u64,
}

#[derive(Deserialize)]
#[serde(expecting = "a RoleHistoryFooter, which is an object")]
pub(super) struct Footer {
    #[serde(deserialize_with = "count")]
    pub(super) count: u64,
}

/// A component's id in a file.
#[derive(Clone, Copy)]
pub(super) struct RoleId(pub(super) u32);

impl<'de> Deserialize<'de> for RoleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        int(deserializer, "a role id, a whole number from 0 to 2147483647").map(Self)
    }
}

fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let expected = "`version`, the number 1";
    deserializer.deserialize_i64(Whole { expected, least: i64::MIN })
}

fn saved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    long(deserializer, "`saved`, milliseconds as a whole number from 0 to 9223372036854775807")
}

fn last_used<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    long(deserializer, "`last_used`, milliseconds as a whole number from 0 to 9223372036854775807")
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    long(deserializer, "`count`, a whole number from 0 to 9223372036854775807")
}

fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    int(deserializer, "`roles`, a whole number from 0 to 2147483647")
}

fn long<'de, D: Deserializer<'de>>(deserializer: D, expected: &'static str) -> Result<u64, D::Error> {
    deserializer.deserialize_i64(Whole { expected, least: 0 }).map(i64::unsigned_abs)
}

fn int<'de, D: Deserializer<'de>>(deserializer: D, expected: &'static str) -> Result<u32, D::Error> {
    let long = long(deserializer, expected)?;
    let int = u32::try_from(long).ok().filter(|int| *int <= INT_MAX);
    int.ok_or_else(|| D::Error::invalid_value(Unexpected::Unsigned(long), &expected))
}

/// Reads a whole number; errors name the field and the form expected.
struct Whole {
    expected: &'static str,
    least: i64,
}

impl Visitor<'_> for Whole {
    type Value = i64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expected)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i64, E> {
        i64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<i64, E> {
        if number < self.least {
            return Err(E::invalid_value(Unexpected::Signed(number), &self));
        }
        Ok(number)
    }
}

/// The type of a record, which is the only key of its entry.
enum Kind {
    Header,
    Mapping,
    Node,
    Footer,
    Unknown(String),
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindVisitor)
    }
}

struct KindVisitor;

impl Visitor<'_> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a record type")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Kind, E> {
        let known = name.strip_prefix(NAMESPACE).or_else(|| name.strip_prefix(NAMESPACE_2013));
        Ok(match known {
            Some("NodeEntryRecord") => Kind::Node,
            Some("RoleHistoryHeader") => Kind::Header,
            Some("RoleHistoryMapping") => Kind::Mapping,
            Some("RoleHistoryFooter") => Kind::Footer,
            _ => Kind::Unknown(name.to_owned()),
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Branch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BranchVisitor)
    }
}

struct BranchVisitor;

impl<'de> Visitor<'de> for BranchVisitor {
    type Value = Branch<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an entry, which is an object with the record's type as its one key")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Branch<'de>, A::Error> {
        let Some(kind) = map.next_key()? else {
            return Err(A::Error::invalid_length(0, &self));
        };
        let branch = match kind {
            Kind::Header => Branch::Header(map.next_value()?),
            Kind::Mapping => Branch::Mapping(map.next_value()?),
            Kind::Node => Branch::Node(map.next_value()?),
            Kind::Footer => Branch::Footer(map.next_value()?),
            Kind::Unknown(name) => {
                map.next_value::<IgnoredAny>()?;
                Branch::Unknown(name)
            }
        };
        if map.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::invalid_length(2, &self));
        }
        Ok(branch)
    }
}
