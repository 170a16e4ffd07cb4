//! The events of a year, drawn in advance, so that they are the same for every kind of placement.

use apportion::config::NodeOrderKind;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

pub(super) const SECOND_MS: u64 = 1_000;
pub(super) const MINUTE_MS: u64 = 60 * SECOND_MS;
pub(super) const HOUR_MS: u64 = 60 * MINUTE_MS;
pub(super) const DAY_MS: u64 = 24 * HOUR_MS;

/// The shortest and the longest stop of the service, and outage of a node.
const STOPPED_MS: [u64; 2] = [10 * MINUTE_MS, 12 * HOUR_MS];
const DOWN_MS: [u64; 2] = [30 * MINUTE_MS, 8 * HOUR_MS];
/// The shortest and the longest duration of a flex.
const FLEXED_MS: [u64; 2] = [6 * HOUR_MS, 72 * HOUR_MS];

/// The sizes and numbers of a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct YearShape {
    /// Days of virtual time.
    pub days: u64,
    /// Nodes, of 16 slots each.
    pub nodes: u32,
    /// Region servers, of 4 slots each.
    pub region_servers: u32,
    /// Masters, which keep apart, of 2 slots each.
    pub masters: u32,
    /// Full restarts of the service.
    pub restarts: u32,
    /// Crashes of single containers.
    pub crashes: u32,
    /// Number of outages of each node.
    pub outages_per_node: u32,
    /// Number of times that the service is flexed up or down for a while.
    pub flexes: u32,
    /// The order in which the engine takes nodes.
    pub node_order: NodeOrderKind,
}

impl Default for YearShape {
    fn default() -> Self {
        Self {
            days: 365,
            nodes: 500,
            region_servers: 50,
            masters: 3,
            restarts: 12,
            crashes: 200,
            outages_per_node: 2,
            flexes: 10,
            node_order: NodeOrderKind::Spread,
        }
    }
}

/// An event of the cluster or the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happening {
    /// A node fails.
    NodeDown(u32),
    /// A node comes back.
    NodeUp(u32),
    /// The service is stopped.
    Stop,
    /// It is started again.
    Start,
    /// A container of the service fails; the number selects it.
    Crash(u32),
    /// The configured number of region servers changes to this one.
    Flex(u32),
}

/// All events of a year, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The events with their times in milliseconds.
    pub happenings: Vec<(u64, Happening)>,
    /// The end of the year.
    pub end_ms: u64,
}

impl Plan {
    /// Draws the year of this seed.
    #[must_use]
    pub fn draw(shape: &YearShape, seed: u64) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0x05e7_1ce5);
        let end_ms = shape.days * DAY_MS;
        let mut happenings = Vec::new();
        restarts(shape, end_ms, &mut random, &mut happenings);
        for node in 0..shape.nodes {
            outages(node, shape.outages_per_node, end_ms, &mut random, &mut happenings);
        }
        for _ in 0..shape.crashes {
            happenings.push((random.random_range(HOUR_MS..end_ms), Happening::Crash(random.random())));
        }
        flexes(shape, end_ms, &mut random, &mut happenings);
        happenings.sort_unstable();
        Self { happenings, end_ms }
    }
}

type Happenings = Vec<(u64, Happening)>;

/// Adds the restarts. The year is cut into equal pieces with one restart each, so that restarts do not overlap.
fn restarts(shape: &YearShape, end_ms: u64, random: &mut Pcg64Mcg, happenings: &mut Happenings) {
    let piece_ms = end_ms / u64::from(shape.restarts.max(1));
    for number in 0..u64::from(shape.restarts) {
        let stopped_ms = within(STOPPED_MS, piece_ms / 3, random);
        let from_ms = number * piece_ms + piece_ms / 3 + random.random_range(0..piece_ms / 4);
        happenings.push((from_ms, Happening::Stop));
        happenings.push((from_ms + stopped_ms, Happening::Start));
    }
}

fn outages(node: u32, count: u32, end_ms: u64, random: &mut Pcg64Mcg, happenings: &mut Happenings) {
    let piece_ms = end_ms / u64::from(count.max(1));
    for number in 0..u64::from(count) {
        let down_ms = within(DOWN_MS, piece_ms / 3, random);
        let from_ms = number * piece_ms + random.random_range(0..piece_ms / 2);
        happenings.push((from_ms, Happening::NodeDown(node)));
        happenings.push((from_ms + down_ms, Happening::NodeUp(node)));
    }
}

/// Adds the flexes, alternately up and down by a fifth.
fn flexes(shape: &YearShape, end_ms: u64, random: &mut Pcg64Mcg, happenings: &mut Happenings) {
    let piece_ms = end_ms / u64::from(shape.flexes.max(1));
    let fifth = (shape.region_servers / 5).max(1);
    for number in 0..u64::from(shape.flexes) {
        let flexed_ms = within(FLEXED_MS, piece_ms / 3, random);
        let from_ms = number * piece_ms + random.random_range(0..piece_ms / 2);
        let is_up = number % 2 == 0;
        let other = if is_up { shape.region_servers + fifth } else { shape.region_servers - fifth };
        happenings.push((from_ms, Happening::Flex(other)));
        happenings.push((from_ms + flexed_ms, Happening::Flex(shape.region_servers)));
    }
}

fn within([least, most]: [u64; 2], at_most: u64, random: &mut Pcg64Mcg) -> u64 {
    random.random_range(least.min(at_most / 2)..=most.min(at_most).max(least.min(at_most / 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_the_configured_events() {
        let shape = YearShape::default();
        let plan = Plan::draw(&shape, 7);
        assert_eq!(plan, Plan::draw(&shape, 7));
        assert_ne!(plan, Plan::draw(&shape, 8));
        let count =
            |wanted: fn(&Happening) -> bool| plan.happenings.iter().filter(|(_, h)| wanted(h)).count();
        assert_eq!(count(|h| *h == Happening::Stop), 12);
        assert_eq!(count(|h| *h == Happening::Start), 12);
        assert_eq!(count(|h| matches!(h, Happening::Crash(_))), 200);
        assert_eq!(count(|h| matches!(h, Happening::NodeDown(_))), 1_000);
        assert_eq!(count(|h| matches!(h, Happening::NodeUp(_))), 1_000);
        assert!(plan.happenings.iter().all(|(at_ms, _)| *at_ms < plan.end_ms));
        let mut stopped = false;
        for (_, happening) in &plan.happenings {
            match happening {
                Happening::Stop => assert!(!std::mem::replace(&mut stopped, true)),
                Happening::Start => assert!(std::mem::replace(&mut stopped, false)),
                _ => {}
            }
        }
    }
}
