//! Encodes the component in the priority of a request (spec 1.1), for managers that echo nothing else.

use crate::component::ComponentId;

/// The bit of requests without a location, because some managers want one locality per priority.
const NO_LOCATION: u32 = 1 << 30;

/// The largest component id.
pub const COMPONENT_ID_MAX: u32 = NO_LOCATION - 1;

pub(crate) fn request_priority(component: ComponentId, has_location: bool) -> u32 {
    if has_location { component.0 } else { component.0 | NO_LOCATION }
}

pub(crate) fn component_of(priority: u32) -> ComponentId {
    ComponentId(priority & COMPONENT_ID_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_says_its_component_with_and_without_a_place() {
        for id in [0, 1, 6, 1_000_000, COMPONENT_ID_MAX] {
            for has_location in [false, true] {
                assert_eq!(component_of(request_priority(ComponentId(id), has_location)), ComponentId(id));
            }
        }
        assert_ne!(request_priority(ComponentId(1), true), request_priority(ComponentId(1), false));
    }
}
