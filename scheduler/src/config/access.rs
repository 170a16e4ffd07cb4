//! Access lists: the users who may submit applications to a queue, and those who may administer it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Users with a permission on a queue and all queues below, in YARN's notation: users, a space, groups.
///
/// A list further down cannot take away a permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccessList {
    /// Every user: `*`.
    Everybody,
    /// These users and the members of these groups.
    Named {
        /// Names of users.
        users: BTreeSet<String>,
        /// Names of groups.
        groups: BTreeSet<String>,
    },
}

impl AccessList {
    /// The empty list.
    pub const NOBODY: Self = Self::Named { users: BTreeSet::new(), groups: BTreeSet::new() };

    /// Whether the list names the user or one of the user's groups.
    #[must_use]
    pub fn names(&self, user: &str, groups: &[String]) -> bool {
        match self {
            Self::Everybody => true,
            Self::Named { users, groups: named } => {
                users.contains(user) || groups.iter().any(|group| named.contains(group))
            }
        }
    }

    /// The first name that the notation cannot express.
    pub(super) fn unwritable_name(&self) -> Option<&str> {
        let Self::Named { users, groups } = self else { return None };
        let is_bad = |name: &&String| {
            name.is_empty() || *name == "*" || name.contains(|c: char| c == ',' || c.is_whitespace())
        };
        users.iter().chain(groups).find(is_bad).map(String::as_str)
    }
}

impl fmt::Display for AccessList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Named { users, groups } = self else { return f.write_str("*") };
        let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        f.write_str(&list(users))?;
        if groups.is_empty() { Ok(()) } else { write!(f, " {}", list(groups)) }
    }
}

/// The error for a text that is not an access list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[error("expected users, a space and groups, each separated by commas without spaces, or *")]
pub struct ParseAccessListError;

impl FromStr for AccessList {
    type Err = ParseAccessListError;

    /// Parses `alice,bob ops,dev`. Text that starts with a space names no users; the empty text names neither users
    /// nor groups.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (users, groups) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let groups = groups.trim();
        if users.ends_with(',') || groups.contains(char::is_whitespace) {
            return Err(ParseAccessListError);
        }
        let names = |list: &str| -> BTreeSet<String> {
            list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let (users, groups) = (names(users), names(groups));
        if users.contains("*") || groups.contains("*") {
            return Ok(Self::Everybody);
        }
        Ok(Self::Named { users, groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> AccessList {
        text.parse().expect(text)
    }

    #[test]
    fn users_and_groups_are_told_apart_by_the_first_space() {
        let ops = ["ops".to_owned()];
        for (text, ann, bob_of_ops, ops_alone) in [
            ("ann", true, false, false),
            ("ann ops", true, true, false),
            (" ops", false, true, false),
            ("ops", false, false, true),
            ("ann,ops dev,ops", true, true, true),
            ("", false, false, false),
            (" ", false, false, false),
            ("*", true, true, true),
            (" * ", true, true, true),
        ] {
            let list = list(text);
            assert_eq!(list.names("ann", &[]), ann, "{text:?}");
            assert_eq!(list.names("bob", &ops), bob_of_ops, "{text:?}");
            assert_eq!(list.names("ops", &[]), ops_alone, "{text:?}");
        }
    }

    #[test]
    fn lists_that_could_be_misread_are_refused() {
        for text in ["ann, bob", "ann bob carl", "ann dev, ops"] {
            assert_eq!(text.parse::<AccessList>(), Err(ParseAccessListError), "{text}");
        }
    }

    #[test]
    fn a_written_list_is_read_back() {
        for text in ["*", "", "ann", "ann,bob", " ops", "ann dev,ops"] {
            assert_eq!(list(text).to_string(), text);
        }
    }
}
