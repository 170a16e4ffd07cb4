//! `apportion-bench explain` from the command line, and the explanations of pending asks in reports.

use std::fs;

use crate::case::{Case, contains_all, json};

const OPENB: &str = "replay --format openb --nodes nodes.csv --workload pods.csv --log run.log";

/// A run with its log; the third pod is larger than any node.
fn with_log(more: &str) -> Case {
    let case = Case::new();
    let output = case.run(&format!("{OPENB} {more}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    case
}

fn explains(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("explain {arguments}"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refuses(case: &Case, arguments: &str) -> String {
    let output = case.run(&format!("explain {arguments}"));
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
    assert!(output.stdout.is_empty(), "{arguments}");
    message
}

#[test]
fn the_asks_that_are_pending_and_one_of_them() {
    let case = with_log("");
    let text = explains(&case, "run.log");
    contains_all(&text, &["1 ask is pending after change", "wants 1 container of 1 GiB, 99 vcores for p2"]);
    contains_all(&text, &["Of 2 nodes: 2 too small even when empty.", "91 vcores"]);
    let ask = text.split_whitespace().find(|word| word.starts_with("ask-")).unwrap();
    let one = explains(&case, &format!("run.log --ask {ask}"));
    let (listed, _) = one.split_once("\nPreemption will not help it: ").unwrap();
    assert!(text.contains(listed), "{text}");
    let listed = json(explains(&case, "run.log --json").as_bytes());
    let alone = json(explains(&case, &format!("run.log --ask {ask} --json")).as_bytes());
    let longest = &listed["pending_longest"][0];
    for key in ["ask", "standing", "reason", "blocker", "funnel", "shortage", "since_ms"] {
        assert!(alone.get(key).is_some() && longest[key] == alone[key], "{key}: {alone}");
    }
    assert_eq!((&alone["ask"], &alone["funnel"]["stages"]["too_small"]), (&ask.into(), &2.into()));
    assert_eq!(
        (&listed["pending_asks"], &alone["shortage"]["missing"]["vcore_milli"]),
        (&1.into(), &91000.into())
    );
}

/// The same ask before and after its placement.
#[test]
fn at_an_earlier_change_things_were_as_they_were_then() {
    let case = with_log("");
    assert!(explains(&case, "run.log --ask ask-0").contains("all of its containers were placed"));
    let at = |seq: u64| case.run(&format!("explain run.log --ask ask-0 --at {seq} --json"));
    let submitted = (1..).find(|seq| at(*seq).status.success()).unwrap();
    let (then, later) = (json(&at(submitted).stdout), json(&at(submitted + 1).stdout));
    assert_eq!((&then["standing"], &then["seq"]), (&"pending".into(), &submitted.into()));
    assert_eq!((&then["reason"], &then["funnel"]["stages"]["fits"]), (&"runnable".into(), &1.into()));
    assert_eq!(later["standing"], "placed");
}

#[test]
fn wrong_logs_asks_and_positions_are_refused() {
    let case = with_log("");
    contains_all(
        &refuses(&case, "none.log --ask ask-0"),
        &["none.log", "No such file", "; a log belongs here"],
    );
    contains_all(&refuses(&case, "pods.csv --ask ask-0"), &["pods.csv", "not an Apportion log"]);
    contains_all(
        &refuses(&case, "run.log --ask ask-99"),
        &["run.log", "no ask-99 up to change", "pending then: ask-"],
    );
    contains_all(
        &refuses(&case, "run.log --ask ask-0 --at 1"),
        &["no ask-0 up to change 1; pending then: none"],
    );
    contains_all(&refuses(&case, "run.log --ask ask-0 --at 99999"), &["change 99999 was asked for"]);
    contains_all(
        &refuses(&case, "run.log --ask p22"),
        &[
            "run.log: up to change ",
            " no job is called `p22`, and it is not an identifier like `ask-12`, of an ask, a gang or a container; did you mean `p2`?\n",
        ],
    );
    for moment in ["0", "soon", "-1s", "3weeks"] {
        contains_all(&refuses(&case, &format!("run.log --at={moment}")), &["--at", "120s"]);
    }
    contains_all(&refuses(&case, "run.log --at 2days"), &["the log ends at 60.000 s", "172800.000 s"]);
    let log = fs::read(case.folder.path().join("run.log")).unwrap();
    case.file("cut.log", &log[..log.len() - 1]);
    contains_all(&refuses(&case, "cut.log --ask ask-0"), &["cut.log", "the last group of the log, at byte"]);
}

/// A cut log can be read up to the position in the message.
#[test]
fn a_torn_log_says_up_to_where_it_is_whole() {
    let case = with_log("");
    let log = fs::read(case.folder.path().join("run.log")).unwrap();
    let whole = json(&case.run("verify run.log --json").stdout)["changes"].as_u64().unwrap();
    case.file("cut.log", &log[..log.len() - 1]);
    let output = case.run("verify cut.log");
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let last: u64 = message.rsplit_once("--at ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert!(last > 0 && last < whole, "{message}");
    contains_all(&message, &[&format!("the last whole change is number {last};")]);
    assert!(case.run(&format!("verify cut.log --at {last}")).status.success());
    assert_eq!(case.run(&format!("verify cut.log --at {}", last + 1)).status.code(), Some(2));
    let listed = case.run("log cut.log --kind configured,time_advanced,committed,node_added,ask_submitted");
    assert_eq!((listed.status.code(), listed.stdout.is_empty()), (Some(2), false), "what is whole is listed");
}

/// By the trace's names and times: the name of a pod, at a virtual time.
#[test]
fn an_ask_is_found_by_the_name_of_its_job_and_a_moment_by_its_time() {
    let case = with_log("");
    assert_eq!(explains(&case, "run.log --ask p2"), explains(&case, "run.log --ask ask-0.2"));
    contains_all(&explains(&case, "run.log --ask p0"), &["all of its containers were placed"]);
    contains_all(&explains(&case, "run.log --at 4.9s"), &["Nothing is pending", "at 0.000 s"]);
    contains_all(&explains(&case, "run.log --at 6s"), &["1 ask is pending", "at 6.000 s", "for p2"]);
    let of_job = json(explains(&case, "run.log --ask p2 --at 0.5min --json").as_bytes());
    assert_eq!((&of_job["job"], &of_job["now_ms"]), (&"p2".into(), &6_000.into()));
    let ask = &of_job["asks"][0];
    assert_eq!((&ask["reason"], &ask["since_ms"]), (&"no_node_large_enough".into(), &6_000.into()));
    let by_id = of_job["asks"][0]["application"].as_str().unwrap();
    assert_eq!(explains(&case, &format!("run.log --ask {by_id}")), explains(&case, "run.log --ask p2"));
    contains_all(&refuses(&case, "run.log --ask p2 --at 5s"), &["no job is called `p2`", "at 5.000 s"]);
    let at = |moment: &str| json(&case.run(&format!("verify run.log --at {moment} --json")).stdout);
    assert_eq!((&at("5s")["now_ms"], &at("5s")["containers"]), (&5_000.into(), &2.into()));
}

/// Every blocking limit names the key that sets it.
#[test]
fn the_deciding_key_is_named_in_tables_explanations_and_checks() {
    let case = Case::new();
    let queues = |more: &str| {
        format!(
            "[resources]\ntypes = [\"memory_mib\", \"vcore_milli\", \"gpu_milli\"]\ndevices = \"gpu_milli\"\n\
             [queues.\"root.default\"]\ncapacity = \"100 %\"\n{more}\n"
        )
    };
    for (more, key) in [
        ("user_limit_factor = 0.1", "queues.\"root.default\".user_limit_factor = 0.1"),
        ("maximum_capacity = \"10 %\"", "queues.\"root.default\".maximum_capacity = \"10 %\""),
        ("maximum_parallel_applications = 1", "queues.\"root.default\".maximum_parallel_applications = 1"),
    ] {
        case.file("queues.toml", queues(more));
        let output = case.run(&format!("{OPENB} --queues queues.toml --json out.json"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let explained = explains(&case, "run.log --at 6s");
        contains_all(&explained, &[&format!("The limit is {key}.")]);
        let listed = json(explains(&case, "run.log --at 6s --json").as_bytes());
        let setting =
            &listed["pending_longest"].as_array().unwrap().iter().find(|kind| !kind["setting"].is_null());
        let setting = &setting.unwrap()["setting"];
        assert_eq!(
            format!("{} = {}", setting["key"].as_str().unwrap(), setting["value"].as_str().unwrap()),
            key
        );
    }
    case.file("queues.toml", queues("user_limit_factor = 0.01"));
    let table = String::from_utf8(case.run(&format!("{OPENB} --queues queues.toml")).stdout).unwrap();
    contains_all(&table, &["ask-0: the limit is queues.\"root.default\".user_limit_factor = 0.01\n"]);
    let limits = "maximum_capacity = \"40 %\"\nuser_limit_factor = 0.5\nmaximum_master_share = \"10 %\"";
    case.file("queues.toml", queues(limits));
    let checked = String::from_utf8(case.run("config check queues.toml").stdout).unwrap();
    let table = "queues.\"root.default\"";
    contains_all(
        &checked,
        &[
            &format!("root.default: at most 40 %, by {table}.maximum_capacity = \"40 %\""),
            &format!("root.default: masters at most 4 %, by {table}.maximum_master_share = \"10 %\""),
        ],
    );
    let checked = json(&case.run("config check queues.toml --json").stdout);
    let limits = checked["queues"][1]["limits"].as_array().unwrap();
    assert!(limits.iter().any(|one| one["of"] == "masters" && one["most"]["percent"] == 4.0), "{checked}");
}

fn logged(case: &Case, arguments: &str) -> Vec<serde_json::Value> {
    let output = case.run(&format!("log run.log --json {arguments}"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| json(line.as_bytes())).collect()
}

#[test]
fn changes_are_listed_with_what_they_led_to() {
    let case = with_log("");
    let changes = json(&case.run("verify run.log --json").stdout)["changes"].as_u64().unwrap();
    let all = logged(&case, "");
    let time = logged(&case, "--kind time_advanced,heartbeats");
    assert_eq!((all.len() + time.len()) as u64, changes, "each change is listed once");
    assert!(all.windows(2).all(|pair| pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64()));
    assert_eq!(all[0]["kind"], "configured");
    let of_pod = logged(&case, "--job p1");
    let kinds: Vec<&str> = of_pod.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    let life =
        ["application_submitted", "ask_submitted", "committed", "container_ended", "application_ended"];
    assert_eq!(kinds, life, "{of_pod:?}");
    let placed = &of_pod[2];
    assert_eq!((&placed["now_ms"], &placed["events"][0]["event"]), (&5_000.into(), &"allocated".into()));
    assert_eq!(
        (&placed["events"][0]["job"], &placed["events"][0]["queue"]),
        (&"p1".into(), &"root.default".into())
    );
    let node = placed["events"][0]["node"].as_str().unwrap();
    let ended = &of_pod[3];
    assert_eq!((&ended["node"], &ended["now_ms"]), (&node.into(), &60_000.into()));
    let container = ended["container"].as_str().unwrap();
    assert_eq!(logged(&case, &format!("--container {container}")).len(), 2, "it starts and it ends");
    assert!(
        logged(&case, &format!("--node {node} --kind allocated"))
            .iter()
            .all(|one| one["kind"] == "committed")
    );
    assert_eq!(logged(&case, "--from 6s --to 59s --job p0").len(), 0);
    assert_eq!(logged(&case, "--queue root --kind ask_submitted").len(), 3);
    assert_eq!(logged(&case, "--kind node_added --queue root.default").len(), 0, "known, but not together");
    assert_eq!(logged(&case, "--from 6s --to 59s --user default --limit 5").len(), 2);
    assert_eq!(logged(&case, "--kind ask_submitted --limit 2").len(), 2);
    let text = String::from_utf8(case.run("log run.log --job p1").stdout).unwrap();
    contains_all(
        &text,
        &[
            "ask submitted: ask-0.1 of p1 by default in root.default",
            "1 container of 1 GiB, 1 vcore",
            "completed",
        ],
    );
    contains_all(
        &text,
        &["5.000 s  committed; allocated: container-", "60.000 s  container ended: container-"],
    );
}

#[test]
fn what_no_log_has_is_refused() {
    let case = with_log("");
    for (arguments, parts) in [
        ("log run.log --kind alocated", vec!["--kind", "alocated", "did you mean `allocated`?"]),
        ("log none.log", vec!["none.log", "No such file"]),
        ("log pods.csv", vec!["pods.csv", "not an Apportion log"]),
        ("log run.log --from yesterday", vec!["--from", "120s"]),
        ("log run.log --job p22", vec!["run.log", "--job", "no job `p22`", "did you mean `p2`?", "60.000 s"]),
        ("log run.log --job p2 --to 5s", vec!["no job `p2`", "5.000 s", "there are p0, p1"]),
        ("log run.log --node nope", vec!["no node `nope`; there are n0, n1"]),
        ("log run.log --node nope --kind allocated", vec!["no node `nope`"]),
        ("log run.log --queue root.def", vec!["no queue `root.def`; did you mean `root.default`?"]),
        ("log run.log --user nobody", vec!["no user `nobody`; there are "]),
        ("log run.log --ask ask-99", vec!["no ask `ask-99`"]),
        ("log run.log --from 10s --to 5s", vec!["--from is later than --to"]),
        ("log run.log --from 9 --to 5", vec!["--from is later than --to"]),
        ("log run.log --from 9999 --to 5s", vec!["--from", "ends before", "5.000 s"]),
        ("log run.log --from 2days", vec!["--from", "ends before", "60.000 s"]),
    ] {
        let output = case.run(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        contains_all(&message, &parts);
    }
}

#[test]
fn reports_say_why_what_is_left_is_pending() {
    let case = with_log("--json out.json --report out.html");
    let figures = json(&fs::read(case.folder.path().join("out.json")).unwrap());
    let left = figures["pending_longest"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["reason"]), (1, &"no_node_large_enough".into()));
    let html = fs::read_to_string(case.folder.path().join("out.html")).unwrap();
    contains_all(&html, &["Still pending at the end", "Of 2 nodes: 2 too small even when empty."]);
    let table = String::from_utf8(case.run(OPENB).stdout).unwrap();
    contains_all(&table, &["still pending", "of p2 in root.default", "No node that meets"]);
    case.file("pods.csv", crate::case::PODS.replace("99000", "1000"));
    let html = {
        assert!(case.run(&format!("{OPENB} --report out.html")).status.success());
        fs::read_to_string(case.folder.path().join("out.html")).unwrap()
    };
    assert!(!html.contains("Still pending"), "nothing is");
}
