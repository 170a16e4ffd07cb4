//! `cargo mutate --refresh`: regenerates patches that no longer apply because the code around them has moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    // With `--force` it asks nothing. `--batch` would also take back a defect that the code has already.
    patch.args(["-p1", "-F3", "-l", "-s", "--force", "--no-backup-if-mismatch", "-d"]).arg(folder.join("b"));
    patch.arg("-i").arg(&mutant.path).stdin(Stdio::null());
    let applied = patch.output().map_err(|error| format!("starting patch: {error}"))?;
    if !applied.status.success() {
        return Ok(Refreshed::Failed(String::from_utf8_lossy(&applied.stdout).trim().replace('\n', "; ")));
    }
    let text =
        fs::read_to_string(&mutant.path).map_err(|error| format!("{}: {error}", mutant.path.display()))?;
    let (header, _) = text.split_once("diff --git ").ok_or("the patch has no `diff --git` line")?;
    let Some(lines) = difference(&folder)? else {
        return Ok(Refreshed::Failed("it changes nothing any more".to_owned()));
    };
    let kept: String = lines.split_inclusive('\n').filter(|line| !line.starts_with("index ")).collect();
    replace(&mutant.path, &format!("{header}{kept}"))?;
    Ok(Refreshed::Anew)
}

/// The difference between the subfolders `a` and `b`; `None` if they are equal.
fn difference(folder: &Path) -> Result<Option<String>, String> {
    let mut git = Command::new("git");
    git.args(["diff", "--no-index", "--no-ext-diff", "--no-color", "--no-prefix", "--", "a", "b"]);
    let diff = git.current_dir(folder).output().map_err(|error| format!("starting git: {error}"))?;
    match diff.status.code() {
        Some(0) => Ok(None),
        // Git ends with 1, and prints no difference, if it cannot read a file.
        Some(1) if !diff.stdout.is_empty() => {
            String::from_utf8(diff.stdout).map(Some).map_err(|error| format!("git diff: {error}"))
        }
        _ => Err(format!("git diff failed: {}", String::from_utf8_lossy(&diff.stderr).trim())),
    }
}

/// Replaces a file: it has the new content or, after an error, the old one.
fn replace(file: &Path, content: &str) -> Result<(), String> {
    let new = file.with_extension("tmp");
    let replaced = fs::write(&new, content).and_then(|()| fs::rename(&new, file));
    replaced.map_err(|error| {
        let _ = fs::remove_file(&new);
        format!("{}: {error}", file.display())
    })
}

fn copy(from: &Path, to: &PathBuf) -> Result<(), String> {
    let folder = to.parent().unwrap_or(to);
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, to));
    copied.map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_difference_becomes_a_patch() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |file: &str, text: &str| {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
            fs::write(file, text).expect("written");
        };
        write("a/f", "old\n");
        let failed = difference(folder.path()).expect_err("there is no b");
        assert!(failed.starts_with("git diff failed: "), "{failed}");
        write("b/f", "old\n");
        assert_eq!(difference(folder.path()), Ok(None));
        write("b/f", "new\n");
        let lines = difference(folder.path()).expect("git runs").expect("they differ");
        assert!(lines.contains("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n"), "{lines}");
    }

    #[test]
    fn a_file_that_cannot_be_replaced_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("i1.patch");
        fs::write(&file, "old").expect("written");
        fs::create_dir(folder.path().join("i1.tmp")).expect("a folder in the way");
        assert!(replace(&file, "new").is_err());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "old");
        fs::remove_dir(folder.path().join("i1.tmp")).expect("it is empty");
        replace(&file, "new").expect("replaced");
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing is left beside it");
    }
}
