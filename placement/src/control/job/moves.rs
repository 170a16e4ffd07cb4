//! Plans the moves of a step when the step begins: standbys may have come and gone since the request was
//! submitted.

use std::collections::VecDeque;
use std::sync::Arc;

use super::super::action::Destination;
use super::super::job_spec::{STANDBYS_MAX, component_of};
use super::super::processor::ProcessorId;
use super::plan::{Intent, Move, Step};
use super::planner::Planner;
use crate::application::ActionKind;
use crate::component::ComponentId;

type Moves = VecDeque<Move>;

impl Planner<'_> {
    /// Returns the moves of a step, in order. The error says why the step is impossible.
    pub(super) fn moves_of(self, step: &Step) -> Result<Moves, String> {
        match &step.intent {
            Intent::Place { processor, destination } => self.placement(processor, destination),
            Intent::Depart { processor, component } => Ok(self.departing(processor, *component)),
            Intent::StartStandby(processor) => {
                let number = self.next_standby(processor)?;
                Ok([Move::StartStandby { number }, Move::AwaitStandby { number, has_to_catch_up: false }]
                    .into())
            }
            Intent::StopStandby(standby) => {
                self.processors.number_of(standby)?;
                let number = standby.standby_number().ok_or_else(|| {
                    format!(
                        "`{standby}` is not a standby; its standbys are named `{standby}-0`, `{standby}-1`, ..."
                    )
                })?;
                Ok([Move::StopStandby { number }].into())
            }
            Intent::Restart { component, kind, change } => {
                let or_elsewhere = *kind == ActionKind::Restart;
                let (kind, change) = (kind.clone(), change.clone());
                Ok([Move::Act { component: *component, kind, or_elsewhere, change }].into())
            }
        }
    }

    fn placement(self, processor: &ProcessorId, destination: &Destination) -> Result<Moves, String> {
        let component = self.processors.number_of(processor)?;
        let kind = match destination {
            Destination::LastSeen => ActionKind::Restart,
            Destination::ForceRestartLastSeen => ActionKind::StopAndRestart,
            Destination::AnyHost => ActionKind::MoveElsewhere,
            Destination::Host(host) => {
                self.check_host(host)?;
                ActionKind::MoveTo(host.clone())
            }
            Destination::Standby => {
                let moves = self.to_standby(processor, component, false);
                return moves.ok_or_else(|| {
                    format!("processor `{processor}` has no standby that runs where it could take its place")
                });
            }
        };
        let goes = match &kind {
            ActionKind::MoveTo(host) => self.host_of(component).as_ref() != Some(host),
            ActionKind::MoveElsewhere | ActionKind::TakePlaceOf(_) => true,
            ActionKind::Restart | ActionKind::StopAndRestart => false,
        };
        if goes && self.needs_warm_standby(processor) {
            return self.by_warm_standby(processor, component, kind);
        }
        Ok([plain(component, kind)].into())
    }

    /// Prefers a host where a standby has read the state, if the processor is stateful.
    fn departing(self, processor: &ProcessorId, component: ComponentId) -> Moves {
        let is_stateful = self.processors.processor(processor).is_some_and(|known| known.is_stateful);
        let warm = is_stateful.then(|| self.to_standby(processor, component, true)).flatten();
        let placed = || self.placement(processor, &Destination::AnyHost).ok();
        warm.or_else(placed).unwrap_or_else(|| [plain(component, ActionKind::MoveElsewhere)].into())
    }

    /// Returns whether a standby has to read the state before the processor moves: it is stateful and has
    /// no standby.
    fn needs_warm_standby(self, processor: &ProcessorId) -> bool {
        let known = self.processors.processor(processor);
        processor.standby_number().is_none()
            && known.is_some_and(|known| known.is_stateful && known.standbys.is_empty())
    }

    fn to_standby(
        self,
        processor: &ProcessorId,
        component: ComponentId,
        or_elsewhere: bool,
    ) -> Option<Moves> {
        let (number, standby) = self.standby_to_take_over(processor, component)?;
        let is_stateful = self.processors.processor(processor).is_some_and(|known| known.is_stateful);
        let reads = is_stateful.then_some(Move::AwaitStandby { number, has_to_catch_up: true });
        let goes = Move::HandOver { standby, component, or_elsewhere };
        Some(reads.into_iter().chain([goes]).collect())
    }

    /// Picks a standby that runs on a host that accepts the processor, preferably one that has read all
    /// state.
    fn standby_to_take_over(
        self,
        processor: &ProcessorId,
        component: ComponentId,
    ) -> Option<(u32, ComponentId)> {
        let known = self.processors.processor(processor).filter(|_| processor.standby_number().is_none())?;
        let takes_it = |standby: ComponentId| {
            let host = self.live_container(standby).and_then(|_| self.host_of(standby));
            host.is_some_and(|host| self.state.is_taken_by(component, &host))
        };
        let numbered = |number: &u32| Some((*number, self.processors.standby(processor, *number)?));
        let standbys = known.standbys.iter().filter_map(numbered).filter(|(_, standby)| takes_it(*standby));
        let standbys: Vec<(u32, ComponentId)> = standbys.collect();
        let has_read = |(_, standby): &&(u32, ComponentId)| self.has_caught_up(*standby);
        standbys.iter().find(has_read).or_else(|| standbys.first()).copied()
    }

    /// Plans a temporary standby: it starts, reads the state, and gives its place to the processor.
    fn by_warm_standby(
        self,
        processor: &ProcessorId,
        component: ComponentId,
        kind: ActionKind,
    ) -> Result<Moves, String> {
        let number = self.next_standby(processor)?;
        let mut moves: Moves =
            [Move::StartStandby { number }, Move::AwaitStandby { number, has_to_catch_up: false }].into();
        if let ActionKind::MoveTo(host) = kind {
            moves.push_back(Move::BringStandby { number, host });
        }
        moves.push_back(Move::AwaitStandby { number, has_to_catch_up: true });
        moves.push_back(Move::ReplaceStandby { number, component });
        Ok(moves)
    }

    /// Returns the lowest number that no standby of the processor has, and that no container still uses.
    fn next_standby(self, processor: &ProcessorId) -> Result<u32, String> {
        if processor.standby_number().is_some() {
            return Err(format!("`{processor}` is a standby, and has no standbys itself"));
        }
        self.processors.number_of(processor)?;
        let is_free = |number: &u32| {
            let place = self.processors.place(processor).unwrap_or_default();
            self.processors.standby(processor, *number).is_none()
                && !self.state.has_containers(component_of(place, Some(*number)))
        };
        let free = (0..STANDBYS_MAX).find(is_free);
        free.ok_or_else(|| format!("processor `{processor}` has {STANDBYS_MAX} standbys already"))
    }
}

pub(super) fn plain(component: ComponentId, kind: ActionKind) -> Move {
    Move::Act { component, kind, or_elsewhere: false, change: Arc::default() }
}
