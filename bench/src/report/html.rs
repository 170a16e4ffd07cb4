//! The common part of all pages. A page is one HTML file that opens without a network.

use super::NOT_BEGUN;
use super::chart::ChartError;
use super::plot::{Plot, assets};
use crate::interrupt::Interruption;

/// A self-contained page. The texts are HTML.
pub(super) fn document(title: &str, sub: &str, body: &str) -> String {
    let end = if body.contains("<figure class=plot>") { assets() } else { String::new() };
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content='width=device-width, initial-scale=1'><title>{title}</title>\
         <style>{STYLE}</style><h1>{title}</h1><p class=sub>{sub}</p>{body}{end}</html>"
    )
}

/// The beginning of the line below the title if a signal stopped the run.
pub(super) fn interrupted_first(interruption: Option<Interruption>) -> String {
    interruption
        .map_or_else(String::new, |interruption| format!("Interrupted at {}: ", interruption.moment()))
}

/// The most important figures with their names.
pub(super) fn to_cards(cards: &[(String, &str)]) -> String {
    let card = |(value, name): &(String, &str)| format!("<div class=card><b>{value}</b>{name}</div>");
    format!("<div class=cards>{}</div>", cards.iter().map(card).collect::<String>())
}

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;color:#222;background:#f5f6f8;margin:0 auto;\
max-width:1640px;padding:24px}h1{font-size:24px;margin:0}h2{font-size:16px;margin:0 0 2px}\
.sub,section p{color:#666;margin:2px 0 12px}.cards{display:flex;flex-wrap:wrap;gap:12px;margin:16px 0}\
.card,section{background:#fff;border:1px solid #e2e4e8;border-radius:8px;padding:14px 18px}\
.card{flex:1 1 130px;color:#666}.card b{display:block;font-size:22px;color:#111}\
main{columns:540px 2;column-gap:16px}section{overflow-x:auto;break-inside:avoid;margin:0 0 16px}\
.names{font-size:13px;color:#444;min-height:40px}.names span{margin-right:14px;white-space:nowrap}\
.names b{font-weight:600;font-variant-numeric:tabular-nums}.names .at{color:#666}\
.names button{font:inherit;border:1px solid #bbb;border-radius:4px;background:#fff;cursor:pointer}\
figure{margin:0}.still[hidden]{display:none}\
@media print{body{background:#fff;padding:0}section,.card{break-inside:avoid}.still[hidden]{display:block}\
.live,.names button{display:none}}\
.names i{display:inline-block;width:14px;height:4px;margin-right:5px;vertical-align:middle}\
main+section{margin-top:16px}svg{width:100%;min-width:480px;height:auto;display:block}table{border-collapse:collapse;width:100%}\
td{border-bottom:1px solid #eee;padding:4px 8px 4px 0}td+td{text-align:right;font-variant-numeric:tabular-nums}\
th{text-align:left;font-weight:600;padding:4px 8px 4px 0}.why td{vertical-align:top;text-align:left;padding-right:16px}\
.why small{white-space:normal}small{display:block;color:#666;white-space:nowrap}";

pub(super) fn section(title: &str, note: &str, svg: &str) -> String {
    format!("<section><h2>{}</h2><p>{}</p>{svg}</section>", escape(title), escape(note))
}

/// A plot under its title, or a sentence if the plot would show nothing but zeros.
pub(super) fn plot_section(
    title: &str,
    note: &str,
    plot: &Plot<'_>,
    nothing: &str,
) -> Result<String, ChartError> {
    Ok(if plot.is_nothing() { say(title, nothing) } else { section(title, note, &plot.to_html()?) })
}

/// A section with a sentence instead of a plot.
pub(super) fn say(title: &str, sentence: &str) -> String {
    format!("<section><h2>{}</h2><p>{}</p></section>", escape(title), escape(sentence))
}

/// A figure of a run, as HTML.
pub(super) type Figure<T> = fn(&T) -> String;

/// All figures of several runs: a row for each figure, and a column for each run under its name. A run that had not
/// begun when a signal came is `None`; its column says so in the first row.
pub(super) fn figures_table<T>(rows: &[(&str, Figure<T>)], columns: &[(String, Option<&T>)]) -> String {
    let heads: String = columns.iter().map(|(name, _)| format!("<td><b>{name}</b>")).collect();
    let row = |(number, (name, figure)): (usize, &(&str, Figure<T>))| {
        let cell = |(_, run): &(String, Option<&T>)| match (run, number) {
            (Some(run), _) => format!("<td>{}", figure(run)),
            (None, 0) => format!("<td>{NOT_BEGUN}"),
            (None, _) => "<td>".to_owned(),
        };
        format!("<tr><td>{name}{}", columns.iter().map(cell).collect::<String>())
    };
    let body: String = rows.iter().enumerate().map(row).collect();
    format!("<section><h2>All figures</h2><table><tr><td>{heads}{body}</table></section>")
}

/// Text with HTML's special characters escaped.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
