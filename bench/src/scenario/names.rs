//! The objects behind the names of a scenario.

use std::collections::{BTreeMap, BTreeSet};

use apportion::{ApplicationId, AskId, GangId, NodeId, ResourceAllocationCommitRequest};

use super::form::NamesForm;
use super::problem::{Done, StepError};

/// The longest range of nodes; a larger scenario would be unreadable.
const RANGE_MAX: u32 = 10_000;

/// All objects named so far. A removed object keeps its name.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) applications: BTreeMap<String, ApplicationId>,
    pub(super) asks: BTreeMap<String, NamedAsk>,
    pub(super) gangs: BTreeMap<String, NamedGang>,
    pub(super) nodes: BTreeMap<String, NodeId>,
    pub(super) racks: BTreeSet<String>,
    pub(super) requests: BTreeMap<String, ResourceAllocationCommitRequest>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NamedAsk {
    pub(super) id: AskId,
    /// The ask names hosts or racks, so the locality of its containers matters.
    pub(super) has_locality: bool,
}

/// A gang, its application, and the asks of its roles.
#[derive(Clone, Debug)]
pub(super) struct NamedGang {
    pub(super) id: GangId,
    pub(super) application: ApplicationId,
    pub(super) asks: Vec<AskId>,
    /// The names of its task groups.
    pub(super) groups: Vec<String>,
}

impl NamedGang {
    /// Whether the gang has a task group with this name.
    pub(super) fn check_group(&self, name: &str) -> Done {
        let known = || self.groups.iter().map(String::as_str);
        if known().any(|known| known == name) {
            return Ok(());
        }
        Err(StepError::unknown("role with placeholders", name, known()))
    }
}

impl Names {
    pub(super) fn application(&self, name: &str) -> Done<ApplicationId> {
        find("application", &self.applications, name).copied()
    }

    pub(super) fn ask(&self, name: &str) -> Done<NamedAsk> {
        find("ask", &self.asks, name).copied()
    }

    pub(super) fn gang(&self, name: &str) -> Done<&NamedGang> {
        find("gang", &self.gangs, name)
    }

    pub(super) fn node(&self, name: &str) -> Done<NodeId> {
        find("node", &self.nodes, name).copied()
    }

    pub(super) fn request(&self, name: &str) -> Done<&ResourceAllocationCommitRequest> {
        find("prepared request", &self.requests, name)
    }

    /// All nodes in a list of names and ranges.
    pub(super) fn nodes_in(&self, names: &NamesForm) -> Done<Vec<NodeId>> {
        let mut nodes = Vec::new();
        for name in &names.0 {
            for name in expand(name)? {
                nodes.push(self.node(&name)?);
            }
        }
        Ok(nodes)
    }

    /// The names of these nodes.
    pub(super) fn host_names_in(&self, names: &NamesForm) -> Done<Vec<String>> {
        let nodes = self.nodes_in(names)?;
        Ok(nodes.into_iter().map(|node| self.node_called(node).to_owned()).collect())
    }

    /// The named racks, each of which must have had a node.
    pub(super) fn racks_in(&self, names: &NamesForm) -> Done<Vec<String>> {
        let known = |rack: &String| match self.racks.contains(rack) {
            true => Ok(rack.clone()),
            false => Err(StepError::unknown("rack", rack, self.racks.iter().map(String::as_str))),
        };
        names.0.iter().map(known).collect()
    }

    pub(super) fn ask_called(&self, id: AskId) -> &str {
        self.asks.iter().find(|(_, ask)| ask.id == id).map_or("?", |(name, _)| name)
    }

    pub(super) fn gang_called(&self, id: GangId) -> &str {
        self.gangs.iter().find(|(_, gang)| gang.id == id).map_or("?", |(name, _)| name)
    }

    pub(super) fn application_called(&self, id: ApplicationId) -> &str {
        self.applications.iter().find(|(_, application)| **application == id).map_or("?", |(name, _)| name)
    }

    pub(super) fn node_called(&self, id: NodeId) -> &str {
        self.nodes.iter().find(|(_, node)| **node == id).map_or("?", |(name, _)| name)
    }
}

/// Checks the name of a new object, which no other `is_known` by.
pub(super) fn check_new(what: &str, name: &str, is_known: bool) -> Done {
    if name.is_empty() {
        let problem =
            format!("{what} has an empty name; give it one, by which steps and expectations call it");
        return Err(StepError::Bad(problem));
    }
    if is_known { Err(StepError::Bad(format!("there is {what} `{name}` already"))) } else { Ok(()) }
}

fn find<'a, T>(what: &str, known: &'a BTreeMap<String, T>, name: &str) -> Done<&'a T> {
    known.get(name).ok_or_else(|| StepError::unknown(what, name, known.keys().map(String::as_str)))
}

/// The names of a range such as `n0..n9`, or the name itself.
pub(super) fn expand(name: &str) -> Done<Vec<String>> {
    let Some((first, last)) = name.split_once("..") else { return Ok(vec![name.to_owned()]) };
    let (prefix, from) = split_number(first);
    let (other, to) = split_number(last);
    match (from, to) {
        (Some(from), Some(to)) if prefix == other && from <= to && to - from < RANGE_MAX => {
            Ok((from..=to).map(|number| format!("{prefix}{number}")).collect())
        }
        _ => Err(StepError::Bad(format!(
            "`{name}` is not a range of names; one is written `n0..n9`, with up to {RANGE_MAX} names"
        ))),
    }
}

fn split_number(name: &str) -> (&str, Option<u32>) {
    let prefix = name.trim_end_matches(|character: char| character.is_ascii_digit());
    (prefix, name[prefix.len()..].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_expanded() {
        assert_eq!(expand("n8..n11").unwrap(), ["n8", "n9", "n10", "n11"]);
        assert_eq!(expand("node-a").unwrap(), ["node-a"]);
        for wrong in ["n1..m2", "n2..n1", "n..n1", "n0..n10000", "n0..", "n0..n99999999999"] {
            assert!(matches!(expand(wrong), Err(StepError::Bad(_))), "{wrong}");
        }
    }
}
