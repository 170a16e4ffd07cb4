//! The end of an engine whose log must not miss a change.

use super::publish::Publisher;

impl Publisher {
    /// Ends the engine and announces nothing of the group, because it is not in a log that has to have it.
    #[cold]
    pub(super) fn withhold(&mut self) {
        self.shared.end();
        self.effects.events.clear();
        self.effects.queues.clear();
        self.refused.clear();
        self.answers.clear();
        self.attached.clear();
    }
}
