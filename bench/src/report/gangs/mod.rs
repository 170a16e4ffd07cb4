//! Jobs whose containers start together: keys of `--json`, rows of the table, and sections of the page.

mod html;
mod json;
mod text;

pub(super) use self::html::to_gang_sections;
pub(super) use self::json::GangsOut;
pub(super) use self::text::{rows, to_gang_table};

const HOUR_MS: f64 = 3.6e6;
