//! `cargo surface`: checks that the `public-api.txt` of each published library lists exactly its public items.
//!
//! A change of a public surface thus changes that file, which a reviewer sees. The lists cover all features. Derived,
//! automatic and blanket implementations are left out.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use public_api::{Builder, MINIMUM_NIGHTLY_RUST_VERSION};

const HELP: &str = "\
Compares the public items of each library with its list: scheduler/public-api.txt, formats/public-api.txt and
placement/public-api.txt. The pages of these libraries in the folder `doc` of the target are replaced by JSON.

cargo surface [--write]

  --write  rewrite the lists
  --help   this text

Exit codes: 0 all lists are right; 1 items came or went; 2 an error; 3 this toolchain cannot list items.
";
/// The version of rustdoc's JSON format that the library reads. Each release of Rust may change it.
const FORMAT: u64 = 57;

/// A published library: its package, and its folder in the repository.
struct Library {
    package: &'static str,
    folder: &'static str,
}

const LIBRARIES: [Library; 3] = [
    Library { package: "apportion", folder: "scheduler" },
    Library { package: "apportion-formats", folder: "formats" },
    Library { package: "apportion-placement", folder: "placement" },
];

/// The outcome of a comparison, or of writing the lists. The worst is the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Same,
    Differs,
    /// This toolchain's rustdoc writes another format than the library reads.
    Skipped,
}

/// Names the real rustdoc where cargo starts this program as rustdoc.
const REAL_RUSTDOC: &str = "APPORTION_SURFACE_RUSTDOC";

fn main() -> ExitCode {
    if let Some(rustdoc) = std::env::var_os(REAL_RUSTDOC) {
        return run_rustdoc(&rustdoc);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => document().and_then(|()| for_each(compare)),
        ["--write"] => document().and_then(|()| for_each(write)),
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(Outcome::Same)
        }
        _ => Err(format!("unknown arguments `{}`; see `cargo surface --help`", words.join(" "))),
    };
    match done {
        Ok(Outcome::Same) => ExitCode::SUCCESS,
        Ok(Outcome::Differs) => ExitCode::FAILURE,
        Ok(Outcome::Skipped) => ExitCode::from(3),
        Err(problem) => {
            eprintln!("surface: {problem}");
            ExitCode::from(2)
        }
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The target folder. It is that of other builds, which have checked most dependencies already.
fn target() -> PathBuf {
    root().join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Does the same to every library, so that one run tells all differences, and returns the worst outcome.
fn for_each(work: fn(&Library) -> Result<Outcome, String>) -> Result<Outcome, String> {
    LIBRARIES.iter().try_fold(Outcome::Same, |worst, library| Ok(worst.max(work(library)?)))
}

impl Library {
    /// The path of the list, below the root of the repository.
    fn list(&self) -> String {
        format!("{}/public-api.txt", self.folder)
    }

    /// The name of the crate.
    fn name(&self) -> String {
        self.package.replace('-', "_")
    }

    /// The file that rustdoc writes.
    fn json(&self) -> PathBuf {
        target().join(format!("doc/{}.json", self.name()))
    }
}

fn compare(library: &Library) -> Result<Outcome, String> {
    let Some(items) = items(library)? else { return Ok(Outcome::Skipped) };
    let list = library.list();
    let text = std::fs::read_to_string(root().join(&list)).map_err(|error| format!("{list}: {error}"))?;
    let listed: BTreeSet<&str> = text.lines().collect();
    let items: BTreeSet<&str> = items.iter().map(String::as_str).collect();
    listed.difference(&items).for_each(|item| println!("- {item}"));
    items.difference(&listed).for_each(|item| println!("+ {item}"));
    let is_same = items == listed;
    if is_same {
        println!("{} public items, as listed in {list}", items.len());
    } else {
        println!(
            "The public surface of {} differs from {list}. If this is intended, run `cargo surface --write`.",
            library.package
        );
    }
    Ok(if is_same { Outcome::Same } else { Outcome::Differs })
}

fn write(library: &Library) -> Result<Outcome, String> {
    let Some(items) = items(library)? else { return Ok(Outcome::Skipped) };
    let list = library.list();
    let text: String = items.iter().flat_map(|item| [item.as_str(), "\n"]).collect();
    std::fs::write(root().join(&list), text).map_err(|error| format!("{list}: {error}"))?;
    println!("{} public items in {list}", items.len());
    Ok(Outcome::Same)
}

/// Returns the public items, or `None` if this rustdoc writes another format.
fn items(library: &Library) -> Result<Option<BTreeSet<String>>, String> {
    let json = library.json();
    let format = format_of(&json)?;
    if format != FORMAT {
        println!(
            "skipped: rustdoc writes format {format}; format {FORMAT} is read (Rust 1.95, or {MINIMUM_NIGHTLY_RUST_VERSION})"
        );
        return Ok(None);
    }
    let builder = Builder::from_rustdoc_json(&json).omit_blanket_impls(true).omit_auto_trait_impls(true);
    let api = builder
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| format!("{}: {error}", json.display()))?;
    Ok(Some(api.items().map(ToString::to_string).collect()))
}

/// Runs rustdoc on the libraries. Its JSON output is unstable: a stable toolchain writes it only with
/// `RUSTC_BOOTSTRAP`. Cargo would build all dependencies anew with that variable, so only rustdoc gets it. For that,
/// cargo starts this program as rustdoc. For the same reason cargo is asked for the whole workspace: a part of it may
/// have other features of its dependencies.
fn document() -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["doc", "--quiet", "--locked", "--workspace", "--all-features", "--no-deps", "--target-dir"])
        .arg(target())
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json --cap-lints allow");
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let own = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let status = cargo.current_dir(root()).env("RUSTDOC", own).env(REAL_RUSTDOC, rustdoc).status();
    let status = status.map_err(|error| format!("starting cargo: {error}"))?;
    if !status.success() {
        return Err("rustdoc failed; see its messages above".to_owned());
    }
    Ok(())
}

/// Runs the real rustdoc with this program's arguments, if they name a library. Other crates have no list. Without a
/// crate, cargo asks for the version.
fn run_rustdoc(rustdoc: &OsStr) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let name = arguments.iter().skip_while(|argument| *argument != "--crate-name").nth(1);
    if name.is_some_and(|name| LIBRARIES.iter().all(|library| *name != *library.name())) {
        return ExitCode::SUCCESS;
    }
    let status = Command::new(rustdoc).args(arguments).env("RUSTC_BOOTSTRAP", "1").status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("surface: starting {}: {error}", rustdoc.display());
            ExitCode::FAILURE
        }
    }
}

fn format_of(json: &Path) -> Result<u64, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", json.display());
    let text = std::fs::read(json).map_err(|error| problem(&error))?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| problem(&error))?;
    value["format_version"].as_u64().ok_or_else(|| problem(&"`format_version` is missing"))
}
