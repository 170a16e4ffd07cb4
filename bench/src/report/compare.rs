//! Two results side by side: the differences beyond noise, as a table, as JSON and as a page.

use std::path::Path;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::html::{document, escape, section, to_cards};
use super::{count_text, counted, duration_text};
use crate::compare::{Comparison, Row, Unit, Verdict};

/// The keys of `compare --json`, documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct CompareJson<'a> {
    files: &'a [String; 2],
    runs: usize,
    paired: bool,
    tolerance: f64,
    differs: usize,
    noise: usize,
    same: usize,
    notes: &'a [String],
    figures: Vec<FigureJson<'a>>,
}

#[derive(Clone, Debug, Serialize)]
struct FigureJson<'a> {
    point: &'a str,
    about: &'a str,
    figure: &'a str,
    unit: &'static str,
    means: [f64; 2],
    difference: f64,
    relative: f64,
    ci95: Option<[f64; 2]>,
    p: Option<f64>,
    verdict: &'static str,
}

impl<'a> CompareJson<'a> {
    /// All figures of a comparison.
    #[must_use]
    pub fn new(comparison: &'a Comparison) -> Self {
        let figure = |row: &'a Row| FigureJson {
            point: &row.point,
            about: &row.about,
            figure: &row.figure,
            unit: match row.unit {
                Unit::Count => "count",
                Unit::Seconds => "s",
                Unit::Part => "part",
                Unit::Ratio => "ratio",
            },
            means: row.means,
            difference: row.difference,
            relative: row.relative(),
            ci95: row.interval,
            p: row.p,
            verdict: verdict(row.verdict),
        };
        Self {
            files: &comparison.files,
            runs: comparison.runs,
            paired: comparison.is_paired,
            tolerance: comparison.tolerance,
            differs: comparison.count(Verdict::Differs),
            noise: comparison.count(Verdict::Noise),
            same: comparison.count(Verdict::Same),
            notes: &comparison.notes,
            figures: comparison.rows.iter().map(figure).collect(),
        }
    }
}

/// The differing figures, or all figures, as a table; below it the criteria.
#[must_use]
pub fn to_compare_text(comparison: &Comparison, all: bool) -> String {
    let is_shown = |row: &&Row| all || row.verdict == Verdict::Differs;
    let rows: Vec<&Row> = comparison.rows.iter().filter(is_shown).collect();
    let mut text = String::new();
    if !rows.is_empty() {
        let mut table = Table::new();
        table.load_style(UTF8_FULL_CONDENSED);
        let [first, second] = comparison.files.each_ref().map(|name| short(name));
        table.set_header(["figure", first, second, "difference", "95 % of it", ""]);
        for row in rows {
            let [a, b, difference, interval] = cells(row);
            table.add_row([title(row), a, b, difference, interval, verdict(row.verdict).to_owned()]);
        }
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        text += &format!("{table}\n");
    }
    text += &sentences(comparison).join("\n");
    text
}

/// A page with the differing figures, all figures, and the criteria.
#[must_use]
pub fn to_compare_html(comparison: &Comparison) -> String {
    let [first, second] = comparison.files.each_ref().map(|name| escape(name));
    let cards = [
        (count_text(comparison.count(Verdict::Differs) as u64), "figures differ beyond noise"),
        (count_text(comparison.count(Verdict::Noise) as u64), "differ within noise"),
        (count_text(comparison.count(Verdict::Same) as u64), "are the same"),
    ];
    let differing: Vec<&Row> = comparison.rows.iter().filter(|row| row.verdict == Verdict::Differs).collect();
    let found = if differing.is_empty() {
        "<section><h2>Nothing differs beyond noise</h2></section>".to_owned()
    } else {
        let note = "The bar is the difference as part of the larger value; the line is its 95 % confidence interval.";
        section("Differences beyond noise", note, &html_table(&comparison.files, &differing))
    };
    let all: Vec<&Row> = comparison.rows.iter().collect();
    let all = section("All figures", "", &html_table(&comparison.files, &all));
    let method: String =
        sentences(comparison).iter().map(|sentence| format!("<p>{}</p>", escape(sentence))).collect();
    let body = format!(
        "{}{found}<p></p><section><h2>How they were compared</h2>{method}</section><p></p>{all}",
        to_cards(&cards)
    );
    document("Apportion: comparison", &format!("{first} and {second}"), &body)
}

fn html_table(files: &[String; 2], rows: &[&Row]) -> String {
    let heads = ["figure", short(&files[0]), short(&files[1]), "difference", "95 % of it", "", ""];
    let head: String = heads.iter().map(|name| format!("<td><b>{}</b>", escape(name))).collect();
    let line = |row: &&Row| {
        let cells: String = cells(row).iter().map(|cell| format!("<td>{}", escape(cell))).collect();
        let verdict = verdict(row.verdict);
        format!("<tr><td>{}{cells}<td>{}<td>{verdict}", escape(&title(row)), bar(row))
    };
    format!("<table><tr>{head}{}</table>", rows.iter().map(line).collect::<String>())
}

/// The relative difference from -100 % to 100 %, with its interval.
fn bar(row: &Row) -> String {
    const HALF: f64 = 80.0;
    let larger = row.means[0].abs().max(row.means[1].abs());
    let x = |value: f64| HALF + HALF * if larger > 0.0 { (value / larger).clamp(-1.0, 1.0) } else { 0.0 };
    let (from, to) = (x(row.difference.min(0.0)), x(row.difference.max(0.0)));
    let colour = if row.verdict == Verdict::Differs { "#0072b2" } else { "#bebebe" };
    let interval = row.interval.map(|[low, high]| {
        format!("<path d='M{:.1} 7H{:.1}' stroke='#222' stroke-width='1.5'/>", x(low), x(high))
    });
    format!(
        "<svg viewBox='0 0 160 14' style='width:160px;min-width:160px'><path d='M80 0V14' stroke='#ccc'/>\
         <rect x='{from:.1}' y='3' width='{:.1}' height='8' fill='{colour}'/>{}</svg>",
        to - from,
        interval.unwrap_or_default()
    )
}

/// The name of a file without its folder.
fn short(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// The number of differing figures, the criteria, and further notes.
fn sentences(comparison: &Comparison) -> Vec<String> {
    let count = |verdict| count_text(comparison.count(verdict) as u64);
    let same = count(Verdict::Same);
    let differs = comparison.count(Verdict::Differs) as u64;
    let differ =
        format!("{} {}", counted(differs, "figure"), if differs == 1 { "differs" } else { "differ" });
    let mut sentences = vec![if comparison.runs > 1 {
        let noise = count(Verdict::Noise);
        format!("{differ} beyond noise, {noise} within noise; the same: {same}.")
    } else {
        let within = count(Verdict::Noise);
        format!("{differ} by more than the tolerance, {within} by less; the same: {same}.")
    }];
    let tolerance = 100.0 * comparison.tolerance;
    sentences.push(match (comparison.runs, comparison.is_paired) {
        (..2, _) => format!(
            "A single run tells nothing of noise: differences above {tolerance} % count (--tolerance). \
             `sweep --seeds 1,2,3,4,5 --json` tells more."
        ),
        (runs, true) => format!(
            "{runs} seeds, each compared with itself (paired t-test). Of the differences reported at most 5 % are expected \
             to be noise (Benjamini and Hochberg)."
        ),
        (runs, false) => format!(
            "At least {runs} runs in each file, of different seeds (Welch's t-test); equal seeds would tell more. Of the \
             differences reported at most 5 % are expected to be noise (Benjamini and Hochberg)."
        ),
    });
    if comparison.runs > 1 && tolerance > 0.0 {
        sentences.push(format!("Differences up to {tolerance} % do not count (--tolerance)."));
    }
    sentences.push("Wall-clock figures are not compared.".into());
    let notes = comparison.notes.iter().map(|note| format!("Note: {note}."));
    sentences.extend(notes);
    sentences
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Noise => "noise",
        Verdict::Differs => "differs",
    }
}

fn title(row: &Row) -> String {
    let parts = [row.point.as_str(), row.about.as_str()].into_iter().filter(|part| !part.is_empty());
    let about: Vec<&str> = parts.collect();
    if about.is_empty() { row.figure.clone() } else { format!("{}: {}", about.join(", "), row.figure) }
}

/// Both means, the difference, and its interval.
fn cells(row: &Row) -> [String; 4] {
    let [a, b] = row.means.map(|mean| text(row.unit, mean));
    let signed = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!("{sign}{}", text(row.unit, value.abs()))
    };
    let difference = match row.verdict {
        Verdict::Same => "0".to_owned(),
        _ => format!("{} ({:+.1} %)", signed(row.difference), 100.0 * row.relative()),
    };
    let interval = row.interval.filter(|_| row.verdict != Verdict::Same);
    let interval = interval.map(|[low, high]| format!("{} to {}", signed(low), signed(high)));
    [a, b, difference, interval.unwrap_or_default()]
}

fn text(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Count if value.fract() == 0.0 => count_text(value as u64),
        Unit::Count => format!("{value:.1}"),
        Unit::Seconds => duration_text((value * 1_000.0).round() as u64),
        Unit::Part => format!("{:.2} %", 100.0 * value),
        Unit::Ratio => format!("{value:.3}"),
    }
}
