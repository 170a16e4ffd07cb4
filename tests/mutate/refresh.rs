//! `cargo mutate --refresh`: regenerates patches that no longer apply because the code around them has moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use apportion_tests::support::mutants::Mutant;

/// The result of a refresh.
pub(crate) enum Refreshed {
    /// It has new line numbers and context.
    Anew,
    /// The code that it damages has changed: its author has to update it.
    Failed(String),
}

/// Applies the patch with `patch`, which accepts other context than git does, and writes the difference as the new
/// patch. The header stays.
pub(crate) fn refresh(root: &Path, mutant: &Mutant) -> Result<Refreshed, String> {
    let folder = root.join("target/mutants/refresh");
    let _ = fs::remove_dir_all(&folder);
    for file in &mutant.changes {
        for side in ["a", "b"] {
            copy(&root.join(file), &folder.join(side).join(file))?;
        }
    }
    let mut patch = Command::new("patch");
    patch.args(["-p1", "-F3", "-l", "-s", "--no-backup-if-mismatch", "-d"]).arg(folder.join("b"));
    let applied =
        patch.arg("-i").arg(&mutant.path).output().map_err(|error| format!("starting patch: {error}"))?;
    if !applied.status.success() {
        return Ok(Refreshed::Failed(String::from_utf8_lossy(&applied.stdout).trim().replace('\n', "; ")));
    }
    let text =
        fs::read_to_string(&mutant.path).map_err(|error| format!("{}: {error}", mutant.path.display()))?;
    let (header, _) = text.split_once("diff --git ").ok_or("the patch has no `diff --git` line")?;
    let mut git = Command::new("git");
    git.args(["diff", "--no-index", "--no-color", "--no-prefix", "--", "a", "b"]).current_dir(&folder);
    let diff = git.output().map_err(|error| format!("starting git: {error}"))?;
    let lines = String::from_utf8_lossy(&diff.stdout).into_owned();
    let kept: String = lines.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect();
    fs::write(&mutant.path, format!("{header}{kept}"))
        .map_err(|error| format!("{}: {error}", mutant.path.display()))?;
    Ok(Refreshed::Anew)
}

fn copy(from: &Path, to: &PathBuf) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, to));
    copied.map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
