//! The cluster for which amounts are evaluated.

use std::path::PathBuf;

use apportion::config::EngineConfig;
use apportion::resource::{DEVICE_MILLI, DEVICES_MAX};
use apportion::{NodeSpec, ResourceTypes, Resources};
use clap::Args;

use crate::cli::Failure;
use crate::trace::{Format, Source, read_nodes};

/// A cluster, given in one of two ways.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub(super) struct ClusterArgs {
    /// The total of all nodes, as memory=64Gi,vcores=16 or by the engine's types; PARTITION:memory=... for another
    /// partition than the default one.
    #[arg(long, value_name = "[PARTITION:]TYPE=AMOUNT,...")]
    pub(super) cluster: Vec<String>,
    /// The nodes: a node file of YARN's simulator.
    #[arg(long, value_name = "FILE")]
    pub(super) nodes: Option<PathBuf>,
}

/// Nodes of one partition; the default one has the empty name.
pub(super) type Part = (String, Vec<NodeSpec>);

impl ClusterArgs {
    /// The nodes by partition; none if no cluster is given.
    pub(super) fn parts(&self, config: &EngineConfig) -> Result<Vec<Part>, Failure> {
        if let Some(path) = &self.nodes {
            let source = Source::open(path).map_err(Failure::input)?;
            let nodes = read_nodes(Format::Sls, source).map_err(Failure::input)?;
            let named = ResourceTypes::memory_and_vcores();
            let types =
                |spec: NodeSpec| NodeSpec { capacity: translated(spec.capacity, &named, config), ..spec };
            return Ok(vec![(String::new(), nodes.into_iter().map(types).collect())]);
        }
        self.cluster.iter().map(|text| part(text, config)).collect()
    }
}

/// The same amounts in the engine's order of types; types that the engine does not count are left out.
fn translated(amounts: Resources, named: &ResourceTypes, config: &EngineConfig) -> Resources {
    let amount = |name: &String| named.index(name).map_or(0, |index| amounts[index]);
    Resources::new(&config.resources.names().iter().map(amount).collect::<Vec<_>>())
}

fn part(text: &str, config: &EngineConfig) -> Result<Part, Failure> {
    let wrong = |problem: String| Failure::input(format!("--cluster {text}: {problem}"));
    let (partition, list) = text.split_once(':').unwrap_or(("", text));
    if !partition.is_empty() && !config.partitions.iter().any(|known| known == partition) {
        return Err(wrong(format!("the configuration has no partition `{partition}`")));
    }
    let mut amounts = Vec::new();
    for pair in list.split(',') {
        let Some((name, amount)) = pair.split_once('=') else {
            return Err(wrong(format!("expected TYPE=AMOUNT, found `{pair}`")));
        };
        let (own, factor) = match name.trim() {
            "memory" => ("memory_mib", 1),
            "vcores" => ("vcore_milli", 1000),
            own => (own, 1),
        };
        if config.resources.index(own).is_err() {
            return Err(wrong(format!(
                "unknown resource type `{own}`; expected {}",
                names(&config.resources)
            )));
        }
        if amounts.iter().any(|(known, _)| *known == own) {
            return Err(wrong(format!("`{own}` has two amounts")));
        }
        let amount = whole(amount.trim(), own == "memory_mib");
        let amount = amount.and_then(|amount| amount.checked_mul(factor)).ok_or_else(|| {
            wrong(format!("`{pair}` has no whole amount; of memory it may end in Mi, Gi or Ti"))
        })?;
        amounts.push((own, amount));
    }
    let capacity = config.resources.resources(&amounts).map_err(|error| wrong(error.to_string()))?;
    Ok((partition.to_owned(), nodes(capacity, &config.resources)))
}

/// The names that a cluster may give amounts for, with the short ones first.
fn names(types: &ResourceTypes) -> String {
    let short = [("memory", "memory_mib"), ("vcores", "vcore_milli")];
    let known = short.iter().filter(|(_, own)| types.index(own).is_ok()).map(|(name, _)| *name);
    let all: Vec<&str> = known.chain(types.names().iter().map(String::as_str)).collect();
    all.join(", ")
}

/// Parses a whole number; memory may have a binary unit, rounded down to MiB.
fn whole(text: &str, is_memory: bool) -> Option<i64> {
    let (number, shift) = match text.split_at_checked(text.len().saturating_sub(2)) {
        Some((number, "Mi")) if is_memory => (number, 0),
        Some((number, "Gi")) if is_memory => (number, 10),
        Some((number, "Ti")) if is_memory => (number, 20),
        _ => (text, 0),
    };
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<i64>().ok().filter(|_| is_plain)?.checked_mul(1 << shift)
}

/// One node with the whole capacity, and further nodes if the devices need them.
pub(super) fn nodes(capacity: Resources, types: &ResourceTypes) -> Vec<NodeSpec> {
    let mut amounts = capacity.amounts().to_vec();
    let counted = types.device_type().map_or(0, |index| std::mem::take(&mut amounts[index]));
    let mut devices = usize::try_from(counted / i64::from(DEVICE_MILLI)).unwrap_or(0);
    let mut capacity = Resources::new(&amounts);
    let mut nodes = Vec::new();
    loop {
        let here = devices.min(DEVICES_MAX);
        let mut node = NodeSpec::new(format!("node-{}", nodes.len()), capacity);
        node.devices = u8::try_from(here).unwrap_or(u8::MAX);
        nodes.push(node);
        (capacity, devices) = (Resources::ZERO, devices - here);
        if devices == 0 {
            return nodes;
        }
    }
}
