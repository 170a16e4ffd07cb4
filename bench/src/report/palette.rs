//! Colours that remain distinct with colour blindness and on paper.

use plotters::style::RGBColor;

/// Line and area colours, in order of use (Okabe and Ito's set, without yellow, which is too faint on white).
pub(super) const SERIES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 90),
];

/// The colour of the line with this number, as in HTML.
pub(super) fn colour(number: usize) -> String {
    let RGBColor(red, green, blue) = SERIES[number % SERIES.len()];
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The colour of promised values, next to actual ones.
pub(super) const GUARANTEE: RGBColor = RGBColor(190, 190, 190);
pub(super) const TEXT: RGBColor = RGBColor(60, 60, 60);
pub(super) const GRID: RGBColor = RGBColor(225, 225, 225);

/// From empty to full: light to dark in one hue, so that it also works in grey.
pub(super) fn heat(part: f64) -> RGBColor {
    let part = part.clamp(0.0, 1.0);
    let mix = |from: f64, to: f64| (from + (to - from) * part) as u8;
    RGBColor(mix(240.0, 8.0), mix(246.0, 48.0), mix(252.0, 107.0))
}
