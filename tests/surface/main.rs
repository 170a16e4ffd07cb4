//! `cargo surface`: checks that `scheduler/public-api.txt` lists exactly the public items of the engine.
//!
//! A change of the public surface thus changes that file, which a reviewer sees. The list covers the default
//! features; `model` adds items for model checkers. Derived, automatic and blanket implementations are left out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use public_api::{Builder, MINIMUM_NIGHTLY_RUST_VERSION};

const HELP: &str = "\
Compares the public items of the engine with scheduler/public-api.txt.

cargo surface [--write]

  --write  make the list anew
  --help   this text

Ends with 0 if the list is right, with 1 if items came or went, with 2 if they could not be listed, with 3 if this
toolchain cannot list them.
";
/// The version of rustdoc's JSON format that the library reads. Each release of Rust may change it.
const FORMAT: u64 = 57;

/// The outcome of a comparison, or of writing the list.
enum Outcome {
    Same,
    Differs,
    /// This toolchain's rustdoc writes another format than the library reads.
    Skipped,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => compare(),
        ["--write"] => write(),
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

fn list() -> PathBuf {
    root().join("scheduler/public-api.txt")
}

fn compare() -> Result<Outcome, String> {
    let Some(items) = items()? else { return Ok(Outcome::Skipped) };
    let path = list();
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let listed: BTreeSet<&str> = text.lines().collect();
    let items: BTreeSet<&str> = items.iter().map(String::as_str).collect();
    listed.difference(&items).for_each(|item| println!("- {item}"));
    items.difference(&listed).for_each(|item| println!("+ {item}"));
    let is_same = items == listed;
    if is_same {
        println!("{} public items, as listed in scheduler/public-api.txt", items.len());
    } else {
        println!("The public surface has changed. If this is intended, run `cargo surface --write`.");
    }
    Ok(if is_same { Outcome::Same } else { Outcome::Differs })
}

fn write() -> Result<Outcome, String> {
    let Some(items) = items()? else { return Ok(Outcome::Skipped) };
    let path = list();
    let text: String = items.iter().flat_map(|item| [item.as_str(), "\n"]).collect();
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{} public items", items.len());
    Ok(Outcome::Same)
}

/// Returns the public items, or `None` if this rustdoc writes another format.
fn items() -> Result<Option<BTreeSet<String>>, String> {
    let json = document()?;
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

/// Runs rustdoc on the engine. Its JSON output is unstable: a stable compiler writes it only with `RUSTC_BOOTSTRAP`.
fn document() -> Result<PathBuf, String> {
    let arguments =
        ["rustdoc", "--quiet", "--locked", "-p", "apportion", "--lib", "--target-dir", "target/surface"];
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).args([
        "--",
        "-Z",
        "unstable-options",
        "--output-format",
        "json",
        "--cap-lints",
        "allow",
    ]);
    let status = cargo.current_dir(root()).env("RUSTC_BOOTSTRAP", "1").status();
    let status = status.map_err(|error| format!("starting cargo: {error}"))?;
    if !status.success() {
        return Err("rustdoc failed on the engine; see its messages above".to_owned());
    }
    Ok(root().join("target/surface/doc/apportion.json"))
}

fn format_of(json: &Path) -> Result<u64, String> {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", json.display());
    let text = std::fs::read(json).map_err(|error| problem(&error))?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| problem(&error))?;
    value["format_version"].as_u64().ok_or_else(|| problem(&"`format_version` is missing"))
}
