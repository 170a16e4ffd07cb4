//! Writing a configuration as a native file.

use super::engine::{node_order_word, semantics_word};
use super::queues::{child_ordering_word, ordering_word, state_word};
use super::table::{quoted, quoted_key};
use crate::config::{
    AllocationSizes, ApplicationOrdering, Capacity, EngineConfig, EngineLimits, Factor, LocalityDelay,
    Maximum, Percent, QueueConfig, QueueOrdering, QueueState, Semantics,
};
use crate::resource::ResourceTypes;

/// Writes the configuration as a native file.
///
/// Reading the text with [`from_toml`](super::from_toml) gives the same configuration again, if it is one
/// that [`EngineConfig::validate`] accepts and that has no maximum for types it does not count.
#[must_use]
pub fn to_toml(config: &EngineConfig) -> String {
    let mut file = Writer::default();
    write_resources(&mut file, &config.resources);
    write_engine(&mut file, config);
    write_limits(&mut file, &config.limits);
    if !is_plain_root(&config.root) {
        write_queue(&mut file, &config.resources, &config.root, "root");
    }
    write_children(&mut file, &config.resources, &config.root, "root");
    file.text
}

/// Whether the root is what it is without a table of its own.
fn is_plain_root(root: &QueueConfig) -> bool {
    *root == QueueConfig { children: root.children.clone(), ..QueueConfig::root([]) }
}

#[derive(Debug, Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn table(&mut self, name: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("[{name}]\n"));
    }

    fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        self.text.push_str(&format!("{key} = {value}\n"));
    }

    fn line_if(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.line(key, value);
        }
    }
}

fn write_resources(file: &mut Writer, types: &ResourceTypes) {
    file.table("resources");
    file.line("types", list(types.names()));
    if let Some(devices) = types.device_type() {
        file.line("devices", quoted(&types.names()[devices]));
    }
}

fn write_engine(file: &mut Writer, config: &EngineConfig) {
    file.table("engine");
    file.line("partitions", list(&config.partitions));
    file.line("node_order", quoted(node_order_word(config.node_order)));
    if config.semantics != Semantics::default() {
        file.line("semantics", quoted(semantics_word(config.semantics)));
    }

    file.table("engine.reservations");
    match config.reservations.delay_ms {
        Some(delay) => file.line("delay_ms", delay),
        None => file.line("enabled", false),
    }
    file.line("age_limit_ms", config.reservations.age_limit_ms);
    file.line("nodes", quoted(&config.reservations.nodes.to_string()));

    file.table("engine.locality_delay");
    match config.locality_delay {
        LocalityDelay::Nodes { rack, any } => {
            file.line("rack_nodes", rack);
            file.line("any_nodes", any);
        }
        LocalityDelay::Time { rack_ms, any_ms } => {
            file.line("rack_ms", rack_ms);
            file.line("any_ms", any_ms);
        }
    }
    if config.allocation != AllocationSizes::default() {
        let AllocationSizes { minimum, maximum } = &config.allocation;
        file.table("engine.allocation");
        file.line(
            "minimum",
            table(&config.resources, &minimum.amounts().map(|amount| (amount > 0).then_some(amount))),
        );
        file.line("maximum", table(&config.resources, maximum));
    }
    if let Some(policy) = config.heartbeat {
        file.table("engine.heartbeat");
        file.line("interval_ms", policy.interval_ms);
        file.line("missed_max", policy.missed_max);
    }
}

fn write_limits(file: &mut Writer, limits: &EngineLimits) {
    file.table("engine.limits");
    file.line("batch_requests", limits.batch_requests);
    file.line("pass_visits", limits.pass_visits);
    file.line("group_requests", limits.group_requests);
    file.line("inbox", limits.inbox);
    file.line("leaf_quantum", limits.leaf_quantum);
    file.line("single_set_nodes", limits.single_set_nodes);
    file.line("set_nodes", limits.set_nodes);
}

/// Parents before children, and siblings in order: the reader takes the order from the first mention.
fn write_children(file: &mut Writer, types: &ResourceTypes, parent: &QueueConfig, path: &str) {
    for child in &parent.children {
        let path = format!("{path}.{}", child.name);
        write_queue(file, types, child, &path);
        write_children(file, types, child, &path);
    }
}

fn write_queue(file: &mut Writer, types: &ResourceTypes, queue: &QueueConfig, path: &str) {
    file.table(&format!("queues.{}", quoted(path)));
    let capacity = match &queue.capacity {
        Capacity::Percent(percent) => quoted(&percent.to_string()),
        Capacity::Absolute(amounts) => table(types, &amounts.amounts().map(Some)),
        Capacity::Weight(weight) => format!("\"{weight}w\""),
    };
    file.line("capacity", capacity);
    match &queue.maximum {
        Maximum::Percent(Percent::ALL) => {}
        Maximum::Percent(percent) => file.line("maximum_capacity", quoted(&percent.to_string())),
        Maximum::Absolute(amounts) => file.line("maximum_capacity", table(types, amounts)),
    }
    if queue.ordering != ApplicationOrdering::default() {
        file.line("ordering", quoted(ordering_word(queue.ordering)));
    }
    if queue.child_ordering != QueueOrdering::default() {
        file.line("child_ordering", quoted(child_ordering_word(queue.child_ordering)));
    }
    if queue.priority != 0 {
        file.line("priority", queue.priority);
    }
    match queue.user_limit_factor {
        Some(Factor::ONE) => {}
        Some(factor) => file.line("user_limit_factor", factor),
        None => file.line("user_limit_factor", quoted("unlimited")),
    }
    if queue.user_limit_minimum != Percent::ALL {
        file.line("user_limit_minimum", quoted(&queue.user_limit_minimum.to_string()));
    }
    if !queue.user_weights.is_empty() {
        let weight = |(user, weight): (&String, &Factor)| format!("{} = {weight}", quoted_key(user));
        let weights: Vec<_> = queue.user_weights.iter().map(weight).collect();
        file.line("user_weights", format!("{{ {} }}", weights.join(", ")));
    }
    if queue.state != QueueState::default() {
        file.line("state", quoted(state_word(queue.state)));
    }
    file.line_if("maximum_applications", queue.applications.total);
    file.line_if("maximum_applications_per_user", queue.applications.per_user);
}

fn list(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

fn table(types: &ResourceTypes, amounts: &[Option<i64>]) -> String {
    let named = types.names().iter().zip(amounts);
    let fields: Vec<_> = named
        .filter_map(|(name, amount)| amount.map(|amount| format!("{} = {amount}", quoted_key(name))))
        .collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
}
