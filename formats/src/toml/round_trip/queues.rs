//! Random trees of queues.

use apportion::config::HolderLimit;
use apportion::resource::AMOUNT_MAX;

use super::*;

pub(super) fn percent(most: u32) -> impl Strategy<Value = Percent> {
    (0..=most, 0u32..10_000).prop_map(move |(whole, fraction)| {
        let fraction = if whole == most { 0 } else { fraction };
        format!("{whole}.{fraction:04}").parse().unwrap()
    })
}

fn factor() -> impl Strategy<Value = Factor> {
    (0u64..Factor::MAX, 1u32..1_000).prop_map(|(whole, milli)| format!("{whole}.{milli:03}").parse().unwrap())
}

/// At most 14 percent and 2^38 of each type, so that up to seven siblings fit in every case.
fn capacity(types: usize) -> BoxedStrategy<Capacity> {
    prop_oneof![
        percent(14).prop_map(Capacity::Percent),
        vec(0..=1i64 << 38, types).prop_map(|amounts| Capacity::Absolute(Resources::new(&amounts))),
        factor().prop_map(Capacity::Weight),
        vec(share(), types).prop_map(|shares| Capacity::mixed(&shares)),
    ]
    .boxed()
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![
        percent(14).prop_map(Share::Percent),
        (0..=1i64 << 38).prop_map(Share::Amount),
        factor().prop_map(Share::Weight),
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        percent(100).prop_map(Bound::Percent),
        (1i64 << 38..=1 << 42).prop_map(Bound::Amount),
        Just(Bound::NONE)
    ]
}

fn maximum(types: usize) -> BoxedStrategy<Maximum> {
    let amounts = vec(prop::option::of(1i64 << 38..=1 << 42), types).prop_map(|some| {
        let mut all = [None; RESOURCE_TYPES_MAX];
        all[..some.len()].copy_from_slice(&some);
        Maximum::Absolute(all)
    });
    let mixed = vec(bound(), types).prop_map(|bounds| Maximum::mixed(&bounds));
    prop_oneof![percent(100).prop_map(Maximum::Percent), amounts, mixed].boxed()
}

/// The partitions that a queue names: it has settings for the first of each pair, and may use the second.
fn partitions(types: usize) -> BoxedStrategy<PartitionsPlan> {
    let own = (prop::option::of(capacity(types)), prop::option::of(maximum(types)))
        .prop_map(|(capacity, maximum)| PartitionCapacity { capacity, maximum });
    (vec((any::<prop::sample::Index>(), own), 0..3), any::<Option<Option<u8>>>(), any::<Option<u8>>()).boxed()
}

type PartitionsPlan = (Vec<(prop::sample::Index, PartitionCapacity)>, Option<Option<u8>>, Option<u8>);

/// Applies the plans for these partitions to the queue, which must not be the root, and to the queues below it.
pub(super) fn name_partitions(queue: &mut QueueConfig, names: &[String], above: &PartitionAccess) {
    let access = queue.accessible_partitions.take();
    // The generated queue names partitions by number.
    let of_number = |number: &String| names.get(number.parse::<usize>().unwrap() % names.len().max(1));
    let access = access.map(|access| match access {
        PartitionAccess::All => above.clone(),
        PartitionAccess::Only(numbers) => {
            let own = numbers.iter().filter_map(of_number).filter(|name| above.includes(name));
            PartitionAccess::Only(own.cloned().collect())
        }
    });
    let own = access.as_ref().unwrap_or(above).clone();
    let may_use = |name: &&String| own.includes(name);
    let partitions = std::mem::take(&mut queue.partitions);
    let named = partitions.into_iter().filter_map(|(number, capacity)| {
        of_number(&number).filter(may_use).map(|name| (name.clone(), capacity))
    });
    queue.partitions = named.collect();
    queue.default_partition = queue
        .default_partition
        .take()
        .map(|number| of_number(&number).filter(may_use).cloned().unwrap_or_default());
    queue.accessible_partitions = access;
    queue.children.iter_mut().for_each(|child| name_partitions(child, names, &own));
}

fn users() -> impl Strategy<Value = (Percent, BTreeMap<String, Factor>)> {
    (percent(100), prop::collection::btree_map(".{0,4}", factor(), 0..3))
}

fn activation() -> impl Strategy<Value = (ParallelLimits, Option<Percent>, u32, Lifetimes)> {
    let by_user = prop::collection::btree_map(".{0,4}", any::<u32>(), 0..3);
    let lifetimes = (prop::option::of(0..=1_000u64), prop::option::of(1_000u64..))
        .prop_map(|(default_ms, maximum_ms)| Lifetimes { default_ms, maximum_ms });
    (any::<[Option<u32>; 2]>(), by_user, prop::option::of(percent(100)), any::<u32>(), lifetimes).prop_map(
        |([total, per_user], by_user, share, priority, lifetimes)| {
            (ParallelLimits { total, per_user, by_user }, share, priority, lifetimes)
        },
    )
}

fn child_ordering() -> impl Strategy<Value = QueueOrdering> {
    prop_oneof![
        Just(QueueOrdering::Utilization),
        Just(QueueOrdering::PriorityUtilization),
        Just(QueueOrdering::DemandPriority),
        Just(QueueOrdering::UtilizationThenDemand)
    ]
}

fn queue(types: usize) -> BoxedStrategy<QueueConfig> {
    let ordering = prop_oneof![
        Just(ApplicationOrdering::Fifo),
        Just(ApplicationOrdering::Fair),
        Just(ApplicationOrdering::FairBySize)
    ];
    let limits =
        (name(), capacity(types), maximum(types), prop::option::of(factor()), users(), partitions(types));
    let order = (ordering, child_ordering(), any::<i32>(), (any::<i32>(), any::<bool>()));
    let access = (prop::option::of(access_list()), prop::option::of(access_list()));
    let counts = any::<[Option<u32>; 2]>();
    (limits, order, any::<bool>(), counts, access, activation(), any_holder_limits(types))
        .prop_map(
            |(limits, order, is_stopped, counts, (submitters, administrators), activation, limit_holders)| {
                let (parallel, master_share, default_priority, lifetimes) = activation;
                let (name, capacity, maximum, user_limit, (minimum, weights), partitions) = limits;
                let (ordering, child_ordering, priority, (offset, is_fence)) = order;
                let [total, per_user] = counts;
                let queue = QueueConfig::leaf(name, capacity)
                    .with_maximum(maximum)
                    .with_ordering(ordering)
                    .with_child_ordering(child_ordering)
                    .with_priority(priority)
                    .with_user_limit_factor(user_limit)
                    .with_user_limit_minimum(minimum)
                    .with_state(if is_stopped { QueueState::Stopped } else { QueueState::Running })
                    .with_applications(ApplicationLimits { total, per_user })
                    .with_parallel(parallel)
                    .with_master_share(master_share)
                    .with_default_application_priority(default_priority)
                    .with_lifetimes(lifetimes)
                    .with_limits(limit_holders);
                let (own, access, default) = partitions;
                let number = |index: prop::sample::Index| index.index(256).to_string();
                QueueConfig {
                    priority_offset: offset,
                    priority_fence: is_fence,
                    user_weights: weights,
                    submitters,
                    administrators,
                    partitions: own.into_iter().map(|(index, own)| (number(index), own)).collect(),
                    accessible_partitions: access.map(|only| match only {
                        None => PartitionAccess::All,
                        Some(number) => PartitionAccess::Only([number.to_string()].into()),
                    }),
                    default_partition: default.map(|number| number.to_string()),
                    ..queue
                }
            },
        )
        .boxed()
}

fn auto_creation(types: usize) -> BoxedStrategy<AutoCreation> {
    let template = move || {
        (queue(types), factor()).prop_map(|(queue, weight)| QueueConfig {
            name: String::new(),
            partitions: BTreeMap::new(),
            accessible_partitions: None,
            default_partition: None,
            capacity: Capacity::Weight(weight),
            ..queue
        })
    };
    (1..=20u32, 1u32.., any::<Option<u32>>(), template(), template())
        .prop_map(|(depth_max, queues_max, expiry_ms, leaf, parent)| AutoCreation {
            depth_max,
            queues_max,
            expiry_ms: expiry_ms.map(u64::from),
            leaf,
            parent,
        })
        .boxed()
}

fn with_distinct_children(queue: QueueConfig, children: &[QueueConfig]) -> QueueConfig {
    let names = distinct(children.iter().map(|child| child.name.clone()).collect());
    let of_name = |name: &String| children.iter().find(|child| child.name == *name).cloned();
    queue.with_children(names.iter().filter_map(of_name).collect::<Vec<_>>())
}

pub(super) fn root(types: usize) -> BoxedStrategy<QueueConfig> {
    let tree = queue(types).prop_recursive(4, 20, 5, move |below| {
        let creation = prop::option::weighted(0.2, auto_creation(types));
        (queue(types), creation, vec(below, 0..6)).prop_map(|(mut queue, creation, below)| {
            queue.auto_creation = creation.map(Box::new);
            with_distinct_children(queue, &below)
        })
    });
    (any::<bool>(), queue(types), vec(tree, 1..6))
        .prop_map(|(is_plain, settings, children)| {
            let root = QueueConfig { name: "root".to_owned(), ..settings };
            with_distinct_children(if is_plain { QueueConfig::root([]) } else { root }, &children)
        })
        .boxed()
}

/// Unique names, so that no holder has two limits.
fn any_holder_limits(types: usize) -> impl Strategy<Value = Vec<HolderLimit>> {
    let amounts = vec(prop::option::of(0..=AMOUNT_MAX), types);
    let limit = (any::<[bool; 4]>(), amounts, any::<u32>());
    vec(limit, 0..3).prop_map(|limits| {
        let named = limits.into_iter().enumerate().map(|(number, (flags, amounts, parallel))| {
            let [has_users, has_groups, is_odd, is_parallel] = flags;
            let name = if is_odd { format!("\"{number}") } else { format!("a{number}") };
            let mut maximum = [None; RESOURCE_TYPES_MAX];
            maximum[..amounts.len()].copy_from_slice(&amounts);
            let is_parallel = is_parallel || amounts.iter().all(Option::is_none);
            HolderLimit {
                users: if has_users { vec![name.clone(), format!("b{number}")] } else { Vec::new() },
                groups: if has_groups || !has_users { vec![name] } else { Vec::new() },
                maximum,
                parallel: is_parallel.then_some(parallel),
            }
        });
        named.collect()
    })
}
