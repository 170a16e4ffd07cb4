//! What a round of preemption would do now for a pending ask, by the policy of the run.

use apportion::config::PreemptionRounds;
use apportion::explain::{Explanation, PendingReason, WhyPending};
use apportion::preempt::{PreemptionPlan, QueueAmounts, Unhelped};
use apportion::view::View;
use apportion::{AskId, GangId};
use serde_json::{Map, Value, json};

use crate::cli::plan::{self, Beneficiary, Gangs, helped};
use crate::report::{counted, duration_text};

/// The most lines about an ask; `preempt` has them all.
const LINES_MAX: usize = 20;
const HINT: &str = "; `preempt --limit 0` shows all";

/// The plan for the present state, or none if the run makes no rounds or nothing is pending.
pub(super) struct NextRound<'v> {
    view: View<'v>,
    rounds: Option<&'v PreemptionRounds>,
    plan: Option<PreemptionPlan>,
    gangs: Gangs,
}

/// The answer for one ask.
enum Answer<'p> {
    NotConfigured,
    /// Some of its containers start. The rest, if any, is not helped.
    Helped(Option<&'p Unhelped>),
    Unhelped(&'p Unhelped),
    /// Its application is not active.
    Inactive,
    /// Its queue has its fair amount of types that the ask needs.
    NotOwed(&'p QueueAmounts, Vec<String>),
    /// What its queue is owed is free, goes to others, or is less than one container.
    GoesToOthers,
}

impl<'v> NextRound<'v> {
    pub(super) fn new(view: View<'v>, gangs: Gangs) -> Self {
        let rounds = view.preemption_rounds();
        let worthwhile = rounds.filter(|_| view.asks().next().is_some());
        let plan = worthwhile.map(|rounds| view.preemption_plan(&rounds.policy));
        Self { view, rounds, plan, gangs }
    }

    pub(super) fn is_configured(&self) -> bool {
        self.rounds.is_some()
    }

    /// The gang that waits with this ask, and the ask by which plans name it.
    fn beneficiary(&self, ask: AskId) -> (AskId, Option<GangId>) {
        let gang = self.view.gangs().find(|gang| gang.roles.iter().any(|role| role.ask == ask));
        let first = gang.as_ref().and_then(|gang| gang.roles.first()).map_or(ask, |role| role.ask);
        (first, gang.map(|gang| gang.id))
    }

    fn answer(&self, ask: AskId, why: &WhyPending) -> Answer<'_> {
        let Some(plan) = &self.plan else { return Answer::NotConfigured };
        let (first, gang) = self.beneficiary(ask);
        let unhelped = plan.unhelped.iter().find(|unhelped| unhelped.ask == first);
        let is_helped = plan.preemptions.iter().any(|start| start.ask == ask)
            || plan.gangs.iter().any(|start| Some(start.gang) == gang);
        let shares = || {
            let partition = plan.partitions.iter().find(|shares| shares.partition == why.partition)?;
            partition.queues.iter().find(|queue| queue.path == why.queue)
        };
        match (is_helped, unhelped) {
            (true, rest) => Answer::Helped(rest),
            (false, Some(unhelped)) => Answer::Unhelped(unhelped),
            (false, None) if why.reason == PendingReason::Inactive => Answer::Inactive,
            (false, None) => match shares().map(|queue| (queue, self.fair_types(ask, queue))) {
                Some((queue, types)) if !types.is_empty() => Answer::NotOwed(queue, types),
                _ => Answer::GoesToOthers,
            },
        }
    }

    /// The types that the ask needs and of which the queue uses as much as its fair amount.
    fn fair_types(&self, ask: AskId, queue: &QueueAmounts) -> Vec<String> {
        let size =
            self.view.ask(ask).map(|ask| self.view.resource_types().amounts(&ask.size())).unwrap_or_default();
        let is_fair = |name: &&str| queue.used.get(name) >= queue.ideal.get(name);
        size.iter().map(|(name, _)| name).filter(is_fair).map(str::to_owned).collect()
    }

    /// The answer as a sentence, and for an ask that is helped, who would lose what. `None` if the ask is not pending.
    pub(super) fn text(&self, explanation: &Explanation) -> Option<String> {
        let why = explanation.pending()?;
        let queue = &why.queue;
        let nothing = "A round of preemption now would do nothing for it";
        let also = match self.rounds.and_then(|rounds| rounds.policy.within_queue.as_ref()) {
            Some(_) => format!(" Within {queue} no application has to give way to it."),
            None => String::new(),
        };
        Some(match self.answer(explanation.ask, why) {
            Answer::NotConfigured => {
                "Preemption will not help it: the configuration of the run has no [engine.preemption]. `apportion-bench \
                 preempt` shows what a round with the default policy would do."
                    .to_owned()
            }
            Answer::Helped(rest) => self.helped_text(explanation.ask, rest),
            Answer::Unhelped(unhelped) => {
                format!("{nothing}, although {queue} is owed more. {}", unhelped.reason)
            }
            Answer::Inactive => format!("{nothing}: its application is not active."),
            Answer::NotOwed(QueueAmounts { used, guaranteed, ideal, .. }, types) => format!(
                "{nothing}: {queue} has its fair amount of {}, with {used} used, {guaranteed} guaranteed, {ideal} \
                 fair.{also}",
                types.join(" and ")
            ),
            Answer::GoesToOthers => {
                format!(
                    "{nothing}: what {queue} is owed is free, goes to asks that come before it, or is less than one \
                     container.{also}"
                )
            }
        })
    }

    fn helped_text(&self, ask: AskId, rest: Option<&Unhelped>) -> String {
        let (_, gang) = self.beneficiary(ask);
        let is_its = |beneficiary: Beneficiary| match beneficiary {
            Beneficiary::Ask(id) => id == ask,
            Beneficiary::Gang(id) => Some(id) == gang,
        };
        let mut text = match self.rounds.is_some_and(|rounds| rounds.observe_only) {
            true => "Preemption would help it now, but the rounds of the run only observe and end nothing:"
                .to_owned(),
            false => format!("A round of preemption now would help it. {}", self.when_text()),
        };
        let all = self.plan.iter().flat_map(|plan| helped(plan, &self.view, &self.gangs));
        for one in all.filter(|one| is_its(one.beneficiary)) {
            text += &format!("\n{}", one.text(LINES_MAX, LINES_MAX, HINT));
        }
        if let Some(rest) = rest {
            text +=
                &format!("\nNothing for {}. {}", counted(rest.units.into(), "other container"), rest.reason);
        }
        text
    }

    /// When the victims of a round end.
    fn when_text(&self) -> String {
        match self.rounds.map(|rounds| rounds.max_wait_before_kill_ms) {
            None | Some(0) => "Victims end at once:".to_owned(),
            Some(wait_ms) => {
                format!(
                    "Victims end {} after their announcement, if the room is still needed:",
                    duration_text(wait_ms)
                )
            }
        }
    }

    /// The explanation as JSON, with the answer in `next_round` if the ask is pending.
    pub(super) fn json(&self, explanation: &Explanation) -> Result<Value, serde_json::Error> {
        let mut value = serde_json::to_value(explanation)?;
        if let Some(why) = explanation.pending() {
            value["next_round"] = self.answer_json(explanation.ask, why)?;
        }
        Ok(value)
    }

    fn answer_json(&self, ask: AskId, why: &WhyPending) -> Result<Value, serde_json::Error> {
        let answer = self.answer(ask, why);
        let (label, unhelped) = match &answer {
            Answer::NotConfigured => ("not_configured", None),
            Answer::Helped(rest) => ("helped", *rest),
            Answer::Unhelped(unhelped) => ("unhelped", Some(*unhelped)),
            Answer::Inactive => ("inactive", None),
            Answer::NotOwed(..) => ("not_owed", None),
            Answer::GoesToOthers => ("goes_to_others", None),
        };
        let mut value = Map::new();
        value.insert("answer".to_owned(), label.into());
        if let Some(rounds) = self.rounds {
            value.insert("observe_only".to_owned(), rounds.observe_only.into());
            value.insert("max_wait_before_kill_ms".to_owned(), rounds.max_wait_before_kill_ms.into());
        }
        if let Some(Unhelped { units, reason, .. }) = unhelped {
            value.insert("unhelped".to_owned(), json!({ "units": units, "reason": reason }));
        }
        if let (Answer::Helped(_), Some(plan)) = (&answer, &self.plan) {
            let (_, gang) = self.beneficiary(ask);
            let mut named = plan::json(plan, &self.view, &self.gangs)?;
            let mut keep = |key: &str, is_its: &dyn Fn(&Value) -> bool| {
                let starts = named[key].as_array_mut().map(std::mem::take).unwrap_or_default();
                starts.into_iter().filter(is_its).collect::<Vec<_>>()
            };
            let (ask, gang) = (json!(ask), gang.map(|gang| json!(gang)));
            value
                .insert("gangs".to_owned(), keep("gangs", &|one| gang.as_ref() == Some(&one["gang"])).into());
            value.insert("preemptions".to_owned(), keep("preemptions", &|one| one["ask"] == ask).into());
        }
        Ok(value.into())
    }
}
