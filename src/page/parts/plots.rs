//! Plots as SVG: bars over time, a heatmap of days, bars by value. Every figure stands in the picture as text,
//! too, for those who cannot see it.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, NaiveDate};
use maud::{Markup, html};

use super::entry;
use super::frame;
use super::parameters::Parameters;
use super::texts;

/// Number of weeks of the plot of growth.
const WEEKS: usize = 52;
/// Size of a day of the heatmap, with its gap.
const DAY: usize = 12;
/// Height of the names of the months below the heatmap.
const MONTHS: usize = 14;
/// Number of shades of the heatmap.
const SHADES: usize = 4;

/// Numbers of memories by the day on which they are dated.
pub(in crate::page) type DayCounts = BTreeMap<NaiveDate, usize>;

/// Returns the numbers of the last year's weeks as bars; `today` is the last day.
pub(in crate::page) fn growth(days: &DayCounts, today: NaiveDate, name: &str) -> Markup {
    const HEIGHT: usize = 120;
    /// Space for the number above the highest bar.
    const TOP: usize = 16;
    let monday = |day: NaiveDate| day - Days::new(u64::from(day.weekday().num_days_from_monday()));
    let this = monday(today);
    let mut weeks = vec![0usize; WEEKS];
    for (day, count) in days {
        let back = (this - monday(*day)).num_days() / 7;
        if let Ok(back) = usize::try_from(back)
            && back < WEEKS
        {
            weeks[WEEKS - 1 - back] += count;
        }
    }
    let most = weeks.iter().copied().max().unwrap_or(0).max(1);
    let place = |at: usize| format!("{:.2}%", at as f64 * 100.0 / WEEKS as f64);
    html! {
        svg.plot width="100%" height=(HEIGHT + 18) role="img" aria-label={ (name) ": " (weeks.iter().sum::<usize>()) } {
            line.axis x1="0" x2="100%" y1=(HEIGHT + 1) y2=(HEIGHT + 1) {}
            @for (at, count) in weeks.iter().enumerate() {
                @let height = (count * (HEIGHT - TOP)).div_ceil(most);
                @let week = this - Days::new(7 * (WEEKS - 1 - at) as u64);
                rect.bar x=(place(at)) y=(HEIGHT - height) width="1.5%" height=(height) rx="1" {
                    title { (week) ": " (count) }
                }
                @if at % 13 == 0 { text x=(place(at)) y=(HEIGHT + 15) { (week.format("%b %Y")) } }
            }
            text.most x="100%" y="11" { "max " (most) }
        }
    }
}

/// Returns the days of the last year as squares, a column for each week. Where they are wider than the window, the
/// newest are seen first.
pub(in crate::page) fn heatmap(days: &DayCounts, today: NaiveDate, name: &str) -> Markup {
    let begin = today
        - Days::new(7 * (WEEKS as u64 - 1) + u64::from(today.weekday().num_days_from_monday()));
    let most = days
        .range(begin..)
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let shade = |count: usize| match count {
        0 => 0,
        _ => (count * SHADES).div_ceil(most),
    };
    let shown: Vec<(usize, NaiveDate)> = begin
        .iter_days()
        .take_while(|day| *day <= today)
        .enumerate()
        .collect();
    let total: usize = days.range(begin..=today).map(|(_, count)| count).sum();
    html! {
        div.wide.newest tabindex="0" role="group" aria-label=(name) { svg.plot.heatmap viewBox={ "0 0 " (WEEKS * DAY) " " (7 * DAY + MONTHS) } role="img" aria-label={ (name) ": " (total) } {
            @for (at, day) in &shown {
                // Where a week begins in another month than the one before it.
                @if at % 7 == 0 && day.day() <= 7 {
                    text.month x=(at / 7 * DAY) y=(7 * DAY + MONTHS - 3) { (day.format("%b")) }
                }
            }
            @for (at, day) in shown {
                @let count = days.get(&day).copied().unwrap_or(0);
                rect class={ "shade" (shade(count)) } x=(at / 7 * DAY) y=(at % 7 * DAY) width=(DAY - 2) height=(DAY - 2) rx="2" {
                    title { (day) ": " (count) }
                }
            }
        } }
    }
}

/// Returns the most frequent values as bars, each a link to the memories that have it.
pub(in crate::page) fn by_value(key: &str, values: &[(String, usize)], name: &str) -> Markup {
    const ROW: usize = 28;
    let most = values.iter().map(|(_, count)| *count).max();
    let most = most.unwrap_or(0).max(1);
    let width = |count: usize| format!("{:.1}%", count as f64 * 100.0 / most as f64);
    html! {
        @if values.is_empty() { p.nothing { (texts::NO_VALUES) } }
        @else {
            svg.plot.values width="100%" height=(values.len() * ROW) role="group" aria-label=(name) {
                @for (at, (value, count)) in values.iter().enumerate() {
                    @let address = Parameters::default().and(key, value).address(frame::TIMELINE);
                    a href=(address) {
                        text.label x="0" y=(at * ROW + 13) { (entry::cut(value, 32)) }
                        text.number x="100%" y=(at * ROW + 13) { (count) }
                        rect.ground x="0" y=(at * ROW + 18) width="100%" height="5" rx="2" {}
                        rect.bar x="0" y=(at * ROW + 18) width=(width(*count)) height="5" rx="2" {}
                    }
                }
            }
        }
    }
}
