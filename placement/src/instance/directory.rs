//! Instance folders, which keep instances between runs (`slider.md` D30).
//!
//! An instance is a folder with three definition files and the folders `snapshot` (the definition as
//! given), `generated` (inherited values filled in), `database` and `history`. One rename creates or
//! removes it.
//!
//! A new definition is written completely under `pending` before its files move to their places one by one.
//! Readers look into `pending` first, so a crash in between leaves the new definition and never a mixture.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::definition::{ConfFile, ConfTree, Definition, DefinitionError};
use super::name::InstanceName;
use super::storage::{self, Step, StorageError};

const SNAPSHOT: &str = "snapshot";
const GENERATED: &str = "generated";
const DATABASE: &str = "database";
const HISTORY: &str = "history";
const PENDING: &str = "pending";

/// The instance folders of one user.
#[derive(Clone, Debug)]
pub struct InstanceDirectories {
    root: PathBuf,
}

/// The folder of one instance, whether it exists or not.
#[derive(Clone, Debug)]
pub struct InstanceDirectory {
    root: PathBuf,
    path: PathBuf,
}

/// How complete an instance's folder is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// There is no folder.
    Absent,
    /// Files are missing: its creation did not finish, or files were removed.
    Incomplete {
        /// The first missing file.
        missing: String,
    },
    /// All files and folders exist (Slider model, "cluster-exists").
    Complete,
}

/// Why a definition cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    /// There is no such folder.
    #[error("there is no {}", .0.display())]
    Absent(PathBuf),
    /// The folder's creation did not finish.
    #[error("{} is incomplete: `{missing}` is missing", path.display())]
    Incomplete {
        /// The folder.
        path: PathBuf,
        /// The missing file.
        missing: String,
    },
    /// The definition has the wrong form.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// The folder cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a folder was not created.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// The folder exists already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// The folder cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl InstanceDirectories {
    /// Instances below this folder, which need not exist yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the folder of the instance with this name.
    #[must_use]
    pub fn of(&self, name: &InstanceName) -> InstanceDirectory {
        InstanceDirectory { root: self.root.clone(), path: self.root.join(name.as_str()) }
    }

    /// Returns the names of all folders, complete or not, in order.
    ///
    /// # Errors
    /// If the parent folder cannot be read.
    pub fn names(&self) -> Result<Vec<InstanceName>, StorageError> {
        let wrong = |error: io::Error| StorageError::new(&self.root, &error);
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(wrong)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(wrong)?;
            // Skips anything that is not an instance folder.
            let name = entry.file_name().to_str().and_then(|name| name.parse().ok());
            names.extend(name.filter(|_| entry.path().is_dir()));
        }
        names.sort();
        Ok(names)
    }
}

impl InstanceDirectory {
    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the role history.
    #[must_use]
    pub fn history_path(&self) -> PathBuf {
        self.path.join(HISTORY)
    }

    /// Returns how complete the folder is.
    #[must_use]
    pub fn presence(&self) -> Presence {
        if !self.path.exists() {
            return Presence::Absent;
        }
        let file_is_there = |file: &ConfFile| {
            let name = file.file_name();
            self.path.join(name).is_file() || self.path.join(PENDING).join(name).is_file()
        };
        let missing_file =
            ConfFile::ALL.into_iter().find(|file| !file_is_there(file)).map(ConfFile::file_name);
        let folders = [SNAPSHOT, GENERATED, DATABASE, HISTORY];
        let missing_folder = || folders.into_iter().find(|folder| !self.path.join(folder).is_dir());
        match missing_file.or_else(missing_folder) {
            None => Presence::Complete,
            Some(missing) => Presence::Incomplete { missing: missing.to_owned() },
        }
    }

    /// Returns the definition that was saved last.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn load(&self) -> Result<Definition, LoadError> {
        match self.presence() {
            Presence::Absent => return Err(LoadError::Absent(self.path.clone())),
            Presence::Incomplete { missing } => {
                return Err(LoadError::Incomplete { path: self.path.clone(), missing });
            }
            Presence::Complete => {}
        }
        let [resources, internal, app_config] = ConfFile::ALL.map(|file| self.read(file));
        Ok(Definition::parse(&resources?, &internal?, &app_config?)?)
    }

    fn read(&self, file: ConfFile) -> Result<String, LoadError> {
        let name = file.file_name();
        let pending = storage::read(&self.path.join(PENDING).join(name))?;
        let text = match pending {
            Some(text) => Some(text),
            None => storage::read(&self.path.join(name))?,
        };
        text.ok_or_else(|| LoadError::Incomplete { path: self.path.clone(), missing: name.to_owned() })
    }

    /// Creates the folder, completely or not at all.
    ///
    /// # Errors
    /// If it exists, or cannot be written.
    pub fn build(&self, definition: &Definition) -> Result<(), BuildError> {
        if self.path.exists() {
            return Err(BuildError::Exists(self.path.clone()));
        }
        storage::run(&[Step::MakeFolder(self.root.clone())])?;
        let part = storage::temporary_folder(&self.root)?;
        let built = storage::run(&self.build_steps(&part, definition));
        if built.is_err() {
            storage::run(&[Step::RemoveFolder(part)])?;
            // A rename cannot replace a folder that is not empty: another client was first.
            if self.path.exists() {
                return Err(BuildError::Exists(self.path.clone()));
            }
        }
        Ok(built?)
    }

    fn build_steps(&self, part: &Path, definition: &Definition) -> Vec<Step> {
        let mut steps = vec![Step::MakeFolder(part.join(DATABASE)), Step::MakeFolder(part.join(HISTORY))];
        steps.extend(written(definition, part));
        steps.extend(copies(definition, part));
        steps.push(Step::Sync(part.to_owned()));
        steps.push(Step::Rename(part.to_owned(), self.path.clone()));
        steps.push(Step::Sync(self.root.clone()));
        steps
    }

    /// Replaces the definition of an instance that has a folder. Other contents of the folder stay.
    ///
    /// # Errors
    /// If it cannot be written. The definition is then the old one or the new one.
    pub fn replace(&self, definition: &Definition) -> Result<(), StorageError> {
        storage::run(&self.remaining_steps())?;
        let part = storage::temporary_folder(&self.path)?;
        let replaced = storage::run(&self.replace_steps(&part, definition));
        if replaced.is_err() {
            storage::run(&[Step::RemoveFolder(part)])?;
        }
        replaced
    }

    fn replace_steps(&self, part: &Path, definition: &Definition) -> Vec<Step> {
        let folders = [SNAPSHOT, GENERATED, DATABASE, HISTORY];
        let mut steps: Vec<Step> = folders.map(|name| Step::MakeFolder(self.path.join(name))).into();
        steps.extend(written(definition, part));
        steps.push(Step::Sync(part.to_owned()));
        steps.push(Step::Rename(part.to_owned(), self.path.join(PENDING)));
        steps.push(Step::Sync(self.path.clone()));
        let moves = ConfFile::ALL.map(|file| self.move_from_pending(file));
        steps.extend(moves);
        steps.push(Step::RemoveFolder(self.path.join(PENDING)));
        steps.extend(copies(definition, &self.path));
        steps.push(Step::Sync(self.path.clone()));
        steps
    }

    /// Returns the remaining steps of an unfinished replacement.
    fn remaining_steps(&self) -> Vec<Step> {
        let is_pending = |file: &ConfFile| self.path.join(PENDING).join(file.file_name()).is_file();
        let pending = ConfFile::ALL.into_iter().filter(is_pending);
        let mut steps: Vec<Step> = pending.map(|file| self.move_from_pending(file)).collect();
        steps.push(Step::RemoveFolder(self.path.join(PENDING)));
        steps
    }

    fn move_from_pending(&self, file: ConfFile) -> Step {
        let name = file.file_name();
        Step::Rename(self.path.join(PENDING).join(name), self.path.join(name))
    }

    /// Replaces only `resources.json`, atomically.
    ///
    /// # Errors
    /// If it cannot be written. The old file then remains.
    pub fn save_resources(&self, definition: &Definition) -> Result<(), StorageError> {
        storage::run(&self.remaining_steps())?;
        let name = ConfFile::Resources.file_name();
        let text = |tree: &ConfTree| tree.to_json().into_bytes();
        storage::replace(&self.path.join(name), &text(&definition.resources))?;
        let generated = self.path.join(GENERATED).join(name);
        storage::replace(&generated, &text(&definition.generated().resources))
    }

    /// Removes the folder with its contents if it exists.
    ///
    /// # Errors
    /// If it cannot be removed. It may then remain under a temporary name that no instance has.
    pub fn destroy(&self) -> Result<(), StorageError> {
        if !self.path.exists() {
            return Ok(());
        }
        let part = storage::temporary_folder(&self.root)?;
        // The rename removes the instance; the rest only frees space.
        let rename = Step::Rename(self.path.clone(), part.clone());
        let removed = storage::run(&[rename, Step::Sync(self.root.clone())]);
        storage::run(&[Step::RemoveFolder(part)])?;
        removed
    }
}

/// Returns the steps that write the definition's files to `folder`.
fn written(definition: &Definition, folder: &Path) -> Vec<Step> {
    let write = |file: ConfFile| {
        let text = definition.file(file).to_json();
        Step::Write(folder.join(file.file_name()), text.into_bytes())
    };
    ConfFile::ALL.map(write).into()
}

/// Returns the steps that write the given and the generated definition below `folder`.
fn copies(definition: &Definition, folder: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    for (name, copy) in [(SNAPSHOT, definition.clone()), (GENERATED, definition.generated())] {
        let place = folder.join(name);
        steps.push(Step::MakeFolder(place.clone()));
        steps.extend(written(&copy, &place));
    }
    steps
}

#[cfg(test)]
#[path = "directory/tests.rs"]
mod tests;
