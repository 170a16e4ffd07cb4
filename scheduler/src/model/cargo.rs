//! Builds and runs the present program once more, for a checker.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use thiserror::Error;

use super::Checker;
use super::options::Options;

/// Set for the inner cargo, so that a build without the flags does not start another one.
const BUILDING: &str = "APPORTION_MODEL_BUILD";
/// The user's arguments for the inner cargo; the command that replays an order repeats them.
const GIVEN: &str = "APPORTION_MODEL_CARGO";
/// The environment variable with the checker that options need not name.
pub(super) const CHECKER: &str = "APPORTION_CHECKER";
/// The optimisation level: enough for short runs, and quickly built.
const OPT_LEVEL: u8 = 1;

/// Why the program cannot be built for a checker.
#[derive(Debug, Error)]
pub(super) enum CargoError {
    #[error("cargo must run this program, as in `cargo test --test models`: {0} is not set")]
    NotUnderCargo(&'static str),
    #[error(
        "the inner cargo built this program without `--cfg apportion_{0}`; does a wrapper replace the flags?"
    )]
    FlagsLost(String),
    #[error("cargo cannot be started: {0}")]
    Start(io::Error),
}

/// How cargo names and runs the present program.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    command: &'static str,
    kind: &'static str,
    name: String,
}

impl Target {
    /// Cargo puts examples into `examples`, binaries beside it, and tests into `deps`, with a hash after the name.
    fn of(program: &Path) -> Self {
        let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = program.parent().and_then(Path::file_name).unwrap_or_default();
        let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        match stem.rsplit_once('-').filter(|(_, hash)| is_hash(hash)) {
            // The name of the program has `_` for each `-` of the target's name. Cargo takes a pattern.
            Some((name, _)) => Self { command: "test", kind: "--test", name: name.replace('_', "?") },
            None if folder == "examples" => Self { command: "run", kind: "--example", name: stem },
            None => Self { command: "run", kind: "--bin", name: stem },
        }
    }

    fn of_this_program() -> Self {
        Self::of(&env::current_exe().unwrap_or_default())
    }
}

/// The command line that runs this program with these arguments.
pub(super) fn command_line(arguments: &str) -> String {
    let Target { command, kind, name } = Target::of_this_program();
    // A pattern of the shell, too.
    let name = if name.contains('?') { format!("'{name}'") } else { name };
    let package = env::var("CARGO_PKG_NAME").map(|package| format!(" -p {package}")).unwrap_or_default();
    match env::var(GIVEN).unwrap_or_default().as_str() {
        "" => format!("cargo {command}{package} {kind} {name} -- {arguments}"),
        given => format!("cargo {command}{package} {given} {kind} {name} -- {arguments} -- {given}"),
    }
}

/// The target folder of the present program. Cargo marks it as a cache.
pub(super) fn target_folder() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    let marked = program.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.map_or_else(|| env::temp_dir().join("apportion-models"), Path::to_owned)
}

/// Builds and runs this program for `checker`, with the same arguments.
pub(super) fn run_again(checker: Checker, options: &Options) -> Result<ExitCode, CargoError> {
    if let Ok(checker) = env::var(BUILDING) {
        return Err(CargoError::FlagsLost(checker));
    }
    let set = |name| env::var_os(name).ok_or(CargoError::NotUnderCargo(name));
    let target = Target::of_this_program();
    let mut cargo = Command::new(set("CARGO")?);
    cargo
        .arg(target.command)
        .arg("--manifest-path")
        .arg(Path::new(&set("CARGO_MANIFEST_DIR")?).join("Cargo.toml"));
    cargo.arg("--package").arg(set("CARGO_PKG_NAME")?).args([target.kind, &target.name]);
    // The outer cargo has brought the lock file up to date, with the dependencies of all builds.
    cargo.arg("--locked").arg("--target-dir").arg(target_folder().join(checker.name()));
    for profile in ["dev", "test"] {
        cargo.arg(format!("--config=profile.{profile}.opt-level={OPT_LEVEL}"));
        // Optimising across codegen units takes longer than it saves.
        cargo.arg(format!("--config=profile.{profile}.lto='off'"));
    }
    add_flags(&mut cargo, checker);
    cargo.args(&options.cargo).arg("--").args(options.arguments());
    cargo.env(BUILDING, checker.name()).env(GIVEN, options.cargo.join(" ")).env_remove(CHECKER);
    let status = cargo.status().map_err(CargoError::Start)?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// Flags in the environment replace those of all configuration files. So where there are some, the checker's are
/// added to them. Otherwise the checker's are added to those of the files' sections `target`.
fn add_flags(cargo: &mut Command, checker: Checker) {
    let flag = format!("apportion_{}", checker.name());
    let encoded = env::var_os("CARGO_ENCODED_RUSTFLAGS");
    let plain = || env::var("RUSTFLAGS").ok().map(|flags| OsString::from(encode(&flags)));
    match encoded.or_else(plain) {
        Some(mut flags) => {
            if !flags.is_empty() {
                flags.push("\u{1f}");
            }
            flags.push(format!("--cfg\u{1f}{flag}"));
            cargo.env("CARGO_ENCODED_RUSTFLAGS", flags);
        }
        None => {
            cargo.arg(format!("--config=target.'cfg(all())'.rustflags=['--cfg', '{flag}']"));
        }
    }
}

/// Flags as cargo takes them without quoting.
fn encode(flags: &str) -> String {
    flags.split_whitespace().collect::<Vec<_>>().join("\u{1f}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_program_tells_its_target() {
        for (program, command, kind, name) in [
            ("/t/debug/deps/my_models-0123456789abcdef", "test", "--test", "my?models"),
            ("/t/debug/examples/my-model", "run", "--example", "my-model"),
            ("/t/x86_64-unknown-linux-gnu/debug/models", "run", "--bin", "models"),
        ] {
            let name = name.to_owned();
            assert_eq!(Target::of(Path::new(program)), Target { command, kind, name });
        }
    }

    #[test]
    fn flags_keep_their_order() {
        assert_eq!(encode(" -C  opt-level=3 --cfg x"), "-C\u{1f}opt-level=3\u{1f}--cfg\u{1f}x");
        assert_eq!(encode(""), "");
    }
}
