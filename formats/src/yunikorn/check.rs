//! YuniKorn's rules for the quotas of parents and children.

use super::quantity::Quantities;
use super::tree::Queue;
use crate::ConfigFileError;

/// Checks the whole tree.
pub(super) fn check(root: &Queue<'_>) -> Result<(), ConfigFileError> {
    quotas(root, &Quantities::default())?;
    applications(root)
}

/// Checks a queue below a limit of `above`; returns its guarantee, or the sum of its children's.
fn quotas<'n>(queue: &Queue<'n>, above: &Quantities<'n>) -> Result<Quantities<'n>, ConfigFileError> {
    if let Some(name) = queue.guaranteed.exceeds(&queue.max) {
        return Err(queue.refused(format!("its guaranteed {name} is above its max")));
    }
    if let Some(name) = queue.max.exceeds(above) {
        return Err(queue.refused(format!("its max of {name} is above that of a parent")));
    }
    let max = queue.max.clone().at_most(above);
    let mut sum = Quantities::default();
    for child in &queue.children {
        sum.add(&quotas(child, &max)?);
    }
    if let Some(name) = sum.exceeds(&queue.guaranteed) {
        return Err(queue.refused(format!("the guaranteed {name} of its children exceeds its own")));
    }
    if let Some(name) = sum.exceeds(&max) {
        return Err(queue.refused(format!("the guaranteed {name} of its children exceeds its max")));
    }
    Ok(if queue.guaranteed.is_zero() { sum } else { queue.guaranteed.clone() })
}

fn applications(queue: &Queue<'_>) -> Result<(), ConfigFileError> {
    let most = queue.max_applications;
    for child in &queue.children {
        if most != 0 && (child.max_applications == 0 || child.max_applications > most) {
            let problem = format!("its maxapplications has to be from 1 to the {most} of its parent");
            return Err(child.refused(problem));
        }
        applications(child)?;
    }
    Ok(())
}
