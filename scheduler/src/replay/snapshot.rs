//! Snapshots: a log that begins with a state instead of all the changes that led to it.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::{Identifiers, Replay};
use crate::facts::LaterFacts;
use crate::log::write_snapshot;
use crate::state::{State, StateImage, StateImageOf};

#[derive(Serialize)]
struct SnapshotOf<'a> {
    state: StateImageOf<'a>,
    identifiers: &'a Identifiers,
    later: LaterFacts,
}

#[derive(Deserialize)]
struct Snapshot {
    state: StateImage,
    identifiers: Identifiers,
    later: LaterFacts,
}

impl Replay {
    /// Writes a log that begins with the present state. [`Replay`], [`LogReader`](crate::log::LogReader) and
    /// [`Engine::recover`](crate::Engine::recover) read it like the whole log; an engine appends further changes to it.
    /// So it replaces a log that has become long.
    ///
    /// # Errors
    /// If the medium fails, or the state has more than 1 GiB.
    pub fn write_snapshot(&mut self, sink: impl Write) -> io::Result<()> {
        self.state.recompute_limits();
        self.identifiers.compact();
        let later = self.state.facts.later();
        let snapshot = SnapshotOf { state: self.state.image(), identifiers: &self.identifiers, later };
        let bytes = postcard::to_allocvec(&snapshot).map_err(io::Error::other)?;
        write_snapshot(self.seq(), &bytes, sink)
    }
}

/// The state after the snapshot, unless its bytes are damaged.
pub(super) fn read(bytes: &[u8]) -> Option<Replay> {
    let Snapshot { state, identifiers, later } = postcard::from_bytes(bytes).ok()?;
    let state = State::of_image(state, later)?;
    identifiers.is_coherent(&state.facts).then(|| Replay::of(state, identifiers))
}
