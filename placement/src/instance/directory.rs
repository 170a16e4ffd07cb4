//! Where instances are kept between runs (`slider.md` D30).
//!
//! An instance is a folder with its three definition files and the folders `snapshot` (the definition as it was
//! given), `generated` (with what is inherited filled in), `database` and `history`. It appears and goes with one
//! rename. A new definition is complete under `pending` before its files move to their places one by one; whoever
//! reads looks into `pending` first, so a crash on the way leaves the new definition and never a mixture.

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

/// All instances of one user.
#[derive(Clone, Debug)]
pub struct InstanceDirectories {
    root: PathBuf,
}

/// The folder of one instance, there or not.
#[derive(Clone, Debug)]
pub struct InstanceDirectory {
    root: PathBuf,
    path: PathBuf,
}

/// How much of an instance's folder there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Nothing.
    Absent,
    /// Something, but not all: whoever made it did not finish.
    Incomplete {
        /// The first missing file.
        missing: String,
    },
    /// Everything (Slider model, "cluster-exists").
    Complete,
}

/// Why there is no definition to read.
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
    /// It is not of the form it should be.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// It cannot be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why no folder was made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError {
    /// There is one.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// It cannot be written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl InstanceDirectories {
    /// Instances below this folder, which need not be there yet.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder of the instance of this name.
    #[must_use]
    pub fn of(&self, name: &InstanceName) -> InstanceDirectory {
        InstanceDirectory { root: self.root.clone(), path: self.root.join(name.as_str()) }
    }

    /// The names for which there is a folder, complete or not, in order.
    ///
    /// # Errors
    /// When the folder above them cannot be read.
    pub fn names(&self) -> Result<Vec<InstanceName>, StorageError> {
        let wrong = |error: io::Error| StorageError::new(&self.root, &error);
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(wrong)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(wrong)?;
            // Anything else in the folder is not an instance's.
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

    /// Where the history of where its containers were is kept.
    #[must_use]
    pub fn history_path(&self) -> PathBuf {
        self.path.join(HISTORY)
    }

    /// How much of it there is.
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

    /// The definition as it was saved last.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
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

    /// Makes the folder, all of it or nothing.
    ///
    /// # Errors
    /// When there is one, or it cannot be written.
    pub fn build(&self, definition: &Definition) -> Result<(), BuildError> {
        if self.path.exists() {
            return Err(BuildError::Exists(self.path.clone()));
        }
        storage::run(&[Step::MakeFolder(self.root.clone())])?;
        let part = storage::temporary_folder(&self.root)?;
        let built = storage::run(&self.build_steps(&part, definition));
        if built.is_err() {
            storage::run(&[Step::RemoveFolder(part)])?;
            // A folder that holds something cannot be replaced by a rename: somebody else was first.
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

    /// Replaces the definition of an instance that has a folder. What else is in the folder stays.
    ///
    /// # Errors
    /// When it cannot be written. Then the definition is the old one or the new one.
    pub fn replace(&self, definition: &Definition) -> Result<(), StorageError> {
        storage::run(&self.settle_steps())?;
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

    /// What is left to do of a replacement that was not finished.
    fn settle_steps(&self) -> Vec<Step> {
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

    /// Replaces what is said of components, and nothing else; at once.
    ///
    /// # Errors
    /// When it cannot be written. Then the old one is still there.
    pub fn save_resources(&self, definition: &Definition) -> Result<(), StorageError> {
        storage::run(&self.settle_steps())?;
        let name = ConfFile::Resources.file_name();
        let text = |tree: &ConfTree| tree.to_json().into_bytes();
        storage::replace(&self.path.join(name), &text(&definition.resources))?;
        let generated = self.path.join(GENERATED).join(name);
        storage::replace(&generated, &text(&definition.generated().resources))
    }

    /// Removes the folder with all in it, if there is one.
    ///
    /// # Errors
    /// When it cannot be removed. Then it may be there under another name, which is no instance's.
    pub fn destroy(&self) -> Result<(), StorageError> {
        if !self.path.exists() {
            return Ok(());
        }
        let part = storage::temporary_folder(&self.root)?;
        // With the rename the instance is gone; what comes after it only makes room.
        let rename = Step::Rename(self.path.clone(), part.clone());
        let removed = storage::run(&[rename, Step::Sync(self.root.clone())]);
        storage::run(&[Step::RemoveFolder(part)])?;
        removed
    }
}

/// The definition's files in `folder`.
fn written(definition: &Definition, folder: &Path) -> Vec<Step> {
    let write = |file: ConfFile| {
        let text = definition.file(file).to_json();
        Step::Write(folder.join(file.file_name()), text.into_bytes())
    };
    ConfFile::ALL.map(write).into()
}

/// What was given and what comes of it, below `folder`.
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
