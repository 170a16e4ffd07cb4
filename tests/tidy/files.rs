//! Paths of the workspace.

use std::path::{Path, PathBuf};

use super::source::Source;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the workspace").to_owned()
}

const CRATES: [&str; 6] = ["scheduler", "formats", "placement", "bench", "tests", "docs/book"];
/// A crate in another one's folder.
const LOAD: &str = "bench/load";

/// Every source file of every crate.
pub(crate) fn all_sources() -> Vec<Source> {
    CRATES.iter().flat_map(|folder| Source::of(folder)).collect()
}

/// Every crate's manifest.
pub(crate) fn manifests() -> Vec<PathBuf> {
    CRATES.iter().chain([&LOAD]).map(|folder| root().join(folder).join("Cargo.toml")).collect()
}
