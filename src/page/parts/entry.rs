//! Memories in lists: headline, time, fields as chips, preview.

use std::collections::HashSet;

use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::frame;
use super::parameters::Parameters;
use super::texts;
use super::visit::Visit;
use crate::engine::{Hit, live};
use crate::model::{Memory, Timestamp};
use crate::words::Analyzer;

/// Maximum number of characters of a headline.
const MOST_HEADLINE: usize = 160;
/// Maximum number of topics of an entry; a memory may have thousands.
const MOST_TOPICS: usize = 8;
/// Maximum number of characters of a value in a chip.
const MOST_CHIP: usize = 60;

/// Returns the address of the view of a memory, below that of the page.
pub fn address_of_memory(id: &str) -> String {
    address(id, "")
}

/// Returns the address of a memory, or of what follows it: `/history`.
pub(in crate::page) fn address(id: &str, view: &str) -> String {
    let id = utf8_percent_encode(id, NON_ALPHANUMERIC);
    format!("memory/{id}{view}")
}

/// Returns the headline of a memory, cut.
pub(in crate::page) fn headline(memory: &Memory) -> String {
    cut(memory.headline(), MOST_HEADLINE)
}

/// Returns at most `most` characters of a text, on one line.
pub(in crate::page) fn cut(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    match cut.trim().is_empty() {
        true => texts::UNTITLED.to_owned(),
        false => cut.replace(['\n', '\r', '\t'], " "),
    }
}

/// Returns a time as people read it, in the zone in which it was written.
pub(in crate::page) fn time(at: &Timestamp) -> Markup {
    let text = at.as_str();
    let shown = text.get(..16).unwrap_or(text).replace('T', " ");
    html! { time datetime=(text) title=(text) { (shown) } }
}

/// Returns one memory of a list; `preview` stands below its headline.
pub(in crate::page) fn entry(visit: &Visit<'_>, hit: &Hit, preview: &Markup) -> Markup {
    let memory = &hit.memory;
    let id = live::shown_name(&visit.engine.live, &memory.stem, &hit.name);
    visit.name(&id);
    html! {
        article.entry data-id=(id) {
            h3 { a href=(address(&id, "")) dir="auto" { (headline(memory)) } }
            p.about {
                (time(&memory.timestamp))
                (chips(visit, memory))
            }
            div.preview dir="auto" { (preview) }
        }
    }
}

/// Returns the fields of a memory as links to the lists of all that have the same.
fn chips(visit: &Visit<'_>, memory: &Memory) -> Markup {
    let (state, _) = live::state_of(&visit.engine.live, memory);
    let more = memory.topics.len().saturating_sub(MOST_TOPICS);
    html! {
        @for topic in memory.topics.iter().take(MOST_TOPICS) { (chip("topic", topic)) }
        @if more > 0 { span.chip { "+" (more) } }
        @if let Some(namespace) = &memory.namespace { (chip("namespace", namespace)) }
        @if let Some(kind) = memory.kind { (chip("kind", kind.as_str())) }
        @if let Some(tier) = state.tier { (chip("tier", tier.as_str())) }
        @if !memory.agent.is_empty() { (chip("agent", &memory.agent)) }
        @if let Some(source) = &memory.source { (chip("source", source)) }
    }
}

/// Returns a link to the list of the memories with this value.
pub(in crate::page) fn chip(key: &str, value: &str) -> Markup {
    let address = Parameters::default()
        .and(key, value)
        .address(frame::TIMELINE);
    html! { a.chip.(key) href=(address) title=(key) { bdi { (cut(value, MOST_CHIP)) } } }
}

/// Returns a text with those words marked that the analyzer takes for words of the question.
pub(in crate::page) fn marked(
    analyzer: &mut Analyzer,
    question: &HashSet<String>,
    text: &str,
) -> Markup {
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |c: char| c.is_alphanumeric();
        let end = match rest.starts_with(is_word) {
            true => rest.find(|c| !is_word(c)),
            false => rest.find(is_word),
        };
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        let is_found = !question.is_empty()
            && part.starts_with(is_word)
            && analyzer
                .term_list(part)
                .iter()
                .any(|term| question.contains(term));
        parts.push((is_found, part));
        rest = after;
    }
    html! {
        @for (is_found, part) in parts {
            @if is_found { mark { (part) } } @else { (part) }
        }
    }
}
