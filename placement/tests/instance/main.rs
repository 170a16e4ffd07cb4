//! The life of an application instance, from its definition to its end (`slider.md` 4 and 5, the formal model).

mod actions;
mod definition;
mod documented;
mod given;
mod histories;
mod host_time;
mod hosted;
mod hosts;
mod life;
mod locks;
mod masters;
mod meddling;
mod messages;
mod model;
mod questions;
mod sizes;
mod starters;
mod support;
mod wrong_input;
