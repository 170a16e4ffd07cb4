//! What recurs: who asks for a container, and for what.

use apportion::AskSpec;

/// A container that is asked for again when it has completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// Which of the applications.
    pub(crate) application: u32,
    /// Which of the kinds.
    pub(crate) kind: u32,
}

/// Asks that recur: few, as sizes, priorities and partitions are few.
#[derive(Debug, Default)]
pub(crate) struct Kinds(Vec<AskSpec>);

impl Kinds {
    pub(crate) fn number_of(&mut self, spec: AskSpec) -> u32 {
        // Those that name hosts are hardly ever equal.
        let is_same = |kind: &AskSpec| spec.wishes.is_empty() && *kind == spec;
        let known = self.0.iter().position(is_same);
        known.unwrap_or_else(|| {
            self.0.push(spec);
            self.0.len() - 1
        }) as u32
    }

    pub(crate) fn of(&self, task: Task) -> &AskSpec {
        &self.0[task.kind as usize]
    }
}
