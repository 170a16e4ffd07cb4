//! `cargo mutate`: does every deliberate defect of `tests/mutants/` turn every test red that it names?
//!
//! All work happens in a copy of the repository, `target/mutants/tree`, with target folders of its own. So the
//! developer's tree stays untouched, and only the files that a patch changes are compiled again. First the tests that
//! the patches name run on the undamaged copy: a test that is red anyway would prove nothing. Then each patch is
//! applied, built, tested and reverted. A patch that survives is a missing test.

#![forbid(unsafe_code)]

mod arguments;
mod programs;
mod refresh;
mod tree;
mod verdict;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use apportion_tests::support::mutants::{Mutant, Suite, mutants};
use arguments::{Arguments, Task};
use programs::Programs;
use refresh::Refreshed;
use tree::Tree;
use verdict::Verdict;

fn main() -> ExitCode {
    let done = Arguments::read(std::env::args().skip(1)).and_then(|arguments| perform(&arguments));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("mutate: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Performs the task; returns whether every mutant was killed or every patch applies.
fn perform(arguments: &Arguments) -> Result<bool, String> {
    if arguments.task == Task::Help {
        print!("{}", arguments::HELP);
        return Ok(true);
    }
    let root = root()?;
    let chosen = arguments.choose(mutants(&root.join("tests/mutants"))?)?;
    match arguments.task {
        Task::List => list(&chosen),
        Task::Check => return check(&root, &chosen),
        Task::Refresh => return refresh_all(&root, &chosen),
        Task::Help | Task::Run => return run(&root, &chosen, arguments.verbose),
    }
    Ok(true)
}

fn root() -> Result<PathBuf, String> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_folder.parent().filter(|root| root.join("tests/mutants").is_dir());
    root.map(Path::to_owned).ok_or_else(|| format!("{}: the repository has moved", crate_folder.display()))
}

fn list(mutants: &[Mutant]) {
    for mutant in mutants {
        let (invariants, suite) = (mutant.invariants.join(", "), mutant.suite.name());
        println!("{}: {invariants}, {suite} {}\n    {}", mutant.file, mutant.tests.join(", "), mutant.defect);
    }
}

/// Checks only whether each patch still applies to the code that it damages.
fn check(root: &Path, mutants: &[Mutant]) -> Result<bool, String> {
    let mut applicable = 0;
    for mutant in mutants {
        match tree::check(root, mutant)? {
            None => applicable += 1,
            Some(problem) => println!("{} does not apply: {problem}", mutant.file),
        }
    }
    println!("{applicable} of {} patches apply", mutants.len());
    Ok(applicable == mutants.len())
}

/// Regenerates the patches that no longer apply.
fn refresh_all(root: &Path, mutants: &[Mutant]) -> Result<bool, String> {
    let (mut anew, mut failed) = (0, 0);
    for mutant in mutants {
        if tree::check(root, mutant)?.is_none() {
            continue;
        }
        match refresh::refresh(root, mutant)? {
            Refreshed::Anew => anew += 1,
            Refreshed::Failed(problem) => {
                failed += 1;
                println!("{}: {problem}", mutant.file);
            }
        }
    }
    println!(
        "{anew} regenerated, {failed} to be fixed by hand; review the difference, then run these mutants"
    );
    Ok(failed == 0)
}

/// Tries every mutant.
fn run(root: &Path, mutants: &[Mutant], verbose: bool) -> Result<bool, String> {
    let begun = Instant::now();
    let folder = root.join("target/mutants");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let _alone = alone(&folder)?;
    let tree = Tree::copy(root, &folder)?;
    let programs = Programs::new(&folder)?;
    expect_green(&programs, mutants)?;
    let mut verdicts = Vec::new();
    for (number, mutant) in mutants.iter().enumerate() {
        print!("[{:2}/{}] {:28} ", number + 1, mutants.len(), mutant.file);
        flush();
        let tried = Instant::now();
        let verdict = tree.damaged_by(mutant, || programs.validate(mutant))?;
        let seconds = tried.elapsed().as_secs_f64();
        println!(
            "{:8} {seconds:5.1} s  {} {}",
            verdict.label(),
            mutant.suite.name(),
            mutant.tests.join(", ")
        );
        if let Some(detail) = verdict.detail(verbose) {
            println!("        {detail}");
        }
        verdicts.push(verdict);
    }
    let killed = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Killed(_))).count();
    let survived = verdicts.iter().filter(|verdict| matches!(verdict, Verdict::Survived(_))).count();
    let unclear = verdicts.len() - killed - survived;
    let seconds = begun.elapsed().as_secs();
    println!(
        "{killed} killed, {survived} survived, {unclear} unclear, in {} min {} s",
        seconds / 60,
        seconds % 60
    );
    Ok(killed == verdicts.len())
}

/// Runs every test that a patch names on the undamaged copy.
fn expect_green(programs: &Programs, mutants: &[Mutant]) -> Result<(), String> {
    for suite in Suite::ALL {
        let mut tests: Vec<&str> = mutants
            .iter()
            .filter(|mutant| mutant.suite == suite)
            .flat_map(|mutant| mutant.tests.iter().map(String::as_str))
            .collect();
        tests.sort_unstable();
        tests.dedup();
        if tests.is_empty() {
            continue;
        }
        print!("undamaged: {:11} {:3} tests ", suite.name(), tests.len());
        flush();
        let tried = Instant::now();
        programs.expect_green(suite, &tests)?;
        println!("green {:5.1} s", tried.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Takes the lock file: two runs at the same time would damage the same copy.
fn alone(folder: &Path) -> Result<File, String> {
    let path = folder.join("lock");
    let lock = File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let taken = |_| format!("{}: another `cargo mutate` is running; wait until it has ended", path.display());
    lock.try_lock().map_err(taken)?;
    Ok(lock)
}

fn flush() {
    // A failed flush only delays the progress line.
    let _ = std::io::stdout().flush();
}
