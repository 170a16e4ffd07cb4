//! Changes of applications, asks and queues.

use smallvec::SmallVec;
use thin_vec::ThinVec;

use super::Applier;
use crate::change::{ApplicationSpec, AskSpec};
use crate::config::{LocalityDelay, QueueUpdate};
use crate::event::EventKind;
use crate::facts::{Application, ApplicationEnd, Ask, ContainerList, EndCause, Facts, Shape, Wishes};
use crate::ids::{ApplicationId, AskId, QueueId, ShapeId};
use crate::resource::{Need, Resources};
use crate::timers::Timer;

impl Applier<'_> {
    pub(super) fn submit_application(&mut self, id: ApplicationId, leaf: QueueId, spec: &ApplicationSpec) {
        let facts = &mut self.state.facts;
        let user = facts.intern_user(leaf, &spec.user);
        facts.applications_submitted += 1;
        let application = Application {
            name: spec.name.as_str().into(),
            leaf,
            user,
            priority: spec.priority,
            submitted: facts.applications_submitted,
            submitted_ms: facts.now_ms,
            used: Resources::ZERO,
            containers: ContainerList::default(),
            asks: 0,
        };
        facts.transition_submit_application(id, application);
        self.state.in_flight.add_users(self.state.facts.users.len());
    }

    pub(super) fn end_application(&mut self, id: ApplicationId, end: ApplicationEnd) {
        // In the order of submission: how the backlog lists them depends on what passes saw, and a replay has none.
        let mut asks = self.state.backlog.asks_of(id);
        asks.sort_by_key(|ask| self.state.facts.asks.at(*ask).number);
        for ask in asks {
            self.cancel(ask, u32::MAX);
        }
        let Facts { applications, containers, .. } = &self.state.facts;
        let running: Vec<_> = applications.at(id).containers.iter(containers).collect();
        for container in running {
            self.end_container(container, EndCause::ApplicationEnded);
        }
        self.state.backlog.remove_application(id);
        self.state.facts.transition_end_application(id);
        self.tell(id, EventKind::ApplicationEnded { end });
        self.effects.vacated_applications.push(id);
    }

    pub(super) fn submit_ask(&mut self, id: AskId, application: ApplicationId, spec: &AskSpec) {
        let shape = Shape {
            need: Need { resources: spec.size, devices: spec.devices },
            partition: spec.partition,
            rule: spec.rule.clone(),
            located: !spec.wishes.is_empty(),
        };
        let wishes = self.with_racks_of_hosts(&spec.wishes);
        let state = &mut *self.state;
        let (shape_id, is_new) = state.facts.shapes.intern(&shape);
        if is_new {
            let sets = state.roster.sets(shape.partition);
            state.backlog.reset_shape(shape_id, shape.partition, sets, state.version);
        }
        state.facts.asks_submitted += 1;
        let ask = Ask {
            application,
            number: state.facts.asks_submitted,
            priority: spec.priority,
            shape: shape_id,
            wishes,
            asked: spec.count,
            allocated: 0,
            cancelled: 0,
            reservations: ThinVec::new(),
            pending_since_ms: state.facts.now_ms,
        };
        state.facts.transition_submit_ask(id, ask);
        state.note_moved_user_limits(state.facts.applications.at(application).leaf);
        state.in_flight.reset_ask(id);
        state.backlog.add_ask(&state.facts, id, state.facts.asks.at(id), state.version);
        self.set_timers(id, shape_id, shape.located);
    }

    /// When an ask may look further, and when one that fits nowhere may claim a node.
    fn set_timers(&mut self, id: AskId, shape: ShapeId, located: bool) {
        let state = &mut *self.state;
        let (config, now_ms) = (&state.facts.config, state.facts.now_ms);
        if let (true, LocalityDelay::Time { rack_ms, any_ms }) = (located, config.locality_delay) {
            state.timers.add(now_ms.saturating_add(rack_ms), Timer::Locality(id));
            state.timers.add(now_ms.saturating_add(any_ms), Timer::Locality(id));
        }
        if let (true, Some(delay_ms)) =
            (state.backlog.is_closed_everywhere(shape), config.reservations.delay_ms)
        {
            state.timers.add(now_ms.saturating_add(delay_ms), Timer::Reserve(shape));
        }
    }

    /// An ask that may look further than its hosts, and names no racks, looks on the hosts' racks next.
    fn with_racks_of_hosts(&self, wishes: &Wishes) -> Wishes {
        let mut wishes = wishes.clone();
        if wishes.relax_locality && wishes.racks.is_empty() {
            for &host in &wishes.hosts {
                if let Some(node) = self.state.facts.nodes.get(host)
                    && !wishes.racks.contains(&node.rack)
                {
                    wishes.racks.push(node.rack);
                }
            }
        }
        wishes
    }

    pub(super) fn cancel(&mut self, id: AskId, units: u32) {
        let ask = self.state.facts.asks.at(id);
        let (application, units) = (ask.application, units.min(ask.outstanding()));
        self.state.facts.transition_cancel(id, units);
        self.state.note_moved_user_limits(self.state.facts.applications.at(application).leaf);
        self.tell(application, EventKind::AskCancelled { ask: id, units });
        self.settle_ask(id);
    }

    /// Drops claims beyond what an ask still wants, and the ask itself when it wants nothing more.
    pub(super) fn settle_ask(&mut self, id: AskId) {
        let Some(ask) = self.state.facts.asks.get(id) else { return };
        let (cancelled, placed) = (ask.cancelled, ask.allocated);
        let outstanding = ask.outstanding();
        let surplus = ask.reservations.len().saturating_sub(outstanding as usize);
        let claims: SmallVec<[_; 2]> = ask.reservations[..surplus].into();
        for claim in claims {
            self.drop_claim(claim);
        }
        if outstanding == 0 {
            let state = &mut *self.state;
            state.backlog.remove_ask(id, state.facts.asks.at(id));
            state.backlog.unlucky.forget(id);
            state.facts.transition_forget_ask(id);
            state.in_flight.reset_ask(id);
            state.backlog.notes.note_end(id, cancelled, placed);
            self.effects.vacated_asks.push(id);
        }
    }

    pub(super) fn update_queue(&mut self, id: QueueId, update: &QueueUpdate) {
        let queue = &mut self.state.facts.queues[id.index()];
        queue.capacity = update.capacity.unwrap_or(queue.capacity);
        queue.maximum = update.maximum.unwrap_or(queue.maximum);
        queue.user_limit_factor = update.user_limit_factor.unwrap_or(queue.user_limit_factor);
        queue.priority = update.priority.unwrap_or(queue.priority);
        queue.state = update.state.unwrap_or(queue.state);
        queue.application_limits = update.applications.unwrap_or(queue.application_limits);
        if let Some(minimum) = update.user_limit_minimum {
            self.state.facts.set_user_limit_minimum(id, minimum);
        }
        self.state.mark_limits_stale();
    }
}
