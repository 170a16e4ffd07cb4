//! The keys that YARN knows (Hadoop 3.5, `capacity-scheduler.md` section 1), and their use here.

use apportion::nearest::nearest;

/// The prefix of every key in the file.
pub(super) const PREFIX: &str = "yarn.scheduler.capacity.";
/// The prefix of the keys of preemption.
pub(super) const PREEMPTION_PREFIX: &str = "yarn.resourcemanager.monitor.capacity.preemption.";

/// The use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The engine has the setting.
    Read,
    /// The key is reported for this reason.
    Reported(&'static str),
}

const READ: Use = Use::Read;
const NOT_YET: Use = Use::Reported("not supported by this engine yet");
const NO_CREATION: Use = Use::Reported(
    "of the two ways of making queues on demand this engine has the second, auto-queue-creation-v2; a queue without \
     listed children is a leaf",
);
const NO_HEARTBEAT: Use = Use::Reported("this engine does not wait for the heartbeats of nodes to place");
const ASYNCHRONOUS: Use = Use::Reported("this engine always schedules asynchronously");
const BELOW_GUARANTEE: Use =
    Use::Reported("no leaf loses anything below its guarantee, and no reservation is moved");
const OTHER_MONITORS: Use = Use::Reported("of the monitor's policies this engine has preemption alone");
const RESERVED_IN_TIME: Use =
    Use::Reported("this engine has no reservation system: ask for later containers at that time");
const ORDER_OF_NODES: Use = Use::Reported("all passes use one order of nodes, node_order");
const RESERVED_NODES: Use = Use::Reported("a reserved node is never offered to other asks");
const LIFETIMES: Use = Use::Reported("lifetimes end when they are due, not at the next check");
const RECOVERY: Use = Use::Reported("containers that nodes report are always charged again, and at once");
const BY_CALLS: Use = Use::Reported("the embedding program does that by its calls");
const LEAST_LOADED: Use =
    Use::Reported("each opportunistic container goes to the node with the shortest queue at that moment");
const NODES_SAY: Use = Use::Reported("a node says its name and its partition when it is added");
const OTHER_FILE: Use = Use::Reported("another file is not read; its rules can stand in mapping-rule-json");
const OTHER_SCHEDULER: Use = Use::Reported("a key of another scheduler");
pub(super) const FOREIGN: Use = Use::Reported("not a key of the scheduler");

/// Keys of one queue, after its path. A star stands for one or more names.
const OF_QUEUES: [(Use, &[&str]); 6] = [
    (
        READ,
        &[
            "queues",
            "auto-queue-creation-v2.enabled",
            "auto-queue-creation-v2.leaf-template.*",
            "auto-queue-creation-v2.max-queues",
            "auto-queue-creation-v2.maximum-queue-depth",
            "auto-queue-creation-v2.parent-template.*",
            "auto-queue-creation-v2.queue-auto-removal.enable",
            "auto-queue-creation-v2.template.*",
            "acl_administer_queue",
            "acl_submit_applications",
            "accessible-node-labels",
            "accessible-node-labels.*.capacity",
            "accessible-node-labels.*.maximum-capacity",
            "capacity",
            "default-application-lifetime",
            "default-application-priority",
            "max-parallel-apps",
            "maximum-am-resource-percent",
            "maximum-application-lifetime",
            "default-node-label-expression",
            "maximum-applications",
            "maximum-capacity",
            "minimum-user-limit-percent",
            "state",
            "user-limit-factor",
            "user-settings.*.weight",
            "ordering-policy",
            "ordering-policy.fair.enable-size-based-weight",
            "priority",
            "allow-zero-capacity-sum",
            "disable_preemption",
            "intra-queue-preemption.disable_preemption",
        ],
    ),
    (
        NO_CREATION,
        &[
            "auto-create-child-queue.enabled",
            "auto-create-child-queue.max-queues",
            "auto-create-child-queue.fail-on-exceeding-parent-capacity",
            "auto-create-child-queue.management-policy",
            "leaf-queue-template.*",
        ],
    ),
    (
        BELOW_GUARANTEE,
        &[
            "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
            "ordering-policy.priority-utilization.underutilized-preemption.enabled",
            "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms",
        ],
    ),
    (
        RESERVED_IN_TIME,
        &[
            "acl_administer_reservations",
            "acl_list_reservations",
            "acl_submit_reservations",
            "average-capacity",
            "instantaneous-max-capacity",
            "reservable",
            "reservation-agent",
            "reservation-enforcement-window",
            "reservation-move-on-expiry",
            "reservation-planner",
            "reservation-policy",
            "reservation-window",
            "show-reservations-as-queues",
        ],
    ),
    (ORDER_OF_NODES, &["multi-node-sorting.policy"]),
    (
        NOT_YET,
        &[
            "accessible-node-labels.*.maximum-am-resource-percent",
            "acl_application_max_priority",
            "max-resource",
            "maximum-allocation",
            "maximum-allocation-mb",
            "maximum-allocation-vcores",
            "min-resource",
            "ordering-policy.exclusive-enforced-partitions",
        ],
    ),
];

/// Keys of the whole scheduler, after the prefix.
const OF_SCHEDULER: [(Use, &[&str]); 9] = [
    (OTHER_FILE, &["mapping-rule-json-file"]),
    (
        READ,
        &[
            "auto-queue-creation-v2.queue-expiration-time",
            "global-queue-max-application",
            "lazy-preemption-enabled",
            "legacy-queue-mode.enabled",
            "mapping-rule-format",
            "mapping-rule-json",
            "max-parallel-apps",
            "maximum-am-resource-percent",
            "maximum-applications",
            "minimum-user-limit-percent",
            "node-locality-delay",
            "per-node-heartbeat.maximum-offswitch-assignments",
            "queue-mappings",
            "queue-mappings-override.enable",
            "rack-locality-additional-delay",
            "rack-locality-full-reset",
            "reservations-continue-look-all-nodes",
            "resource-calculator",
            "user-limit-factor",
            "user.*.max-parallel-apps",
            "user.max-parallel-apps",
        ],
    ),
    (
        NO_HEARTBEAT,
        &[
            "per-node-heartbeat.maximum-container-assignments",
            "per-node-heartbeat.multiple-assignments-enabled",
        ],
    ),
    (
        ASYNCHRONOUS,
        &[
            "schedule-asynchronously.enable",
            "schedule-asynchronously.maximum-pending-backlogs",
            "schedule-asynchronously.maximum-threads",
            "schedule-asynchronously.scheduling-interval-ms",
        ],
    ),
    (
        BELOW_GUARANTEE,
        &[
            "ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation",
            "ordering-policy.priority-utilization.underutilized-preemption.enabled",
            "ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms",
        ],
    ),
    (
        ORDER_OF_NODES,
        &[
            "multi-node-placement-enabled",
            "multi-node-sorting.policy",
            "multi-node-sorting.policy.*.class",
            "multi-node-sorting.policy.*.sorting-interval.ms",
            "multi-node-sorting.policy.names",
        ],
    ),
    (RESERVED_NODES, &["skip-allocate-on-nodes-with-reserved-containers"]),
    (BY_CALLS, &["application.fail-fast", "queue.auto.refresh.monitoring-interval", "user-metrics.enable"]),
    (NOT_YET, &["workflow-priority-mappings", "workflow-priority-mappings-override.enable"]),
];

/// Keys of the scheduler and its surroundings, found in `yarn-site.xml` and `resource-types.xml`. Hadoop merges all
/// files into one configuration, so they may be in any file.
const OF_YARN: [(Use, &[&str]); 10] = [
    (
        READ,
        &[
            "yarn.acl.enable",
            "yarn.cluster.max-application-priority",
            "yarn.resource-types",
            "yarn.resource-types.*.units",
            "yarn.resourcemanager.monitor.capacity.preemption.additional_res_balance_based_on_reserved_containers",
            "yarn.resourcemanager.monitor.capacity.preemption.conservative-drf",
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.conservative-drf",
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled",
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.max-allowable-limit",
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.minimum-threshold",
            "yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.preemption-order-policy",
            "yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity",
            "yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill",
            "yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval",
            "yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor",
            "yarn.resourcemanager.monitor.capacity.preemption.observe_only",
            "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled",
            "yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied\
             .max-wait-before-kill",
            "yarn.resourcemanager.monitor.capacity.preemption.select_based_on_reserved_containers",
            "yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round",
            "yarn.resourcemanager.nm-container-queuing.max-queue-length",
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms",
            "yarn.resourcemanager.opportunistic-container-allocation.enabled",
            "yarn.resourcemanager.scheduler.class",
            "yarn.resourcemanager.scheduler.monitor.enable",
            "yarn.resourcemanager.scheduler.monitor.policies",
            "yarn.scheduler.maximum-allocation-mb",
            "yarn.scheduler.maximum-allocation-vcores",
            "yarn.scheduler.minimum-allocation-mb",
            "yarn.scheduler.minimum-allocation-vcores",
            "yarn.scheduler.queue-placement-rules",
            "yarn.scheduler.queue-placement-rules.app-name",
            "yarn.scheduler.skip.node.multiplier",
        ],
    ),
    (OTHER_SCHEDULER, &["yarn.scheduler.fair.*", "yarn.scheduler.fifo.*"]),
    (OTHER_MONITORS, &["yarn.resourcemanager.monitor.capacity.queue-management.*"]),
    (RESERVED_IN_TIME, &["yarn.resourcemanager.reservation-system.*"]),
    (
        NODES_SAY,
        &[
            "yarn.node-labels.*",
            "yarn.resourcemanager.node-labels.*",
            "yarn.scheduler.include-port-in-node-name",
        ],
    ),
    (
        LEAST_LOADED,
        &[
            "yarn.resourcemanager.nm-container-queuing.*",
            "yarn.resourcemanager.opportunistic-container-allocation.*",
        ],
    ),
    (BY_CALLS, &["yarn.resourcemanager.auto-update.containers", "yarn.scheduler.configuration.*"]),
    (LIFETIMES, &["yarn.resourcemanager.application-timeouts.*"]),
    (RECOVERY, &["yarn.resourcemanager.work-preserving-recovery.*"]),
    (
        NOT_YET,
        &[
            "yarn.admin.acl",
            "yarn.resource-types.*.maximum-allocation",
            "yarn.resource-types.*.minimum-allocation",
            "yarn.resource-types.*.tags",
            "yarn.resourcemanager.am-scheduling.*",
            "yarn.resourcemanager.placement-constraints.*",
            "yarn.resourcemanager.scheduler.autocorrect.container.allocation",
        ],
    ),
];

/// Keys of other parts of Hadoop, found beside the scheduler's.
const OF_OTHERS: [(Use, &[&str]); 1] =
    [(FOREIGN, &["hadoop.*", "yarn.cluster.*", "yarn.nodemanager.*", "yarn.resourcemanager.*"])];

/// The use of a queue's key, if YARN knows it.
pub(super) fn of_queue(name: &str) -> Option<Use> {
    find(&OF_QUEUES, name)
}

/// The known queue key nearest to `name`.
pub(super) fn nearest_of_queue(name: &str) -> Option<String> {
    nearest(name, patterns(&OF_QUEUES))
}

/// The use of a full key that belongs to no queue, if YARN knows it.
pub(super) fn of_scheduler(key: &str) -> Option<Use> {
    match key.strip_prefix(PREFIX) {
        Some(name) => find(&OF_SCHEDULER, name),
        None if key.starts_with(PREEMPTION_PREFIX) => find(&OF_YARN, key),
        None => find(&OF_YARN, key).or_else(|| find(&OF_OTHERS, key)),
    }
}

/// The known key nearest to a key that belongs to no queue; both are full keys.
pub(super) fn nearest_of_scheduler(key: &str) -> Option<String> {
    if let Some(name) = key.strip_prefix(PREFIX) {
        return nearest(name, patterns(&OF_SCHEDULER)).map(|name| format!("{PREFIX}{name}"));
    }
    // The prefix itself may be misspelled.
    let name = key.splitn(4, '.').nth(3).unwrap_or("");
    let is_known = name.starts_with("root.") || find(&OF_SCHEDULER, name).is_some();
    let with_prefix = is_known.then(|| format!("{PREFIX}{name}"));
    nearest(key, patterns(&OF_YARN).chain(with_prefix.as_deref()))
}

/// Whether an unknown key of another file is not an error, because it does not begin like the scheduler's keys.
pub(super) fn is_foreign(key: &str) -> bool {
    !["yarn.scheduler.", "yarn.resource-type", PREEMPTION_PREFIX].iter().any(|prefix| key.starts_with(prefix))
}

fn patterns<'t>(table: &'t [(Use, &'t [&'t str])]) -> impl Iterator<Item = &'t str> {
    table.iter().flat_map(|(_, patterns)| patterns.iter().copied())
}

fn find(table: &[(Use, &[&str])], name: &str) -> Option<Use> {
    let row = table.iter().find(|(_, patterns)| patterns.iter().any(|pattern| is_of(pattern, name)));
    row.map(|(becomes, _)| *becomes)
}

fn is_of(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((before, after)) => {
            name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
        None => pattern == name,
    }
}
