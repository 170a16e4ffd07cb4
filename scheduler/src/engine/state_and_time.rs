//! Calls of a handle that read the configuration and the state, and that tell of the time.

use super::handle::Handle;
use super::message::Message;
use super::submit_error::SubmitError;
use crate::config::EngineConfig;
use crate::resource::{ResourceError, Resources};
use crate::view::View;

/// # State and time
///
/// These calls take no identifiers. The methods of a [`View`] find nothing for an unknown identifier.
impl Handle {
    /// The configuration at the start of the engine; [`View::queue_tree`] has the present queues.
    #[must_use]
    pub fn config(&self) -> &EngineConfig {
        &self.shared.config
    }

    /// A vector from named amounts; types not named are zero.
    ///
    /// # Errors
    /// If a name is not a resource type of the engine, or an amount is out of range.
    pub fn resources(&self, amounts: &[(&str, i64)]) -> Result<Resources, ResourceError> {
        self.shared.config.resources.resources(amounts)
    }

    /// Tells the engine that the clock was moved.
    ///
    /// # Errors
    /// If the engine is shut down.
    pub fn tick(&self) -> Result<(), SubmitError> {
        Ok(self.shared.send(Message::Tick)?)
    }

    /// Calls `look` with a view of the state. The engine is blocked meanwhile, so `look` must be quick and must not
    /// call this engine.
    pub fn read<T>(&self, look: impl FnOnce(&View<'_>) -> T) -> T {
        let state = self.shared.state.read();
        look(&View::new(&state))
    }
}
