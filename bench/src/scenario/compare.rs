//! Comparison of expected and actual values.

use std::fmt::Display;

use apportion::{ResourceTypes, Resources};

use super::amounts::index_of;
use super::form::Amounts;
use super::problem::{Done, StepError};

/// The differences found so far.
pub(super) struct Comparison<'a> {
    types: &'a ResourceTypes,
    /// The subject of the comparison.
    subject: String,
    /// Number of values of the present subject that were compared.
    compared: usize,
    differences: Vec<String>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(types: &'a ResourceTypes) -> Self {
        Self { types, subject: String::new(), compared: 0, differences: Vec::new() }
    }

    /// Compares one subject. An expectation without content could not fail, so it is a mistake.
    pub(super) fn look_at(&mut self, subject: String, look: impl FnOnce(&mut Self) -> Done) -> Done {
        (self.subject, self.compared) = (subject, 0);
        look(self)?;
        if self.compared == 0 {
            return Err(StepError::Bad(format!("nothing is expected of {}", self.subject)));
        }
        Ok(())
    }

    pub(super) fn equal<T: Display + PartialEq + Copy>(&mut self, what: &str, got: T, wanted: Option<T>) {
        let Some(wanted) = wanted else { return };
        self.compared += 1;
        if got != wanted {
            self.differ(&format!("{what}: got {got}, wanted {wanted}"));
        }
    }

    /// Compares the types that are named.
    pub(super) fn amounts(&mut self, what: &str, got: &Resources, wanted: Option<&Amounts>) -> Done {
        for (name, wanted) in wanted.into_iter().flatten() {
            let index = index_of(self.types, name).map_err(StepError::Bad)?;
            self.equal(&format!("{what} {name}"), got[index], Some(*wanted));
        }
        Ok(())
    }

    /// Compares two lists line by line.
    pub(super) fn lines(&mut self, what: &str, got: &[String], wanted: &[String]) {
        self.compared += 1;
        if got != wanted {
            let text = |lines: &[String]| {
                let lines = lines.iter().map(|line| format!("\n      {line}"));
                lines.reduce(|all, line| all + &line).unwrap_or_else(|| " none".into())
            };
            self.differ(&format!("{what}:\n    got{}\n    wanted{}", text(got), text(wanted)));
        }
    }

    /// Adds a difference.
    pub(super) fn differ(&mut self, difference: &str) {
        self.compared += 1;
        self.differences.push(format!("{} {difference}", self.subject));
    }

    pub(super) fn finish(self) -> Done {
        if self.differences.is_empty() { Ok(()) } else { Err(StepError::Failed(self.differences)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_what_was_got_and_what_was_wanted() {
        let types = ResourceTypes::memory_and_vcores();
        let mut comparison = Comparison::new(&types);
        let wanted = Amounts::from([("memory".into(), 5), ("vcore".into(), 7)]);
        let got = Resources::new(&[4, 7]);
        comparison.look_at("node n1".into(), |it| it.amounts("used", &got, Some(&wanted))).unwrap();
        let differences = vec!["node n1 used memory: got 4, wanted 5".to_owned()];
        assert_eq!(comparison.finish(), Err(StepError::Failed(differences)));
    }

    #[test]
    fn an_expectation_that_cannot_fail_is_a_mistake() {
        let types = ResourceTypes::memory_and_vcores();
        let mut comparison = Comparison::new(&types);
        let empty = comparison.look_at("node n1".into(), |it| it.amounts("used", &Resources::ZERO, None));
        assert_eq!(empty, Err(StepError::Bad("nothing is expected of node n1".into())));
    }
}
