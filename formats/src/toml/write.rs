//! Writing a configuration as a native file.

use std::collections::BTreeMap;

use apportion::ResourceTypes;
use apportion::config::{
    AccessList, AllocationSizes, ApplicationOrdering, Bound, Capacity, EngineConfig, EngineLimits, Factor,
    HolderLimit, LocalityDelay, Maximum, ParallelLimits, PartitionAccess, Percent, QueueConfig,
    QueueOrdering, QueueState, Semantics, Share, quoted_key, quoted_text, table_by_type,
};

use super::engine::node_order_word;
use super::queues::{LIMIT_KEYS, child_ordering_word, ordering_word, state_word};
use super::{opportunistic, preemption, queue_mapping};

/// Writes the configuration as a native file.
///
/// [`from_toml`](super::from_toml) reads an equal configuration from the text, under three conditions.
/// [`EngineConfig::validate`] accepts the configuration, amounts of uncounted types are zero, and mixed capacities
/// were made by [`Capacity::mixed`] and [`Maximum::mixed`].
#[must_use]
pub fn to_toml(config: &EngineConfig) -> String {
    let mut file = Writer::default();
    write_resources(&mut file, &config.resources);
    write_engine(&mut file, config);
    preemption::write(&mut file, config.preemption.as_ref());
    opportunistic::write(&mut file, config.opportunistic.as_ref());
    write_limits(&mut file, &config.limits);
    queue_mapping::write(&mut file, &config.queue_mapping);
    if !is_plain_root(&config.root) {
        write_queue(&mut file, &config.resources, &config.root, "root");
    }
    write_children(&mut file, &config.resources, &config.root, "root");
    file.text
}

/// Whether the root has only defaults, so that it needs no table.
fn is_plain_root(root: &QueueConfig) -> bool {
    *root == QueueConfig { children: root.children.clone(), ..QueueConfig::root([]) }
}

#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
}

impl Writer {
    pub(super) fn table(&mut self, name: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("[{name}]\n"));
    }

    pub(super) fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        self.text.push_str(&format!("{key} = {value}\n"));
    }

    pub(super) fn line_if(&mut self, key: &str, value: Option<impl std::fmt::Display>) {
        if let Some(value) = value {
            self.line(key, value);
        }
    }
}

fn write_resources(file: &mut Writer, types: &ResourceTypes) {
    file.table("resources");
    file.line("types", list(types.names()));
    if let Some(devices) = types.device_type() {
        file.line("devices", quoted_text(&types.names()[devices]));
    }
}

fn write_engine(file: &mut Writer, config: &EngineConfig) {
    file.table("engine");
    file.line("partitions", list(&config.partitions));
    if !config.non_exclusive_partitions.is_empty() {
        file.line("non_exclusive_partitions", list(&config.non_exclusive_partitions));
    }
    file.line("node_order", quoted_text(node_order_word(config.node_order)));
    if config.semantics != Semantics::default() {
        file.line("semantics", quoted_text(config.semantics.word()));
    }
    file.line_if("maximum_application_priority", config.maximum_application_priority);
    file.line("stop_timeout_ms", config.stop_timeout_ms);
    if config.stop_ended_applications {
        file.line("stop_ended_applications", true);
    }
    file.line("gather_limit_ms", config.gather_limit_ms.unwrap_or(0));

    file.table("engine.reservations");
    match config.reservations.delay_ms {
        Some(delay) => file.line("delay_ms", delay),
        None => file.line("enabled", false),
    }
    file.line("age_limit_ms", config.reservations.age_limit_ms);
    file.line("nodes", quoted_text(&config.reservations.nodes.to_string()));
    if !config.reservations.continue_looking {
        file.line("continue_looking", false);
    }

    file.table("engine.locality_delay");
    match config.locality_delay {
        LocalityDelay::Nodes { rack, any, full_reset } => {
            file.line("rack_nodes", rack);
            file.line_if("any_nodes", any);
            if !full_reset {
                file.line("full_reset", false);
            }
        }
        LocalityDelay::Time { rack_ms, any_ms } => {
            file.line("rack_ms", rack_ms);
            file.line("any_ms", any_ms);
        }
    }
    if config.allocation != AllocationSizes::default() {
        let AllocationSizes { minimum, maximum, allow_empty } = &config.allocation;
        file.table("engine.allocation");
        let text = |amount: i64| amount.to_string();
        file.line(
            "minimum",
            table_by_type(&config.resources, |i| Some(minimum[i]).filter(|some| *some > 0).map(text)),
        );
        file.line("maximum", table_by_type(&config.resources, |i| maximum[i].map(text)));
        if *allow_empty {
            file.line("allow_empty", true);
        }
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
    file.line_if("off_switch_per_pass", limits.off_switch_per_pass);
    file.line("single_set_nodes", limits.single_set_nodes);
    file.line("set_nodes", limits.set_nodes);
}

/// Parents come before children, and siblings in order, because the reader takes the order from the first mention.
fn write_children(file: &mut Writer, types: &ResourceTypes, parent: &QueueConfig, path: &str) {
    for child in &parent.children {
        let path = format!("{path}.{}", child.name);
        write_queue(file, types, child, &path);
        write_children(file, types, child, &path);
    }
}

fn write_queue(file: &mut Writer, types: &ResourceTypes, queue: &QueueConfig, path: &str) {
    file.table(&format!("queues.{}", quoted_text(path)));
    write_own(file, types, queue, Some(Factor::ONE));
    file.line_if("limits", limits_text(types, &queue.limits));
    write_partitions(file, types, queue, path);
    let Some(creation) = &queue.auto_creation else { return };
    let table = format!("queues.{}.auto_creation", quoted_text(path));
    file.table(&table);
    file.line("depth_max", creation.depth_max);
    file.line("queues_max", creation.queues_max);
    match creation.expiry_ms {
        Some(expiry_ms) => file.line("expiry_ms", expiry_ms),
        None => file.line("expiry_ms", quoted_text("never")),
    }
    for (name, template) in [("leaf", &creation.leaf), ("parent", &creation.parent)] {
        file.table(&format!("{table}.{name}"));
        write_own(file, types, template, None);
        file.line_if("limits", limits_text(types, &template.limits));
    }
}

/// Writes the settings of a queue or of a template. `user_limit_factor` is the default, which is not written.
fn write_own(
    file: &mut Writer,
    types: &ResourceTypes,
    queue: &QueueConfig,
    user_limit_factor: Option<Factor>,
) {
    file.line("capacity", capacity_text(types, &queue.capacity));
    if queue.maximum != Maximum::Percent(Percent::ALL) {
        file.line("maximum_capacity", maximum_text(types, &queue.maximum));
    }
    if let Some(access) = &queue.accessible_partitions {
        file.line("accessible_partitions", access_text(access));
    }
    file.line_if("default_partition", queue.default_partition.as_ref().map(|name| quoted_text(name)));
    if queue.ordering != ApplicationOrdering::default() {
        file.line("ordering", quoted_text(ordering_word(queue.ordering)));
    }
    if queue.child_ordering != QueueOrdering::default() {
        file.line("child_ordering", quoted_text(child_ordering_word(queue.child_ordering)));
    }
    if queue.priority != 0 {
        file.line("priority", queue.priority);
    }
    if queue.priority_offset != 0 {
        file.line("priority_offset", queue.priority_offset);
    }
    if queue.priority_fence {
        file.line("priority_fence", true);
    }
    match queue.user_limit_factor {
        same if same == user_limit_factor => {}
        Some(factor) => file.line("user_limit_factor", factor),
        None => file.line("user_limit_factor", quoted_text("unlimited")),
    }
    if queue.user_limit_minimum != Percent::ALL {
        file.line("user_limit_minimum", quoted_text(&queue.user_limit_minimum.to_string()));
    }
    if !queue.user_weights.is_empty() {
        file.line("user_weights", by_name(&queue.user_weights));
    }
    if queue.state != QueueState::default() {
        file.line("state", quoted_text(state_word(queue.state)));
    }
    let list = |list: &Option<AccessList>| list.as_ref().map(|list| quoted_text(&list.to_string()));
    file.line_if("submitters", list(&queue.submitters));
    file.line_if("administrators", list(&queue.administrators));
    file.line_if("maximum_applications", queue.applications.total);
    file.line_if("maximum_applications_per_user", queue.applications.per_user);
    write_activation(file, queue);
}

fn write_activation(file: &mut Writer, queue: &QueueConfig) {
    let ParallelLimits { total, per_user, by_user } = &queue.parallel;
    file.line_if("maximum_parallel_applications", *total);
    file.line_if("maximum_parallel_applications_per_user", *per_user);
    if !by_user.is_empty() {
        file.line("maximum_parallel_applications_by_user", by_name(by_user));
    }
    if queue.default_application_priority != 0 {
        file.line("default_application_priority", queue.default_application_priority);
    }
    file.line_if("default_application_lifetime_ms", queue.lifetimes.default_ms);
    file.line_if("maximum_application_lifetime_ms", queue.lifetimes.maximum_ms);
    file.line_if("maximum_master_share", queue.master_share.map(|share| quoted_text(&share.to_string())));
}

/// An array of tables, one per line; `None` without limits.
fn limits_text(types: &ResourceTypes, limits: &[HolderLimit]) -> Option<String> {
    let limit = |limit: &HolderLimit| {
        let [users, groups, maximum, parallel] = LIMIT_KEYS;
        let names =
            |key: &str, names: &[String]| (!names.is_empty()).then(|| format!("{key} = {}", list(names)));
        let amounts = || {
            format!("{maximum} = {}", table_by_type(types, |i| limit.maximum[i].map(|most| most.to_string())))
        };
        let fields = [
            names(users, &limit.users),
            names(groups, &limit.groups),
            limit.maximum.iter().any(Option::is_some).then(amounts),
            limit.parallel.map(|most| format!("{parallel} = {most}")),
        ];
        format!("    {{ {} }},\n", fields.into_iter().flatten().collect::<Vec<_>>().join(", "))
    };
    (!limits.is_empty()).then(|| format!("[\n{}]", limits.iter().map(limit).collect::<String>()))
}

/// A table with users as keys.
fn by_name(users: &BTreeMap<String, impl std::fmt::Display>) -> String {
    let fields: Vec<_> =
        users.iter().map(|(user, value)| format!("{} = {value}", quoted_key(user))).collect();
    format!("{{ {} }}", fields.join(", "))
}

/// Written as separate tables, which end the queue's table.
fn write_partitions(file: &mut Writer, types: &ResourceTypes, queue: &QueueConfig, path: &str) {
    for (name, own) in &queue.partitions {
        file.table(&format!("queues.{}.partitions.{}", quoted_text(path), quoted_key(name)));
        file.line_if("capacity", own.capacity.map(|capacity| capacity_text(types, &capacity)));
        file.line_if("maximum_capacity", own.maximum.map(|maximum| maximum_text(types, &maximum)));
    }
}

fn access_text(access: &PartitionAccess) -> String {
    match access {
        PartitionAccess::All => "[\"*\"]".to_owned(),
        PartitionAccess::Only(names) => list(names),
    }
}

fn capacity_text(types: &ResourceTypes, capacity: &Capacity) -> String {
    match capacity {
        Capacity::Percent(percent) => quoted_text(&percent.to_string()),
        Capacity::Weight(weight) => quoted_text(&format!("{weight}w")),
        Capacity::Absolute(amounts) => table_by_type(types, |i| Some(amounts[i].to_string())),
        Capacity::Mixed(shares) => table_by_type(types, |i| share_text(shares[i])),
    }
}

fn maximum_text(types: &ResourceTypes, maximum: &Maximum) -> String {
    match maximum {
        Maximum::Percent(percent) => quoted_text(&percent.to_string()),
        Maximum::Absolute(_) | Maximum::Mixed(_) => table_by_type(types, |i| bound_text(maximum.bound(i))),
    }
}

/// `None` for zero: a type that is left out has a share of zero.
fn share_text(share: Share) -> Option<String> {
    match share {
        Share::NONE => None,
        Share::Amount(amount) => Some(amount.to_string()),
        Share::Percent(percent) => Some(quoted_text(&percent.to_string())),
        Share::Weight(weight) => Some(quoted_text(&format!("{weight}w"))),
    }
}

fn bound_text(bound: Bound) -> Option<String> {
    match bound {
        Bound::NONE => None,
        Bound::Amount(amount) => Some(amount.to_string()),
        Bound::Percent(percent) => Some(quoted_text(&percent.to_string())),
    }
}

pub(super) fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<_> = texts.into_iter().map(|text| quoted_text(text)).collect();
    format!("[{}]", texts.join(", "))
}
