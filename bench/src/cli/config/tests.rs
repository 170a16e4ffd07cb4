//! Typical configuration files, and the schema against the reader and the writer.

use std::path::Path;

use apportion::config::{
    AccessList, AllocationSizes, ApplicationLimits, ApplicationOrdering, AutoCreation, Bound, Capacity,
    Creation, EngineConfig, EngineLimits, Factor, Fallback, HeartbeatPolicy, HolderLimit, Lifetimes,
    LocalityDelay, MappingAction, MappingRule, Maximum, NodeOrderKind, OpportunisticPolicy, ParallelLimits,
    PartitionAccess, PartitionCapacity, Percent, PlaceIn, PreemptionPolicy, PreemptionRounds, QueueConfig,
    QueueMapping, QueueOrdering, QueuePath, QueueState, ReservationPolicy, RuleFilter, Semantics, Share,
    WithinQueueOrder, WithinQueuePolicy,
};
use apportion::{NodeSpec, ResourceTypes, Resources};
use apportion_formats::Imported;
use apportion_formats::toml::{from_toml, to_toml};
use serde_json::{Value, json};

use super::cluster::ClusterArgs;
use super::convert::native;
use super::read::{SemanticsWord, read, report_line};
use super::tree::tree;
use super::{Files, schema, show};
use crate::cli::Failure;

mod everything;
mod validator;

use everything::everything;

fn files(path: &Path) -> Files {
    Files {
        file: path.to_owned(),
        format: None,
        yarn_site: None,
        resource_types: None,
        types: None,
        semantics: None,
    }
}

/// Reads a text from a file with this name in a temporary folder.
fn read_text(name: &str, text: &str) -> Result<Imported, Failure> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    read(&files(&path)).map(|(_, imported)| imported)
}

const YUNIKORN: &str = "partitions:
- queues:
  - name: dev
    maxapplications: 4
    resources: {guaranteed: {memory: 4Gi, vcore: 2}, max: {memory: 8Gi}}
  - name: prod
    properties: {my.note: \"ann\\nops\"}
";

const YARN: &str = "<configuration>
<property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
<property><name>yarn.scheduler.capacity.root.a.capacity</name><value>25</value></property>
<property><name>yarn.scheduler.capacity.root.b.capacity</name><value>75</value></property>
<property><name>yarn.scheduler.capacity.root.b.maximum-capacity</name><value>80</value></property>
<property><name>yarn.scheduler.capacity.root.b.queues</name><value>c</value></property>
<property><name>yarn.scheduler.capacity.root.b.c.capacity</name><value>100</value></property>
<property><name>yarn.scheduler.capacity.root.b.acl_submit_applications</name><value>x
[queues.\"root.evil\"]</value></property>
</configuration>";

#[test]
fn semantics_are_said_where_no_file_says_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capacity-scheduler.xml");
    std::fs::write(&path, YARN).unwrap();
    let read_as = |semantics| read(&Files { semantics, ..files(&path) }).unwrap().1;
    assert_eq!(read_as(None).config.semantics, Semantics::Strict);
    let imported = read_as(Some(SemanticsWord::YarnCompatible));
    assert!(native(&imported).contains("semantics = \"yarn_compatible\""), "{}", native(&imported));
    std::fs::write(folder.path().join("own.toml"), native(&imported)).unwrap();
    let own = Files { semantics: Some(SemanticsWord::Strict), ..files(&folder.path().join("own.toml")) };
    let problem = read(&own).unwrap_err().to_string();
    assert!(problem.contains("a native file has engine.semantics"), "{problem}");
}

#[test]
fn a_converted_configuration_reads_the_same() {
    for (name, text, count) in [("q.yaml", YUNIKORN, 2), ("cs.xml", YARN, 1), ("unnamed", YARN, 1)] {
        let imported = read_text(name, text).unwrap();
        assert_eq!(imported.not_carried_over.len(), count);
        let written = native(&imported);
        let head: Vec<_> = written.lines().take_while(|line| line.starts_with("# ")).collect();
        assert_eq!(head.len(), count, "a value with line breaks stays in its comment: {written}");
        assert_eq!(from_toml(&written, "written.toml"), Ok(imported.config.clone()), "{written}");
        assert_eq!(read_text("written.toml", &written).unwrap(), Imported::from(imported.config));
    }
}

#[test]
fn without_a_cluster_shares_are_percentages() {
    let imported = read_text("cs.xml", YARN).unwrap();
    let tree = tree(&imported.config, vec![]).unwrap();
    let figures = show::json(super::Format::Yarn, &imported, &tree);
    let effective = |position: usize| figures["queues"][position]["effective"].clone();
    let part = |least, most| json!([{ "partition": "", "minimum": { "percent": least }, "maximum": { "percent": most } }]);
    assert_eq!(effective(0), part(100.0, 100.0));
    assert_eq!(effective(1), part(25.0, 100.0));
    assert_eq!(effective(2), part(75.0, 80.0));
    assert_eq!(effective(3), part(75.0, 80.0), "a child has what its parent has");
    let table = show::table(&imported.config, &tree);
    assert!(table.lines().any(|line| line.contains(" b ") && line.contains("75 %") && line.contains("80 %")));
}

#[test]
fn guarantees_beyond_the_cluster_are_told() {
    const CROWDED: &str = "partitions:
- queues:
  - name: dev
    resources: {guaranteed: {memory: 10Gi, vcore: 1}}
    queues:
    - {name: night, resources: {guaranteed: {memory: 9Gi}}}
  - name: prod
    resources: {guaranteed: {memory: 10Gi, vcore: 1}}
";
    let imported = read_text("q.yaml", CROWDED).unwrap();
    let check = |cluster: &str| {
        let cluster = ClusterArgs { cluster: vec![cluster.to_owned()], nodes: None };
        let tree = tree(&imported.config, cluster.parts(&imported.config).unwrap()).unwrap();
        let figures = show::json(super::Format::Yunikorn, &imported, &tree);
        (show::table(&imported.config, &tree), figures["queues"].clone())
    };
    let (text, queues) = check("memory=8Gi,vcores=4");
    let root =
        "\nroot: 20480 memory_mib are guaranteed below it, and it has 8192: guarantees are scaled to 40 %";
    assert!(text.contains(root), "{text}");
    assert!(
        text.contains("\nroot.dev: 9216 memory_mib are guaranteed below it, and it has 4096: "),
        "{text}"
    );
    assert_eq!(
        queues[0]["scaled_below"],
        json!([{ "partition": "", "type": "memory_mib", "guaranteed": 20480, "has": 8192, "percent": 40.0 }])
    );
    let (text, queues) = check("memory=20Gi,vcores=2");
    assert!(!text.contains("scaled") && queues[0]["scaled_below"] == json!([]), "{text}");
}

#[test]
fn in_a_cluster_shares_are_amounts() {
    let imported = read_text("q.yaml", YUNIKORN).unwrap();
    let unknown = tree(&imported.config, vec![]).unwrap();
    assert!(unknown.rows.iter().all(|row| row.effective.is_empty()));
    assert!(show::table(&imported.config, &unknown).contains("give --cluster or --nodes"));
    let cluster = ClusterArgs { cluster: vec!["memory=16Gi,vcores=10".to_owned()], nodes: None };
    let parts = cluster.parts(&imported.config).unwrap();
    let tree = tree(&imported.config, parts).unwrap();
    let amounts = |amounts: &[i64]| Resources::new(amounts);
    let dev = (String::new(), amounts(&[4_096, 2_000]), amounts(&[8_192, 10_000]));
    let prod = (String::new(), amounts(&[12_288, 8_000]), amounts(&[16_384, 10_000]));
    assert_eq!(tree.rows[1].effective, [dev]);
    assert_eq!(tree.rows[2].effective, [prod]);
}

#[test]
fn types_that_have_different_parts_are_named() {
    let text = "[queues.\"root.a\"]\ncapacity = { memory_mib = \"30 %\", vcore_milli = \"1w\" }";
    let imported = read_text("q.toml", text).unwrap();
    let tree = tree(&imported.config, vec![]).unwrap();
    let table = show::table(&imported.config, &tree);
    for cell in ["memory_mib=30 %, vcore_milli=1w", "memory_mib=30 %, vcore_milli=100 %"] {
        assert!(table.contains(cell), "{table}");
    }
    let figures = show::json(super::Format::Native, &imported, &tree);
    let least = &figures["queues"][1]["effective"][0]["minimum"];
    assert_eq!(*least, json!({ "percent": { "memory_mib": 30.0, "vcore_milli": 100.0 } }));
}

#[test]
fn each_partition_has_a_line_of_its_own() {
    let text = "[engine]\npartitions = [\"gpu\"]\nnon_exclusive_partitions = [\"gpu\"]\n\
                [queues.\"root.a\"]\ncapacity = \"30 %\"\n\
                [queues.\"root.a\".partitions.gpu]\ncapacity = \"80 %\"\nmaximum_capacity = \"90 %\"\n\
                [queues.\"root.b\"]\ncapacity = \"70 %\"\naccessible_partitions = []\n\
                [queues.\"root.b.c\"]";
    let imported = read_text("q.toml", text).unwrap();
    let without_cluster = tree(&imported.config, vec![]).unwrap();
    let cells = |table: &str| -> Vec<Vec<String>> {
        let lines = table.lines().filter(|line| line.contains('┆'));
        lines
            .map(|line| line.trim_matches('│').split('┆').map(|cell| cell.trim().to_owned()).collect())
            .collect()
    };
    let shown = show::table(&imported.config, &without_cluster);
    assert!(shown.ends_with("take asks for the default partition: gpu."), "{shown}");
    let lines = cells(&shown);
    let rest: Vec<Vec<&str>> = lines.iter().map(|line| line.iter().map(String::as_str).collect()).collect();
    assert_eq!(rest[3], ["a", "30 %", "100 %", "(default)", "30 %", "100 %"]);
    assert_eq!(rest[4], ["a", "80 %", "90 %", "gpu", "80 %", "90 %"]);
    assert_eq!(rest[8], ["c", "no access", "no access", "gpu", "0 %", "0 %"]);
    let figures = show::json(super::Format::Native, &imported, &without_cluster);
    assert_eq!(figures["non_exclusive_partitions"], json!(["gpu"]));
    let [_, a, b, _] = &figures["queues"].as_array().unwrap()[..] else { panic!("four queues") };
    assert_eq!(a["partitions"], json!({ "gpu": { "capacity": "80 %", "maximum": "90 %" } }));
    assert_eq!((&a["accessible_partitions"], &b["accessible_partitions"]), (&json!(null), &json!([])));
    let amounts = read_text("q.toml", &text.replace("\"80 %\"", "{ memory_mib = 1 }")).unwrap();
    let lines = cells(&show::table(&amounts.config, &tree(&amounts.config, vec![]).unwrap()));
    assert_eq!(lines[3][1..4], ["memory_mib=1", "90 %", "gpu"].map(str::to_owned));
    let gpu = "gpu:memory=10,vcores=1".to_owned();
    let cluster = ClusterArgs { cluster: vec![gpu], nodes: None };
    let tree = tree(&amounts.config, cluster.parts(&amounts.config).unwrap()).unwrap();
    let one = (String::from("gpu"), Resources::new(&[1, 0]), Resources::new(&[9, 900]));
    assert_eq!(tree.rows[1].effective, [one]);
}

#[test]
fn clusters_are_checked() {
    let mut config = EngineConfig::new(
        ResourceTypes::new(["vcore_milli", "memory_mib", "gpu_milli"])
            .unwrap()
            .with_devices("gpu_milli")
            .unwrap(),
        QueueConfig::single_leaf(),
    );
    config.partitions = vec!["gpu".to_owned()];
    let parts = |text: &str| {
        let args = ClusterArgs { cluster: vec![text.to_owned()], nodes: None };
        args.parts(&config).map_err(|failure| failure.to_string())
    };
    for (text, problem) in [
        ("memory", "expected TYPE=AMOUNT, found `memory`"),
        ("memory=-1", "`memory=-1` has no whole amount; of memory it may end in Mi, Gi or Ti"),
        ("memory=1.5Gi", "`memory=1.5Gi` has no whole amount; of memory it may end in Mi, Gi or Ti"),
        (
            "vcores=9999999999999999999",
            "`vcores=9999999999999999999` has no whole amount; of memory it may end in Mi, Gi or Ti",
        ),
        ("memory=8388608Ti", "memory_mib = 8796093022208 is out of range (0 to 4398046511104)"),
        (
            "vcore=16",
            "unknown resource type `vcore`; expected memory, vcores, vcore_milli, memory_mib, gpu_milli",
        ),
        (
            "mem=64Gi",
            "unknown resource type `mem`; expected memory, vcores, vcore_milli, memory_mib, gpu_milli",
        ),
        ("memory=1Gi,memory_mib=2", "`memory_mib` has two amounts"),
        ("gqu:memory=1", "the configuration has no partition `gqu`"),
    ] {
        assert_eq!(parts(text).unwrap_err(), format!("--cluster {text}: {problem}"));
    }
    let given = parts("gpu:memory=1Gi,vcores=2,gpu_milli=20000").unwrap();
    let devices: Vec<_> = given[0].1.iter().map(|node: &NodeSpec| node.devices).collect();
    assert_eq!((given[0].0.as_str(), devices), ("gpu", vec![16, 4]));
    let tree = tree(&config, given).unwrap();
    assert_eq!(tree.rows[0].effective[0].1, Resources::new(&[2_000, 1_024, 20_000]));
}

#[test]
fn bad_configurations_end_with_place_and_exit_code_2() {
    let xml = |properties: &str| format!("<configuration>\n{properties}</configuration>");
    let property = |key: &str, value: &str| {
        format!("<property><name>yarn.scheduler.capacity.{key}</name><value>{value}</value></property>\n")
    };
    let leaf = property("root.queues", "a") + &property("root.a.capacity", "100");
    let over = property("root.queues", "a,b")
        + &property("root.a.capacity", "60")
        + &property("root.b.capacity", "41");
    let itself = leaf.clone() + &property("root.a.queues", "a");
    let mapping = leaf.clone() + &property("queue-mappings", "u:ann:c");
    let negative = leaf.clone() + &property("root.a.maximum-capacity", "-7");
    let bomb = "<!DOCTYPE b [<!ENTITY a \"x\"><!ENTITY b \"&a;&a;\">]>\n<configuration/>";
    let anchors = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                   c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                   e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]";
    for (name, text, place) in [
        ("a.xml", xml(&over), "a.xml:2:17: queue `root`: the capacities below it sum to 101 %"),
        ("a.xml", xml(&itself), "a.xml:4:17: queue `root.a.a`: `root.a` lists itself"),
        ("a.xml", xml(&mapping), "a.xml:4:69: yarn.scheduler.capacity.queue-mappings: unknown queue `c`"),
        (
            "a.xml",
            xml(&negative),
            "a.xml:4:78: yarn.scheduler.capacity.root.a.maximum-capacity: `-7` is negative",
        ),
        ("a.xml", bomb.to_owned(), "a.xml:1:1: a document type is refused"),
        ("a.yaml", anchors.to_owned(), "a.yaml:5:"),
        ("a.yaml", "[".repeat(9_999), "a.yaml:1:"),
        (
            "a.toml",
            "[queues.\"root.a\"]\ncapacity = \"60 %\"\n[queues.\"root.b\"]\ncapacity = 41".into(),
            "a.toml:",
        ),
        ("a.toml", "[queues.\"root.a\"]\n[queues.\"root.a\"]".into(), "a.toml:2:"),
        (
            "a.toml",
            "[queues.\"root.a\"]\ncapacity = true".into(),
            "a.toml:2:12: queues.\"root.a\".capacity: expected",
        ),
        (
            "a.toml",
            "[queues.\"root.a\"]\npriority = 99999999999".into(),
            "a.toml:2:12: queues.\"root.a\".priority:",
        ),
    ] {
        let failure = read_text(name, &text).expect_err(&text);
        let message = failure.to_string();
        assert!(message.contains(&format!("/{place}")), "{message}");
        assert_eq!(failure.code(), 2);
    }
}

#[test]
fn options_of_one_format_are_refused_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("q.yaml");
    std::fs::write(&path, YUNIKORN).unwrap();
    let with_site = Files { yarn_site: Some(path.clone()), ..files(&path) };
    let message = read(&with_site).unwrap_err().to_string();
    assert_eq!(message, "--yarn-site applies only to a capacity-scheduler.xml");
    let of_toml = folder.path().join("q.toml");
    std::fs::write(&of_toml, "[queues.\"root.a\"]").unwrap();
    let with_types = Files { types: Some(vec!["gpu".to_owned()]), ..files(&of_toml) };
    assert!(read(&with_types).unwrap_err().to_string().starts_with("--types applies only to imported files"));
    let twice = Files { types: Some(vec!["gpu".to_owned(); 2]), ..files(&path) };
    assert_eq!(read(&twice).unwrap_err().to_string(), "--types: resource type `gpu` is named twice");
}

#[test]
fn the_samples_of_the_load_simulator_are_read() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let data = std::env::var_os("APPORTION_DATA").unwrap_or_else(|| "../shared/data".into());
    let folder = workspace.join(data).join("hadoop-sls");
    if !folder.exists() {
        assert!(std::env::var_os("APPORTION_DATA_REQUIRED").is_none(), "{} is absent", folder.display());
        println!("skipped: {} is absent", folder.display());
        return;
    }
    let queues = folder.join("sample-conf-capacity-scheduler.xml");
    let site = folder.join("sample-conf-yarn-site.xml");
    let (_, imported) = read(&Files { yarn_site: Some(site), ..files(&queues) }).unwrap();
    assert_eq!(imported.config.root.children.len(), 3);
    let lines: Vec<_> = imported.not_carried_over.iter().map(report_line).collect();
    assert_eq!(imported.config.root.applications.total, Some(1000), "which yarn-site.xml says");
    assert!(lines.iter().any(|line| line.contains("yarn.resourcemanager.scheduler.class")), "{lines:?}");
    let fair = read(&files(&folder.join("sample-conf-fair-scheduler.xml"))).unwrap_err().to_string();
    assert!(fair.contains("this is a file of the fair scheduler"), "{fair}");
}

fn schema() -> Value {
    serde_json::from_str(schema::SCHEMA).unwrap()
}

/// A native file as JSON.
fn as_json(text: &str) -> Value {
    toml::from_str(text).unwrap()
}

#[test]
fn the_schema_knows_every_key_that_is_written() {
    let whole = to_toml(&everything());
    assert_eq!(validator::problems(&schema(), &as_json(&whole)), Vec::<String>::new(), "{whole}");
    let plain = to_toml(&EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf()));
    assert_eq!(validator::problems(&schema(), &as_json(&plain)), Vec::<String>::new(), "{plain}");
}

/// The example of the page, with its commented-out keys.
fn example() -> String {
    let page = include_str!("../../../../docs/configuration.md");
    let fenced = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let without = |line: &str| {
        !["# rack_nodes", "# any_nodes", "# full_reset"].iter().any(|hint| line.starts_with(hint))
    };
    let lines = fenced.lines().filter(|line| without(line));
    let uncommented = |line: &str| line.strip_prefix("# ").unwrap_or(line).to_owned();
    let text: Vec<_> = lines.map(uncommented).collect();
    text.join("\n")
        .replace(
            "types = [\"memory_mib\", \"vcore_milli\"]",
            "types = [\"memory_mib\", \"vcore_milli\", \"gpu_milli\"]",
        )
        .replace("partitions = []", "partitions = [\"gpu\"]")
}

#[test]
fn the_page_the_schema_and_the_reader_agree() {
    let example = example();
    from_toml(&example, "configuration.md").unwrap_or_else(|error| panic!("{error}\n{example}"));
    assert_eq!(validator::problems(&schema(), &as_json(&example)), Vec::<String>::new());
    for key in validator::keys(&schema()) {
        assert!(
            example.contains(&key) || ["rack_nodes", "any_nodes", "full_reset"].contains(&key.as_str()),
            "{key} is undocumented"
        );
    }
    for wrong in [
        "[queue.\"root.a\"]",
        "[queues.\"root.a\"]\ncapcity = \"1w\"",
        "[queues.\"root.a\"]\ncapacity = true",
        "[queues.\"root.a\"]\ncapacity = \"much\"",
        "[queues.\"root.a\"]\ncapacity = 101",
        "[queues.\"root.a\"]\nordering = \"fare\"",
        "[queues.\"root.a\"]\ncapacity = { memory_mib = -1 }",
        "[queues.\"root.a\"]\ncapacity = { memory_mib = 1.5 }",
        "[queues.\"root.a\"]\nmaximum_capacity = { memory_mib = \"2w\" }",
        "[queues.\"root.a\".partitions.gpu]\nstate = \"running\"",
        "[queues.\"root.a\"]\naccessible_partitions = \"gpu\"",
        "[queues.\"root.a\"]\nuser_limit_factor = 0",
        "[queues.a]",
        "[queues.\"root.a\"]\nsubmitters = \"a b c\"",
        "[queues.\"root.a\"]\n[[placement.rules]]\nusers = [\"ann\"]",
        "[queues.\"root.a\"]\n[[placement.rules]]\nreject = true\nqueue = \"root.a\"",
        "[queues.\"root.a\"]\n[engine.limits]\ninbox = 0",
        "[queues.\"root.a\"]\n[engine.heartbeat]\ninterval_ms = 1",
        "[queues.\"root.a\"]\n[engine.preemption]\ninterval_ms = 0",
        "[queues.\"root.a\"]\n[engine.preemption]\nper_round = 101",
        "[queues.\"root.a\"]\n[engine.preemption.within_queue]\norder = \"fifo\"",
        "[queues.\"root.a\"]\n[engine.locality_delay]\nrack_ms = 1\nany_nodes = 2",
        "[queues.\"root.a\"]\n[resources]\ntypes = []",
        "[queues.\"root.a\"]\n[queues.\"root.a\".auto_creation.leaf]\ndefault_partition = \"gpu\"",
        "[queues.\"root.a\"]\n[queues.\"root.a\".auto_creation.leaf.auto_creation]\ndepth_max = 1",
    ] {
        assert!(from_toml(wrong, "wrong.toml").is_err(), "{wrong}");
        assert!(!validator::problems(&schema(), &as_json(wrong)).is_empty(), "{wrong}");
    }
}
