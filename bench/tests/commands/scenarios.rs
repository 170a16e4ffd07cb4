//! Scenarios from the command line: those of the repository, exit codes, and messages about malformed files.

use std::path::{Path, PathBuf};

use crate::case::{Case, contains_all, json};

const SCENARIO: &str = "about: two of three fit
modes: [serial, parallel]
config: |
  [resources]
  types = [\"memory\"]
  [queues.\"root.a\"]
  capacity = \"100 %\"
nodes:
  - { name: n1, resources: { memory: 2 } }
applications:
  - { name: app1, queue: root.a }
steps:
  - ask: { application: app1, name: tasks, size: { memory: 1 }, count: 3 }
  - run_until_quiet
  - expect:
      asks: { tasks: { running: 2, pending: 1 } }
";

fn message(case: &Case, arguments: &str, code: i32) -> String {
    let output = case.run(arguments);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {text}");
    text.into_owned()
}

/// The output for the scenario with one part replaced.
fn with(part: &str, other: &str, code: i32) -> String {
    assert!(SCENARIO.contains(part), "{part}");
    let case = Case::new();
    case.file("it.yaml", SCENARIO.replace(part, other));
    message(&case, "scenario it.yaml", code)
}

fn folder_of_scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("tests/scenarios")
}

#[test]
fn the_first_example_of_the_description_passes() {
    let text = std::fs::read_to_string(folder_of_scenarios().join("README.md")).unwrap();
    let example = text.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let case = Case::new();
    case.file("it.yaml", example);
    contains_all(&message(&case, "scenario it.yaml", 0), &["1 scenario, 1 run: 1 passed"]);
}

/// Every file of `tests/scenarios` except those of missing features.
#[test]
fn every_scenario_of_the_repository_passes() {
    let text = message(&Case::new(), &format!("scenario {}", folder_of_scenarios().display()), 0);
    let passed = text.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(passed > 0 && text.contains(&format!("{passed} passed in")), "{text}");
}

#[test]
fn a_scenario_runs_in_every_mode_it_names() {
    let case = Case::new();
    case.file("it.yaml", SCENARIO);
    let text = message(&case, "scenario it.yaml", 0);
    contains_all(&text, &["ok    it.yaml (serial; parallel, 1 proposer; parallel, 2 proposers; parallel, 3"]);
    contains_all(&text, &["1 scenario, 6 runs: 1 passed"]);
}

/// A user may have one container over the limit in YARN's semantics, and none otherwise.
#[test]
fn a_scenario_runs_with_every_semantics_it_names() {
    let limited = SCENARIO.replace("\"100 %\"", "50").replace("memory: 2 }", "memory: 100 }");
    let limited = limited.replace("size: { memory: 1 }", "size: { memory: 30 }");
    let run = |semantics: &str, running: u32, code| {
        let case = Case::new();
        let text = limited.replace("modes: [serial, parallel]", semantics);
        case.file("it.yaml", text.replace("running: 2, pending: 1", &format!("running: {running}")));
        message(&case, "scenario it.yaml", code)
    };
    contains_all(&run("semantics: strict", 1, 0), &["ok    it.yaml (strict: serial)"]);
    contains_all(&run("semantics: yarn_compatible", 2, 0), &["ok    it.yaml (yarn_compatible: serial)"]);
    let both = run("semantics: [strict, yarn_compatible]", 2, 1);
    contains_all(&both, &["it.yaml:15: expect (strict, serial)", "running: got 1, wanted 2"]);
    let twice = "semantics: strict\nconfig: |\n  [engine]\n  semantics = \"yarn_compatible\"";
    let twice = with("config: |", twice, 2);
    contains_all(&twice, &["it.yaml:3: the configuration says `semantics` as well; say it in one place"]);
    contains_all(
        &with("config: |", "semantics: yarn\nconfig: |", 2),
        &["it.yaml:3: unknown word `yarn`; known here: strict, yarn_compatible"],
    );
    contains_all(
        &with("config: |", "semantics: []\nconfig: |", 2),
        &["it.yaml:3: `semantics` is empty; name `strict`, `yarn_compatible` or both, or remove the key"],
    );
    let twice = "semantics: [strict, strict]\nconfig: |";
    let expected = "it.yaml:3: `semantics` names `strict` twice; name it once";
    contains_all(&with("config: |", twice, 2), &[expected]);
}

#[test]
fn what_is_not_as_expected_is_shown_with_the_state_around_it() {
    let text = with("running: 2", "running: 3", 1);
    contains_all(&text, &["FAIL  it.yaml:15: expect (serial)", "ask tasks running: got 2, wanted 3"]);
    contains_all(
        &text,
        &["parallel, 4 proposers", "root.a", "n1", "app1", "queue_limit", "1 of 1 scenario failed"],
    );
}

#[test]
fn mistakes_in_gangs_are_explained() {
    let gang = |gang: &str, then: &str, expected: &str| {
        let step = format!("- gang: {{ application: app1, name: g, {gang} }}\n  {then}- run_until_quiet\n");
        contains_all(&with("- run_until_quiet\n", &step, 2), &[expected]);
    };
    let role = |more: &str| format!("roles: [{{ name: worker, size: {{ memory: 1 }}{more} }}]");
    let whole = "expect: { gangs: { g: { placeholders: { workr: 1 } } } }\n  ";
    gang(&role(", minimun: 1"), "", "it.yaml:14: unknown key `minimun`; did you mean `minimum`?");
    gang(&(role("") + ", topology: one_rack"), "", "unknown word `one_rack`; ");
    gang(&(role("") + ", style: firm"), "", "unknown word `firm`; known here: hard, soft");
    gang(&role(", minimum: 2"), "", "it.yaml:14: gang: role `worker` asks for 1 member, but at least 2 must");
    gang(&(role("") + ", timeout_ms: 0"), "", "a gang with a timeout of 0 ms could never start");
    gang(&(role("") + ", placeholder_timeout_ms: 5"), "", "but no role with placeholders");
    gang("roles: []", "", "a gang has at least one role");
    let unnamed = "roles: [{ name: '', size: { memory: 1 } }]";
    gang(
        unnamed,
        "",
        "it.yaml:14: gang: role 1 of the gang is named \"\"; a name has at least one character",
    );
    let step = format!("- gang: {{ application: app1, name: '', {} }}\n  - run_until_quiet\n", role(""));
    let empty =
        "it.yaml:14: gang: a gang has an empty name; give it one, by which steps and expectations call it";
    contains_all(&with("- run_until_quiet\n", &step, 2), &[empty]);
    gang(&role(""), "- cancel_gang: h\n  ", "it.yaml:15: cancel_gang: unknown gang `h`");
    let wanted = format!("- run_until_quiet\n  - {whole}");
    gang(
        &role(", placeholders: true"),
        &wanted,
        "it.yaml:16: expect: unknown role with placeholders `workr`; did you mean `worker`?",
    );
}

#[test]
fn mistakes_in_costs_and_budgets_are_explained() {
    let last = "running: 2, pending: 1 } }\n";
    let with_step = |step: &str, code| with(last, &format!("{last}  - {step}\n"), code);
    let budgets = |budgets: &str, end: &str| {
        format!("set_disruption_budgets: {{ application: app1, budgets: [{budgets}]{end} }}")
    };
    let text = with_step(&budgets("{ desired: 2 }", ""), 2);
    contains_all(&text, &["it.yaml:17: ", "either `min_available` or `max_unavailable`"]);
    let text = with_step(&budgets("{ desired: 2, min_available: 1 }", ", refused: never met"), 1);
    contains_all(
        &text,
        &["it.yaml:17: set_disruption_budgets", "accepted, but a refusal was wanted: never met"],
    );
    with_step("set_preemption_cost: { of: { ask: tasks }, cost: always }", 2);
    let text = with_step("request_promotion: { of: { ask: tasks, count: 1, waiting: true } }", 1);
    contains_all(&text, &["it.yaml:17: request_promotion", "0 such containers wait, wanted 1"]);
}

#[test]
fn a_queue_that_is_still_there_is_a_failure_and_no_bad_file() {
    let queues = |expected: &str| format!("expect:\n      queues: {{ {expected} }}\n      asks");
    let is_there = with("expect:\n      asks", &queues("root.a: { exists: false }"), 1);
    contains_all(&is_there, &["queue root.a exists: got true, wanted false"]);
    let is_gone = with("expect:\n      asks", &queues("root.b: { exists: true }"), 1);
    contains_all(&is_gone, &["queue root.b exists: got false, wanted true"]);
    with("expect:\n      asks", &queues("root.b: { exists: false }, root.a: { exists: true }"), 0);
    let both = with("expect:\n      asks", &queues("root.b: { exists: false, containers: 0 }"), 2);
    contains_all(&both, &["queue root.b: with `exists: false` nothing else can be expected"]);
}

/// Only the state of a node can be expected that is gone.
#[test]
fn nothing_else_is_as_expected_of_a_node_that_is_gone() {
    let gone = |expected: &str, code| {
        let last = "running: 2, pending: 1 } }\n";
        let node = format!("nodes: {{ n1: {{ state: gone{expected} }} }}");
        let steps = format!("{last}  - remove_node: n1\n  - run_until_quiet\n  - expect: {{ {node} }}\n");
        with(last, &steps, code)
    };
    gone("", 0);
    for key in ["used: { memory: 0 }", "free: { memory: 0 }", "opportunistic: { memory: 0 }"] {
        contains_all(&gone(&format!(", {key}"), 1), &["node n1 is gone"]);
    }
    for key in ["queue: 0", "containers: 0", "reserved_by: nobody"] {
        contains_all(&gone(&format!(", {key}"), 1), &["node n1 is gone"]);
    }
}

#[test]
fn the_pending_amount_of_a_large_ask_is_compared_at_once() {
    let expected = "expect:\n      applications: { app1: { pending: { memory: 3999999998 } } }\n      asks";
    let text = SCENARIO.replace("count: 3", "count: 4000000000").replace("pending: 1", "pending: 3999999998");
    let case = Case::new();
    case.file("it.yaml", text.replace("expect:\n      asks", expected));
    contains_all(&message(&case, "scenario it.yaml", 0), &["1 scenario, 6 runs: 1 passed"]);
}

#[test]
fn a_wrong_file_is_refused_with_its_line_and_the_nearest_right_name() {
    contains_all(
        &with("count: 3", "cuont: 3", 2),
        &["it.yaml:13: unknown key `cuont`; did you mean `count`?"],
    );
    contains_all(&with("- run_until_quiet", "- run_until_quit", 2), &["it.yaml:14", "`run_until_quiet`?"]);
    contains_all(&with("application: app1", "application: ap1", 2), &["it.yaml:13", "mean `app1`?"]);
    contains_all(
        &with("capacity = ", "capasity = ", 2),
        &["it.yaml:7: config: ", "capasity", "did you mean"],
    );
    contains_all(&with("queue: root.a", "queue: root.aa", 2), &["it.yaml:11", "mean `root.a`?"]);
    contains_all(&with("{ memory: 2 }", "{ memry: 2 }", 2), &["it.yaml:9", "mean `memory`?"]);
    contains_all(&with("{ running: 2, pending: 1 }", "{}", 2), &["it.yaml:15", "nothing is expected"]);
    contains_all(&with("memory: 2", "memory: two", 2), &["it.yaml:9: a whole number belongs here"]);
    contains_all(&with("steps:", "steps: [", 2), &["it.yaml:1"]);
    let empty = with("modes: [serial, parallel]", "modes: []", 2);
    contains_all(&empty, &["it.yaml:2: `modes` is empty; name `serial`, `parallel` or both"]);
    let steps = SCENARIO.split_once("steps:\n").unwrap().1;
    let empty = with(steps, "  []\n", 2);
    contains_all(&empty, &["it.yaml:1: a scenario without steps shows nothing; add at least an `expect`"]);
    contains_all(&with("nodes:", "about: again\nnodes:", 2), &["it.yaml:8", "about"]);
}

#[test]
fn what_parallel_mode_cannot_do_is_refused() {
    contains_all(
        &with("- run_until_quiet", "- pass: all", 2),
        &["it.yaml:14: `pass` is possible only in serial mode"],
    );
    contains_all(&with("  - run_until_quiet\n", "", 2), &["it.yaml:14: `expect` comes right after"]);
}

#[test]
fn aliases_of_aliases_end_soon() {
    let mut bomb = String::from("about: &a0 [x, x, x, x, x, x, x, x, x, x]\nsteps:\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("  - heartbeat: &a{level} [{aliases}]\n");
    }
    let case = Case::new();
    case.file("bomb.yaml", bomb).file("none.yaml", "").file("bytes.yaml", [0xff, 0xfe, 0]);
    contains_all(
        &message(&case, "scenario bomb.yaml none.yaml bytes.yaml", 2),
        &["bomb.yaml:", "3 of 3 files"],
    );
}

#[test]
fn folders_are_searched_and_what_is_left_to_do_is_passed_over() {
    let case = Case::new();
    for folder in ["all/a", "all/todo"] {
        std::fs::create_dir_all(case.folder.path().join(folder)).unwrap();
    }
    case.file("all/a/one.yaml", SCENARIO).file("all/todo/two.yaml", "about: nothing yet");
    case.file("all/a/three.yaml", SCENARIO.replace("two of three", "some"))
        .file("all/a/notes.md", "no scenario");
    contains_all(&message(&case, "scenario all", 0), &["one.yaml", "three.yaml", "2 scenarios"]);
    contains_all(&message(&case, "scenario all/todo", 2), &["all/todo/two.yaml:1: `steps` is missing"]);
    contains_all(&message(&case, "scenario all --filter some", 0), &["three.yaml", "1 scenario,"]);
    contains_all(
        &message(&case, "scenario all --filter nowhere", 2),
        &["no scenario in all contains `nowhere`"],
    );
    contains_all(&message(&case, "scenario none.yaml", 2), &["none.yaml:1: No such file"]);
    assert_eq!(
        message(&case, "scenario all --list", 0),
        "all/a/one.yaml: two of three fit\nall/a/three.yaml: some fit\n"
    );
}

#[test]
fn results_are_written_as_json_too() {
    let case = Case::new();
    case.file("good.yaml", SCENARIO).file("bad.yaml", SCENARIO.replace("running: 2", "running: 3"));
    let output = case.run("scenario good.yaml bad.yaml --json -");
    assert_eq!(output.status.code(), Some(1));
    let results = json(&output.stdout);
    assert_eq!((&results["failed"], &results["bad"]), (&1.into(), &0.into()));
    assert_eq!(results["scenarios"][0]["runs"][3]["passed"], true);
    let failure = &results["scenarios"][1]["runs"][0]["failure"];
    assert_eq!((&failure["line"], &failure["step"]), (&15.into(), &"expect".into()));
    assert_eq!(failure["differences"][0], "ask tasks running: got 2, wanted 3");
}
