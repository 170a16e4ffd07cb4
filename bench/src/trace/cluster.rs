//! Nodes and sizes, with the defaults of YARN's simulator for values that a file omits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use apportion::resource::AMOUNT_MAX;
use apportion::{NodeSpec, Resources};

use super::error::shown;

/// The rack of nodes without a rack name.
pub(super) const DEFAULT_RACK: &str = "default-rack";
/// Memory of a node, in MiB (`yarn.sls.nm.memory.mb`).
pub(super) const NODE_MEMORY_MIB: u64 = 10_240;
/// Virtual cores of a node (`yarn.sls.nm.vcores`).
pub(super) const NODE_VCORES: u64 = 10;
/// Memory of a container or an application master, in MiB (`yarn.sls.container.memory.mb`).
pub(super) const CONTAINER_MEMORY_MIB: u64 = 1024;
/// Virtual cores of a container or an application master (`yarn.sls.container.vcores`).
pub(super) const CONTAINER_VCORES: u64 = 1;

/// The most nodes of one cluster: the engine's own maximum.
const NODES_MAX: usize = 1 << 20;

/// A size in the order of `ResourceTypes::memory_and_vcores`.
///
/// # Errors
/// When an amount is larger than an engine can count.
pub(super) fn size(memory_mib: u64, vcores: u64) -> Result<Resources, String> {
    let memory_mib = amount("memory", memory_mib)?;
    let vcore_milli = amount("vcores", vcores.saturating_mul(1000))?;
    Ok(Resources::new(&[memory_mib, vcore_milli]))
}

/// The default size of a container or an application master.
pub(super) fn default_container() -> Resources {
    Resources::new(&[CONTAINER_MEMORY_MIB as i64, CONTAINER_VCORES as i64 * 1000])
}

/// Checks that an engine can count an amount.
///
/// # Errors
/// When it is larger; the message calls it `what`.
pub(super) fn amount(what: &str, amount: u64) -> Result<i64, String> {
    let countable = i64::try_from(amount).ok().filter(|amount| *amount <= AMOUNT_MAX);
    countable.ok_or_else(|| format!("{what} of {amount} is too large; at most {AMOUNT_MAX} is possible"))
}

/// The nodes of a cluster, each name once.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    specs: Vec<NodeSpec>,
    by_name: HashMap<String, usize>,
}

impl Nodes {
    /// Nodes `node0`, `node1`, ... distributed over `rack0`, `rack1`, ..., as YARN's simulator generates them.
    ///
    /// # Errors
    /// When there are no nodes or too many. There are never more racks than nodes, and always at least one.
    pub(super) fn generated(nodes: u64, racks: u64) -> Result<Self, String> {
        let capacity = size(NODE_MEMORY_MIB, NODE_VCORES)?;
        let racks = racks.clamp(1, nodes.max(1));
        let mut all = Self::default();
        if nodes == 0 {
            return Err("zero nodes; at least one is needed".into());
        }
        for node in 0..nodes {
            all.add(NodeSpec::new(format!("node{node}"), capacity).on_rack(format!("rack{}", node % racks)))?;
        }
        Ok(all)
    }

    /// Adds a node.
    ///
    /// # Errors
    /// When a node of that name exists, or there are too many.
    pub(super) fn add(&mut self, node: NodeSpec) -> Result<(), String> {
        if self.specs.len() == NODES_MAX {
            return Err(format!("more than {NODES_MAX} nodes"));
        }
        match self.by_name.entry(node.name.clone()) {
            Entry::Occupied(_) => {
                Err(format!("node `{}` is there twice; names must differ", shown(&node.name)))
            }
            Entry::Vacant(vacant) => {
                vacant.insert(self.specs.len());
                self.specs.push(node);
                Ok(())
            }
        }
    }

    /// Adds the node of default size that a task names, unless it exists, and returns its host name.
    ///
    /// # Errors
    /// When `path` is not `/RACK/HOST` or `HOST`, or the host was already on another rack.
    pub(super) fn host(&mut self, path: &str) -> Result<String, String> {
        let (rack, host) = rack_and_host(path)?;
        match self.by_name.get(host).and_then(|place| self.specs.get(*place)) {
            Some(known) if known.rack != rack => Err(format!(
                "host `{}` is on rack `{}` and on `{}`",
                shown(host),
                shown(&known.rack),
                shown(rack)
            )),
            Some(known) => Ok(known.name.clone()),
            None => {
                self.add(NodeSpec::new(host, size(NODE_MEMORY_MIB, NODE_VCORES)?).on_rack(rack))?;
                Ok(host.to_owned())
            }
        }
    }

    /// The nodes in the order in which they were added.
    pub(super) fn into_specs(self) -> Vec<NodeSpec> {
        self.specs
    }
}

/// Rack and host of `/RACK/HOST`; everything before the last slash is the rack.
fn rack_and_host(path: &str) -> Result<(&str, &str), String> {
    let (rack, host) = match path.strip_prefix('/') {
        Some(path) => path.rsplit_once('/').unwrap_or((DEFAULT_RACK, path)),
        None => (DEFAULT_RACK, path),
    };
    if rack.is_empty() || host.is_empty() {
        return Err(format!("`{}` is not a host; `/RACK/HOST` is needed", shown(path)));
    }
    Ok((rack, host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_nodes_take_turns_on_the_racks() {
        let nodes = Nodes::generated(5, 2).unwrap().into_specs();
        let racks: Vec<&str> = nodes.iter().map(|node| node.rack.as_str()).collect();
        assert_eq!(racks, ["rack0", "rack1", "rack0", "rack1", "rack0"]);
        assert_eq!(nodes[4].name, "node4");
        assert_eq!(Nodes::generated(2, 9).unwrap().into_specs()[1].rack, "rack1");
        assert!(Nodes::generated(0, 1).is_err());
    }

    #[test]
    fn a_host_is_one_node_however_often_it_is_named() {
        let mut nodes = Nodes::default();
        assert_eq!(nodes.host("/r1/h1").unwrap(), "h1");
        assert_eq!(nodes.host("/r1/h1").unwrap(), "h1");
        assert_eq!(nodes.host("h2").unwrap(), "h2");
        assert_eq!(nodes.host("/dc/r3/h3").unwrap(), "h3");
        assert_eq!(nodes.host("/r2/h1").unwrap_err(), "host `h1` is on rack `r1` and on `r2`");
        assert!(nodes.host("/r1/").is_err() && nodes.host("").is_err() && nodes.host("//h").is_err());
        let racks: Vec<String> = nodes.into_specs().into_iter().map(|node| node.rack).collect();
        assert_eq!(racks, ["r1", DEFAULT_RACK, "dc/r3"]);
    }
}
