//! Plans of preemption: their policy, their expectations, and their commit.

use std::collections::BTreeMap;
use std::fmt::Display;

use apportion::config::Percent;
use apportion::preempt::{
    DisruptionBudget, DisruptionLimit, PreemptionCost, PreemptionPlan, PreemptionPolicy, Victim,
    WithinQueuePolicy,
};

use super::cluster::Cluster;
use super::compare::Comparison;
use super::expect::word;
use super::form::{
    BudgetForm, BudgetsForm, CostValue, NamesForm, PlanForm, PlanWanted, PolicyForm, ShareForm, UnhelpedForm,
    WithinQueueForm,
};
use super::names::expand;
use super::problem::{Done, StepError};
use super::submit::{not_refused, submitted_or_refused};

impl Cluster {
    /// Makes the plan of the present state, and compares it with the expected one.
    pub(super) fn plan_preemption(&mut self, form: &PlanForm) -> Done {
        self.await_answers()?;
        let policy = self.policy(&form.policy)?;
        let plan = self.engine.preemption_plan(&policy);
        if let (Some(unknown), None) = (plan.unknown_exempt.first(), &form.expect.unknown_exempt) {
            return Err(StepError::bad(unknown.to_string()));
        }
        let mut comparison = Comparison::new(self.types());
        self.compare_plan(&plan, &form.expect, &mut comparison)?;
        let compared = comparison.finish().map_err(|error| with_plan(error, &plan));
        self.plan = Some(plan);
        compared
    }

    /// Commits the requests of the last plan in order. Each must be accepted.
    pub(super) fn commit_plan(&mut self) -> Done {
        let plan = self.plan.take();
        let plan = plan.ok_or_else(|| StepError::bad("there is no plan; `plan_preemption` comes first"))?;
        let gangs = plan.gangs.iter().map(|gang| (gang.request(), gang.to_string()));
        let single = plan.preemptions.iter().map(|preemption| (preemption.request(), preemption.to_string()));
        let send = |(request, text)| Ok((self.handle.commit(request)?, text));
        let tickets: Vec<_> = gangs.chain(single).map(send).collect::<Result<_, StepError>>()?;
        self.await_answers()?;
        let refused = |(ticket, text): (apportion::Ticket<apportion::CommitOutcome>, String)| {
            let outcome = ticket.try_take();
            let is_accepted = outcome.as_ref().is_some_and(|outcome| outcome.is_accepted());
            (!is_accepted).then(|| format!("{outcome:?} for {text}"))
        };
        let refused: Vec<String> = tickets.into_iter().filter_map(refused).collect();
        if refused.is_empty() { Ok(()) } else { Err(StepError::Failed(refused)) }
    }

    /// Sets the budgets of an application.
    pub(super) fn set_disruption_budgets(&mut self, form: &BudgetsForm) -> Done {
        let application = self.names.application(&form.application)?;
        let budgets = form.budgets.iter().map(budget).collect::<Done<Vec<_>>>()?;
        let set = self.handle.set_disruption_budgets(application, budgets);
        match (submitted_or_refused(form.refused.as_deref(), set)?, &form.refused) {
            (Some(()), Some(reason)) => Err(not_refused(reason)),
            _ => Ok(()),
        }
    }

    fn policy(&self, form: &PolicyForm) -> Done<PreemptionPolicy> {
        for name in &form.exempt_applications.0 {
            self.names.application(name)?;
        }
        let set = |names: &NamesForm| names.0.iter().cloned().collect();
        let yarn = PreemptionPolicy::default();
        Ok(PreemptionPolicy {
            dead_zone: percent("dead_zone", form.dead_zone.as_ref(), yarn.dead_zone)?,
            natural_termination: percent(
                "natural_termination",
                form.natural_termination.as_ref(),
                yarn.natural_termination,
            )?,
            per_round: percent("per_round", form.per_round.as_ref(), yarn.per_round)?,
            exempt: set(&form.exempt),
            exempt_applications: set(&form.exempt_applications),
            exempt_tags: set(&form.exempt_tags),
            balances: form.balances,
            within_queue: form.within_queue.as_ref().map(within).transpose()?,
        })
    }

    fn compare_plan(&self, plan: &PreemptionPlan, wanted: &PlanWanted, to: &mut Comparison<'_>) -> Done {
        let of_gangs = || plan.gangs.iter().flat_map(|gang| &gang.victims);
        let victims = || of_gangs().chain(plan.preemptions.iter().flat_map(|preemption| &preemption.victims));
        let running = |victim: &Victim| self.told.running.iter().find(|it| it.container == victim.container);
        let of_ask = |victim| running(victim).map_or("?", |it| self.names.ask_called(it.ask)).to_owned();
        let on_node = |victim| running(victim).map_or("?", |it| self.names.node_called(it.node)).to_owned();
        let members = plan.gangs.iter().flat_map(|gang| &gang.members).map(|member| member.ask);
        let helped = members.chain(plan.preemptions.iter().map(|one| one.ask));
        let helped = helped.map(|ask| self.names.ask_called(ask).to_owned());
        let rules = plan.gangs.iter().map(|gang| gang.rule);
        let rules = rules.chain(plan.preemptions.iter().map(|one| one.rule)).map(word);
        let (on_nodes, of_rules) = (self.expanded(wanted.victims_on.as_ref())?, by_word(wanted));
        self.check_names(wanted)?;
        to.look_at("plan".into(), |to| {
            counts(to, "victims", victims().map(|victim| victim.queue.clone()), wanted.victims.as_ref());
            counts(to, "victims of asks", victims().map(of_ask), wanted.victims_of.as_ref());
            counts(to, "victims on nodes", victims().map(on_node), on_nodes.as_ref());
            counts(to, "helped", helped, wanted.helped.as_ref());
            counts(to, "rules", rules, of_rules.as_ref());
            if let Some(unhelped) = &wanted.unhelped {
                let (got, wanted) = self.unhelped(plan, unhelped);
                to.lines("unhelped", &got, &wanted);
            }
            if let Some(names) = &wanted.unknown_exempt {
                let got: Vec<String> = plan.unknown_exempt.iter().map(|one| one.path.clone()).collect();
                to.lines("unknown exempt", &got, &names.0);
            }
            Ok(())
        })
    }

    /// A name without an object is a mistake in the file.
    fn check_names(&self, wanted: &PlanWanted) -> Done {
        for path in wanted.victims.iter().flatten().map(|(path, _)| path) {
            self.handle.queue(path)?;
        }
        let of_asks = wanted.victims_of.iter().chain(&wanted.helped).flatten().map(|(name, _)| name);
        for name in of_asks.chain(wanted.unhelped.iter().flatten().map(|(name, _)| name)) {
            self.names.ask(name)?;
        }
        Ok(())
    }

    /// The counts with each range of nodes written out.
    fn expanded(&self, counts: Option<&BTreeMap<String, usize>>) -> Done<Option<BTreeMap<String, usize>>> {
        let Some(counts) = counts else { return Ok(None) };
        let mut by_node = BTreeMap::new();
        for (range, count) in counts {
            for name in expand(range)? {
                self.names.node(&name)?;
                by_node.insert(name, *count);
            }
        }
        Ok(Some(by_node))
    }

    /// The asks that get nothing as lines, found and wanted. Units are compared where they are given.
    fn unhelped(
        &self,
        plan: &PreemptionPlan,
        wanted: &BTreeMap<String, UnhelpedForm>,
    ) -> (Vec<String>, Vec<String>) {
        let line = |name: &str, units: Option<u32>, reason: String| match units {
            Some(units) => format!("{name}: {reason} for {units}"),
            None => format!("{name}: {reason}"),
        };
        let of_plan = plan.unhelped.iter().map(|one| {
            let name = self.names.ask_called(one.ask);
            let counts = wanted.get(name).is_some_and(|wanted| wanted.units.is_some());
            line(name, counts.then_some(one.units), word(one.reason))
        });
        let mut got: Vec<String> = of_plan.collect();
        got.sort();
        let mut lines: Vec<String> =
            wanted.iter().map(|(name, wanted)| line(name, wanted.units, word(wanted.reason))).collect();
        lines.sort();
        (got, lines)
    }
}

fn budget(form: &BudgetForm) -> Done<DisruptionBudget> {
    let limit = match (form.min_available, form.max_unavailable) {
        (Some(least), None) => DisruptionLimit::MinAvailable(least),
        (None, Some(most)) => DisruptionLimit::MaxUnavailable(most),
        _ => return Err(StepError::bad("a budget has either `min_available` or `max_unavailable`")),
    };
    let budget = DisruptionBudget::new(form.desired, limit);
    Ok(DisruptionBudget { tag: form.tag.clone(), ..budget })
}

pub(super) fn cost_of(form: CostValue) -> PreemptionCost {
    match form {
        CostValue::Units(units) => PreemptionCost::Units(units),
        CostValue::Word(_) => PreemptionCost::Never,
    }
}

fn within(form: &WithinQueueForm) -> Done<WithinQueuePolicy> {
    let yarn = WithinQueuePolicy::default();
    Ok(WithinQueuePolicy {
        order: form.order,
        minimum_use: percent("minimum_use", form.minimum_use.as_ref(), yarn.minimum_use)?,
        max_part: percent("max_part", form.max_part.as_ref(), yarn.max_part)?,
        exempt: form.exempt.0.iter().cloned().collect(),
    })
}

/// A percentage such as `20 %`, as in configurations.
fn percent(key: &str, form: Option<&ShareForm>, otherwise: Percent) -> Done<Percent> {
    let text = match form {
        None => return Ok(otherwise),
        Some(ShareForm::Text(text)) => text.strip_suffix('%').map(str::trim),
        Some(_) => None,
    };
    let value = text.and_then(|text| text.parse().ok()).filter(|percent| *percent <= Percent::ALL);
    value.ok_or_else(|| StepError::bad(format!("{key}: a percentage such as `20 %` belongs here")))
}

/// The wanted rules as words.
fn by_word(wanted: &PlanWanted) -> Option<BTreeMap<String, usize>> {
    let rules = wanted.rules.as_ref()?;
    Some(rules.iter().map(|(rule, count)| (word(*rule), *count)).collect())
}

/// Compares how often each key occurs. A key that does not occur may be given with 0.
fn counts(
    to: &mut Comparison<'_>,
    what: &str,
    keys: impl Iterator<Item = String>,
    wanted: Option<&BTreeMap<String, usize>>,
) {
    let Some(wanted) = wanted else { return };
    let mut got: BTreeMap<String, usize> = wanted.keys().map(|key| (key.clone(), 0)).collect();
    keys.for_each(|key| *got.entry(key).or_default() += 1);
    to.lines(what, &lines(&got), &lines(wanted));
}

fn lines<T: Display>(counts: &BTreeMap<String, T>) -> Vec<String> {
    counts.iter().map(|(key, count)| format!("{key}: {count}")).collect()
}

/// The differences, and the whole plan.
fn with_plan(error: StepError, plan: &PreemptionPlan) -> StepError {
    match error {
        StepError::Failed(mut differences) => {
            differences.push(format!("the plan: {plan}"));
            StepError::Failed(differences)
        }
        other => other,
    }
}
