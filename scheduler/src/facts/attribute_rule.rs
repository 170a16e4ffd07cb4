//! Rules on the attributes of nodes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::node::NodeAttributes;

/// A hard condition on a node's attributes: all of its parts must hold. An empty rule holds everywhere.
///
/// ```
/// use apportion::AttributeRule;
///
/// let rule = AttributeRule::new().has("arch", ["x86", "arm"]).has_not("disk", ["slow"]).lacks("spot");
/// assert_eq!(rule.to_string(), "arch = x86 or arm, disk not slow, no spot");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttributeRule {
    /// The conditions, all of which have to hold.
    pub conditions: Vec<AttributeCondition>,
}

/// A condition on one attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AttributeCondition {
    /// The attribute's name.
    pub attribute: String,
    /// The test of its value.
    pub test: AttributeTest,
}

/// A test of an attribute's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttributeTest {
    /// The attribute exists and has one of these values; with one value, YARN's EQ.
    In(Vec<String>),
    /// The attribute has none of these values, or does not exist; with one value, YARN's NE.
    NotIn(Vec<String>),
    /// The attribute exists, with any value.
    Exists,
    /// The attribute does not exist.
    Absent,
}

impl AttributeRule {
    /// A rule that holds everywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A rule of one condition: the attribute exists and has one of these values.
    #[must_use]
    pub fn one_of<V: Into<String>>(
        attribute: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        Self::new().has(attribute, values)
    }

    /// Adds a condition: the attribute exists and has one of these values.
    #[must_use]
    pub fn has<V: Into<String>>(
        self,
        attribute: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.with(attribute, AttributeTest::In(values.into_iter().map(Into::into).collect()))
    }

    /// Adds a condition: the attribute has none of these values; it may be missing.
    #[must_use]
    pub fn has_not<V: Into<String>>(
        self,
        attribute: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> Self {
        self.with(attribute, AttributeTest::NotIn(values.into_iter().map(Into::into).collect()))
    }

    /// Adds a condition: the attribute exists.
    #[must_use]
    pub fn exists(self, attribute: impl Into<String>) -> Self {
        self.with(attribute, AttributeTest::Exists)
    }

    /// Adds a condition: the attribute does not exist.
    #[must_use]
    pub fn lacks(self, attribute: impl Into<String>) -> Self {
        self.with(attribute, AttributeTest::Absent)
    }

    /// Adds a condition.
    #[must_use]
    pub fn with(mut self, attribute: impl Into<String>, test: AttributeTest) -> Self {
        self.conditions.push(AttributeCondition { attribute: attribute.into(), test });
        self
    }

    /// Whether a node with these attributes meets it.
    #[must_use]
    pub fn holds(&self, attributes: &NodeAttributes) -> bool {
        self.conditions.iter().all(|condition| condition.holds(attributes))
    }
}

impl AttributeCondition {
    /// Whether a node with these attributes meets it.
    #[must_use]
    pub fn holds(&self, attributes: &NodeAttributes) -> bool {
        let value = attributes.get(&self.attribute);
        match &self.test {
            AttributeTest::In(values) => value.is_some_and(|value| values.contains(value)),
            AttributeTest::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            AttributeTest::Exists => value.is_some(),
            AttributeTest::Absent => value.is_none(),
        }
    }
}

/// Lists the conditions that have to hold.
impl fmt::Display for AttributeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, condition) in self.conditions.iter().enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AttributeCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attribute, test } = self;
        match test {
            AttributeTest::In(values) => write!(f, "{attribute} = {}", values.join(" or ")),
            AttributeTest::NotIn(values) => write!(f, "{attribute} not {}", values.join(" nor ")),
            AttributeTest::Exists => write!(f, "any {attribute}"),
            AttributeTest::Absent => write!(f, "no {attribute}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(pairs: &[(&str, &str)]) -> NodeAttributes {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn each_test_and_all_together() {
        let fast = attributes(&[("disk", "fast"), ("arch", "x86")]);
        let slow = attributes(&[("disk", "slow")]);
        let none = attributes(&[]);
        let holds = |rule: AttributeRule| [&fast, &slow, &none].map(|node| rule.holds(node));
        assert_eq!(holds(AttributeRule::new()), [true, true, true]);
        assert_eq!(holds(AttributeRule::one_of("disk", ["fast", "faster"])), [true, false, false]);
        assert_eq!(holds(AttributeRule::new().has_not("disk", ["fast"])), [false, true, true]);
        assert_eq!(holds(AttributeRule::new().exists("disk")), [true, true, false]);
        assert_eq!(holds(AttributeRule::new().lacks("disk")), [false, false, true]);
        assert_eq!(holds(AttributeRule::new().exists("disk").lacks("arch")), [false, true, false]);
        assert_eq!(holds(AttributeRule::new().has("disk", [""; 0])), [false, false, false]);
        assert_eq!(holds(AttributeRule::new().has_not("disk", [""; 0])), [true, true, true]);
    }
}
