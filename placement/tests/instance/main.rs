//! The life of an application instance, from its definition to its end (`slider.md` 4 and 5, the formal model).

mod definition;
mod sizes;
mod support;
