//! Checks of each queue by itself, of siblings and of a whole tree.

use std::collections::BTreeSet;

use super::holder_limit::check_limits;
use super::{
    AccessList, AutoCreation, Capacity, ConfigError, EngineConfig, Lifetimes, Maximum, PartitionAccess,
    Percent, QueueConfig, Share,
};
use crate::nearest::{hint, nearest};
use crate::resource::{AMOUNT_MAX, RESOURCE_TYPES_MAX, ResourceTypes, Resources};

/// The depth limit of a queue tree: far above any real tree, and a bound on every walk.
const DEPTH_MAX: usize = 32;

/// The engine's settings that queues refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    pub(crate) types: &'a ResourceTypes,
    pub(crate) partitions: &'a [String],
}

impl<'a> From<&'a EngineConfig> for Known<'a> {
    fn from(config: &'a EngineConfig) -> Self {
        Self { types: &config.resources, partitions: &config.partitions }
    }
}

/// Checks the whole queue tree.
pub(crate) fn check_tree(known: Known<'_>, root: &QueueConfig) -> Result<(), ConfigError> {
    if root.name != "root" {
        return Err(queue_error(&root.name, "the top queue must be named `root`"));
    }
    if root.is_leaf() {
        return Err(queue_error("root", "needs at least one queue below it"));
    }
    if !root.partitions.is_empty() {
        return Err(queue_error("root", "always has the whole cluster; remove its capacities in partitions"));
    }
    check_queue(known, root, "root", &PartitionAccess::All, 1)
}

/// `above` is the partition access of the queue above.
fn check_queue(
    known: Known<'_>,
    queue: &QueueConfig,
    path: &str,
    above: &PartitionAccess,
    depth: usize,
) -> Result<(), ConfigError> {
    if depth > DEPTH_MAX {
        return Err(queue_error(path, &format!("is deeper than {DEPTH_MAX} levels")));
    }
    if queue.auto_creation.as_ref().is_some_and(|creation| depth + creation.depth_max as usize > DEPTH_MAX) {
        return Err(queue_error(path, &format!("queues made below it are deeper than {DEPTH_MAX} levels")));
    }
    check_queue_alone(known, path, queue)?;
    let mut lists = [&queue.submitters, &queue.administrators].into_iter().flatten();
    if let Some(name) = lists.find_map(AccessList::unwritable_name) {
        let problem = format!(
            "`{name}` is not a valid name in an access list; it must not be empty or `*`, or contain commas \
             or spaces"
        );
        return Err(queue_error(path, &problem));
    }
    check_access(path, queue, above)?;
    check_siblings(known.types, path, &queue.children.iter().collect::<Vec<_>>())?;
    let access = queue.accessible_partitions.as_ref().unwrap_or(above);
    let mut names = BTreeSet::new();
    for child in &queue.children {
        let path = format!("{path}.{}", child.name);
        if !names.insert(child.name.as_str()) {
            return Err(queue_error(&path, "is defined twice"));
        }
        check_queue(known, child, &path, access, depth + 1)?;
    }
    Ok(())
}

/// Whether this is a valid name of a queue.
pub(crate) fn is_queue_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', ',']) && name.trim() == name
}

/// Whether queues can be made from the templates, up to `queues_max` of them.
fn check_auto_creation(known: Known<'_>, path: &str, creation: &AutoCreation) -> Result<(), ConfigError> {
    if creation.depth_max == 0 || creation.queues_max == 0 {
        return Err(queue_error(path, "auto_creation: depth_max and queues_max must be at least 1"));
    }
    for (name, template) in [("leaf", &creation.leaf), ("parent", &creation.parent)] {
        check_template(known, path, template, creation.queues_max)
            .map_err(|error| error.in_template(name))?;
    }
    Ok(())
}

fn check_template(
    known: Known<'_>,
    path: &str,
    template: &QueueConfig,
    queues_max: u32,
) -> Result<(), ConfigError> {
    if !template.is_leaf() {
        return Err(queue_error(path, "a template has no queues below it and no templates of its own"));
    }
    let says_something = !template.partitions.is_empty() || template.default_partition.is_some();
    if says_something || template.accessible_partitions.is_some() {
        return Err(queue_error(path, "a template says nothing about partitions; the queue above does"));
    }
    check_queue_alone(known, path, &QueueConfig { name: "template".to_owned(), ..template.clone() })?;
    check_any_number(&template.capacity, queues_max).map_err(|problem| queue_error(path, problem))
}

/// Whether `count` queues of this capacity can exist together.
fn check_any_number(capacity: &Capacity, count: u32) -> Result<(), &'static str> {
    if (0..RESOURCE_TYPES_MAX).any(|i| matches!(capacity.share(i), Share::Percent(_))) {
        return Err("its capacity must be a weight or amounts, because the number of queues varies");
    }
    let is_too_much = |amount: &i64| i128::from(*amount) * i128::from(count) > i128::from(AMOUNT_MAX);
    if capacity.amounts().amounts().iter().any(is_too_much) {
        return Err("`queues_max` queues of this capacity are too large to add up");
    }
    Ok(())
}

/// Checks one queue by itself, without its siblings and the queues above.
pub(crate) fn check_queue_alone(
    known: Known<'_>,
    path: &str,
    queue: &QueueConfig,
) -> Result<(), ConfigError> {
    let QueueConfig { name, user_limit_factor, user_weights, auto_creation, .. } = queue;
    if !is_queue_name(name) {
        return Err(queue_error(path, "a queue's name has no dots, commas or outer spaces and is not empty"));
    }
    if let Some(creation) = auto_creation {
        check_auto_creation(known, path, creation)?;
    }
    check_partition_names(known, path, queue)?;
    for partition in partitions_of(&[queue]) {
        check_capacity(known.types, &queue.capacity_in(partition), &queue.maximum_in(partition))
            .map_err(|problem| queue_error(path, &format!("{}{problem}", place(partition))))?;
    }
    if user_limit_factor.is_some_and(|factor| factor.milli() == 0) {
        return Err(queue_error(path, "user_limit_factor must be above 0"));
    }
    if let Some((user, _)) = user_weights.iter().find(|(_, weight)| weight.milli() == 0) {
        return Err(queue_error(path, &format!("the weight of user `{user}` is 0; it must be above 0")));
    }
    check_limits(known.types, &queue.limits).map_err(|problem| queue_error(path, &problem))?;
    if let Lifetimes { default_ms: Some(default_ms), maximum_ms: Some(maximum_ms) } = queue.lifetimes
        && default_ms > maximum_ms
    {
        return Err(queue_error(
            path,
            &format!("its default lifetime of {default_ms} ms is above its maximum of {maximum_ms} ms"),
        ));
    }
    Ok(())
}

/// Checks that every partition that a queue names exists.
fn check_partition_names(known: Known<'_>, path: &str, queue: &QueueConfig) -> Result<(), ConfigError> {
    let accessible = match &queue.accessible_partitions {
        Some(PartitionAccess::Only(names)) => Some(names),
        Some(PartitionAccess::All) | None => None,
    };
    let default = queue.default_partition.iter().filter(|name| !name.is_empty());
    let mut names = queue.partitions.keys().chain(accessible.into_iter().flatten()).chain(default);
    let Some(unknown) = names.find(|name| !known.partitions.contains(name)) else { return Ok(()) };
    let hint = hint(nearest(unknown, known.partitions.iter().map(String::as_str)).as_deref());
    Err(queue_error(path, &format!("unknown partition `{unknown}`{hint}")))
}

/// Checks that the queue may use no more partitions than the queue above, and has settings only for partitions it
/// may use.
fn check_access(path: &str, queue: &QueueConfig, above: &PartitionAccess) -> Result<(), ConfigError> {
    let own = match (&queue.accessible_partitions, above) {
        (Some(PartitionAccess::All), PartitionAccess::Only(_)) => {
            let problem = "may use all partitions, but the queue above may not";
            return Err(queue_error(path, problem));
        }
        (Some(PartitionAccess::Only(names)), _) => {
            if let Some(name) = names.iter().find(|name| !above.includes(name)) {
                let problem = format!("may use partition `{name}`, but the queue above may not");
                return Err(queue_error(path, &problem));
            }
            queue.accessible_partitions.as_ref().unwrap_or(above)
        }
        _ => above,
    };
    if let Some(name) = queue.partitions.keys().find(|name| !own.includes(name)) {
        return Err(queue_error(
            path,
            &format!("has a capacity in partition `{name}`, which it may not use"),
        ));
    }
    match queue.default_partition.as_ref().filter(|name| !own.includes(name)) {
        Some(name) => {
            Err(queue_error(path, &format!("its default partition is `{name}`, which it may not use")))
        }
        None => Ok(()),
    }
}

/// The partitions in which these queues set capacities; the default partition stands for all others.
fn partitions_of<'a>(queues: &[&'a QueueConfig]) -> BTreeSet<&'a str> {
    queues.iter().flat_map(|queue| queue.partitions.keys().map(String::as_str)).chain([""]).collect()
}

fn place(partition: &str) -> String {
    if partition.is_empty() { String::new() } else { format!("in partition `{partition}` ") }
}

/// Checks a guarantee against its maximum.
fn check_capacity(types: &ResourceTypes, capacity: &Capacity, maximum: &Maximum) -> Result<(), String> {
    let check = |resources: &Resources| types.check(resources).map_err(|error| error.to_string());
    let (guaranteed, most) = (capacity.amounts(), maximum.amounts());
    check(&guaranteed)?;
    check(&Resources::new(&most.map(|amount| amount.unwrap_or(0))))?;
    let is_below = |i: &usize| most[*i].is_some_and(|most| most < guaranteed[*i]);
    if let Some(i) = (0..types.len()).find(is_below) {
        return Err(format!("its maximum of {} is below its capacity", types.names()[i]));
    }
    let is_weightless = |i: usize| matches!(capacity.share(i), Share::Weight(weight) if weight.milli() == 0);
    if (0..types.len()).any(is_weightless) {
        return Err("its weight is 0; it must be above 0".to_owned());
    }
    Ok(())
}

/// Checks that the guarantees of siblings fit together, for each type in each partition.
pub(crate) fn check_siblings(
    types: &ResourceTypes,
    parent: &str,
    children: &[&QueueConfig],
) -> Result<(), ConfigError> {
    for partition in partitions_of(children) {
        let there = children.iter().filter(|child| !child.is_kept_from(partition));
        let capacities: Vec<_> = there.map(|child| child.capacity_in(partition)).collect();
        check_together(types, &capacities)
            .map_err(|problem| queue_error(parent, &format!("{}{problem}", place(partition))))?;
    }
    Ok(())
}

fn check_together(types: &ResourceTypes, capacities: &[Capacity]) -> Result<(), String> {
    let is_mixed = capacities.iter().any(|capacity| matches!(capacity, Capacity::Mixed(_)));
    for (i, name) in types.names().iter().enumerate() {
        let of_type = if is_mixed { format!(" of {name}") } else { String::new() };
        check_shares(capacities.iter().map(|capacity| capacity.share(i)))
            .map_err(|problem| format!("the capacities{of_type} below it {problem}"))?;
    }
    Ok(())
}

fn check_shares(shares: impl Iterator<Item = Share>) -> Result<(), String> {
    let (mut millionths, mut amounts) = (0u64, 0i64);
    for share in shares {
        match share {
            Share::Percent(part) => millionths += u64::from(part.millionths()),
            Share::Amount(amount) => amounts = amounts.saturating_add(amount),
            Share::Weight(_) => {}
        }
    }
    if millionths > u64::from(Percent::ALL.millionths()) {
        return Err(format!("sum to {} %, more than 100 %", millionths as f64 / 10_000.0));
    }
    if amounts > AMOUNT_MAX { Err("are too large to add up".to_owned()) } else { Ok(()) }
}

fn queue_error(path: &str, problem: &str) -> ConfigError {
    ConfigError::queue(path, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Bound, Factor, HolderLimit, PartitionCapacity};

    fn config(children: Vec<QueueConfig>) -> EngineConfig {
        EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root(children))
    }

    fn percent(name: &str, percent: u32) -> QueueConfig {
        QueueConfig::leaf(name, Capacity::Percent(Percent::whole(percent)))
    }

    #[test]
    fn children_over_100_percent_are_refused() {
        let error = config(vec![percent("a", 60), percent("b", 41)]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root`: the capacities below it sum to 101 %, more than 100 %");
        assert_eq!(config(vec![percent("a", 60), percent("b", 40)]).validate(), Ok(()));
    }

    #[test]
    fn a_queue_defined_twice_is_refused() {
        let error = config(vec![percent("a", 1), percent("a", 1)]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root.a`: is defined twice");
    }

    #[test]
    fn a_default_lifetime_above_the_maximum_is_refused() {
        let lifetimes = Lifetimes { default_ms: Some(2), maximum_ms: Some(1) };
        let error = config(vec![percent("a", 1).with_lifetimes(lifetimes)]).validate().unwrap_err();
        assert_eq!(
            error.to_string(),
            "queue `root.a`: its default lifetime of 2 ms is above its maximum of 1 ms"
        );
    }

    #[test]
    fn limits_of_users_and_groups_are_checked() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let of = |users: &[&str], most: Option<i64>| HolderLimit {
            users: names(users),
            maximum: std::array::from_fn(|i| most.filter(|_| i == 0)),
            ..HolderLimit::default()
        };
        let error = |limits: &[HolderLimit]| {
            let queue = percent("a", 1).with_limits(limits.iter().cloned());
            config(vec![queue]).validate().map_err(|error| error.to_string())
        };
        let at = |problem: &str| Err(format!("queue `root.a`: {problem}"));
        assert_eq!(error(&[of(&["ann", "*"], Some(1)), of(&["bob"], Some(0))]), Ok(()));
        assert_eq!(error(&[of(&[], Some(1))]), at("a limit names neither users nor groups"));
        assert_eq!(error(&[of(&[""], Some(1))]), at("a limit names a user with an empty name"));
        assert_eq!(error(&[of(&["ann"], Some(1)), of(&["ann"], Some(2))]), at("user `ann` has two limits"));
        assert_eq!(error(&[of(&["ann"], None)]), at("a limit limits neither amounts nor applications"));
        let negative = error(&[of(&["ann"], Some(-1))]).unwrap_err();
        assert!(negative.contains("a limit of users or groups"), "{negative}");
        let same_names = HolderLimit { groups: names(&["ann"]), ..of(&["ann"], Some(1)) };
        assert_eq!(error(&[same_names]), Ok(()), "a group is not a user");
    }

    #[test]
    fn a_maximum_below_the_capacity_is_refused() {
        let leaf = QueueConfig::leaf("a", Capacity::Absolute(Resources::new(&[10])))
            .with_maximum(Maximum::absolute(&[9]));
        let error = config(vec![leaf]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root.a`: its maximum of memory_mib is below its capacity");
    }

    #[test]
    fn shares_are_checked_for_each_type() {
        let part = |percent| Share::Percent(Percent::whole(percent));
        let pair = |first: [Share; 2], second: [Share; 2]| {
            let leaf = |name, shares: [Share; 2]| QueueConfig::leaf(name, Capacity::mixed(&shares));
            config(vec![leaf("a", first), leaf("b", second)]).validate().map_err(|error| error.to_string())
        };
        assert_eq!(pair([part(60), Share::Amount(9)], [part(40), part(100)]), Ok(()));
        let sum = "queue `root`: the capacities of vcore_milli below it sum to 101 %, more than 100 %";
        assert_eq!(pair([part(60), part(60)], [Share::Amount(1), part(41)]), Err(sum.to_owned()));
        let weightless = [part(1), Share::Weight("0".parse::<Factor>().unwrap())];
        assert_eq!(
            pair(weightless, weightless),
            Err("queue `root.a`: its weight is 0; it must be above 0".to_owned())
        );
        let too_much = [part(1), Share::Amount(AMOUNT_MAX)];
        let error = pair(too_much, too_much).unwrap_err();
        assert_eq!(error, "queue `root`: the capacities of vcore_milli below it are too large to add up");
        let leaf = QueueConfig::leaf("a", Capacity::mixed(&[part(1), Share::Amount(10)]))
            .with_maximum(Maximum::mixed(&[Bound::Percent(Percent::whole(1)), Bound::Amount(9)]));
        let error = config(vec![leaf]).validate().unwrap_err();
        assert_eq!(error.to_string(), "queue `root.a`: its maximum of vcore_milli is below its capacity");
    }

    fn with_partitions(children: Vec<QueueConfig>) -> Result<(), String> {
        let mut config = config(children);
        config.partitions = vec!["gpu".to_owned(), "fast".to_owned()];
        config.validate().map_err(|error| error.to_string())
    }

    fn only(names: &[&str]) -> PartitionAccess {
        PartitionAccess::Only(names.iter().map(|name| (*name).to_owned()).collect())
    }

    fn in_gpu(queue: QueueConfig, whole: u32) -> QueueConfig {
        let capacity = Some(Capacity::Percent(Percent::whole(whole)));
        queue.with_partition("gpu", PartitionCapacity { capacity, maximum: None })
    }

    #[test]
    fn capacities_are_checked_in_each_partition() {
        let sum = with_partitions(vec![in_gpu(percent("a", 50), 60), percent("b", 50)]).unwrap_err();
        assert_eq!(
            sum,
            "queue `root`: in partition `gpu` the capacities below it sum to 110 %, more than 100 %"
        );
        assert_eq!(with_partitions(vec![in_gpu(percent("a", 50), 50), percent("b", 50)]), Ok(()));
        let excluded = percent("b", 50).with_access(only(&["fast"]));
        assert_eq!(with_partitions(vec![in_gpu(percent("a", 50), 100), excluded]), Ok(()));
        let maximum = PartitionCapacity { capacity: None, maximum: Some(Maximum::absolute(&[9])) };
        let leaf = QueueConfig::leaf("a", Capacity::Absolute(Resources::new(&[10])));
        let below = with_partitions(vec![leaf.with_partition("gpu", maximum)]).unwrap_err();
        let expected = "queue `root.a`: in partition `gpu` its maximum of memory_mib is below its capacity";
        assert_eq!(below, expected);
    }

    #[test]
    fn partitions_that_queues_name_are_there_and_may_be_used() {
        let a = || percent("a", 50);
        let kept_to_fast = || a().with_access(only(&["fast"]));
        for (queue, problem) in [
            (a().with_default_partition("gqu"), "unknown partition `gqu`; did you mean `gpu`?"),
            (a().with_access(only(&["fats"])), "unknown partition `fats`; did you mean `fast`?"),
            (a().with_partition("x", PartitionCapacity::default()), "unknown partition `x`"),
            (in_gpu(kept_to_fast(), 1), "has a capacity in partition `gpu`, which it may not use"),
            (
                kept_to_fast().with_default_partition("gpu"),
                "its default partition is `gpu`, which it may not use",
            ),
        ] {
            assert_eq!(with_partitions(vec![queue]), Err(format!("queue `root.a`: {problem}")));
        }
        let below = |child: QueueConfig| with_partitions(vec![kept_to_fast().with_children([child])]);
        for (child, problem) in [
            (
                percent("b", 1).with_access(PartitionAccess::All),
                "may use all partitions, but the queue above may not",
            ),
            (
                percent("b", 1).with_access(only(&["gpu"])),
                "may use partition `gpu`, but the queue above may not",
            ),
            (in_gpu(percent("b", 1), 1), "has a capacity in partition `gpu`, which it may not use"),
        ] {
            assert_eq!(below(child), Err(format!("queue `root.a.b`: {problem}")));
        }
        let child = percent("b", 1).with_access(only(&["fast"])).with_default_partition("fast");
        assert_eq!(below(child.with_partition("fast", PartitionCapacity::default())), Ok(()));
        let mut root = config(vec![a()]);
        root.partitions.push("gpu".to_owned());
        root.root.partitions.insert("gpu".to_owned(), PartitionCapacity::default());
        let error = root.validate().unwrap_err().to_string();
        assert!(error.starts_with("queue `root`: always has the whole cluster"), "{error}");
    }
}
