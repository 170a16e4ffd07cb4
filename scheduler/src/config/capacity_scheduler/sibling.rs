//! What YARN demands of the capacities of one parent's children.

use std::fmt::Display;

use super::property::Setting;
use super::value::Size;
use crate::config::share::Billionths;
use crate::config::{Capacity, Percent};
use crate::resource::Resources;

/// How far percentages may sum to more or less than 100, in billionths of a percent: 0.01 %.
const TOLERANCE_BILLIONTHS: u64 = 10_000_000;
const ALL_BILLIONTHS: u64 = 100_000_000_000;

/// The capacity of one child.
#[derive(Debug)]
pub(super) struct Child<'p> {
    pub(super) setting: Setting<'p>,
    pub(super) size: Size,
}

/// Whether the capacities go together; the error says why not.
pub(super) fn check(children: &[Child<'_>], is_uniform: bool, may_be_zero: bool) -> Result<(), String> {
    let percents: Vec<_> = children.iter().filter_map(Child::percent).collect();
    let weights = children.iter().filter(|child| matches!(child.size, Size::Weight(_))).count();
    let is_mixed =
        ![percents.len(), weights, children.len() - percents.len() - weights].contains(&children.len());
    if is_mixed && is_uniform {
        return Err(
            "the capacities below it mix percentages, weights and amounts; YARN allows that only with \
                    `yarn.scheduler.capacity.legacy-queue-mode.enabled` = false"
                .to_owned(),
        );
    }
    let sum: u64 = percents.iter().map(|percent| percent.get()).sum();
    let is_too_much = sum > ALL_BILLIONTHS + TOLERANCE_BILLIONTHS;
    let is_too_little = sum < ALL_BILLIONTHS - TOLERANCE_BILLIONTHS && !(sum == 0 && may_be_zero);
    if is_too_much || (is_too_little && !is_mixed && !percents.is_empty()) {
        let sum = sum as f64 / 1e9;
        let zero = if sum == 0.0 { ", or allow-zero-capacity-sum" } else { "" };
        return Err(format!("the capacities below it sum to {sum} %, YARN demands 100 %{zero}"));
    }
    Ok(())
}

/// The capacities for the engine, which takes percentages of at most 100 in sum and with four decimal places.
/// `note` is told of each that is not what the file says.
pub(super) fn capacities<'p>(
    children: &[Child<'p>],
    mut note: impl FnMut(&Child<'p>, String),
) -> Vec<Capacity> {
    let percent = |child: &Child<'_>| child.percent().map_or(0, |number| number.percent().millionths());
    let excess = children.iter().map(percent).sum::<u32>().saturating_sub(Percent::ALL.millionths());
    let largest = (0..children.len()).max_by_key(|position| percent(&children[*position]));
    let mut capacities = Vec::new();
    for (position, child) in children.iter().enumerate() {
        capacities.push(match child.size {
            Size::Amounts(amounts) => {
                Capacity::Absolute(Resources::new(&amounts.map(|amount| amount.unwrap_or(0))))
            }
            Size::Weight(number) => {
                let weight = number.factor();
                rounding(number, weight).into_iter().for_each(|reason| note(child, reason));
                Capacity::Weight(weight)
            }
            Size::Percent(number) if Some(position) == largest && excess > 0 => {
                let percent = number.percent().saturating_sub_millionths(excess);
                note(child, format!("taken as {percent}, for a sum of 100 %"));
                Capacity::Percent(percent)
            }
            Size::Percent(number) => {
                let percent = number.percent();
                rounding(number, percent).into_iter().for_each(|reason| note(child, reason));
                Capacity::Percent(percent)
            }
        });
    }
    capacities
}

/// What is said about a number with more decimal places than are kept.
pub(super) fn rounding<T: Copy + Display + Into<Billionths>>(exact: Billionths, kept: T) -> Option<String> {
    (exact != kept.into()).then(|| format!("rounded down to {kept}"))
}

impl Child<'_> {
    fn percent(&self) -> Option<Billionths> {
        match self.size {
            Size::Percent(percent) => Some(percent),
            Size::Weight(_) | Size::Amounts(_) => None,
        }
    }
}
