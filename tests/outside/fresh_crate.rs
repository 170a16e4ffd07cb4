//! A crate outside the tree models its code with the engine, in one command of cargo.
//!
//! The crate is made in a temporary folder. It needs no network once `cargo fetch` has filled cargo's cache: it takes
//! the workspace's lock file.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a command of cargo printed, and whether it succeeded.
struct Run {
    is_success: bool,
    text: String,
}

impl Run {
    /// The number before or after which a line says `words`.
    fn number_in(&self, before: &str, after: &str) -> u64 {
        let rest =
            self.text.split(before).nth(1).unwrap_or_else(|| panic!("no `{before}` in\n{}", self.text));
        let number = rest.split(after).next().unwrap_or_default();
        number
            .parse()
            .unwrap_or_else(|_| panic!("no number between `{before}` and `{after}` in\n{}", self.text))
    }

    fn expect(&self, words: &str) {
        assert!(self.text.contains(words), "no `{words}` in\n{}", self.text);
    }
}

/// The crate, in a folder that ends with it.
struct Fresh(TempDir);

impl Fresh {
    fn new() -> Self {
        let root = workspace();
        let fresh = Self(tempfile::tempdir().expect("a temporary folder"));
        assert!(!fresh.folder().starts_with(&root), "outside the tree");
        let engine = root.join("scheduler").display().to_string().replace('\\', "/");
        fresh.write("Cargo.toml", &include_str!("fresh/manifest.toml").replace("ENGINE", &engine));
        fresh.write("tests/models.rs", include_str!("fresh/models.rs"));
        fs::copy(root.join("Cargo.lock"), fresh.folder().join("Cargo.lock")).expect("a lock file");
        fresh
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Runs a command as a user of the crate would: without what the workspace's cargo has set.
    fn cargo(&self, arguments: &str) -> Run {
        let mut cargo = Command::new(env!("CARGO"));
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let is_set = name.starts_with("CARGO_") && !["CARGO_HOME", "CARGO_BUILD_JOBS"].contains(&&*name);
            if is_set || name.starts_with("APPORTION_") || name.contains("RUSTFLAGS") {
                cargo.env_remove(name);
            }
        }
        cargo.args(arguments.split_whitespace()).current_dir(self.folder()).env("CARGO_NET_OFFLINE", "true");
        let Output { status, stdout, stderr } = cargo.output().expect("cargo runs");
        let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        Run { is_success: status.success(), text }
    }
}

fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate is in the workspace").to_owned()
}

/// `checker` finds the defect in the fresh crate's own code and no other, and replays the failing order alone. Returns
/// the order's number.
fn finds_the_defect(fresh: &Fresh, checker: &str) -> u64 {
    let all = fresh.cargo(&format!("test --test models -- --{checker}"));
    assert!(!all.is_success, "{}", all.text);
    assert!(all.number_in("counts_at_once: holds in ", " orders under") > 1);
    all.expect(&format!("orders under {checker}"));
    all.expect("the program counts more than one node");
    all.expect("1 of 2 models fail");
    let failing = all.number_in("counts_in_two_steps: order ", " fails under");

    let command = all.text.split("replay it: cargo ").nth(1).and_then(|rest| rest.lines().next());
    let command =
        command.unwrap_or_else(|| panic!("no command that replays in\n{}", all.text)).replace('\'', "");
    let again = fresh.cargo(&command);
    assert!(!again.is_success, "{}", again.text);
    again.expect("the program counts more than one node");
    again.expect(&format!("counts_in_two_steps: a thread panics in order {failing}\n"));
    assert_eq!(again.text.matches("an order begins").count(), 1, "{}", again.text);
    failing
}

#[test]
fn loom_finds_and_replays_a_defect_in_a_fresh_crate() {
    let fresh = Fresh::new();
    // Loom's progress is saved before each hundredth order, and the replay begins there.
    assert!(finds_the_defect(&fresh, "loom") > 100);

    let repaired = include_str!("fresh/models.rs")
        .replace("three_register(count_in_two_steps)", "three_register(count_at_once)");
    fresh.write("tests/models.rs", &repaired);
    // The order's steps are no longer those of the model.
    let old = fresh.cargo("test --test models -- --replay counts_in_two_steps");
    old.expect("counts_in_two_steps: the program is newer than the recorded order");
    let held = fresh.cargo("test --test models");
    assert!(held.is_success, "{}", held.text);
    held.expect("2 of 2 models hold");
    let wrong = fresh.cargo("test --test models -- --threads");
    assert!(!wrong.is_success);
    wrong.expect("there is no option `--threads`");
}

#[test]
fn shuttle_finds_and_replays_a_defect_in_a_fresh_crate() {
    finds_the_defect(&Fresh::new(), "shuttle");
}
