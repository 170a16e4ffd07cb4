//! Runs this program under callgrind and reads what it wrote.

use std::collections::BTreeMap;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail};

/// Inclusive instruction counts by function, and of everything.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) total: u64,
    functions: BTreeMap<String, u64>,
}

impl Profile {
    /// The instructions of a function and of everything that it calls. It must not call itself.
    pub(crate) fn of(&self, function: &str) -> anyhow::Result<u64> {
        let count = self.functions.get(function);
        count.copied().with_context(|| {
            format!("callgrind saw no function {function}; if it is inlined, mark it `#[inline(never)]`")
        })
    }

    /// Reads callgrind's format: after `fn=` come lines of a position and a count. The line after `calls=` has the
    /// count of the called function and of everything below. A name is written once, and its number afterwards.
    fn read(text: &str) -> anyhow::Result<Self> {
        let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::<u64, u64>::new());
        let (mut profile, mut function) = (Self::default(), None);
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("totals: ") {
                profile.total = total.trim().parse()?;
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = Some(number_of(name, &mut names)?);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                number_of(name, &mut names)?;
            } else if let Some(function) =
                function.filter(|_| line.starts_with(['+', '-', '*']) || is_number(line))
            {
                let count = line.split_whitespace().nth(1).context("a line of costs without a count")?;
                *counts.entry(function).or_default() += count.parse::<u64>()?;
            }
        }
        for (number, count) in counts {
            let name = names.get(&number).context("a function without a name")?;
            *profile.functions.entry(name.clone()).or_default() += count;
        }
        if profile.total == 0 {
            bail!("callgrind wrote no totals");
        }
        Ok(profile)
    }
}

fn is_number(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_digit())
}

/// The number in `(number) name` or `(number)`. A name is kept.
fn number_of(text: &str, names: &mut BTreeMap<u64, String>) -> anyhow::Result<u64> {
    let (number, name) = text.strip_prefix('(').and_then(|text| text.split_once(')')).context("no number")?;
    let number = number.parse()?;
    if !name.is_empty() {
        names.insert(number, name.trim().to_owned());
    }
    Ok(number)
}

/// Counts a run of this program as the subject.
pub(crate) fn count(workload: &str, containers: usize) -> anyhow::Result<Profile> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("callgrind.out");
    let output = Command::new("valgrind")
        // In this order: a function to toggle at says that nothing is collected before.
        .args(["--tool=callgrind", "--toggle-collect=apportion::engine::Engine::audit"])
        .arg("--collect-atstart=yes")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(env::current_exe()?)
        .args(["--subject", workload, &containers.to_string()])
        .output()?;
    if !output.status.success() {
        bail!("{workload} of {containers}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Profile::read(&fs::read_to_string(&file)?)
}

/// Checks the reader on a small profile, as benches have no unit tests.
pub(crate) fn check_reader() -> anyhow::Result<()> {
    let text = "events: Ir\nsummary: 21\n\nfl=(1) a.rs\nfn=(1) outer\n10 3\n+2 4\ncfi=(2) b.rs\ncfn=(2) inner\n\
                calls=2 7\n* 12\n\nfn=(2)\n7 10\nfn=(1)\n-1 2\n\ntotals: 21\n";
    let profile = Profile::read(text)?;
    let counts = (profile.total, profile.of("outer")?, profile.of("inner")?, profile.of("other").is_err());
    if counts != (21, 21, 10, true) {
        bail!("a profile was read as {counts:?}");
    }
    Ok(())
}
