//! Runs this program under callgrind and reads what it wrote.

use std::collections::BTreeMap;
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, bail};

/// Instructions, which callgrind counts always.
pub(crate) const INSTRUCTIONS: &[&str] = &["Ir"];
/// Data misses of the first level, and of the last, if caches are simulated.
pub(crate) const FIRST_LEVEL_MISSES: &[&str] = &["D1mr", "D1mw"];
pub(crate) const SECOND_LEVEL_MISSES: &[&str] = &["DLmr", "DLmw"];
/// The caches of the machine in `bench/RESULTS.md`: 32 KiB, then 1 MiB of each core. They stand for the two levels that
/// callgrind knows.
const CACHES: [&str; 3] = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"];

/// Inclusive counts of some events by function, and of everything.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) total: u64,
    functions: BTreeMap<String, u64>,
}

impl Profile {
    /// The events of a function and of all functions that it calls. The function must not be recursive.
    pub(crate) fn of(&self, function: &str) -> anyhow::Result<u64> {
        let count = self.functions.get(function);
        count.copied().with_context(|| {
            format!("callgrind saw no function {function}; if it is inlined, mark it `#[inline(never)]`")
        })
    }

    /// Reads callgrind's format: after `fn=` come lines of a position and a count. The line after `calls=` has the
    /// count of the called function and of everything below. A name is written once, and its number afterwards.
    pub(crate) fn read(text: &str, events: &[&str]) -> anyhow::Result<Self> {
        let counted =
            text.lines().find_map(|line| line.strip_prefix("events: ")).context("no list of events")?;
        let is_wanted: Vec<bool> = counted.split_whitespace().map(|event| events.contains(&event)).collect();
        if is_wanted.iter().filter(|wanted| **wanted).count() != events.len() {
            bail!("callgrind counted {counted}, not {events:?}");
        }
        let (mut names, mut counts) = (BTreeMap::new(), BTreeMap::<u64, u64>::new());
        let (mut profile, mut function) = (Self::default(), None);
        for line in text.lines() {
            if let Some(total) = line.strip_prefix("totals: ") {
                profile.total = sum(total.split_whitespace(), &is_wanted)?;
            } else if let Some(name) = line.strip_prefix("fn=") {
                function = Some(number_of(name, &mut names)?);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                number_of(name, &mut names)?;
            } else if let Some(function) =
                function.filter(|_| line.starts_with(['+', '-', '*']) || is_number(line))
            {
                *counts.entry(function).or_default() += sum(line.split_whitespace().skip(1), &is_wanted)?;
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

/// The sum of the wanted columns. Callgrind leaves out zeros at the end of a line.
fn sum<'a>(columns: impl Iterator<Item = &'a str>, is_wanted: &[bool]) -> anyhow::Result<u64> {
    let wanted = columns.zip(is_wanted).filter(|(_, wanted)| **wanted);
    wanted.map(|(count, _)| Ok(count.parse::<u64>()?)).sum()
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

/// Counts a run of this program as the subject. Returns what callgrind wrote.
pub(crate) fn count(subject: &[&str], simulates_caches: bool) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("callgrind.out");
    let output = Command::new("valgrind")
        // The order matters: `--toggle-collect` also turns collection off at the start.
        .args(["--tool=callgrind", "--toggle-collect=apportion::engine::Engine::audit"])
        .arg("--collect-atstart=yes")
        .args(if simulates_caches { &CACHES[..] } else { &[] })
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(env::current_exe()?)
        .args(subject)
        .output()?;
    if !output.status.success() {
        bail!("{}: {}", subject.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(fs::read_to_string(&file)?)
}

/// Checks the reader on a small profile, as benches have no unit tests.
pub(crate) fn check_reader() -> anyhow::Result<()> {
    let text = "events: Ir D1mr D1mw\nsummary: 21 3 4\n\nfl=(1) a.rs\nfn=(1) outer\n10 3\n+2 4 1\ncfi=(2) b.rs\n\
                cfn=(2) inner\ncalls=2 7\n* 12 2 4\n\nfn=(2)\n7 10 2 4\nfn=(1)\n-1 2\n\ntotals: 21 3 4\n";
    let counts = |events| -> anyhow::Result<_> {
        let profile = Profile::read(text, events)?;
        Ok((profile.total, profile.of("outer")?, profile.of("inner")?, profile.of("other").is_err()))
    };
    let (instructions, misses) = (counts(INSTRUCTIONS)?, counts(FIRST_LEVEL_MISSES)?);
    if (instructions, misses) != ((21, 21, 10, true), (7, 7, 6, true)) {
        bail!("a profile was read as {instructions:?} and {misses:?}");
    }
    if counts(SECOND_LEVEL_MISSES).is_ok() {
        bail!("events that were not counted were read");
    }
    Ok(())
}
