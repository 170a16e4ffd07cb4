//! Recurring tasks: the application and the kind of each ask.

use std::time::Instant;

use apportion::AskSpec;

/// A container that is asked for again when it has completed.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// Index of the application.
    pub application: u32,
    /// Index of the kind.
    pub kind: u32,
}

/// The kinds of recurring asks: few, since sizes, priorities and partitions are few.
#[derive(Debug, Default)]
pub struct Kinds(Vec<AskSpec>);

impl Kinds {
    /// The number of this kind of ask; a new kind is added.
    pub fn number_of(&mut self, spec: AskSpec) -> u32 {
        // Asks that name hosts are hardly ever equal.
        let is_same = |kind: &AskSpec| spec.preference.is_empty() && *kind == spec;
        let known = self.0.iter().position(is_same);
        known.unwrap_or_else(|| {
            self.0.push(spec);
            self.0.len() - 1
        }) as u32
    }

    /// The ask for a task.
    #[must_use]
    pub fn of(&self, task: Task) -> &AskSpec {
        self.at(task.kind)
    }

    /// The ask of the kind with this number.
    #[must_use]
    pub fn at(&self, kind: u32) -> &AskSpec {
        &self.0[kind as usize]
    }
}

/// The tasks whose asks are unanswered, with the times at which they were asked for. Each has a number, which its ask
/// carries.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    tasks: Vec<Option<(Task, Instant)>>,
    vacant: Vec<u64>,
}

impl Asked {
    pub(crate) fn len(&self) -> usize {
        self.tasks.len() - self.vacant.len()
    }

    /// Adds a task and returns its number.
    pub(crate) fn insert(&mut self, task: Task, asked_at: Instant) -> u64 {
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() as u64 - 1
        });
        self.tasks[number as usize] = Some((task, asked_at));
        number
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<(Task, Instant)> {
        let asked = self.tasks.get_mut(number as usize)?.take()?;
        self.vacant.push(number);
        Some(asked)
    }
}
