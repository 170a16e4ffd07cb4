//! The order in which a pass tries the nodes of a set.

use serde::{Deserialize, Serialize};

/// A built-in node order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeOrderKind {
    /// The emptiest node first, by dominant share of its allocated resources.
    #[default]
    Spread,
    /// The fullest node that still fits first.
    Pack,
    /// The node with the lowest place: registration order, except that a later node may take over the place of a
    /// removed one.
    First,
}
