//! The cluster as a field of squares, one for each node or group of nodes.

use plotters::prelude::*;

use super::chart::{ChartError, percent, svg, with_titles};
use super::counted;
use super::palette::{TEXT, heat};
use crate::sim::NodeUse;

/// A larger field is drawn as groups of neighbours.
const SQUARES_MAX: usize = 4_000;
const WIDTH: u32 = 760;

/// Each node's mean use over virtual time, in order of registration, by rows.
pub(super) fn heat_map(nodes: &[NodeUse]) -> Result<String, ChartError> {
    let group = nodes.len().div_ceil(SQUARES_MAX).max(1);
    let squares: Vec<(String, f64)> = nodes.chunks(group).map(square).collect();
    let darkest = darkest(squares.iter().map(|(_, share)| *share).fold(0.0, f64::max));
    let columns = ((squares.len() as f64 * 2.2).sqrt().ceil() as usize).max(1);
    let side = ((WIDTH - 24) / columns as u32).clamp(4, 40);
    let rows = squares.len().div_ceil(columns) as u32;
    let legend = 44;
    let text = svg((WIDTH, rows * side + legend + 24), |area| {
        for (place, (_, share)) in squares.iter().enumerate() {
            let x = 12 + (place % columns) as i32 * side as i32;
            let y = 12 + (place / columns) as i32 * side as i32;
            let gap = if side > 6 { 1 } else { 0 };
            let corner = (x + side as i32 - gap, y + side as i32 - gap);
            area.draw(&Rectangle::new([(x, y), corner], heat(*share / darkest).filled()))?;
        }
        let style = ("sans-serif", 17, &TEXT).into_text_style(area);
        let y = (12 + rows * side + 14) as i32;
        for step in 0..=10 {
            let x = 12 + step * 24;
            area.draw(&Rectangle::new([(x, y), (x + 24, y + 12)], heat(f64::from(step) / 10.0).filled()))?;
        }
        let each = format!("one square = {}", counted(group as u64, "node"));
        area.draw_text(
            &format!("0 to {} of the dominant resource; {each}", percent(darkest)),
            &style,
            (290, y - 1),
        )?;
        Ok(())
    })?;
    let titles: Vec<String> =
        [String::new()].into_iter().chain(squares.into_iter().map(|(title, _)| title)).collect();
    Ok(with_titles(&text, "<rect ", &titles))
}

/// The value of the darkest colour: 1, 2 or 5 times a power of ten, so that nodes with little use can be told apart.
fn darkest(highest: f64) -> f64 {
    let power = 10_f64.powf(highest.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|end| *end >= highest)
        .unwrap_or(10.0 * power)
        .min(1.0)
}

fn square(nodes: &[NodeUse]) -> (String, f64) {
    let mean = nodes.iter().map(|node| node.mean_share).sum::<f64>() / nodes.len() as f64;
    let containers: u64 = nodes.iter().map(|node| node.containers).sum();
    let name = match nodes {
        [one] => one.name.clone(),
        [first, .., last] => format!("{} to {}", first.name, last.name),
        [] => String::new(),
    };
    (format!("{name}: {}, {}", percent(mean), counted(containers, "container")), mean)
}
