//! Builds and runs test programs in the copy.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use apportion_tests::support::mutants::{Mutant, Suite};

use crate::verdict::{Verdict, is_red};

/// A test that takes this long counts as hung.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// The time limit if the patch says that its test hangs. The undamaged test takes a small part of it.
const HANG_LIMIT: Duration = Duration::from_secs(8);

/// The test programs of the copy.
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    pub(crate) fn new(folder: &Path) -> Result<Self, String> {
        let output = folder.join("output");
        fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Checks that these tests exist and are green on the undamaged copy.
    pub(crate) fn expect_green(&self, suite: Suite, tests: &[&str]) -> Result<(), String> {
        let output = self.folder.join("output").join(format!("undamaged-{}.txt", suite.name()));
        let problem = |what: &str| format!("undamaged, {what}; see {}", output.display());
        let built = self.build(suite, &output)?.map_err(|_| problem("it does not compile"))?;
        let ended = self.run(suite, &built, tests, &output, TIME_LIMIT)?;
        let said = read(&output);
        if let Some(absent) = tests.iter().find(|test| ended.is_some() && is_red(test, &said).is_none()) {
            return Err(format!("{} has no test `{absent}`, which a patch names", suite.name()));
        }
        match ended {
            Some(status) if status.success() => Ok(()),
            Some(_) => Err(problem("a test is red, so it would prove nothing about a defect")),
            None => Err(problem("a test does not end")),
        }
    }

    /// Runs the mutant's tests while its patch is applied: all in one process, or one by one if a failing test can
    /// end the process.
    pub(crate) fn validate(&self, mutant: &Mutant) -> Result<Verdict, String> {
        let output = self.folder.join("output").join(format!("{}.txt", mutant.file));
        let built = match self.build(mutant.suite, &output)? {
            Ok(built) => built,
            Err(error) => return Ok(Verdict::Broken(error)),
        };
        let limit = if mutant.hangs { HANG_LIMIT } else { TIME_LIMIT };
        let run = |tests: &[String]| {
            let names: Vec<&str> = tests.iter().map(String::as_str).collect();
            let status = self.run(mutant.suite, &built, &names, &output, limit)?;
            Ok::<_, String>((status, Verdict::of(mutant, tests, status, &read(&output))))
        };
        let (status, mut verdict) = run(&mutant.tests)?;
        if mutant.tests.len() == 1 || status.is_some_and(|status| status.code().is_some()) {
            return Ok(verdict);
        }
        for test in &mutant.tests {
            (_, verdict) = run(std::slice::from_ref(test))?;
            if !matches!(verdict, Verdict::Killed(_)) {
                break;
            }
        }
        Ok(verdict)
    }

    /// Builds a suite's program; returns its path, or the compiler's first error.
    fn build(&self, suite: Suite, output: &Path) -> Result<Result<PathBuf, String>, String> {
        let build = Build::of(suite);
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.arg("test").args(["--locked", "--no-run"]).args(build.arguments);
        cargo.arg("--target-dir").arg(self.folder.join(build.folder)).current_dir(self.folder.join("tree"));
        cargo
            .env("RUSTFLAGS", build.flags)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .envs(build.settings.iter().copied());
        let status = wait(start(&mut cargo, output)?, None)?;
        let said = read(output);
        if status.is_none_or(|status| !status.success()) {
            let error = said.lines().find(|line| line.starts_with("error")).unwrap_or("no reason given");
            return Ok(Err(error.to_owned()));
        }
        // Executable unittests src/lib.rs (/path/of/the/program)
        let line = said.lines().find(|line| line.trim_start().starts_with("Executable "));
        let program = line.and_then(|line| line.rsplit_once('(')?.1.strip_suffix(')'));
        Ok(Ok(PathBuf::from(program.ok_or("cargo did not print the path of the test program")?)))
    }

    /// Runs the tests of a program whose names contain one of `tests`; `None` if they exceed the time limit.
    fn run(
        &self,
        suite: Suite,
        program: &Path,
        tests: &[&str],
        output: &Path,
        limit: Duration,
    ) -> Result<Option<ExitStatus>, String> {
        let home = self.folder.join("tree").join(home(suite));
        let mut command = Command::new(program);
        command.args(tests).current_dir(home).env("RUST_BACKTRACE", "0");
        // The same cases each time, and no shrinking: only whether a case fails matters.
        command.env("PROPTEST_RNG_SEED", "1").env("PROPTEST_MAX_SHRINK_ITERS", "0");
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1");
        if suite == Suite::Property {
            // More than `.ci/run` has: some defects show in rare cases only.
            command.env("PROPTEST_CASES", "1000");
        }
        wait(start(&mut command, output)?, Some(limit))
    }
}

/// How a suite's program is built.
struct Build {
    arguments: &'static [&'static str],
    /// The target folder, one for each way to compile.
    folder: &'static str,
    /// The compiler's flags; flags from the environment are ignored.
    flags: &'static str,
    settings: &'static [(&'static str, &'static str)],
}

impl Build {
    /// Fast tests are built without optimisation, which takes a third of the build time.
    const QUICK: [(&str, &str); 2] = [("CARGO_PROFILE_DEV_OPT_LEVEL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")];

    fn of(suite: Suite) -> Self {
        let quick = |arguments| Self { arguments, folder: "quick", flags: "", settings: &Self::QUICK };
        match suite {
            Suite::Loom => Self {
                arguments: &["--profile", "model", "-p", "apportion", "--lib"],
                folder: "loom",
                flags: "--cfg apportion_loom -C debug-assertions=on",
                settings: &[],
            },
            Suite::Property => Self {
                arguments: &["-p", "apportion-tests", "--test", "property"],
                folder: "plain",
                flags: "",
                settings: &[],
            },
            Suite::Unit => quick(&["-p", "apportion", "--lib"]),
            Suite::Integration => quick(&["-p", "apportion-tests", "--test", "integration"]),
            Suite::Walkthrough => quick(&["-p", "apportion-tests", "--test", "walkthrough"]),
            Suite::Gangs => quick(&["-p", "apportion-tests", "--test", "gangs"]),
            Suite::Opportunistic => quick(&["-p", "apportion-tests", "--test", "opportunistic"]),
            Suite::Idle => quick(&["-p", "apportion-tests", "--test", "idle"]),
            Suite::Placement => quick(&["-p", "apportion-placement", "--test", "services"]),
            Suite::Instance => quick(&["-p", "apportion-placement", "--test", "instance"]),
            Suite::History => quick(&["-p", "apportion-placement", "--test", "history_files"]),
            Suite::PlacementUnit => quick(&["-p", "apportion-placement", "--lib"]),
        }
    }
}

/// The folder of the suite's crate, where cargo would run its tests.
fn home(suite: Suite) -> &'static str {
    match suite {
        Suite::Loom | Suite::Unit => "scheduler",
        Suite::Placement | Suite::Instance | Suite::History | Suite::PlacementUnit => "placement",
        Suite::Integration
        | Suite::Property
        | Suite::Walkthrough
        | Suite::Gangs
        | Suite::Opportunistic
        | Suite::Idle => "tests",
    }
}

fn start(command: &mut Command, output: &Path) -> Result<Child, String> {
    let file = File::create(output).and_then(|file| Ok((file.try_clone()?, file)));
    let (out, error) = file.map_err(|error| format!("{}: {error}", output.display()))?;
    let child = command.stdin(Stdio::null()).stdout(out).stderr(error).spawn();
    child.map_err(|error| format!("starting {}: {error}", command.get_program().display()))
}

/// Waits for a program's end. After `limit` the program is killed, and the result is `None`.
fn wait(mut child: Child, limit: Option<Duration>) -> Result<Option<ExitStatus>, String> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| begun.elapsed() > limit) {
            let ended = child.kill().and_then(|()| child.wait());
            return ended.map(|_| None).map_err(|error| error.to_string());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn read(output: &Path) -> String {
    String::from_utf8_lossy(&fs::read(output).unwrap_or_default()).into_owned()
}
