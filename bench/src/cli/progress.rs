//! Progress bars on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::duration_text;
use crate::sim::Progress;

/// Shows the progress of a simulation on standard error, if that is a terminal.
pub(super) struct Bar(ProgressBar);

impl Bar {
    pub(super) fn new(asks: u64) -> Self {
        let bar = ProgressBar::new(asks);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{bar:40} {human_pos}/{human_len} placed, virtual time {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    pub(super) fn show(&self, progress: Progress) {
        if !self.0.is_hidden() {
            self.0.set_position(progress.placed);
            self.0.set_message(duration_text(progress.now_ms));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A named bar of a thousand parts on standard error, if that is a terminal.
pub(super) fn parts_bar(name: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(1_000), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} % {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(name);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
