//! Wrong tables: each is refused with line, column and a hint to the right content.

use apportion_bench::trace::Format;

use crate::support::{node_refusal, refusal};

const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\n";
const PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
                    deletion_time,scheduled_time\n";

fn pod(row: &str) -> String {
    refusal(Format::Openb, &format!("{PODS}good,1,1,1,1000,,LS,Running,0,1,0\n{row}\n"))
}

fn node(row: &str) -> String {
    node_refusal(Format::Openb, &format!("{NODES}good,1,1,0,\n{row}\n"))
}

#[test]
fn a_wrong_header_is_compared_with_the_known_one() {
    let header = |text: &str| node_refusal(Format::Openb, text);
    assert_eq!(
        header("sn,cpu_mili,memory_mib,gpu,model"),
        "t:1: unknown column `cpu_mili`; did you mean `cpu_milli`?"
    );
    let missing = "t:1: column `model` is missing; needed are `sn,cpu_milli,memory_mib,gpu,model`";
    assert_eq!(header("sn,cpu_milli,memory_mib,gpu"), missing);
    assert!(header("cpu_milli,sn,memory_mib,gpu,model").contains("another order"));
    assert!(header("").contains("column `sn` is missing"));
    let pods = refusal(Format::Openb, &PODS.replace("qos", "quality"));
    assert!(pods.starts_with("t:1: unknown column `quality`"), "{pods}");
    assert!(refusal(Format::Openb, NODES).starts_with("t:1: unknown column `sn`"));
}

#[test]
fn rows_of_another_length_are_refused() {
    assert_eq!(node("n,1,1"), "t:3: the row has 3 columns, and needs 5");
    assert_eq!(node("n,1,1,0,,9"), "t:3: the row has 6 columns, and needs 5");
    let swim = refusal(Format::Swim, "job0\t1\t1\t5\t0\t0\njob1\t2\n");
    assert_eq!(swim, "t:2: the row has 2 columns, and needs 6");
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert!(node("n,-1,1,0,").starts_with("t:3: cpu_milli: `-1` is negative"));
    assert!(
        node("n,1,99999999999999999999,0,")
            .starts_with("t:3: memory_mib: `99999999999999999999` is too large")
    );
    assert!(node("n,1,9000000000000000,0,").contains("memory_mib of 9000000000000000 is too large"));
    assert_eq!(node("n,1,1,17,"), "t:3: gpu: 17 is too large; at most 16 is possible");
    assert!(node("n,,1,0,").starts_with("t:3: cpu_milli: `` is not a whole number"));
    assert_eq!(pod("p,1,1,17,1000,,,,0,1,0"), "t:3: num_gpu: 17 is too large; at most 16 is possible");
    assert_eq!(pod("p,1,1,1,1001,,,,0,1,0"), "t:3: gpu_milli: 1001 is too large; at most 1000 is possible");
    assert!(pod("p,1,1,1,0,,,,0,1,0").starts_with("t:3: gpu_milli: 0 of each of 1 GPUs"));
    assert!(
        refusal(Format::Swim, "job0\t-1\t1\t5\t0\t0\n").starts_with("t:1: submit_time_s: `-1` is negative")
    );
}

#[test]
fn times_must_be_in_order() {
    assert_eq!(pod("p,1,1,0,0,,,,9,8,"), "t:3: deletion_time: 8 is before creation_time 9");
    assert_eq!(pod("p,1,1,0,0,,,,5,8,9.0"), "t:3: deletion_time: 8 is before scheduled_time 9");
}

#[test]
fn names_must_differ() {
    assert_eq!(pod("good,1,1,0,0,,,,0,1,0"), "t:3: name: pod `good` is there twice; names must differ");
    assert_eq!(node("good,1,1,0,"), "t:3: sn: node `good` is there twice; names must differ");
    assert!(pod(",1,1,0,0,,,,0,1,0").contains("name: is empty"));
}

#[test]
fn an_empty_model_is_refused() {
    assert!(pod("p,1,1,1,1000,T4||G2,,,0,1,0").starts_with("t:3: gpu_spec: `T4||G2` has an empty model"));
}

#[test]
fn a_list_without_rows_is_refused() {
    assert_eq!(node_refusal(Format::Openb, NODES), "t: has zero nodes; at least one is needed");
    assert_eq!(refusal(Format::Openb, PODS), "t: has no jobs; at least one is needed");
}
