//! Views as one line for people, with units.

use std::fmt::{self, Display, Formatter};

use super::{ApplicationView, AskView, NodeView, QueueView};
use crate::facts::NodeState;
use crate::label::{counted, seconds};
use crate::resource::Amounts;

/// `alpha (node-0): 12 GiB, 3 vcores of 16 GiB, 4 vcores allocated, 12 containers; draining`.
impl Display for NodeView<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let amounts = |resources| self.state.amounts(&resources);
        let (name, id, count) = (self.name(), self.id, counted(self.containers().len() as u64, "container"));
        write!(
            f,
            "{name} ({id}): {} of {} allocated, {count}",
            amounts(self.allocated()),
            amounts(self.capacity())
        )?;
        let notes = [
            (self.state() == NodeState::Draining, "draining"),
            (self.is_stale(), "silent"),
            (self.is_reserved(), "reserved"),
        ];
        notes.iter().filter(|(is_true, _)| *is_true).try_for_each(|(_, note)| write!(f, "; {note}"))?;
        let held = self.held();
        if held.is_zero() { Ok(()) } else { write!(f, "; {} held for a gang", amounts(held)) }
    }
}

/// `ask-0 of app-0: 4 more containers of 1 GiB, 1 vcore, pending since 12.000 s`.
impl Display for AskView<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (size, since_ms) = (self.state.amounts(&self.size()), self.pending_since_ms());
        let more = counted(self.outstanding().into(), "more container");
        let since = seconds(since_ms);
        write!(f, "{} of {}: {more} of {size}, pending since {since}", self.id, self.application())
    }
}

/// `word-count of user ann in root.dev: 6 containers with 6 GiB, 6 vcores, 1 pending ask`.
impl Display for ApplicationView<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let used = self.state.amounts(&self.used());
        let containers = counted(self.containers().count() as u64, "container");
        let asks = counted(self.pending_asks().into(), "pending ask");
        let (name, user, queue) = (self.name(), self.user(), self.queue());
        write!(f, "{name} of user {user} in {queue}: {containers} with {used}, {asks}")
    }
}

/// `root.dev: 6 GiB used, 10 GiB guaranteed, at most 20 GiB; 1 application`. Other partitions than the default one
/// follow with their names if the queue uses them.
impl Display for QueueView<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path())?;
        for partition in self.state.partitions() {
            let quota = self.quota(partition);
            if partition.index() > 0 {
                if quota.used.is_zero() {
                    continue;
                }
                write!(f, "; in {}: ", self.state.partition_name(partition))?;
            }
            let [used, guaranteed, maximum]: [Amounts; 3] =
                [quota.used, quota.guaranteed, quota.maximum].map(|resources| self.state.amounts(&resources));
            write!(f, "{used} used, {guaranteed} guaranteed, at most {maximum}")?;
        }
        write!(f, "; {}", counted(self.application_count().into(), "application"))
    }
}
