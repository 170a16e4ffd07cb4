//! Properties of names, reports and whole lives (`slider.md` F1 to F8, F19).

use std::collections::BTreeMap;
use std::sync::Arc;

use apportion_placement::instance::{
    AnswerDetail, AppId, ApplicationHost, ApplicationReport, DestroyOptions, ExistsOptions, ExitCode,
    InstanceClient, InstanceName, MemoryHost, RunState, SizeBounds, StopOptions, find_application,
};
use proptest::prelude::*;
use proptest::sample::select;

use super::support::{AT_ONCE, client, code, forced, web};

fn reports() -> impl Strategy<Value = Vec<ApplicationReport>> {
    let one = (select(vec!["web", "db"]), select(&RunState::ALL[..]), 0..4_u64);
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let report = |(id, (name, state, started_ms)): (usize, (&str, RunState, u64))| ApplicationReport {
            id: AppId(id as u64),
            user: "ann".into(),
            name: name.into(),
            state,
            started_ms,
            host: None,
            rpc_port: None,
            diagnostics: String::new(),
            exit_code: None,
        };
        all.into_iter().enumerate().map(report).collect()
    })
}

proptest! {
    /// F1: a name is valid exactly if it is a lower-case letter followed by lower-case letters, digits, `-` and `_`.
    #[test]
    fn names(text in "[a-zA-Z0-9_\\-. \\[#]{0,6}|[a-z][a-z0-9_-]{0,40}|\\PC{0,4}") {
        let mut letters = text.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_lowercase());
        let goes_on = letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c));
        let parsed = text.parse::<InstanceName>();
        prop_assert_eq!(parsed.is_ok(), begins && goes_on);
        if let Ok(name) = parsed {
            prop_assert_eq!(name.as_str(), text);
        }
    }

    /// F3 and F6: a live state is a running one, a running state is not final, and final states come last.
    #[test]
    fn states_are_ordered(one in select(&RunState::ALL[..]), other in select(&RunState::ALL[..])) {
        use RunState::{Accepted, New, NewSaving, Running, Submitted};
        let runs = [New, NewSaving, Submitted, Accepted, Running].contains(&one);
        prop_assert_eq!(one.is_running(), runs);
        prop_assert_eq!(one.is_final(), !runs);
        prop_assert!(one != Running || one.is_running());
        prop_assert!(!(one.is_final() && other.is_running()) || one > other);
        prop_assert_eq!(one.word().parse::<RunState>(), Ok(one));
    }

    /// F5: a running application is found first; among ended ones, the one with the highest number.
    #[test]
    fn the_running_application_is_found_first(reports in reports()) {
        let name: InstanceName = "web".parse()?;
        let named: Vec<_> = reports.iter().filter(|report| report.name == "web").collect();
        let found = find_application(&reports, &name);
        prop_assert_eq!(found.is_some(), !named.is_empty());
        let Some(found) = found else { return Ok(()) };
        prop_assert_eq!(&found.name, "web");
        for report in named {
            prop_assert!(found.state.is_running() || report.state.is_final());
            let is_same_kind = report.state.is_running() == found.state.is_running();
            prop_assert!(!is_same_kind || report.id <= found.id);
        }
    }

    /// F8: a master can be asked only if host and port are known.
    #[test]
    fn a_master_has_an_address(host in prop::option::of("[a-z]{1,8}"), port in prop::option::of(0..3_u16)) {
        let mut report = ApplicationReport {
            id: AppId(1), user: String::new(), name: String::new(), state: RunState::Running, started_ms: 0,
            host: host.clone(), rpc_port: port, diagnostics: String::new(), exit_code: None,
        };
        let has_port = port.is_some_and(|port| port != 0);
        prop_assert_eq!(report.rpc_address().is_some(), host.is_some() && has_port);
        report.rpc_port = None;
        let memory = MemoryHost::default();
        prop_assert!(!memory.is_answering(&report));
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Build(i64),
    Create(i64),
    Update(i64),
    Start,
    Stop { force: bool },
    Flex(i64),
    Destroy { force: bool },
    Exists,
    Status,
    KillStranger,
    Die,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0..4_i64).prop_map(Op::Build),
        (0..4_i64).prop_map(Op::Create),
        (0..4_i64).prop_map(Op::Update),
        Just(Op::Start),
        Just(Op::Start),
        any::<bool>().prop_map(|force| Op::Stop { force }),
        (-2..3_i64).prop_map(Op::Flex),
        any::<bool>().prop_map(|force| Op::Destroy { force }),
        Just(Op::Exists),
        Just(Op::Status),
        Just(Op::KillStranger),
        Just(Op::Die),
    ]
}

/// The expected state of an instance.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    workers: Option<i64>,
    /// The number of workers that its application was told last.
    told: i64,
    runs: Option<bool>,
}

impl Expected {
    /// The table of `slider.md` 4.2 as a function: the exit code of each command and the state after it.
    fn apply(&mut self, op: Op) -> ExitCode {
        let is_running = self.runs == Some(true);
        match op {
            Op::Build(workers) | Op::Create(workers) => match (is_running, self.workers) {
                (true, _) => return ExitCode::InUse,
                (false, Some(_)) => return ExitCode::InstanceExists,
                (false, None) => self.workers = Some(workers),
            },
            Op::Update(workers) => self.workers = Some(workers),
            Op::Start | Op::Destroy { .. } if is_running => return ExitCode::InUse,
            Op::Start | Op::Stop { .. } | Op::Exists | Op::Flex(_) if self.workers.is_none() => {
                return ExitCode::UnknownInstance;
            }
            Op::Stop { .. } if is_running => self.runs = Some(false),
            Op::Start | Op::Stop { .. } => {}
            Op::Exists => return if is_running { ExitCode::Success } else { ExitCode::False },
            Op::Flex(more) => return self.flex(more),
            Op::Destroy { force } => match (self.workers, force) {
                (Some(_), false) => return ExitCode::Usage,
                _ => self.workers = None,
            },
            Op::Status | Op::KillStranger if self.runs.is_none() => return ExitCode::UnknownInstance,
            Op::Status if is_running => {}
            Op::Status | Op::KillStranger => return ExitCode::BadState,
            Op::Die => self.runs = self.runs.map(|_| false),
        }
        if matches!(op, Op::Create(_) | Op::Start) {
            self.runs = Some(true);
            self.told = self.workers.unwrap_or(0);
        }
        ExitCode::Success
    }

    fn flex(&mut self, more: i64) -> ExitCode {
        let workers = self.workers.unwrap_or(0) + more;
        if workers < 0 {
            return ExitCode::BadArgument;
        }
        self.workers = Some(workers);
        match self.runs {
            None => ExitCode::False,
            Some(false) => ExitCode::BadState,
            Some(true) => ExitCode::Success,
        }
    }
}

fn carry_out(
    client: &InstanceClient,
    host: &MemoryHost,
    user: &str,
    name: &str,
    op: Op,
    now_ms: u64,
) -> (ExitCode, AnswerDetail) {
    let result = match op {
        Op::Build(workers) => client.build(name, &web(workers)),
        Op::Create(workers) => client.create(name, &web(workers), AT_ONCE, now_ms),
        Op::Update(workers) => client.update(name, &web(workers)),
        Op::Start => client.start(name, AT_ONCE, now_ms),
        Op::Stop { force: true } => client.stop(name, &forced()),
        Op::Stop { force: false } => client.stop(name, &StopOptions::default()),
        Op::Flex(more) => client.flex(name, &[("worker", &format!("{more:+}"))]),
        Op::Destroy { force } => client.destroy(name, DestroyOptions { force }),
        Op::Exists => client.exists(name, ExistsOptions { live: true, state: None }),
        Op::Status => client.status(name),
        Op::KillStranger => client.kill_container(name, Some("999999")),
        Op::Die => {
            let reports = host.reports(user);
            for report in reports.iter().filter(|report| report.name == name) {
                host.move_to(report.id, RunState::Failed, "died");
            }
            return (ExitCode::Success, AnswerDetail::None);
        }
    };
    let detail = result.as_ref().map_or(AnswerDetail::None, |answer| answer.detail.clone());
    (code(&result), detail)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// F4, F7 and F19 over random lives of two users' instances. At most one application runs per user and name, and
    /// each container belongs to one application. A flex reports "changed" exactly if it changed something. Every
    /// command ends with the exit code of the table.
    #[test]
    fn lives(ops in prop::collection::vec((0..2_usize, 0..2_usize, op()), 0..40)) {
        let folder = tempfile::tempdir()?;
        let host = Arc::new(MemoryHost::new(SizeBounds::default(), Vec::new()));
        let (users, names) = (["ann", "bob"], ["web", "db"]);
        let clients = users.map(|user| client(folder.path(), &host, user));
        let mut expected: BTreeMap<(usize, usize), Expected> = BTreeMap::new();
        for (now_ms, (user, name, op)) in ops.into_iter().enumerate() {
            let instance = expected.entry((user, name)).or_default();
            let told_before = instance.told;
            let wanted = instance.apply(op);
            let (found, detail) =
                carry_out(&clients[user], &host, users[user], names[name], op, now_ms as u64);
            prop_assert_eq!(found, wanted, "{:?}", op);
            if let (Op::Flex(_), ExitCode::Success) = (op, found) {
                instance.told = instance.workers.unwrap_or(0);
                prop_assert_eq!(detail, AnswerDetail::Changed(instance.told != told_before));
            }
            let mut owners = BTreeMap::new();
            for user in users {
                let reports = host.reports(user);
                for name in names {
                    let running = reports.iter().filter(|one| one.name == name && one.state.is_running());
                    prop_assert!(running.count() <= 1);
                }
                for report in reports {
                    for container in host.containers(report.id)? {
                        let before = owners.insert(container.container, report.id);
                        prop_assert!(before.is_none());
                        prop_assert!(report.state == RunState::Running);
                    }
                }
            }
        }
    }
}
