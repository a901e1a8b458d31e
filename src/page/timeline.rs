//! The timeline: memories by day, newest first, a page at a time.

use chrono::DateTime;
use maud::{Markup, html};

use super::parts::error::PageError;
use super::parts::visit::Visit;
use super::parts::{entry, frame, markdown, narrow, texts};
use crate::dialect::{PreviewWords, preview};
use crate::engine::{Hit, Query, ops};
use crate::model::Position;

/// Number of memories of a page.
const PAGE: usize = 50;
/// Number of characters of a preview.
const PREVIEW: usize = 220;

/// Returns the timeline, or with `part` its list alone.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    let list = list(visit)?;
    if visit.parameters.get("part").is_some() {
        return Ok(list.into_string());
    }
    let is_live = visit.parameters.get("before").is_none();
    let main = html! {
        h1 { (texts::TIMELINE) }
        (narrow::chips(visit, frame::TIMELINE)?)
        div #list data-live=[is_live.then_some("yes")] data-endless="yes" { (list) }
    };
    Ok(frame::document(
        visit,
        frame::TIMELINE,
        texts::TIMELINE,
        &main,
    ))
}

fn list(visit: &Visit<'_>) -> Result<Markup, PageError> {
    let mut filter = narrow::filter(visit.parameters)?;
    filter.after = visit.parameters.get("before").map(position).transpose()?;
    let is_first = filter.after.is_none();
    let mut found = ops::search(visit.engine, &Query::everything(filter, PAGE + 1))?;
    let has_more = found.hits.len() > PAGE;
    found.hits.truncate(PAGE);
    let older = found.hits.last().filter(|_| has_more).map(|last| {
        let at = last.memory.timestamp.utc().timestamp_micros();
        let before = format!("{at}:{}", last.name);
        let parameters = visit.parameters.with("part", None);
        parameters
            .with("before", Some(&before))
            .address(frame::TIMELINE)
    });
    let newest = visit
        .parameters
        .with("part", None)
        .with("before", None)
        .address(frame::TIMELINE);
    let nothing = match visit.folder {
        Some(_) => texts::NOTHING,
        None => texts::NOTHING_OF_WORKSPACE,
    };
    Ok(html! {
        section.sheet {
            @if found.hits.is_empty() { p.nothing { (nothing) } }
            @for day in days(&found.hits) {
                h2.day { (day[0].memory.timestamp.date().format("%A, %-d %B %Y")) }
                @for hit in day {
                    (entry::entry(visit, hit, &shown(hit)))
                }
            }
            p.turn {
                @if !is_first { a href=(newest) { (texts::NEWEST) } " " }
                @if let Some(older) = &older { a.older rel="next" href=(older) { (texts::OLDER) } }
            }
        }
    })
}

fn shown(hit: &Hit) -> Markup {
    let text = preview(&hit.memory.content, &PreviewWords::default(), PREVIEW).text;
    let text = markdown::plain(&text);
    // A headline that is the first line of the text is not said twice.
    let rest = text
        .strip_prefix(&markdown::plain(hit.memory.headline()))
        .filter(|_| hit.memory.title.is_none());
    html! { (rest.unwrap_or(&text)) }
}

/// Returns the hits of each day, in their order.
fn days(hits: &[Hit]) -> impl Iterator<Item = &[Hit]> {
    hits.chunk_by(|one, other| one.memory.timestamp.date() == other.memory.timestamp.date())
}

/// Reads the place of a page: microseconds since 1970, then the name of the file before it.
fn position(text: &str) -> Result<Position, PageError> {
    let bad = || PageError::Bad(format!("`{}` is no place in a list", entry::cut(text, 40)));
    let (at, name) = text.split_once(':').ok_or_else(bad)?;
    let at = at.parse().ok().and_then(DateTime::from_timestamp_micros);
    Ok(Position {
        at: at.ok_or_else(bad)?,
        name: name.to_owned(),
    })
}
