//! Recurring tasks: the application and the kind of each ask.

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
        &self.0[task.kind as usize]
    }
}
