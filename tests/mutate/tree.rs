//! The copy of the repository to which patches are applied.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use apportion_tests::support::mutants::Mutant;

/// A copy in which unchanged files keep their modification time, so that builds are incremental.
pub(crate) struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Brings the copy up to date with all files that git tracks or would track.
    pub(crate) fn copy(root: &Path, folder: &Path) -> Result<Self, String> {
        let tree = Self { folder: folder.join("tree") };
        let listed = git(root, ["ls-files", "-coz", "--exclude-standard"].map(OsStr::new))?;
        if !listed.status.success() {
            return Err(format!("{}: git cannot list the files: {}", root.display(), said(&listed)));
        }
        let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let wanted: BTreeSet<PathBuf> = names
            .map(|name| PathBuf::from(OsStr::from_bytes(name)))
            .filter(|file| root.join(file).is_file())
            .collect();
        for file in &wanted {
            let source = root.join(file);
            let content = fs::read(&source).map_err(|error| format!("{}: {error}", source.display()))?;
            tree.write(file, &content)?;
        }
        remove_others(&tree.folder, Path::new(""), &wanted)?;
        Ok(tree)
    }

    /// Does `work` while the mutant's patch is applied, then restores the files that the patch changed.
    pub(crate) fn damaged_by<T>(
        &self,
        mutant: &Mutant,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        let read = |file: &String| {
            let content = fs::read(self.folder.join(file));
            content.map_err(|error| format!("{}: it changes {file}: {error}", mutant.path.display()))
        };
        let whole: Vec<Vec<u8>> = mutant.changes.iter().map(read).collect::<Result<_, _>>()?;
        let applied = git(&self.folder, [OsStr::new("apply"), mutant.path.as_os_str()])?;
        if !applied.status.success() {
            return Err(format!("{} does not apply: {}", mutant.path.display(), said(&applied)));
        }
        let outcome = work();
        for (file, content) in mutant.changes.iter().zip(whole) {
            self.write(Path::new(file), &content)?;
        }
        outcome
    }

    /// Writes a file unless it has this content already.
    fn write(&self, file: &Path, content: &[u8]) -> Result<(), String> {
        let target = self.folder.join(file);
        if fs::read(&target).is_ok_and(|present| present == content) {
            return Ok(());
        }
        let parent = target.parent().unwrap_or(&self.folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&target, content));
        written.map_err(|error| format!("{}: {error}", target.display()))
    }
}

/// Removes files of the copy that the repository no longer has.
fn remove_others(tree: &Path, inside: &Path, wanted: &BTreeSet<PathBuf>) -> Result<(), String> {
    let folder = tree.join(inside);
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries.flatten() {
        let file = inside.join(entry.file_name());
        if entry.path().is_dir() {
            remove_others(tree, &file, wanted)?;
        } else if !wanted.contains(&file) {
            fs::remove_file(entry.path()).map_err(|error| format!("{}: {error}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Returns why a patch does not apply to the repository, or `None` if it does.
pub(crate) fn check(root: &Path, mutant: &Mutant) -> Result<Option<String>, String> {
    let arguments = [OsStr::new("apply"), OsStr::new("--check"), mutant.path.as_os_str()];
    let applied = git(root, arguments)?;
    Ok((!applied.status.success()).then(|| said(&applied)))
}

/// Runs git in a folder. The copy lies inside a repository and is none itself: git must not look further up.
fn git<const N: usize>(folder: &Path, arguments: [&OsStr; N]) -> Result<Output, String> {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(folder).env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
    git.output().map_err(|error| format!("starting git: {error}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")
}
