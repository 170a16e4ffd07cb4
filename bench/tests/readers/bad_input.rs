//! Unreadable files and wrong JSON: each is refused with the place and with a hint to the right content.

use std::io::Write;
use std::path::Path;

use apportion_bench::trace::{Format, ReadOptions, Source, read_nodes, read_workload};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{node_refusal, refusal};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn named(name: &str, bytes: &[u8]) -> Result<usize, String> {
    let workload = read_workload(Format::Swim, Source::new(name, bytes), &ReadOptions::default());
    workload.map(|workload| workload.jobs.len()).map_err(|error| error.to_string())
}

#[test]
fn a_missing_file_is_named() {
    let error = Source::open(Path::new("/no/such/file.csv")).unwrap_err();
    assert!(error.to_string().starts_with("/no/such/file.csv: cannot be opened: "), "{error}");
    assert!(error.cause.is_some());
}

#[test]
fn a_folder_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let source = Source::open(folder.path()).unwrap();
    let error = read_nodes(Format::Sls, source).unwrap_err().to_string();
    assert!(error.contains("cannot be read"), "{error}");
}

#[test]
fn gzip_goes_by_the_name() {
    let row = "job0\t1\t1\t5\t0\t0\n";
    let packed = gzip(&row.repeat(1000));
    assert_eq!(named("a.tsv", row.as_bytes()), Ok(1));
    assert_eq!(named("a.tsv.gz", &packed), Ok(1000));
    let twice = [packed.clone(), packed].concat();
    assert_eq!(named("a.tsv.GZ", &twice), Ok(2000), "gzip members follow one another");
}

#[test]
fn truncated_gzip_is_told_apart() {
    let packed = gzip(&"job0\t1\t1\t5\t0\t0\n".repeat(1000));
    for kept in [0, 5, packed.len() / 2, packed.len() - 1] {
        let error = named("a.tsv.gz", &packed[..kept]).unwrap_err();
        assert_eq!(error, "a.tsv.gz: is cut off: the gzip data end too early", "{kept} bytes");
    }
}

#[test]
fn plain_text_under_the_name_of_gzip_is_refused() {
    let error = named("a.tsv.gz", b"job0\t1\t1\t5\t0\t0\n").unwrap_err();
    assert!(error.starts_with("a.tsv.gz: is named .gz but is not valid gzip"), "{error}");
}

#[test]
fn gzip_under_a_plain_name_is_no_text() {
    let error = named("a.tsv", &gzip("job0\t1\t1\t5\t0\t0\n")).unwrap_err();
    assert!(error.contains("is not UTF-8 text; a gzip file must be named .gz"), "{error}");
    let json = read_nodes(Format::Sls, Source::new("n.json", &b"{}\n{\"rack\":\n\"\xff\"}"[..])).unwrap_err();
    assert!(json.to_string().starts_with("n.json:1: rack: is missing"), "{json}");
    let json = read_nodes(Format::Sls, Source::new("n.json", &b"\n{\"rack\":\n\"\xff\"}"[..])).unwrap_err();
    assert!(json.to_string().starts_with("n.json:3: is not UTF-8"), "{json}");
}

#[test]
fn broken_json_has_line_and_column() {
    let cluster = "{\"num.nodes\":1}\n";
    let broken = |text: &str| refusal(Format::Sls, &format!("{cluster}{text}"));
    assert_eq!(broken("{\n  \"am.type\" \"dag\"}"), "t:3:13: expected `:`");
    assert_eq!(broken("{\"job.start.ms\": 1"), "t:2:18: EOF while parsing an object");
    assert_eq!(broken("[]"), "t:2:1: `[` found; objects `{...}` one after another are needed");
    let deep = refusal(Format::Rumen, &"{\"a\":[".repeat(100_000));
    assert!(deep.contains("EOF while parsing"), "{deep}");
}

#[test]
fn an_unknown_key_offers_the_nearest() {
    let sls = refusal(Format::Sls, "{\n  \"job.tsks\": []\n}");
    assert_eq!(sls, "t:2:12: unknown key `job.tsks`; did you mean `job.tasks`?");
    let task = "{\"job.tasks\": [\n{\"container.strat.ms\": 1}]}";
    let task = refusal(Format::Sls, task);
    assert_eq!(task, "t:2:21: unknown key `container.strat.ms`; did you mean `container.start.ms`?");
    let synth = refusal(Format::Synth, "{\"num_node\": 1}");
    assert_eq!(synth, "t:1:11: unknown key `num_node`; did you mean `num_nodes`?");
    let nodes = node_refusal(Format::Sls, "{\"rack\":\"r\",\"nodes\":[{\"memory_mb\":1}]}");
    assert!(nodes.ends_with("unknown key `memory_mb`; did you mean `memory-mb`?"), "{nodes}");
}

#[test]
fn an_unknown_kind_offers_the_nearest() {
    let job = refusal(Format::Sls, "{\n\"am.type\": \"mapreduc\"}");
    assert_eq!(job, "t:2:21: unknown type of application master `mapreduc`; did you mean `mapreduce`?");
    let task = refusal(Format::Sls, "{\"job.tasks\": [{\"container.type\":\"mapp\"}]}");
    assert!(task.ends_with("unknown type of task `mapp`; did you mean `map`?"), "{task}");
}

#[test]
fn impossible_numbers_are_refused_where_they_stand() {
    let start = |number: &str| refusal(Format::Sls, &format!("{{\n\"job.start.ms\": {number}\n}}"));
    assert!(start("-5").starts_with("t:2:18: `-5` is negative"));
    assert!(start("\"-5\"").starts_with("t:2:20: `-5` is negative"));
    assert!(start("9007199254740993").starts_with("t:2:32: `9007199254740993` is too large"));
    assert!(start("1e300").contains("is too large"));
    assert!(start("1.5").contains("`1.5` is not a whole number"));
    assert_eq!(start("[]"), "t:2:18: invalid type: sequence, expected a whole number");
}

#[test]
fn what_one_number_asks_for_is_bounded() {
    let tasks = r#""job.tasks": [{"count": 99999999999, "duration.ms": 1}]"#;
    let job = format!(r#"{{"job.start.ms": 0, "job.queue.name": "q", {tasks}}}"#);
    let message =
        "a further 99,999,999,999 containers would be too many; the limit is 10,000,000 (`containers_max`)";
    assert_eq!(refusal(Format::Sls, &job), format!("t:1: job.tasks[0]: {message}"));
    assert!(refusal(Format::Sls, "{\"num.nodes\": 99999999999}").contains("more than 1048576 nodes"));
}

#[test]
fn duplicate_and_zero_nodes_are_refused() {
    let rack = |nodes: &str| format!("{{\"rack\":\"r\",\"nodes\":[{nodes}]}}");
    let node = "{\"node\":\"n\"}";
    let twice = format!("{}\n{}", rack(node), rack(node));
    assert_eq!(
        node_refusal(Format::Sls, &twice),
        "t:2: nodes[0]: node `n` is there twice; names must differ"
    );
    assert_eq!(node_refusal(Format::Sls, ""), "t: has zero nodes; at least one is needed");
    assert_eq!(node_refusal(Format::Sls, &rack("{}")), "t: has zero nodes; at least one is needed");
    assert!(node_refusal(Format::Sls, &rack("{\"vcores\":1}")).contains("nodes[0]: `node` is missing"));
}

#[test]
fn a_trace_without_jobs_is_refused() {
    for format in [Format::Sls, Format::Rumen, Format::Swim] {
        assert_eq!(refusal(format, ""), "t: has no jobs; at least one is needed");
    }
    assert_eq!(refusal(Format::Synth, ""), "t: is empty; one object is needed");
    assert_eq!(refusal(Format::Synth, "{}\n{}"), "t:2: a second object; one is needed");
}
