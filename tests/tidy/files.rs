//! Paths of the workspace.

use std::path::{Path, PathBuf};

use super::source::Source;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace").to_owned()
}

/// A file's text; `file` is given from the workspace's root.
pub(crate) fn text(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The folders of all crates, from the workspace's root.
pub(crate) fn crates() -> Vec<String> {
    let manifest = text("Cargo.toml");
    let members = manifest.split("\nmembers = [").nth(1).and_then(|rest| rest.split(']').next());
    let members = members.expect("the root's manifest has a list of members").split(',');
    let folders = members.map(|member| member.trim().trim_matches('"').to_owned());
    folders.filter(|folder| !folder.is_empty()).collect()
}

/// The roots of a crate's library and programs, from the workspace's root.
pub(crate) fn crate_roots(folder: &str) -> Vec<String> {
    let manifest = text(&format!("{folder}/Cargo.toml"));
    let tables =
        manifest.split("\n[").filter(|table| table.starts_with("lib]") || table.starts_with("[bin]]"));
    let path = |table: &str| Some(table.split("\npath = \"").nth(1)?.split('"').next()?.to_owned());
    let named: Vec<String> = tables.filter_map(path).collect();
    let usual = ["src/lib.rs", "src/main.rs"].map(str::to_owned);
    let roots = named.into_iter().chain(usual).map(|file| format!("{folder}/{file}"));
    roots.filter(|file| root().join(file).is_file()).collect()
}

/// Every source file of every crate.
pub(crate) fn all_sources() -> Vec<Source> {
    let crates = crates();
    let is_inside = |folder: &str| crates.iter().any(|other| folder.starts_with(&format!("{other}/")));
    crates.iter().filter(|folder| !is_inside(folder)).flat_map(|folder| Source::of(folder)).collect()
}
