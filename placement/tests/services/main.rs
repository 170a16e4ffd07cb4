//! Services on clusters: the scenarios of Slider's own tests (spec, section 5), on the engine and on the fake alike.
//!
//! A test named after a scenario has its number in the first line. If the table of differences changes the outcome,
//! the test names the row.

mod actions;
mod agents;
mod anti_affinity;
mod back_off;
mod callbacks;
mod changes;
mod client;
mod cold_start;
mod control;
mod dismissal;
#[path = "../../examples/service.rs"]
mod example;
mod failures;
mod flexing;
mod hand_over;
mod history;
mod lone_client;
mod lost_and_late;
mod matching;
mod outstanding;
mod placing;
mod preemption;
mod sharing;
mod support;
mod swaps;
mod teardown;
