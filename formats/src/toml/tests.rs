//! Reading of native files, and the errors for wrong ones.

use apportion::config::{
    ApplicationOrdering, Bound, Capacity, EngineLimits, Factor, HeartbeatPolicy, LocalityDelay, Maximum,
    NodeOrderKind, PartitionAccess, PartitionCapacity, Percent, PreemptionRounds, QueueConfig,
    ReservationPolicy, Share, WithinQueueOrder, WithinQueuePolicy,
};
use apportion::{ResourceTypes, Resources};

use super::*;
use crate::ConfigFileProblem;

fn read(text: &str) -> EngineConfig {
    from_toml(text, "engine.toml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = from_toml(text, "engine.toml").expect_err(text);
    assert_eq!(error.to_string(), format!("engine.toml:{message}"), "{text}");
}

/// A file with this queue's table at line 2.
fn queue(lines: &str) -> String {
    format!("# a queue\n[queues.\"root.a\"]\n{lines}\n")
}

#[test]
fn a_path_is_a_whole_file() {
    let leaf = QueueConfig::leaf("a", Capacity::Weight(Factor::ONE));
    let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([leaf]));
    assert_eq!(read("[queues.\"root.a\"]"), config);
}

#[test]
fn every_key_is_read() {
    let types = ResourceTypes::new(["memory_mib", "vcore_milli", "gpu_milli"]).unwrap();
    let types = types.with_devices("gpu_milli").unwrap();
    let etl = QueueConfig::leaf("etl", Capacity::Absolute(Resources::new(&[1024, 2000, 0])))
        .with_maximum(Maximum::absolute(&[4096]))
        .with_ordering(ApplicationOrdering::Fair)
        .with_user_limit_factor(None);
    let ad_hoc = QueueConfig::leaf("ad-hoc", Capacity::Weight("2.5".parse().unwrap()))
        .with_user_limit_factor(Some("1.5".parse().unwrap()));
    let analytics =
        QueueConfig::leaf("analytics", Capacity::Percent(Percent::whole(40))).with_children([etl, ad_hoc]);
    let web = QueueConfig::leaf("web", Capacity::Percent("33.3333".parse().unwrap()))
        .with_maximum(Maximum::Percent(Percent::whole(80)));
    let mut expected = EngineConfig::new(types, QueueConfig::root([analytics, web]));
    expected.partitions = vec!["gpu".to_owned()];
    expected.node_order = NodeOrderKind::Pack;
    expected.reservations = ReservationPolicy {
        delay_ms: Some(5),
        age_limit_ms: 6,
        nodes: Percent::whole(7),
        continue_looking: false,
    };
    expected.locality_delay = LocalityDelay::nodes(40, 80);
    expected.heartbeat = Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 3 });
    expected.limits =
        EngineLimits { batch_requests: 16, off_switch_per_pass: Some(2), ..EngineLimits::default() };

    let text = r#"
        [resources]
        types = ["memory_mib", "vcore_milli", "gpu_milli"]
        devices = "gpu_milli"
        [engine]
        partitions = ["gpu"]
        node_order = "pack"
        reservations = { delay_ms = 5, age_limit_ms = 6, nodes = 7, continue_looking = false }
        locality_delay = { rack_nodes = 40, any_nodes = 80, full_reset = true }
        heartbeat = { interval_ms = 1_000, missed_max = 3 }
        limits = { batch_requests = 0x10, off_switch_per_pass = 2 }
        [queues."root.analytics.etl"]
        capacity = { memory_mib = 1024, vcore_milli = 2000 }
        maximum_capacity = { memory_mib = 4096 }
        ordering = "fair"
        user_limit_factor = "unlimited"
        [queues."root.analytics.ad-hoc"]
        capacity = "2.5w"
        user_limit_factor = 1.5
        [queues."root.web"]
        capacity = 33.3333
        maximum_capacity = "80%"
        [queues."root.analytics"]
        capacity = "40 %"
    "#;
    assert_eq!(read(text), expected);
}

#[test]
fn each_type_may_have_a_kind_of_its_own() {
    let sizes = "capacity = { memory_mib = \"50 %\", vcore_milli = \"2w\" }\n\
                 maximum_capacity = { vcore_milli = \"80 %\" }";
    let leaf = &read(&queue(sizes)).root.children[0];
    let half = Share::Percent(Percent::whole(50));
    assert_eq!(leaf.capacity, Capacity::mixed(&[half, Share::Weight(Factor::whole(2))]));
    assert_eq!(leaf.maximum, Maximum::mixed(&[Bound::NONE, Bound::Percent(Percent::whole(80))]));
    let one = |value: &str| queue(&format!("capacity = {{ memory_mib = {value} }}"));
    let key = "3:27: queues.\"root.a\".capacity.memory_mib:";
    refused(&one("true"), &format!("{key} expected an amount, \"40 %\" or \"3w\", found true or false"));
    refused(&one("\"5\""), &format!("{key} `5` is not a percentage like \"40 %\""));
    refused(
        &queue("maximum_capacity = { memory_mib = \"2w\" }"),
        "3:35: queues.\"root.a\".maximum_capacity.memory_mib: `2w` is not a percentage like \"40 %\"",
    );
}

#[test]
fn partition_settings_of_queues_are_read() {
    let text = "[engine]\npartitions = [\"gpu\", \"fast\"]\n\
                [queues.\"root.a\"]\naccessible_partitions = [\"gpu\"]\ndefault_partition = \"gpu\"\n\
                [queues.\"root.a\".partitions.gpu]\ncapacity = \"30 %\"\nmaximum_capacity = { memory_mib = 5 }\n\
                [queues.\"root.b\"]\naccessible_partitions = [\"*\"]\ndefault_partition = \"\"\n\
                partitions = { fast = {} }";
    let root = read(text).root;
    let own = PartitionCapacity {
        capacity: Some(Capacity::Percent(Percent::whole(30))),
        maximum: Some(Maximum::absolute(&[5])),
    };
    let leaf = |name| QueueConfig::leaf(name, Capacity::Weight(Factor::ONE));
    let a = leaf("a")
        .with_access(PartitionAccess::Only(["gpu".to_owned()].into()))
        .with_default_partition("gpu")
        .with_partition("gpu", own);
    let b = leaf("b").with_access(PartitionAccess::All).with_default_partition("");
    assert_eq!(root.children, [a, b.with_partition("fast", PartitionCapacity::default())]);
    refused(
        &queue("[queues.\"root.a\".partitions.gpu]\ncapacity = 1"),
        "2:9: queue `root.a`: unknown partition `gpu`",
    );
    refused(
        &queue("[queues.\"root.a\".partitions.gpu]\nstate = 1"),
        "4:1: unknown key `queues.\"root.a\".partitions.gpu.state`",
    );
    refused(
        &queue("accessible_partitions = [\"*\", \"gpu\"]"),
        "3:25: queues.\"root.a\".accessible_partitions: \"*\" means all partitions; remove the other names",
    );
    refused(
        "[engine]\npartitions = [\"*\"]",
        "2:1: engine.partitions: `*` stands for all partitions and names none",
    );
}

#[test]
fn disabled_reservations_may_keep_their_delay() {
    let text = queue("[engine.reservations]\nenabled = false\ndelay_ms = 9");
    assert_eq!(read(&text).reservations.delay_ms, None);
    let text = queue("[engine.reservations]\nenabled = true\ndelay_ms = 9");
    assert_eq!(read(&text).reservations.delay_ms, Some(9));
}

/// The documented lines are a valid file, with and without the commented ones.
#[test]
fn the_documented_format_is_the_format() {
    let documented = include_str!("mod.rs").split("```").nth(1).unwrap().strip_prefix("toml").unwrap();
    let text: String =
        documented.lines().map(|line| format!("{}\n", line.trim_start_matches("//!"))).collect();
    let mut config = read(&text);
    let etl = config.root.children.pop().unwrap().children.pop().unwrap();
    assert_eq!(etl, QueueConfig::leaf("etl", Capacity::Weight(Factor::ONE)));
    let defaults = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::root([]));
    assert_eq!(config, defaults, "what the documentation calls defaults");

    let uncommented: String = text
        .replace("types = [", "types = [\"gpu_milli\", ")
        .replace("\npartitions = []", "\npartitions = [\"gpu\"]")
        .replace("\n partitions = []", "\n partitions = [\"gpu\"]")
        .lines()
        .filter(|line| !line.contains("rack_ms") && !line.contains("any_ms"))
        .map(|line| format!("{}\n", line.trim_start().trim_start_matches("# ")))
        .collect();
    let config = read(&uncommented);
    assert_eq!(config.locality_delay, LocalityDelay::nodes(40, 80));
    assert_eq!(config.heartbeat, Some(HeartbeatPolicy { interval_ms: 1_000, missed_max: 3 }));
    assert_eq!(config.resources.device_type(), Some(0));
}

#[test]
fn a_placement_rule_is_refused_where_it_is() {
    let rule =
        |lines: &str| queue(&format!("[[placement.rules]]\nreject = true\n[[placement.rules]]\n{lines}"));
    refused(
        &rule(""),
        "5:1: placement.rules[1]: a rule needs one of `queue`, `default_queue` and `reject = true`",
    );
    refused(
        &rule("reject = true\ncreate = \"leaf\""),
        "7:10: placement.rules[1].create: is valid only with `queue`",
    );
    refused(
        &rule("queue = \"root.%usr\""),
        "6:9: placement.rules[1].queue: unknown variable `%usr`; did you mean `%user`?",
    );
    refused(
        &rule("queue = \"root.b\""),
        "5:1: mapping rule 2: unknown queue `root.b`; did you mean `root.a`?",
    );
    refused(
        &rule("queues = \"root.b\""),
        "6:1: unknown key `placement.rules[1].queues`; did you mean `placement.rules[1].queue`?",
    );
    refused(
        &rule("reject = true\nexcept = true"),
        "5:1: mapping rule 2: `except` is empty: users, groups or applications are needed",
    );
    refused(
        &queue("submitters = \"ann, bob\""),
        "3:14: queues.\"root.a\".submitters: expected users, a space and groups, each separated by commas \
         without spaces, or *",
    );
}

#[test]
fn an_unknown_key_names_its_neighbour() {
    refused("[engin]", "1:2: unknown key `engin`; did you mean `engine`?");
    refused(
        "[engine]\nnode_ordr = 1",
        "2:1: unknown key `engine.node_ordr`; did you mean `engine.node_order`?",
    );
    refused(
        &queue("  capcity = 1"),
        "3:3: unknown key `queues.\"root.a\".capcity`; did you mean `queues.\"root.a\".capacity`?",
    );
    refused(
        &queue("capacity = { memory_mb = 1 }"),
        "3:14: queues.\"root.a\".capacity.memory_mb: unknown resource type `memory_mb`; \
         did you mean `memory_mib`?",
    );
    refused("x = 1", "1:1: unknown key `x`");
    let error = from_toml("x = 1", "f").unwrap_err();
    assert_eq!(error.problem, ConfigFileProblem::UnknownKey { key: "x".to_owned(), nearest: None });
}

#[test]
fn a_value_of_the_wrong_type_is_refused_where_it_is() {
    refused("engine = 1", "1:10: engine: expected a table, found a whole number");
    refused(
        "[engine]\nnode_order = \"sprea\"",
        "2:14: engine.node_order: `sprea` is not one of \"spread\", \"pack\", \"first\"; did you mean `spread`?",
    );
    refused(
        "[engine]\npartitions = [\"a\", 1]",
        "2:20: engine.partitions: expected a string, found a whole number",
    );
    refused(
        "[engine.limits]\ninbox = \"many\"",
        "2:9: engine.limits.inbox: expected a whole number, found a string",
    );
    refused("[engine.limits]\ninbox = -1", "2:9: engine.limits.inbox: -1 is negative");
    refused(
        "[engine.limits]\noff_switch_per_pass = 4294967296",
        "2:23: engine.limits.off_switch_per_pass: 4294967296 is too large",
    );
    refused("[resources]\ntypes = [\"a\", \"a\"]", "2:9: resources.types: resource type `a` is named twice");
    refused(
        "[resources]\ndevices = \"gpu_milli\"",
        "2:11: resources.devices: unknown resource type `gpu_milli`; the engine counts memory_mib, vcore_milli",
    );
    refused("[engine.heartbeat]\ninterval_ms = 1", "1:9: engine.heartbeat.missed_max: is missing");
    refused(
        "[engine.locality_delay]\nrack_ms = 1\nany_nodes = 1",
        "3:13: engine.locality_delay.any_nodes: the delay is already given in milliseconds",
    );
}

#[test]
fn a_queue_with_a_wrong_value_is_refused_where_it_is() {
    let capacity = |value: &str| queue(&format!("capacity = {value}"));
    let key = "3:12: queues.\"root.a\".capacity:";
    refused(
        &capacity("true"),
        &format!("{key} expected \"40 %\", \"3w\" or a table of amounts, found true or false"),
    );
    refused(&capacity("\"40\""), &format!("{key} `40` is not a percentage like \"40 %\""));
    let range = "is not a number from 0 to 100 with at most 4 decimal places";
    refused(&capacity("\"101 %\""), &format!("{key} `101` {range}"));
    refused(&capacity("-1"), &format!("{key} `-1` {range}"));
    refused(&capacity("nan"), &format!("{key} `nan` {range}"));
    refused(&capacity("{ memory_mib = -1 }"), "3:27: queues.\"root.a\".capacity.memory_mib: -1 is negative");
    refused(
        &capacity("{ memory_mib = 4398046511105 }"),
        "3:27: queues.\"root.a\".capacity.memory_mib: 4398046511105 is too large; the maximum is 4398046511104",
    );
    refused(
        &queue("user_limit_factor = \"none\""),
        "3:21: queues.\"root.a\".user_limit_factor: expected a number or \"unlimited\", found a string",
    );
}

#[test]
fn a_path_that_is_none_is_refused() {
    refused("[queues.\"a.b\"]", "1:9: queues.\"a.b\": a queue's path must start at the root: \"root.a.b\"");
    refused("[queues.\"root..b\"]", "1:9: queues.\"root..b\": the name between two dots is empty");
    refused(
        "[queues.root.a]\ncapacity = 1",
        "1:14: queues.root.a: a queue's path must be quoted: [queues.\"root.a\"]",
    );
    let deep = format!("[queues.\"root{}\"]", ".a".repeat(100_000));
    let error = from_toml(&deep, "f").unwrap_err().to_string();
    assert!(error.ends_with("…: a path has at most 64 names"), "{error}");
    let deep = format!("[queues.\"root{}\"]", ".a".repeat(40));
    let error = from_toml(&deep, "f").unwrap_err().to_string();
    assert!(
        error.starts_with("f:1:9: queue `root.a.a") && error.ends_with("is deeper than 32 levels"),
        "{error}"
    );
}

#[test]
fn a_refusal_of_the_engine_has_its_place_in_the_file() {
    refused("", "1:1: queue `root`: needs at least one queue below it");
    let sum = "[engine]\n[queues.\"root.a\"]\ncapacity = 60\n[queues.\"root.b\"]\ncapacity = 41";
    refused(sum, "2:9: queue `root`: the capacities below it sum to 101 %, more than 100 %");
    refused(
        &format!("{sum}\n[queues.root]"),
        "6:9: queue `root`: the capacities below it sum to 101 %, more than 100 %",
    );
    let below = "capacity = { memory_mib = 9 }\nmaximum_capacity = { memory_mib = 8 }";
    refused(&queue(below), "2:9: queue `root.a`: its maximum of memory_mib is below its capacity");
    let template =
        queue("[queues.\"root.b\"]\ncapacity = 1\n[queues.\"root.b\".auto_creation.leaf]\ncapacity = \"0w\"");
    let weightless = "3:9: queue `root.b` (auto_creation.leaf): its weight is 0; it must be above 0";
    refused(&template, weightless);
    refused(&queue("[engine.limits]\ninbox = 0"), "4:1: engine.limits.inbox: must be at least 1");
    refused(
        &queue("[engine.heartbeat]\ninterval_ms = 0\nmissed_max = 1"),
        "4:1: engine.heartbeat.interval_ms: must be at least 1",
    );
    refused(&queue("[engine]\npartitions = [\"a\", \"a\"]"), "4:1: engine.partitions: `a` is named twice");
    let lending =
        |names: &str| queue(&format!("[engine]\npartitions = [\"gpu\"]\nnon_exclusive_partitions = {names}"));
    refused(
        &lending("[\"gqu\"]"),
        "5:1: engine.non_exclusive_partitions: `gqu` is not one of the partitions; did you mean `gpu`?",
    );
    refused(&lending("[\"gpu\", \"gpu\"]"), "5:1: engine.non_exclusive_partitions: `gpu` is named twice");
}

#[test]
fn what_is_not_toml_is_refused_where_it_breaks() {
    for (text, place) in [
        ("[engine", "f:1:8: not TOML: "),
        ("ü = 1 2", "f:1:1: not TOML: "),
        ("[queues.\"root.a\"]\n\n[queues.\"root.a\"]", "f:3:9: not TOML: duplicate key"),
        ("a = \"", "f:1:6: not TOML: "),
        ("[engine]\nnode_order = \"spread\"\nnode_order = \"pack\"", "f:3:1: not TOML: duplicate key"),
    ] {
        let error = from_toml(text, "f").expect_err(text).to_string();
        assert!(error.starts_with(place), "{text:?}: {error}");
    }
    let nested = format!("a = {}", "[".repeat(100_000));
    assert!(from_toml(&nested, "f").is_err(), "nesting is bounded");
}

#[test]
fn preemption_is_read_with_defaults() {
    let with = |lines: &str| read(&format!("[queues.\"root.a\"]\n{lines}\n")).preemption;
    assert_eq!(with(""), None);
    assert_eq!(with("[engine.preemption]"), Some(PreemptionRounds::default()));
    let rounds = with("[engine.preemption.within_queue]\norder = \"priority_first\"");
    let within = WithinQueuePolicy { order: WithinQueueOrder::PriorityFirst, ..WithinQueuePolicy::default() };
    assert_eq!(rounds.unwrap().policy.within_queue, Some(within));
    let rounds =
        with("[engine.preemption]\nper_round = 100\ndead_zone = \"0 %\"\nexempt = [\"root.a\"]").unwrap();
    assert_eq!((rounds.policy.per_round, rounds.policy.dead_zone), (Percent::ALL, Percent::NONE));
    assert_eq!(rounds.policy.exempt, ["root.a".to_owned()].into());
}

#[test]
fn queues_of_opportunistic_containers_are_read_with_defaults() {
    let with = |lines: &str| format!("[queues.\"root.a\"]\n{lines}\n");
    assert_eq!(read(&with("")).opportunistic, None);
    let of = |lines: &str| read(&with(lines)).opportunistic.unwrap().queue_length_max;
    assert_eq!(of("[engine.opportunistic]"), 15);
    assert_eq!(of("[engine.opportunistic]\nqueue_length_max = 4"), 4);
    for (lines, message) in [
        (
            "[engine.opportunistc]",
            "2:9: unknown key `engine.opportunistc`; did you mean `engine.opportunistic`?",
        ),
        (
            "[engine.opportunistic]\nqueue_length = 4",
            "3:1: unknown key `engine.opportunistic.queue_length`; did you mean `engine.opportunistic.queue_length_max`?",
        ),
        (
            "[engine.opportunistic]\nqueue_length_max = 0",
            "3:1: engine.opportunistic.queue_length_max: must be at least 1: each opportunistic container goes through a queue",
        ),
    ] {
        refused(&with(lines), message);
    }
}

#[test]
fn mistakes_in_preemption_name_their_place() {
    let with = |lines: &str| format!("[queues.\"root.a\"]\n[engine.preemption]\n{lines}\n");
    for (lines, message) in [
        (
            "intervall_ms = 1",
            "3:1: unknown key `engine.preemption.intervall_ms`; did you mean `engine.preemption.interval_ms`?",
        ),
        ("interval_ms = 0", "3:1: engine.preemption.interval_ms: must be at least 1"),
        (
            "per_round = \"101 %\"",
            "3:13: engine.preemption.per_round: `101` is not a number from 0 to 100 with at most 4 decimal places",
        ),
        (
            "per_round = \"0 %\"",
            "3:1: engine.preemption.per_round: with 0 % a round takes nothing; give more than 0 %, or leave out [engine.preemption]",
        ),
        (
            "exempt = [\"root.b\"]",
            "3:1: engine.preemption.exempt: unknown queue `root.b`; did you mean `root.a`?",
        ),
        (
            "within_queue = { exempt = [\"root.b\"] }",
            "3:18: engine.preemption.within_queue.exempt: unknown queue `root.b`; did you mean `root.a`?",
        ),
        (
            "within_queue = { order = \"priority\" }",
            "3:26: engine.preemption.within_queue.order: `priority` is not one of \"user_limit_first\", \"priority_first\"; did you mean `priority_first`?",
        ),
    ] {
        refused(&with(lines), message);
    }
    let text = "[engine.preemption]\nexempt = [\"root.users.ann\"]\n[queues.\"root.users\".auto_creation]\n";
    assert!(read(text).preemption.is_some(), "the queue may be created later");
}
