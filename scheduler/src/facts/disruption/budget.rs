//! Disruption budgets: how many containers of an application have to keep running.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Disruption;
use crate::facts::Shape;
use crate::ids::ApplicationId;
use crate::label::counted;

/// How many containers of an application preemption may take at a time, in the manner of Kubernetes'
/// `PodDisruptionBudget`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DisruptionBudget {
    /// The covered containers: those whose ask has this tag. `None`: all containers of the application.
    pub tag: Option<String>,
    /// The number of covered containers that the application wants to have.
    pub desired: u32,
    /// The part of them that has to be available.
    pub limit: DisruptionLimit,
}

/// The part of the desired containers that has to be available. A running container is available unless it is being
/// stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisruptionLimit {
    /// At least so many.
    MinAvailable(u32),
    /// All but so many. With 0, preemption takes none of them.
    MaxUnavailable(u32),
}

/// Why budgets make no sense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InvalidBudget {
    /// A minimum above the number of desired containers.
    #[error(
        "the budget of {} needs {minimum} available containers of {desired} desired; it can never be met, \
         because the minimum is above the desired number", covered(.tag.as_deref())
    )]
    NeverMet {
        /// The tag of the covered containers.
        tag: Option<String>,
        /// The least number of available containers.
        minimum: u32,
        /// The number of desired containers.
        desired: u32,
    },
    /// A budget for no containers.
    #[error("the budget of {} is for 0 desired containers; leave it out", covered(.tag.as_deref()))]
    NothingDesired {
        /// The tag of the covered containers.
        tag: Option<String>,
    },
    /// Two budgets for the same containers.
    #[error("there are two budgets of {}; an application has at most one of each tag", covered(.tag.as_deref()))]
    Duplicate {
        /// The tag of the covered containers.
        tag: Option<String>,
    },
    /// A tag with an empty name.
    #[error(
        "the tag of a budget has an empty name; give it a name, or leave the tag out to cover all containers"
    )]
    EmptyTag,
    /// Too many budgets.
    #[error("an application has {budgets} budgets; at most {BUDGETS_MAX} are possible")]
    TooMany {
        /// The number of budgets.
        budgets: usize,
    },
}

/// The most budgets of an application: each victim is looked up in all of them.
const BUDGETS_MAX: usize = 100;

impl DisruptionBudget {
    /// A budget for all containers of an application, of which this many are desired.
    #[must_use]
    pub fn new(desired: u32, limit: DisruptionLimit) -> Self {
        Self { tag: None, desired, limit }
    }

    /// The same for the containers whose ask has this tag.
    #[must_use]
    pub fn of_tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// The least number of available containers.
    #[must_use]
    pub fn least(&self) -> u32 {
        match self.limit {
            DisruptionLimit::MinAvailable(least) => least,
            DisruptionLimit::MaxUnavailable(most) => self.desired.saturating_sub(most),
        }
    }

    /// Whether the budgets of one application make sense.
    ///
    /// # Errors
    /// If a budget can never be met or covers nothing, or two cover the same containers.
    pub fn check_all(budgets: &[Self]) -> Result<(), InvalidBudget> {
        if budgets.len() > BUDGETS_MAX {
            return Err(InvalidBudget::TooMany { budgets: budgets.len() });
        }
        for (place, budget) in budgets.iter().enumerate() {
            let (tag, desired, minimum) = (budget.tag.clone(), budget.desired, budget.least());
            if tag.as_deref() == Some("") {
                return Err(InvalidBudget::EmptyTag);
            }
            if desired == 0 {
                return Err(InvalidBudget::NothingDesired { tag });
            }
            if minimum > desired {
                return Err(InvalidBudget::NeverMet { tag, minimum, desired });
            }
            if budgets[..place].iter().any(|earlier| earlier.tag == tag) {
                return Err(InvalidBudget::Duplicate { tag });
            }
        }
        Ok(())
    }

    /// Whether it covers a container of this shape.
    pub(super) fn covers(&self, shape: &Shape) -> bool {
        self.tag.as_ref().is_none_or(|wanted| shape.tags().iter().any(|tag| **tag == **wanted))
    }
}

/// `at least 3 of 4 web containers stay available`.
impl fmt::Display for DisruptionBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thing = self.tag.as_ref().map_or_else(|| "container".into(), |tag| format!("{tag} container"));
        let stay = if self.least() == 1 { "stays" } else { "stay" };
        write!(f, "at least {} of {} {stay} available", self.least(), counted(self.desired.into(), &thing))
    }
}

fn covered(tag: Option<&str>) -> String {
    tag.map_or_else(|| "all containers".to_owned(), |tag| format!("tag `{tag}`"))
}

impl Disruption {
    /// The budgets of an application.
    pub(crate) fn budgets_of(&self, application: ApplicationId) -> &[DisruptionBudget] {
        self.budgets.get(&application).map_or(&[], Vec::as_slice)
    }

    /// An application gets other budgets.
    pub(crate) fn transition_set_budgets(&mut self, id: ApplicationId, budgets: &[DisruptionBudget]) {
        if budgets.is_empty() {
            self.budgets.remove(&id);
        } else {
            self.budgets.insert(id, budgets.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DisruptionLimit::{MaxUnavailable, MinAvailable};

    #[test]
    fn budgets_that_make_no_sense_are_refused_with_the_reason() {
        let budget = DisruptionBudget::new;
        let cases = [
            (vec![budget(4, MinAvailable(4)), budget(4, MaxUnavailable(0)).of_tag("web")], None),
            (vec![budget(4, MaxUnavailable(9))], None),
            (
                vec![budget(4, MinAvailable(5)).of_tag("web")],
                Some(
                    "the budget of tag `web` needs 5 available containers of 4 desired; it can never be met, \
                     because the minimum is above the desired number",
                ),
            ),
            (
                vec![budget(0, MinAvailable(1)).of_tag("web")],
                Some("the budget of tag `web` is for 0 desired containers; leave it out"),
            ),
            (
                vec![budget(0, MaxUnavailable(0))],
                Some("the budget of all containers is for 0 desired containers; leave it out"),
            ),
            (
                vec![budget(1, MinAvailable(1)), budget(2, MinAvailable(1))],
                Some("there are two budgets of all containers; an application has at most one of each tag"),
            ),
            (
                vec![budget(1, MinAvailable(1)).of_tag("")],
                Some(
                    "the tag of a budget has an empty name; give it a name, or leave the tag out to cover all containers",
                ),
            ),
        ];
        for (budgets, expected) in cases {
            let message = DisruptionBudget::check_all(&budgets).err().map(|error| error.to_string());
            assert_eq!(message.as_deref(), expected, "{budgets:?}");
        }
        assert_eq!(
            budget(4, MaxUnavailable(1)).of_tag("web").to_string(),
            "at least 3 of 4 web containers stay available"
        );
        assert_eq!(budget(1, MinAvailable(1)).to_string(), "at least 1 of 1 container stays available");
    }
}
