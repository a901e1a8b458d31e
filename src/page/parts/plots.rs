//! Plots as SVG: bars over time, a heatmap of days, bars by value. Every figure stands in the picture as text,
//! too, for those who cannot see it.

use std::collections::BTreeMap;

use chrono::{Datelike, Days, NaiveDate};
use maud::{Markup, html};

use super::entry;
use super::parameters::Parameters;

const WIDTH: usize = 640;
/// Number of weeks of the plot of growth.
const WEEKS: usize = 52;
/// Size of a day of the heatmap, with its gap.
const DAY: usize = 12;
/// Number of shades of the heatmap.
const SHADES: usize = 4;

/// Numbers of memories by the day on which they are dated.
pub(in crate::page) type DayCounts = BTreeMap<NaiveDate, usize>;

/// Returns the numbers of the last year's weeks as bars; `today` is the last day.
pub(in crate::page) fn growth(days: &DayCounts, today: NaiveDate, name: &str) -> Markup {
    const HEIGHT: usize = 120;
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
    let step = WIDTH / WEEKS;
    html! {
        svg.plot viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 16) } role="img" aria-label={ (name) ": " (weeks.iter().sum::<usize>()) } {
            @for (at, count) in weeks.iter().enumerate() {
                @let height = (count * HEIGHT).div_ceil(most);
                @let week = this - Days::new(7 * (WEEKS - 1 - at) as u64);
                rect.bar x=(at * step) y=(HEIGHT - height) width=(step - 2) height=(height) {
                    title { (week) ": " (count) }
                }
                @if at % 13 == 0 { text x=(at * step) y=(HEIGHT + 13) { (week.format("%b %Y")) } }
            }
            text.most x=(WIDTH) y="10" { (most) }
        }
    }
}

/// Returns the days of the last year as squares, a column for each week.
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
        svg.plot viewBox={ "0 0 " (WIDTH) " " (7 * DAY) } role="img" aria-label={ (name) ": " (total) } {
            @for (at, day) in shown {
                @let count = days.get(&day).copied().unwrap_or(0);
                rect class={ "shade" (shade(count)) } x=(at / 7 * DAY) y=(at % 7 * DAY) width=(DAY - 2) height=(DAY - 2) {
                    title { (day) ": " (count) }
                }
            }
        }
    }
}

/// Returns the most frequent values as bars, each a link to the memories that have it.
pub(in crate::page) fn by_value(key: &str, values: &[(String, usize)], name: &str) -> Markup {
    const ROW: usize = 20;
    const LABEL: usize = 200;
    let most = values
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    html! {
        @if !values.is_empty() {
            svg.plot.values viewBox={ "0 0 " (WIDTH) " " (values.len() * ROW) } role="group" aria-label=(name) {
                @for (at, (value, count)) in values.iter().enumerate() {
                    @let address = Parameters::default().and(key, value).address("/");
                    a href=(address) {
                        text.label x=(LABEL - 8) y=(at * ROW + 14) { (entry::cut(value, 28)) }
                        rect.bar x=(LABEL) y=(at * ROW + 3) width=((count * (WIDTH - LABEL - 60)).div_ceil(most)) height=(ROW - 6) {}
                        text.number x=(LABEL + 6 + (count * (WIDTH - LABEL - 60)).div_ceil(most)) y=(at * ROW + 14) { (count) }
                    }
                }
            }
        }
    }
}
