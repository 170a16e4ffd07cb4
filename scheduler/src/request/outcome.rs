//! Outcomes of commit requests. A rejection is a value, not an error: the proposer saw an older state, and looks again.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The number of a change, which is its position in the log. The first change is number 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommitSeq(pub u64);

impl fmt::Display for CommitSeq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The committer's decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommitOutcome {
    /// The request was applied as this change.
    Accepted(CommitSeq),
    /// The request was not applied.
    Rejected(RejectReason),
}

impl CommitOutcome {
    /// Whether the request was applied.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }
}

macro_rules! reject_reasons {
    ($($(#[$doc:meta])* $name:ident => $label:literal,)*) => {
        /// Why a request was rejected. The set is closed, and rejections are counted by label.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum RejectReason {
            $($(#[$doc])* $name,)*
        }

        impl RejectReason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in statistics and reports.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

reject_reasons! {
    /// The request is empty.
    Empty => "empty",
    /// The ask was satisfied or cancelled, or its application ended.
    UnknownAsk => "unknown_ask",
    /// The ask has fewer units outstanding than the request takes, or may reserve no more nodes.
    NothingOutstanding => "nothing_outstanding",
    /// The node was removed.
    UnknownNode => "unknown_node",
    /// The node is draining, or has been silent for too long.
    NodeNotCandidate => "node_not_candidate",
    /// The node belongs to another partition than the ask.
    WrongPartition => "wrong_partition",
    /// The node does not meet a hard condition of the ask (attribute, host or rack).
    ConstraintViolated => "constraint_violated",
    /// The application's blacklist names the node or its rack.
    NodeBlacklisted => "node_blacklisted",
    /// The node or its rack would have too many containers with a tag.
    TagLimit => "tag_limit",
    /// The node is reserved by another ask, or a node to reserve has room that is held for a gang.
    NodeReserved => "node_reserved",
    /// The node has too little room.
    NodeFull => "node_full",
    /// Even empty, the node would be too small to reserve.
    NodeTooSmall => "node_too_small",
    /// The ask's application waits to be activated.
    ApplicationInactive => "application_inactive",
    /// A queue on the path would exceed its maximum.
    QueueLimit => "queue_limit",
    /// The user would exceed the user limit, or a limit for the user or its group.
    UserLimit => "user_limit",
    /// The partition has its maximum of reserved nodes.
    ReservationLimit => "reservation_limit",
    /// The reservation was already fulfilled or dropped.
    UnknownReservation => "unknown_reservation",
    /// The reservation belongs to another ask or node.
    ReservationMismatch => "reservation_mismatch",
    /// The container to release has already ended.
    UnknownContainer => "unknown_container",
    /// The request has some members of a gang that has not started, but fewer than must start together.
    GangIncomplete => "gang_incomplete",
    /// The gang must start on one rack, and the request has members on several.
    GangAcrossRacks => "gang_across_racks",
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
