//! Progress bars on standard error, hidden where it is no terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Returns a bar with the time left on standard error, hidden where that is no terminal.
pub fn progress_bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left");
    bar.set_style(style.expect("the template is valid"));
    bar.set_message(what);
    bar
}

/// As [`progress_bar`], where the total is not known.
pub fn counting_bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {pos}");
    bar.set_style(style.expect("the template is valid"));
    bar.set_message(what);
    bar
}

/// Returns a bar of bytes with the time left.
pub fn byte_bar(what: &'static str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}, {eta} left");
    bar.set_style(style.expect("the template is valid"));
    bar.set_message(what);
    bar
}
