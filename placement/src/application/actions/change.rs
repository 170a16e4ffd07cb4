//! Changes of a component by an action: its container may return with another version or size.

use super::{ApplicationState, ComponentChange};
use crate::application::Operation;
use crate::component::ComponentId;

impl ApplicationState {
    /// Changes the component for future requests and starts. Returns the change that undoes this.
    pub(super) fn change_component(
        &mut self,
        component: ComponentId,
        change: &ComponentChange,
        operations: &mut Vec<Operation>,
    ) -> ComponentChange {
        let mut undo = ComponentChange::default();
        let Some(known) = self.components.get_mut(&component) else { return undo };
        if let Some(version) = &change.version {
            undo.version = Some(std::mem::replace(&mut known.spec.version, version.clone()));
        }
        if let Some(size) = change.size.filter(|size| *size != known.spec.size) {
            undo.size = Some(std::mem::replace(&mut known.spec.size, size));
            self.cancel_requests(component, usize::MAX, operations);
            self.touch(component);
        }
        undo
    }
}
