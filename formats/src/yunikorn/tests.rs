//! Imported settings and reported ones.

use apportion::Resources;
use apportion::config::{
    ApplicationOrdering, Capacity, Factor, HolderLimit, Maximum, NodeOrderKind, ParallelLimits, Percent,
    QueueConfig, QueueOrdering,
};
use apportion::resource::RESOURCE_TYPES_MAX;

use super::*;

pub(super) fn import(text: &str) -> Result<Imported, ConfigFileError> {
    from_queues_yaml(text, "q.yaml", &ResourceTypes::memory_and_vcores())
}

#[track_caller]
pub(super) fn imported(text: &str) -> Imported {
    import(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn reported(imported: &Imported) -> Vec<(usize, &str, &str, &str)> {
    let entries = imported.not_carried_over.iter();
    entries
        .map(|entry| (entry.line, entry.key.as_str(), entry.value.as_str(), entry.reason.as_str()))
        .collect()
}

/// A file with these lines below the root's `queues`.
pub(super) fn below_root(lines: &str) -> String {
    let indented: String = lines.lines().map(|line| format!("          {line}\n")).collect();
    format!("partitions:\n  - name: default\n    queues:\n      - name: root\n        queues:\n{indented}")
}

fn leaf(name: &str, capacity: Capacity) -> QueueConfig {
    QueueConfig::leaf(name, capacity).with_user_limit_factor(None)
}

/// A root with priorities first.
fn tree(children: impl IntoIterator<Item = QueueConfig>) -> QueueConfig {
    QueueConfig::root(children).with_child_ordering(QueueOrdering::DemandPriority)
}

fn amounts(amounts: &[i64]) -> Capacity {
    Capacity::Absolute(Resources::new(amounts))
}

const ONE: Capacity = Capacity::Weight(Factor::ONE);

#[test]
fn every_key_that_is_read_is_read() {
    let imported = imported(
        "partitions:
  - name: default
    nodesortpolicy:
      type: binpacking
    preemption:
      enabled: false
    queues:
      - name: root
        properties:
          application.sort.policy: fair
          application.sort.priority: disabled
        queues:
          - name: Dev
            resources:
              guaranteed: {memory: 10Gi, vcore: 4}
              max: {memory: 20Gi}
            queues:
              - name: etl
                resources:
                  guaranteed: {memory: 2Gi, vcore: 500m}
              - name: adhoc
                maxapplications: 5
                properties:
                  application.sort.policy: fifo
                  application.sort.priority: enabled
          - name: prod
            parent: true
            queues:
              - name: web
                resources:
                  guaranteed: {memory: 1073741824}
                  max: {memory: 2Gi, vcore: '2'}
",
    );
    let fair = |queue: QueueConfig| queue.with_ordering(ApplicationOrdering::Fair);
    let fairness_first = QueueOrdering::UtilizationThenDemand;
    let parent = |name, capacity| QueueConfig::leaf(name, capacity).with_child_ordering(fairness_first);
    let parallel = ParallelLimits { total: Some(5), ..ParallelLimits::default() };
    let dev =
        parent("dev", amounts(&[10_240, 4_000])).with_maximum(Maximum::absolute(&[20_480])).with_children([
            fair(leaf("etl", amounts(&[2_048, 500]))),
            leaf("adhoc", ONE).with_parallel(parallel),
        ]);
    let web = leaf("web", amounts(&[1_024])).with_maximum(Maximum::absolute(&[2_048, 2_000]));
    let prod = parent("prod", amounts(&[1_024])).with_children([fair(web)]);
    assert_eq!(imported.config.root, QueueConfig::root([dev, prod]).with_child_ordering(fairness_first));
    assert_eq!(imported.config.node_order, NodeOrderKind::Pack);
    assert_eq!(imported.config.preemption, None);
    assert_eq!(reported(&imported), []);
}

#[test]
fn the_root_may_be_left_out() {
    let imported = imported("partitions:\n- queues:\n  - name: a\n  - name: b\n");
    assert_eq!(imported.config.root, tree([leaf("a", ONE), leaf("b", ONE)]));
    assert_eq!(imported.config.node_order, NodeOrderKind::Spread);
    assert_eq!(reported(&imported), []);
}

/// Settings that YuniKorn knows and this engine lacks.
const WITH_EVERYTHING_ELSE: &str = "checksum: ABC
partitions:
  - name: default
    placementrules:
      - {name: tag, value: namespace, create: true}
    limits:
      - limit: all
        users: ['*']
        maxapplications: 9
    preemption: {quotapreemptionenabled: true}
    usergroupresolver: {type: ldap}
    nodesortpolicy:
      resourceweights: {memory: 2.5}
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: a
            parent: true
            maxapplications: 5
            adminacl: admin ops
            childtemplate:
              maxapplications: 2
              resources: {max: {memory: 1Gi}}
          - name: b
            properties:
              priority.offset: -5
              preemption.delay: 1m30s
              application.sort.policy: fair
              my.note: x
            resources:
              max: {memory: 1000, nvidia.com/gpu: 4}
              guaranteed: {vcore: 0}
            limits:
              - users: [ann, bob]
                groups: [dev]
                maxresources: {vcore: 2}
  - name: gpu
    queues: []
";

#[test]
fn keys_of_yunikorn_that_the_engine_lacks_are_reported() {
    let imported = imported(WITH_EVERYTHING_ELSE);
    let later = "not supported by this engine yet";
    let expected = [
        (
            10,
            "partitions.default.preemption.quotapreemptionenabled",
            "true",
            "a queue above a lowered maximum gets nothing more, but its containers are not ended",
        ),
        (11, "partitions.default.usergroupresolver.type", "ldap", later),
        (
            13,
            "partitions.default.nodesortpolicy.resourceweights.memory",
            "2.5",
            "this engine's node orders weigh all resource types alike",
        ),
        (
            29,
            "root.b.properties.application.sort.policy",
            "fair",
            "this engine's fair order looks at shares before priorities",
        ),
        (30, "root.b.properties.my.note", "x", "YuniKorn does not know this property either and ignores it"),
        (32, "root.b.resources.max.memory", "1000", "rounded down to 0 memory_mib"),
        (32, "root.b.resources.max.nvidia.com/gpu", "4", "this engine does not count it (as `gpu`)"),
        (33, "root.b.resources.guaranteed.vcore", "0", "YuniKorn ignores amounts that are all zero"),
        (
            38,
            "partitions.gpu.name",
            "gpu",
            "an engine has one tree of queues; this partition needs an engine of its own",
        ),
    ];
    assert_eq!(reported(&imported), expected);
    assert!(imported.not_carried_over.iter().all(|entry| entry.file_name == "q.yaml"));
}

#[test]
fn limits_of_users_and_groups_are_carried_over() {
    let imported = imported(
        "partitions:
- limits: [{users: ['*'], maxapplications: 9}]
  queues:
  - name: a
    limits:
    - {limit: named, users: [ann, bob], groups: [dev], maxresources: {vcore: 2, memory: 1Gi}}
    - {groups: ['*'], maxapplications: 3}
    - {users: [carl], maxresources: {pods: 3}}
",
    );
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let mut most = [None; RESOURCE_TYPES_MAX];
    let everybody = HolderLimit { users: names(&["*"]), parallel: Some(9), ..HolderLimit::default() };
    (most[0], most[1]) = (Some(1_024), Some(2_000));
    let named =
        HolderLimit { users: names(&["ann", "bob"]), groups: names(&["dev"]), maximum: most, parallel: None };
    let others = HolderLimit { groups: names(&["*"]), parallel: Some(3), ..HolderLimit::default() };
    let leaf = leaf("a", ONE).with_limits([named, others]);
    assert_eq!(imported.config.root, tree([leaf]).with_limits([everybody]));
    let [(line, key, ..)] = reported(&imported)[..] else { panic!("one line") };
    assert_eq!((line, key), (8, "root.a.limits[2].maxresources.pods"), "and nothing is left of that limit");
}

#[test]
fn other_resources_are_counted_if_the_engine_counts_them() {
    let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu"]).unwrap();
    let text = below_root("- name: a\n  resources:\n    guaranteed: {nvidia.com/gpu: 4}");
    let imported = from_queues_yaml(&text, "q.yaml", &types).unwrap();
    assert_eq!(imported.config.root.children[0].capacity, amounts(&[0, 0, 4]));
    assert_eq!(imported.not_carried_over, []);
}

#[test]
fn aliases_and_merges_are_what_they_repeat() {
    let imported = imported(&below_root(
        "- name: a
  resources: &small
    max: {memory: 1Gi}
- name: b
  resources: *small
- name: c
  resources:
    <<: *small
    guaranteed: {memory: 1Mi}",
    ));
    let small = |name, capacity| leaf(name, capacity).with_maximum(Maximum::absolute(&[1_024]));
    let leaves = [small("a", ONE), small("b", ONE), small("c", amounts(&[1]))];
    assert_eq!(imported.config.root, tree(leaves));
}

#[test]
fn priorities_are_carried_over_and_not_inherited() {
    let imported = imported(&below_root(
        "- name: a
  properties: {priority.offset: '-5', priority.policy: fence, application.sort.priority: disabled}
  queues:
  - name: b
    properties: {application.sort.priority: enabled, priority.policy: default}",
    ));
    let b = leaf("b", ONE);
    let a = QueueConfig::leaf("a", ONE)
        .with_priority_fence(-5)
        .with_child_ordering(QueueOrdering::UtilizationThenDemand)
        .with_children([b]);
    assert_eq!(imported.config.root, tree([a]));
}

/// A queue's template applies to the leaves that rules create below it, and below queues without a template.
#[test]
fn queues_are_created_as_the_templates_say() {
    let text = "partitions:
- placementrules: [{name: user, create: true, parent: {name: tag, value: namespace, create: true}}]
  queues:
  - name: a
    parent: true
    childtemplate:
      maxapplications: 2
      properties: {application.sort.policy: fair}
      resources: {max: {memory: 1Gi}, guaranteed: {memory: 512Mi}}
  - name: b
";
    let imported = import(text).unwrap();
    let lines: Vec<usize> = imported.not_carried_over.iter().map(|entry| entry.line).collect();
    assert_eq!(lines, [8, 10], "{:?}", reported(&imported));
    let [a, b] = &imported.config.root.children[..] else { panic!("two queues") };
    let creation = a.auto_creation.as_ref().unwrap();
    assert_eq!((creation.depth_max, creation.expiry_ms), (3, Some(10_000)));
    let leaf = &creation.leaf;
    assert_eq!((leaf.ordering, leaf.parallel.total), (ApplicationOrdering::Fair, Some(2)));
    assert_eq!(leaf.maximum, Maximum::absolute(&[1024]));
    assert_eq!(leaf.capacity, Capacity::Absolute(Resources::new(&[512])));
    assert!(b.is_leaf(), "only parents get queues below them");
    let of_root = imported.config.root.auto_creation.as_ref().unwrap();
    assert_eq!(of_root.leaf.maximum, Maximum::Percent(Percent::ALL), "the template is of `a` alone");
    // As for any queue, amounts of zero count as absent.
    let zeros = text.replace(
        "max: {memory: 1Gi}, guaranteed: {memory: 512Mi}",
        "max: {memory: 0}, guaranteed: {vcore: 0}",
    );
    let imported = import(&zeros).unwrap();
    let leaf = &imported.config.root.children[0].auto_creation.as_ref().unwrap().leaf;
    assert_eq!(
        (leaf.maximum, leaf.capacity),
        (Maximum::Percent(Percent::ALL), Capacity::Weight(Factor::ONE))
    );
    assert!(reported(&imported).iter().any(|(.., reason)| reason.contains("all zero")));
    let without = text.replace(", create: true", "");
    let imported = import(&without).unwrap();
    assert!(imported.config.root.children[0].is_leaf(), "no rule creates anything");
    let parents = ["root.a.parent", "root.a.childtemplate.maxapplications"];
    assert!(parents.iter().all(|key| imported.not_carried_over.iter().any(|entry| entry.key == *key)));
}
