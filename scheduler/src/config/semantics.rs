//! The differences between Apportion's rules and YARN's, one question for each.

use serde::{Deserialize, Serialize};

/// Which rules apply where YARN's rules and Apportion's differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Semantics {
    /// No queue or user exceeds a limit.
    #[default]
    Strict,
    /// As in YARN. A user at or below the user limit may have one more container of any size. User limits are
    /// rounded up to steps of the smallest container. A pass over one node reserves that node although another has
    /// room; a pass over several nodes reserves the last. Failed passes over one reserved node let an ask reserve
    /// more nodes than it wants containers. Missed opportunities count instead of distinct nodes. An ask that misses
    /// an opportunity in a pass over one node holds back later asks of its application.
    YarnCompatible,
}

impl Semantics {
    /// Its name in configurations.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::YarnCompatible => "yarn_compatible",
        }
    }

    /// Whether the limit of each user of a leaf moves with the use of the others, even if one user may use all of it.
    pub(crate) fn moves_user_limits(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether user limits follow YARN's formula, in steps of the smallest container. A user at or below its limit may
    /// have one more container of any size.
    pub(crate) fn uses_yarn_user_limits(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether failed passes over a reserved node let its ask reserve further nodes.
    pub(crate) fn counts_re_reservations(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether reservations beyond the outstanding units stay until no unit is outstanding.
    pub(crate) fn keeps_surplus_reservations(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether a pass over several nodes reserves the last one in order. Otherwise it reserves the node that lacks
    /// least.
    pub(crate) fn reserves_last_node(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether a pass over one node reserves it even if another node has room.
    pub(crate) fn reserves_at_once(self) -> bool {
        self == Self::YarnCompatible
    }

    /// Whether a delay by nodes counts missed opportunities, instead of distinct nodes. An ask that misses one in
    /// a pass over one node holds back later asks of its application.
    pub(crate) fn counts_opportunities(self) -> bool {
        self == Self::YarnCompatible
    }
}
