//! Calls of a handle about the victims of preemption.

use super::handle::Handle;
use super::submit_error::SubmitError;
use crate::change::Change;
use crate::facts::{DisruptionBudget, PreemptionCost};
use crate::ids::{ApplicationId, ContainerId};

/// # Victims of preemption
///
/// These calls apply to the rounds of a running engine and to plans. An embedder may still end any container by a
/// commit request.
impl Handle {
    /// Sets the cost of a container's loss to its application. Preemption takes as few containers as possible; among
    /// equally many on a node that it could clear, it takes the cheapest. A container that costs
    /// [never](PreemptionCost::Never) is never a victim. Other queues lose the amount that such containers use above
    /// their queue's guarantee.
    ///
    /// An announced victim stays announced. If its cost becomes never, its announcement is
    /// [withdrawn](crate::event::EventKind::PreemptionWithdrawn) at once. A container that is unknown or being
    /// stopped is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn set_preemption_cost(
        &self,
        container: ContainerId,
        cost: PreemptionCost,
    ) -> Result<(), SubmitError> {
        self.send(Change::PreemptionCostSet { container, cost })
    }

    /// Sets the costs of many containers, as [`set_preemption_cost`](Self::set_preemption_cost) does for one.
    /// Each unknown container is [refused](Self::take_refusals) by itself.
    ///
    /// # Errors
    /// If the engine is shut down; the first costs may have been set.
    pub fn set_preemption_costs(
        &self,
        costs: impl IntoIterator<Item = (ContainerId, PreemptionCost)>,
    ) -> Result<(), SubmitError> {
        let change = |(container, cost)| Change::PreemptionCostSet { container, cost };
        self.send_all(costs.into_iter().map(change))
    }

    /// Sets the disruption budgets of an application, in place of those that it had. Preemption then leaves as many
    /// containers available as each budget says: containers that run and are not being stopped. Announced victims
    /// count as lost, so no more are announced. A replacement counts as soon as it is allocated.
    ///
    /// Budgets bind only preemption. An embedder that stops a container, drains a node or commits a request of its own
    /// decides itself. An unknown or ending application is [refused](Self::take_refusals).
    ///
    /// ```
    /// use apportion::preempt::{DisruptionBudget, DisruptionLimit};
    /// # use std::sync::Arc;
    /// # use apportion::config::{EngineConfig, QueueConfig};
    /// # use apportion::{ApplicationSpec, Engine, ManualClock, Mode, ResourceTypes};
    /// # let config = EngineConfig::new(ResourceTypes::memory_and_vcores(), QueueConfig::single_leaf());
    /// # let engine = Engine::start(config, Mode::Serial, Arc::new(ManualClock::new()), None).unwrap();
    /// # let (handle, events) = (engine.handle(), engine.handle().event_stream(100));
    /// # let shop = handle.submit_application(ApplicationSpec::new("shop", "root.default", "ann"), &events)?;
    /// let web = DisruptionBudget::new(4, DisruptionLimit::MaxUnavailable(1)).of_tag("web");
    /// handle.set_disruption_budgets(shop, vec![web])?;
    ///
    /// let never_met = DisruptionBudget::new(4, DisruptionLimit::MinAvailable(5));
    /// assert!(handle.set_disruption_budgets(shop, vec![never_met]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a budget can never be met or covers nothing, or two budgets cover the same containers.
    pub fn set_disruption_budgets(
        &self,
        application: ApplicationId,
        budgets: Vec<DisruptionBudget>,
    ) -> Result<(), SubmitError> {
        DisruptionBudget::check_all(&budgets)?;
        self.send(Change::DisruptionBudgetsSet { application, budgets })
    }

    /// Says that an announced victim may end now, for example because its application has saved its work. The next
    /// round ends it, if a plan still names it and every container that ends with it may end too. Otherwise the
    /// announcement is taken back. To keep the victim, give back another container of its size instead: with
    /// [`release_container`](Self::release_container), or when one completes.
    ///
    /// A container that is unknown, not announced or being stopped is [refused](Self::take_refusals).
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn confirm_preemption(&self, container: ContainerId) -> Result<(), SubmitError> {
        self.send(Change::PreemptionConfirmed { container })
    }
}
