//! The subjects of changes and events of gangs.

use apportion::event::EventKind;
use apportion::gang::GangSpec;
use apportion::view::View;
use apportion::{AskId, Change, GangId};

use super::{About, Names, word};
use crate::cli::log_input::gang_of_first;
use crate::report::counted;

impl Names {
    /// `None` if the event is not one of a gang, or of a container that it starts.
    pub(super) fn gang_event(&self, kind: &EventKind) -> Option<About> {
        let (gang, detail) = match *kind {
            EventKind::GangStarted { gang } => (gang, None),
            EventKind::GangEnded { gang, end, style } => {
                (gang, Some(format!("{}, {} gang", word(end).replace('_', " "), word(style))))
            }
            EventKind::GangTurnEnded { gang, turns } => (gang, Some(counted(turns.into(), "turn"))),
            EventKind::GangRefused { gang, refusal } => (gang, Some(refusal.to_string())),
            EventKind::PlaceholdersTimedOut { gang, style } => (gang, Some(format!("{} gang", word(style)))),
            _ => return None,
        };
        Some(About { detail, ..self.gang(gang) })
    }

    /// `None` if the change is not one of a gang.
    pub(super) fn gang_change(&self, change: &Change, view: &View<'_>) -> Option<About> {
        Some(match change {
            Change::GangSubmitted { asks, spec } => self.submitted(asks, spec),
            Change::TaskGroupAskSubmitted { ask, group, spec, .. } => About {
                containers: Some(spec.count),
                size: self.size(&spec.size),
                detail: Some(format!("task group {group}")),
                ..self.ask(*ask)
            },
            Change::GangEnded { gang, end } => About { detail: Some(word(end)), ..self.gang(*gang) },
            Change::GangTurnEnded { gang } | Change::PlaceholdersTimedOut { gang } => self.gang(*gang),
            Change::RoomHeld { ask, node } => About { node: self.node(*node), ..self.ask(*ask) },
            Change::RoomGivenBack { gang, partition } => {
                let name = view.partition_name(*partition);
                let detail = (!name.is_empty()).then(|| format!("in the partition {name}"));
                About { detail, ..self.gang(*gang) }
            }
            _ => return None,
        })
    }

    fn submitted(&self, asks: &[AskId], spec: &GangSpec) -> About {
        let role = |(ask, role): (&AskId, &apportion::gang::GangRole)| {
            let size = self.types.amounts(&role.ask.size);
            let count = counted(role.ask.count.into(), "container");
            format!("{}: {count} of {size} as {ask}, at least {}", role.name, role.minimum)
        };
        let roles: Vec<String> = asks.iter().zip(&spec.roles).map(role).collect();
        let gang = asks.first().and_then(|first| gang_of_first(*first));
        About {
            gang: gang.map(|gang| gang.to_string()),
            asks: asks.iter().map(ToString::to_string).collect(),
            detail: Some(roles.join(", ")),
            ..self.application(spec.application)
        }
    }

    fn gang(&self, id: GangId) -> About {
        let about = self.gangs.get(&id).map(|application| self.application(*application));
        About { gang: Some(id.to_string()), ..about.unwrap_or_default() }
    }
}
