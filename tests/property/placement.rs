//! Mapping rules send applications to the leaf that the model says.

use std::sync::Arc;

use apportion::config::{
    AccessList, Capacity, Creation, EngineConfig, Factor, Fallback, MappingAction, MappingRule, PathPart,
    PlaceIn, QueueConfig, QueueMapping, QueuePath, RuleFilter,
};
use apportion::{ApplicationSpec, Engine, ManualClock, Mode, PartitionId, ResourceTypes};
use apportion_tests::support::oracle::Oracle;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Few names for everything, so that rules often match a queue.
const NAMES: [&str; 5] = ["a", "b", "c", "default", "a_dot_b"];
const REQUESTS: [&str; 9] = ["", "default", "a", "root.a", "a.b", "root.default", "root.b.a", "root", "c"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let own = (name(), option::weighted(0.15, vec(name(), 0..3)));
    let leaf = own.prop_map(|(name, submitters)| {
        let list = |users: Vec<String>| AccessList::Named {
            users: users.into_iter().collect(),
            groups: Default::default(),
        };
        let leaf = QueueConfig::leaf(name, Capacity::Weight(Factor::ONE));
        QueueConfig { submitters: submitters.map(list), ..leaf }
    });
    leaf.prop_recursive(2, 10, 3, |below| {
        (below.clone(), vec(below, 0..3)).prop_map(|(queue, below)| with_children(queue, below))
    })
}

fn with_children(queue: QueueConfig, below: Vec<QueueConfig>) -> QueueConfig {
    let mut children: Vec<QueueConfig> = queue.children.clone();
    for child in below {
        if children.iter().all(|other| other.name != child.name) {
            children.push(child);
        }
    }
    QueueConfig { children, ..queue }
}

fn path() -> impl Strategy<Value = QueuePath> {
    let part = prop_oneof![
        3 => name().prop_map(PathPart::Name),
        1 => Just(PathPart::User),
        1 => Just(PathPart::PrimaryGroup),
        1 => Just(PathPart::SecondaryGroup),
        1 => Just(PathPart::Application),
        1 => Just(PathPart::Default),
        1 => Just(PathPart::Specified),
        1 => Just(PathPart::Provided),
        1 => name().prop_map(PathPart::Tag),
    ];
    (any::<bool>(), vec(part, 1..3)).prop_map(|(from_root, below)| {
        let root = from_root.then(|| PathPart::Name("root".to_owned()));
        QueuePath::new(root.into_iter().chain(below).collect())
    })
}

fn rule() -> impl Strategy<Value = MappingRule> {
    let create = prop::sample::select(vec![Creation::Nothing, Creation::Leaf, Creation::Path]);
    let fallback = prop::sample::select(vec![Fallback::Skip, Fallback::Reject, Fallback::Default]);
    let place =
        (path(), create, fallback, any::<bool>()).prop_map(|(queue, create, fallback, if_permitted)| {
            MappingAction::Place(PlaceIn { queue, create, fallback, if_permitted })
        });
    let action = prop_oneof![
        8 => place,
        2 => path().prop_map(MappingAction::SetDefault),
        1 => Just(MappingAction::Reject),
    ];
    let names = || prop_oneof![3 => Just(Vec::new()), 1 => vec(name(), 1..3)];
    (names(), names(), names(), proptest::bool::weighted(0.2), action).prop_map(
        |(users, groups, applications, except, action)| MappingRule {
            filter: RuleFilter { users, groups, applications, except },
            action,
        },
    )
}

fn application() -> impl Strategy<Value = ApplicationSpec> {
    let user = prop_oneof![4 => name(), 1 => Just("a.b".to_owned())];
    let request = prop::sample::select(&REQUESTS[..]);
    let tags = vec((name(), prop::sample::select(&REQUESTS[..])), 0..3);
    (name(), request, user, vec(name(), 0..4), tags).prop_map(|(name, queue, user, groups, tags)| {
        let spec = ApplicationSpec::new(name, queue, user).in_groups(groups);
        tags.into_iter().fold(spec, |spec, (name, value)| spec.with_tag(name, value))
    })
}

/// A configuration with these rules behind one that changes nothing. Without any rule, applications must name queues
/// by full path.
fn config(root: QueueConfig, override_requested: bool, rules: Vec<MappingRule>) -> EngineConfig {
    let mut config = EngineConfig::new(ResourceTypes::memory_and_vcores(), root);
    let nothing = MappingAction::SetDefault(QueuePath::new(vec![PathPart::Default]));
    let first = MappingRule { filter: RuleFilter::everybody(), action: nothing };
    config.queue_mapping = QueueMapping { override_requested, rules: vec![first] };
    for rule in rules {
        let earlier = config.queue_mapping.clone();
        config.queue_mapping.rules.push(rule);
        if config.validate().is_err() {
            config.queue_mapping = earlier;
        }
    }
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn applications_go_where_the_model_sends_them(
        queues in vec(queue(), 1..4),
        override_requested in any::<bool>(),
        rules in vec(rule(), 1..5),
        applications in vec(application(), 1..12),
    ) {
        let root = with_children(QueueConfig::root([]), queues);
        let config = config(root, override_requested, rules);
        let engine = Engine::start(config.clone(), Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
        let handle = engine.handle();
        let oracle = Oracle::new(config, vec![PartitionId::DEFAULT], |path| handle.queue(path).unwrap());
        let events = handle.event_stream(1_000);
        for spec in applications {
            let application = handle.submit_application(spec.clone(), &events).unwrap();
            engine.run_until_quiet();
            let queue = engine.read(|view| view.application(application).map(|it| it.queue().to_owned()));
            let may = |path: &String| {
                let leaf = oracle.tree.named(path).expect("none is made here");
                oracle.tree.may_submit(leaf, &spec.user, &spec.groups)
            };
            let wanted = oracle.leaf_for(&spec).filter(may);
            prop_assert_eq!(queue, wanted, "{:?}", spec);
        }
    }
}
