//! Instructions per container by step, and the table of them.

use std::collections::BTreeMap;

use super::callgrind::Profile;

/// Above this factor of the saved number, a workload or a step has become worse.
const TOLERANCE: f64 = 1.02;
const STEP_TOLERANCE: f64 = 1.04;

const TOTAL: &str = "total";
/// The steps in the order of the table, with what each may take at most some day.
const BUDGETS: [(&str, u64); 5] =
    [("propose", 1_300), ("commit", 700), ("asks and completions", 1_100), ("publish", 500), ("caller", 700)];
const TOTAL_BUDGETS: [(&str, u64); 3] = [("fill", 4_000), ("churn", 4_500), ("constrained", 6_500)];

/// Instructions per container, by step and in total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(BTreeMap<String, u64>);

impl From<BTreeMap<String, u64>> for Steps {
    fn from(steps: BTreeMap<String, u64>) -> Self {
        Self(steps)
    }
}

impl Steps {
    /// The difference of two runs for each container: the run `after` has `containers` more than `before`.
    pub(crate) fn of(before: &Profile, after: &Profile, containers: u64) -> anyhow::Result<Self> {
        let more = |function: &str| -> anyhow::Result<u64> {
            Ok(after.of(function)?.saturating_sub(before.of(function)?) / containers)
        };
        let total = after.total.saturating_sub(before.total) / containers;
        let propose = more("apportion::engine::proposer::Proposer::propose_from")?;
        let group = more("apportion::engine::group::GroupCommitter::commit_group")?;
        let commit = more("apportion::engine::group::GroupCommitter::batch")?;
        let publish = more("apportion::engine::publish::Publisher::publish")?;
        // `commit_group` is all work of the committer. Without commits and publishing, it takes messages in.
        let take_in = group.saturating_sub(commit + publish);
        let caller = total.saturating_sub(propose + group);
        let counts = [propose, commit, take_in, publish, caller];
        let steps = BUDGETS.iter().zip(counts).map(|((step, _), count)| ((*step).to_owned(), count));
        Ok(Self(steps.chain([(TOTAL.to_owned(), total)]).collect()))
    }

    pub(crate) fn into_map(self) -> BTreeMap<String, u64> {
        self.0
    }

    fn get(&self, step: &str) -> Option<u64> {
        self.0.get(step).copied()
    }
}

pub(crate) fn print_head() {
    println!("{:12} {:>6} {:28} {:>7} {:>6} {:>7}", "workload", "now", "step", "saved", "ratio", "budget");
}

/// Prints the rows of a workload. Returns whether no step and no total is worse than the saved numbers, or none are
/// saved.
pub(crate) fn print(workload: &str, now: &Steps, saved: Option<&Steps>) -> bool {
    let budget = TOTAL_BUDGETS.iter().find(|(name, _)| *name == workload).map(|(_, budget)| *budget);
    let whole = Row { step: TOTAL, label: "instructions a container", budget, tolerance: TOLERANCE };
    let step = |(step, budget): &(&'static str, u64)| Row {
        step,
        label: step,
        budget: Some(*budget),
        tolerance: STEP_TOLERANCE,
    };
    let mut is_fine = whole.print(workload, now, saved);
    for row in BUDGETS.iter().map(step) {
        is_fine &= row.print("", now, saved);
    }
    is_fine
}

/// Prints instructions and misses a container, by step.
pub(crate) fn print_misses(instructions: &Steps, first: &Steps, second: &Steps) {
    println!("{:28} {:>12} {:>12} {:>12}", "churn, 10,000 nodes", "instructions", "L1 misses", "L2 misses");
    for step in [TOTAL].into_iter().chain(BUDGETS.map(|(step, _)| step)) {
        let [instructions, first, second] =
            [instructions, first, second].map(|steps| steps.get(step).unwrap_or(0));
        println!("{step:28} {instructions:12} {first:12} {second:12}");
    }
}

struct Row {
    step: &'static str,
    /// `bench/compare` looks for the label of the whole, and for lower-case words after a number.
    label: &'static str,
    budget: Option<u64>,
    tolerance: f64,
}

impl Row {
    fn print(&self, workload: &str, now: &Steps, saved: Option<&Steps>) -> bool {
        let count = now.get(self.step).unwrap_or_default();
        let before = saved.and_then(|saved| saved.get(self.step));
        let ratio = before.map_or(1.0, |before| count as f64 / before.max(1) as f64);
        let verdict = match before {
            None => "no number to compare with",
            Some(_) if ratio > self.tolerance => "a regression",
            Some(_) if ratio < 1.0 / self.tolerance => "better; save the new number",
            Some(_) => "as before",
        };
        let text = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        println!(
            "{workload:12} {count:6} {:28} {:>7} {ratio:>6.3} {:>7}  {verdict}",
            self.label,
            text(before),
            text(self.budget)
        );
        ratio <= self.tolerance
    }
}
