//! The search: by a question, by keywords, by a regular expression.

use std::collections::HashSet;

use maud::{Markup, html};

use super::parts::error::PageError;
use super::parts::parameters::Parameters;
use super::parts::visit::Visit;
use super::parts::{entry, frame, markdown, narrow, texts};
use crate::dialect::{PreviewWords, preview_of_hit};
use crate::engine::{GrepLine, Hit, Query, QueryKind, ops};
use crate::words::Analyzer;

/// Number of hits.
const MOST: usize = 30;
/// Number of lines that an expression finds.
const MOST_LINES: usize = 100;
/// Number of characters of a preview.
const PREVIEW: usize = 320;
/// Number of characters of a line that are shown before what an expression found, and behind it.
const MOST_BEFORE: usize = 80;
const MOST_AFTER: usize = 200;

/// Ways to search: the value of `by`, and its name.
const WAYS: [(&str, &str); 3] = [
    ("question", texts::BY_QUESTION),
    ("keywords", texts::BY_KEYWORDS),
    ("expression", texts::BY_EXPRESSION),
];

/// Returns the results of a search, or with `part` their list alone.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    let results = results(visit)?;
    if visit.parameters.get("part").is_some() {
        return Ok(results.into_string());
    }
    let way = way(visit.parameters);
    let asked = visit.parameters.get("q").unwrap_or_default();
    let title = match asked.is_empty() {
        true => texts::SEARCH.to_owned(),
        false => format!("{} · {}", entry::cut(asked, 60), texts::SEARCH),
    };
    let main = html! {
        h1 { (texts::SEARCH) }
        p.ways {
            @for (value, name) in WAYS {
                @let address = visit.parameters.with("by", Some(value)).address("search");
                a.chip href=(address) aria-current=[(way == value).then_some("true")] { (name) }
                " "
            }
        }
        (narrow::chips(visit, "search")?)
        div #list data-search="yes" aria-live="polite" { (results) }
    };
    Ok(frame::document(visit, "search", &title, &main))
}

fn way(parameters: &Parameters) -> &'static str {
    let asked = parameters.get("by");
    let known = WAYS.iter().find(|(way, _)| asked == Some(way));
    known.map_or("question", |(way, _)| way)
}

fn results(visit: &Visit<'_>) -> Result<Markup, PageError> {
    let way = way(visit.parameters);
    let Some(asked) = visit.parameters.get("q") else {
        let hint = if way == "expression" {
            texts::EXPRESSION_HINT
        } else {
            texts::ASK
        };
        return Ok(html! { p.nothing { (hint) } });
    };
    if way == "expression" {
        return lines(visit, asked);
    }
    let filter = narrow::filter(visit.parameters)?;
    let query = match way {
        "keywords" => Query {
            kind: QueryKind::Keywords(asked.split_whitespace().map(str::to_owned).collect()),
            ..Query::everything(filter, MOST)
        },
        _ => Query::text(asked, filter, MOST),
    };
    let found = ops::think_in_talks(visit.engine, &query)?;
    let words = PreviewWords::of(&query.kind);
    let mut analyzer = Analyzer::new(visit.engine.live.languages());
    let question: HashSet<String> = analyzer.term_list(asked).into_iter().collect();
    let notes = [found.note(), found.doubt()];
    Ok(html! {
        h2.count {
            @if found.hits.len() < found.total { (found.hits.len()) " of " }
            (found.total) " " @if found.total == 1 { "memory" } @else { "memories" }
        }
        @for note in notes.into_iter().flatten() { p.note { (note) } }
        @if found.hits.is_empty() { p.nothing { (texts::NOTHING_FOUND) } }
        @for hit in &found.hits {
            @let (shown, passage) = preview_of_hit(&hit.memory.content, hit.lines.as_ref(), &words, PREVIEW);
            @let preview = html! {
                (entry::marked(&mut analyzer, &question, &markdown::plain(&shown.text)))
                @if let Some(passage) = passage { " " span.lines { "lines " (passage.lines()) } }
                (why(hit, &query))
            };
            (entry::entry(visit, hit, &preview))
        }
    })
}

/// Returns the parts of a hit's score.
fn why(hit: &Hit, query: &Query) -> Markup {
    let parts = hit.parts.map(|parts| parts.weighed(&query.ranking.weights));
    html! {
        details.why {
            summary { (texts::WHY) }
            @if let Some(relevance) = hit.relevance() { p { "relevance " (format!("{relevance:.2}")) } }
            @if !hit.matched.is_empty() { p { "matched " (hit.matched.join(", ")) } }
            table {
                tr { th scope="row" { "score" } td { (format!("{:.3}", hit.score)) } }
                @for (name, value) in parts.into_iter().flatten().filter(|(_, value)| *value != 0.0) {
                    tr { th scope="row" { (name) } td { (format!("{value:+.3}")) } }
                }
            }
        }
    }
}

/// Returns the lines that a regular expression finds.
fn lines(visit: &Visit<'_>, expression: &str) -> Result<Markup, PageError> {
    let filter = narrow::filter(visit.parameters)?;
    let mut found: Vec<GrepLine> = Vec::new();
    ops::grep(visit.engine, expression, true, &filter, &mut |line| {
        found.push(line.clone());
        found.len() <= MOST_LINES
    })?;
    Ok(html! {
        @if found.is_empty() { p.nothing { (texts::NOTHING_FOUND) } }
        @for line in found.iter().take(MOST_LINES) { (line_found(visit, line)) }
        @if found.len() > MOST_LINES { p.note { (texts::MORE_LINES) } }
    })
}

fn line_found(visit: &Visit<'_>, line: &GrepLine) -> Markup {
    let (start, end) = line.matched;
    let [before, matched, after] = [0..start, start..end, end..line.text.len()]
        .map(|range| String::from_utf8_lossy(&line.text[range]));
    let skipped = before.chars().count().saturating_sub(MOST_BEFORE);
    let before: String = before.chars().skip(skipped).collect();
    let after: String = after.chars().take(MOST_AFTER).collect();
    let name = line.name.strip_suffix(".md").unwrap_or(&line.name);
    let id = name.rsplit('/').next().unwrap_or(name);
    visit.name(id);
    html! {
        article.entry data-id=(id) {
            p.about {
                a href=(entry::address(id, "")) dir="auto" { (entry::cut(&line.name, 80)) ":" (line.number) }
            }
            code.line dir="auto" { (before) mark { (entry::cut(&matched, MOST_AFTER)) } (after) }
        }
    }
}
