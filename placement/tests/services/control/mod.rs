//! Jobs and requests to them, on the engine and on the fake (`samza.md` section 3).

mod bed;
mod budgets;
mod crashes;
mod degraded;
mod drains;
mod failover;
mod hand_over;
mod many;
mod one;
mod plane;
mod plane_bed;
mod restarts;
mod retries;
mod rolling;
mod scenarios;
mod sharing;
mod standbys;
mod thread;
mod volume;
