//! Explanations as short sentences.

use std::fmt::{self, Display, Formatter};

use super::{
    ActivationLimit, Blocker, Explanation, Funnel, LimitHolder, LimitReached, PendingReason, Rejection,
    Shortage, Stage, Standing, WhyPending,
};
use crate::label::{counted, seconds};
use crate::resource::WithUnit;

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let ask = self.ask;
        match &self.standing {
            Standing::Pending(why) => {
                let waited = duration(self.now_ms.saturating_sub(why.since_ms));
                writeln!(f, "{ask} {}, pending for {waited}.", why.what())?;
                why.write_lines(f)
            }
            Standing::Opportunistic(why) => {
                let waited = duration(self.now_ms.saturating_sub(why.since_ms));
                write!(f, "{ask} {}, pending for {waited}.\n{why}", why.what())
            }
            Standing::Placed => write!(f, "{ask} is satisfied: all of its containers were placed."),
            Standing::Cancelled { units, placed } => {
                let (units, placed) = (containers(*units), containers(*placed));
                write!(f, "{ask} is over: {units} cancelled, {placed} placed.")
            }
            Standing::Over => write!(f, "{ask} is over: placed or cancelled, too long ago to say which."),
            Standing::Unknown => write!(f, "{ask} is not known."),
        }
    }
}

/// Writes the reason as one sentence.
impl Display for WhyPending {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.blocker, self.reason) {
            (_, PendingReason::NoNodeLargeEnough) => match self.funnel.at(Stage::TooSmall) {
                0 => f.write_str("No node meets its conditions."),
                _ => f.write_str("No node that meets its conditions could hold it, even empty."),
            },
            (Some(blocker), _) => blocker.fmt(f),
            (None, PendingReason::HoldsReservation) => self.write_reservations(f),
            (None, _) if self.funnel.at(Stage::Fits) > 0 => f.write_str(
                "Nothing is in its way: a pass will look at it, or its proposal is being decided.",
            ),
            (None, PendingReason::WaitsForHosts) => {
                f.write_str("It waits for the hosts or racks it names")?;
                match self.locality.as_ref().and_then(|wait| wait.until_ms) {
                    Some(until_ms) => write!(f, ", and accepts others at {}.", seconds(until_ms)),
                    None => f.write_str(", and accepts others after more nodes were offered to it."),
                }
            }
            (None, _) => match &self.node_of_other_ask {
                Some(reserved) => {
                    write!(
                        f,
                        "Node {} has room, but is reserved for {}.",
                        reserved.name, reserved.reserved_for
                    )
                }
                None if self.funnel.at(Stage::InFlight) > 0 => {
                    f.write_str("Proposals under way are about to use the nodes with room.")
                }
                None if self.reason == PendingReason::TagLimit => {
                    f.write_str("Every node with room is at the ask's limit of containers with a tag.")
                }
                None => f.write_str("No suitable node has room now."),
            },
        }
    }
}

impl WhyPending {
    /// The ask and its application, as text.
    fn what(&self) -> String {
        let Self { outstanding, asked, application_name, application, queue, user, .. } = self;
        let size = self.one_container();
        let number = if outstanding == asked {
            containers(*outstanding)
        } else {
            format!("{outstanding} more of {}", containers(*asked))
        };
        format!("wants {number} of {size} for {application_name} ({application}, user {user}) in {queue}")
    }

    /// The size of one container.
    #[must_use]
    pub fn one_container(&self) -> String {
        let rule = self.rule.as_ref();
        let rule = rule.map(|rule| format!(" on a node with {rule}"));
        format!("{}{}", self.size, rule.unwrap_or_default())
    }

    fn write_lines(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{self}")?;
        if let Some(setting) = &self.setting {
            writeln!(f, "The limit is {setting}.")?;
        }
        write!(f, "{}", self.funnel)?;
        if let Some(shortage) = &self.shortage {
            write!(f, "\n{shortage}")?;
        }
        if self.stopping > 0 {
            let them = if self.stopping == 1 { "it" } else { "them" };
            let nodes = counted(self.stopping as u64, "more node");
            write!(f, "\n{nodes} may gain what the ask lacks: containers on {them} are being stopped.")?;
        }
        if self.blocker.is_some() && !self.reservations.is_empty() {
            f.write_str("\n")?;
            self.write_reservations(f)?;
        }
        if let Some(outlook) = &self.preemption {
            write!(f, "\n{outlook}")?;
        }
        if let Some(rejections) = self.rejections.as_ref().filter(|rejections| !rejections.is_empty()) {
            let each: Vec<String> = rejections.iter().map(Rejection::to_string).collect();
            write!(f, "\nRejected requests: {}.", each.join("; "))?;
        }
        Ok(())
    }

    fn write_reservations(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self
            .reservations
            .iter()
            .map(|reservation| match reservation.missing.is_empty() {
                true => reservation.name.clone(),
                false => format!("{} ({} must become free)", reservation.name, reservation.missing),
            })
            .collect();
        write!(f, "Reserved for it: {}.", each.join(", "))
    }
}

impl Stage {
    /// The phrase for nodes that drop out at this stage.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::OtherPartition => "in another partition",
            Self::BorrowedLimit => "lent by another partition, where a limit admits no more",
            Self::Draining => "draining",
            Self::Silent => "silent for too long",
            Self::NotNamed => "not among the hosts or racks it requires",
            Self::WrongAttributes => "without the attributes it requires",
            Self::Blacklisted => "on the application's blacklist",
            Self::TagLimit => "at its limit of containers with a tag",
            Self::LaterByLocality => "not tried yet because it waits for the hosts or racks it names",
            Self::TooSmall => "too small even when empty",
            Self::NoRoom => "with too little room",
            Self::NoDevice => "with too little room on each device",
            Self::ReservedForOther => "reserved for other asks",
            Self::InFlight => "with room that proposals are about to use",
            Self::Fits => "with room for it now",
        }
    }
}

/// Writes one sentence.
impl Display for Funnel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().filter(|(_, nodes)| **nodes > 0);
        let each: Vec<String> = stages.map(|(stage, nodes)| format!("{nodes} {}", stage.words())).collect();
        match self.nodes {
            0 => f.write_str("There are no nodes."),
            nodes => write!(f, "Of {}: {}.", counted(nodes as u64, "node"), each.join(", ")),
        }
    }
}

impl Display for Blocker {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inactive(limit) => write!(f, "Its application waits for activation: {limit}."),
            Self::QueueMaximum(reached) => {
                // The root's limit is the whole cluster.
                match reached.queue.split_once('.') {
                    Some(_) => write!(f, "Queue {} would exceed its limit: {reached}.", reached.queue),
                    None => write!(f, "The cluster has too little room: {reached}."),
                }
            }
            Self::HolderLimit { holder: LimitHolder::User(user), reached } => {
                write!(f, "User {user} would exceed the limit in queue {}: {reached}.", reached.queue)
            }
            Self::HolderLimit { holder: LimitHolder::Group(group), reached } => {
                write!(f, "Group {group} would exceed the limit in queue {}: {reached}.", reached.queue)
            }
            Self::UserLimit { user, reached } => {
                write!(f, "User {user} would exceed the user limit of {}: {reached}.", reached.queue)
            }
            Self::BlockedHeadroom { blocked_for, reached } => {
                let whose = if reached.queue.contains('.') { &*reached.queue } else { "the cluster" };
                write!(
                    f,
                    "Queue {blocked_for} comes first and blocks the headroom left in {whose}: {reached}."
                )
            }
            Self::InFlight { units } => {
                write!(f, "All it wants is proposed and being decided: {}.", containers(*units))
            }
            Self::Gang(wait) => wait.fmt(f),
            Self::Reservations { nodes: 1 } => f.write_str("A node is reserved for all it wants."),
            Self::Reservations { nodes } => write!(f, "{nodes} nodes are reserved for all it wants."),
        }
    }
}

impl Display for ActivationLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Applications { queue, maximum } => {
                write!(f, "in queue {queue} at most {maximum} may be active at a time")
            }
            Self::UserApplications { queue, user, maximum } => {
                write!(f, "of user {user} at most {maximum} may be active in queue {queue} at a time")
            }
            Self::GroupApplications { queue, group, maximum } => {
                write!(f, "of group {group} at most {maximum} may be active in queue {queue} at a time")
            }
            Self::MasterShare(reached) => {
                write!(f, "masters would need too much of queue {}: {reached}", reached.queue)
            }
            Self::UserMasterShare { user, reached } => {
                write!(f, "masters of user {user} would need too much of queue {}: {reached}", reached.queue)
            }
        }
    }
}

impl Display for LimitReached {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let each: Vec<String> = self
            .missing
            .iter()
            .map(|(name, missing)| {
                let text = |amount| WithUnit { name, amount };
                let (used, in_flight, limit) =
                    (self.used.get(name), self.in_flight.get(name), self.limit.get(name));
                let on_its_way = match in_flight {
                    1.. => format!(" and {} in flight", text(in_flight)),
                    _ => String::new(),
                };
                format!("{} used{on_its_way}, limit {}, {} short", text(used), text(limit), text(missing))
            })
            .collect();
        f.write_str(&each.join("; "))
    }
}

impl Display for Shortage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let empty = if self.is_even_empty { ", if it were empty" } else { "" };
        write!(f, "Closest to fitting is {}{empty}: ", self.name)?;
        if !self.missing.is_empty() {
            write!(f, "{} missing", self.missing)?;
        }
        if let Some(short) = self.devices {
            let and = if self.missing.is_empty() { "" } else { "; " };
            let (found, needed) = (short.found, counted(short.needed.into(), "device"));
            write!(f, "{and}{}/1000 left on {found} of {needed}", short.milli)?;
        }
        f.write_str(".")
    }
}

impl Display for Rejection {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words = self.reason.label().replace('_', " ");
        write!(f, "{} for {words}, last at {}", self.count, seconds(self.last_ms))
    }
}

fn containers(count: u32) -> String {
    counted(count.into(), "container")
}

/// Durations in a readable unit. Points in time are in seconds, so that they can be found in a log.
fn duration(ms: u64) -> String {
    let tenths = |unit_ms: u64| format!("{}.{}", ms / unit_ms, ms % unit_ms * 10 / unit_ms);
    match ms {
        0..120_000 => seconds(ms),
        120_000..7_200_000 => format!("{} min", tenths(60_000)),
        7_200_000..172_800_000 => format!("{} h", tenths(3_600_000)),
        _ => format!("{} days", tenths(86_400_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_read_well() {
        let waits = [1_500, 150_000, 9_000_000, 12_537_396_300].map(duration);
        assert_eq!(waits, ["1.500 s", "2.5 min", "2.5 h", "145.1 days"]);
    }
}
