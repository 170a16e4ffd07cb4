//! Placement actions of every kind, on existing and on unknown containers.

use apportion_placement::{
    ActionId, ActionKind, ComponentChange, ComponentId, ContainerAction, HandOver, ServiceEvent,
};

use super::{World, host};
use crate::callbacks::{ACTIVE, STANDBY};

impl World {
    pub(super) fn submit_action(
        &mut self,
        which: usize,
        at: usize,
        kind: u8,
        expires_after_ms: u64,
        change: ComponentChange,
    ) {
        let containers: Vec<_> = self.service.containers().collect();
        let chosen = which.checked_rem(containers.len()).map(|which| &containers[which]);
        let component = chosen.and_then(|chosen| chosen.component.strip_prefix("role")?.parse().ok());
        let standby = containers.iter().find(|found| found.component == format!("role{STANDBY}"));
        self.last_action += 2;
        let id = ActionId(self.last_action);
        self.actions.insert(id, false);
        let or_elsewhere = self.last_action.is_multiple_of(4);
        let elsewhere =
            |component| ContainerAction::new(id, ComponentId(component), ActionKind::MoveElsewhere);
        let action = match (kind, standby) {
            (4, Some(standby)) => ContainerAction {
                kind: ActionKind::TakePlaceOf(standby.container),
                or_elsewhere,
                ..elsewhere(ACTIVE)
            },
            (5, Some(_)) => ContainerAction {
                hands_over_to: Some(HandOver {
                    id: ActionId(id.0 + 1),
                    component: ComponentId(ACTIVE),
                    or_elsewhere,
                }),
                ..elsewhere(STANDBY)
            },
            _ => ContainerAction {
                container: chosen.map(|chosen| chosen.container),
                kind: match kind {
                    0 => ActionKind::MoveTo(host(at)),
                    1 => ActionKind::MoveElsewhere,
                    2 => ActionKind::Restart,
                    _ => ActionKind::StopAndRestart,
                },
                or_elsewhere,
                change,
                ..elsewhere(component.unwrap_or(77))
            },
        };
        self.handle(ServiceEvent::Action(ContainerAction { expires_after_ms, ..action }));
    }
}
