//! YARN's rules for the capacities of one parent's children.

use std::fmt::Display;

use apportion::ResourceTypes;
use apportion::config::{Bound, Capacity, Maximum, Percent, Share};
use apportion::resource::RESOURCE_TYPES_MAX;

use super::property::Setting;
use super::value::{Figure, Size};
use crate::billionths::Billionths;

/// The tolerance for sums of percentages around 100, in billionths of a percent: 0.05 %, YARN's `PRECISION`.
const TOLERANCE_BILLIONTHS: u64 = 50_000_000;
const ALL_BILLIONTHS: u64 = 100_000_000_000;

/// The capacity of one child.
#[derive(Debug)]
pub(super) struct Child<'p> {
    pub(super) setting: Setting<'p>,
    pub(super) size: Size,
}

/// What YARN allows for the capacities of one parent's children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    /// Percentages, weights and amounts beside each other.
    pub(super) mixture: bool,
    /// Percentages that sum to 0.
    pub(super) zero_sum: bool,
}

/// Checks that the capacities fit together.
pub(super) fn check(children: &[Child<'_>], types: &ResourceTypes, allowed: Allowed) -> Result<(), String> {
    let is_alike = |child: &Child<'_>| child.size.kind() == children[0].size.kind();
    let is_mixed = !children.iter().all(is_alike) || children.iter().any(|child| child.size.is_mixed());
    if is_mixed && !allowed.mixture {
        return Err(
            "the capacities below it mix percentages, weights and amounts; YARN allows that only with \
                    `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false"
                .to_owned(),
        );
    }
    let has_mixed_vectors = children.iter().any(|child| child.size.is_mixed());
    if !has_mixed_vectors {
        let percents: Vec<_> = children.iter().filter_map(|child| child.percent(0)).collect();
        let sum: u64 = percents.iter().map(|percent| percent.get()).sum();
        let may_be_less = is_mixed || percents.is_empty() || sum == 0 && allowed.zero_sum;
        return check_sum(sum, if may_be_less { 0 } else { ALL_BILLIONTHS - TOLERANCE_BILLIONTHS });
    }
    // For a single type they may sum to less.
    types.names().iter().enumerate().try_for_each(|(i, name)| {
        let sum: u64 = children.iter().filter_map(|child| child.percent(i)).map(Billionths::get).sum();
        if sum <= ALL_BILLIONTHS + TOLERANCE_BILLIONTHS {
            return Ok(());
        }
        Err(format!("the capacities of {name} below it sum to {} %, more than 100 %", sum as f64 / 1e9))
    })
}

/// Checks a sum of percentages, in billionths of a percent.
fn check_sum(sum: u64, least: u64) -> Result<(), String> {
    if !(least..=ALL_BILLIONTHS + TOLERANCE_BILLIONTHS).contains(&sum) {
        let sum = sum as f64 / 1e9;
        let zero = if sum == 0.0 { ", or allow-zero-capacity-sum" } else { "" };
        return Err(format!("the capacities below it sum to {sum} %, YARN demands 100 %{zero}"));
    }
    Ok(())
}

/// The capacities for the engine, whose percentages sum to at most 100 and have four decimal places. `note` gets a
/// text for each capacity that differs from the file.
pub(super) fn capacities<'p>(
    children: &[Child<'p>],
    mut note: impl FnMut(&Child<'p>, String),
) -> Vec<Capacity> {
    let excess: [Excess; RESOURCE_TYPES_MAX] = std::array::from_fn(|i| Excess::of(children, i));
    let mut capacities = Vec::new();
    for child in children {
        let mut note = |reason| note(child, reason);
        capacities.push(match child.size {
            Size::Weight(number) => Capacity::Weight(rounded(number, number.factor(), &mut note)),
            Size::Percent(number) => Capacity::Percent(excess[0].taken_off(number, &mut note)),
            Size::Vector(figures) => {
                let shares =
                    figures.iter().zip(&excess).map(|(figure, excess)| share(*figure, excess, &mut note));
                Capacity::mixed(&shares.collect::<Vec<_>>())
            }
        });
    }
    capacities
}

/// The excess over 100 of the percentages of one type. The largest ones are reduced, each by the same amount.
#[derive(Debug, Default)]
struct Excess {
    largest: Percent,
    of_each: u32,
}

impl Excess {
    fn of(children: &[Child<'_>], resource: usize) -> Self {
        let percents = || children.iter().filter_map(|child| Some(child.percent(resource)?.percent()));
        let sum: u32 = percents().map(Percent::millionths).sum();
        let Some(largest) = percents().max() else { return Self::default() };
        let largest_ones = percents().filter(|percent| *percent == largest).count() as u32;
        Self { largest, of_each: sum.saturating_sub(Percent::ALL.millionths()).div_ceil(largest_ones) }
    }

    /// The percentage for the engine; `note` gets a text if it is less than the number.
    fn taken_off(&self, number: Billionths, mut note: impl FnMut(String)) -> Percent {
        if self.of_each == 0 || number.percent() != self.largest {
            return rounded(number, number.percent(), note);
        }
        let less = number.percent().millionths().saturating_sub(self.of_each);
        let percent = Percent::from_millionths(less).unwrap_or(Percent::NONE);
        note(format!("taken as {percent}, for a sum of 100 %"));
        percent
    }
}

/// The capacity of a queue whose siblings are unknown: a weight, or amounts alone.
pub(super) fn capacity_alone(size: &Size, mut note: impl FnMut(String)) -> Option<Capacity> {
    match size {
        Size::Weight(number) => Some(Capacity::Weight(rounded(*number, number.factor(), note))),
        Size::Vector(figures) => {
            let is_amount = |figure: &Option<Figure>| matches!(figure, None | Some(Figure::Amount(_)));
            let mut shares = || figures.map(|figure| share(figure, &Excess::default(), &mut note));
            figures.iter().all(is_amount).then(|| Capacity::mixed(&shares()))
        }
        Size::Percent(_) => None,
    }
}

/// The share for the engine; zero for a type that is not named.
fn share(figure: Option<Figure>, excess: &Excess, note: impl FnMut(String)) -> Share {
    match figure {
        None => Share::NONE,
        Some(Figure::Amount(amount)) => Share::Amount(amount),
        Some(Figure::Percent(number)) => Share::Percent(excess.taken_off(number, note)),
        Some(Figure::Weight(number)) => Share::Weight(rounded(number, number.factor(), note)),
    }
}

/// The maximum for the engine; `None` for weights, which are not valid as a maximum. Types that are not named have
/// no bound of their own.
pub(super) fn maximum(size: &Size, mut note: impl FnMut(String)) -> Option<Maximum> {
    let mut bound = |figure: Option<Figure>| match figure {
        None => Some(Bound::NONE),
        Some(Figure::Amount(amount)) => Some(Bound::Amount(amount)),
        Some(Figure::Percent(number)) => Some(Bound::Percent(rounded(number, number.percent(), &mut note))),
        Some(Figure::Weight(_)) => None,
    };
    match size {
        Size::Vector(figures) => {
            let bounds: Option<Vec<_>> = figures.iter().map(|figure| bound(*figure)).collect();
            bounds.map(|bounds| Maximum::mixed(&bounds))
        }
        Size::Percent(number) => Some(Maximum::Percent(rounded(*number, number.percent(), note))),
        Size::Weight(_) => None,
    }
}

/// Returns the kept number; `note` gets a text if it is less than the exact one.
fn rounded<T: Copy + Display + Into<Billionths>>(exact: Billionths, kept: T, note: impl FnMut(String)) -> T {
    rounding(exact, kept).into_iter().for_each(note);
    kept
}

/// The text for a number with more decimal places than the engine keeps.
pub(super) fn rounding<T: Copy + Display + Into<Billionths>>(exact: Billionths, kept: T) -> Option<String> {
    (exact != kept.into()).then(|| format!("rounded down to {kept}"))
}

impl Child<'_> {
    fn percent(&self, resource: usize) -> Option<Billionths> {
        match self.size.figure(resource) {
            Some(Figure::Percent(percent)) => Some(percent),
            _ => None,
        }
    }
}
