//! The store as a whole: growth, fields, health, sync, index.

use std::time::Duration;

use chrono::{DateTime, Utc};
use maud::{Markup, html};

use super::parts::error::PageError;
use super::parts::health::Health;
use super::parts::plots::{self, DayCounts};
use super::parts::visit::Visit;
use super::parts::{entry, frame, texts};
use crate::engine::{GitStatus, history, live, meaning, ops};
use crate::model::{Filter, Visibility};

/// Number of values of a field in a plot.
const MOST_VALUES: usize = 12;
/// Maximum number of characters of a check.
const MOST_CHECK: usize = 600;
/// Number of findings that are listed.
const MOST_FINDINGS: usize = 100;

/// Returns the view, or with `part` the checks alone.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    if visit.parameters.get("part").is_some() {
        return Ok(checks(visit, visit.folder()?.health).into_string());
    }
    // Programs of this machine are started for it: not by whoever may only read.
    if let Some(folder) = &visit.folder
        && visit.visitor.may_write
    {
        folder.health.refresh();
    }
    let engine = visit.engine;
    let everything = Filter {
        visibility: Visibility::Everything,
        ..Filter::default()
    };
    let stats = ops::stats(engine, &everything)?;
    let mut days = DayCounts::new();
    for stem in live::stems(&engine.live, &everything)? {
        if let Some(at) = stem.time() {
            *days.entry(at.date_naive()).or_default() += 1;
        }
    }
    let today = engine.live.now().date_naive();
    let field = |key: &str| -> Result<Vec<(String, usize)>, PageError> {
        Ok(ops::frequent(engine, key, MOST_VALUES)?)
    };
    let card =
        |name: &str, value: String| html! { div.card { strong { (value) } " " span { (name) } } };
    let main = html! {
        h1 { (texts::STORE) }
        div.cards {
            (card("memories", stats.memories.to_string()))
            (card("archived", stats.archived.to_string()))
            (card("superseded", stats.superseded.to_string()))
            (card("expired", stats.expired.to_string()))
            (card("topics", stats.topics.to_string()))
            (card("namespaces", stats.namespaces.to_string()))
            (card("linked", stats.linked.to_string()))
            (card("of files", size(stats.bytes)))
        }
        section.panel { h2 { (texts::GROWTH) } (plots::growth(&days, today, texts::GROWTH)) }
        section.panel { h2 { (texts::DAYS) } (plots::heatmap(&days, today, texts::DAYS)) }
        div.columns {
            section.panel { h2 { (texts::BY_TOPIC) } (plots::by_value("topic", &field("topics")?, texts::BY_TOPIC)) }
            section.panel { h2 { (texts::BY_AGENT) } (plots::by_value("agent", &field("agent")?, texts::BY_AGENT)) }
            section.panel { h2 { (texts::BY_KIND) } (plots::by_value("kind", &field("kind")?, texts::BY_KIND)) }
        }
        (state(visit)?)
    };
    Ok(frame::document(visit, "store", texts::STORE, &main))
}

fn state(visit: &Visit<'_>) -> Result<Markup, PageError> {
    let engine = visit.engine;
    let status = ops::status(engine)?;
    let proposals = ops::proposals(engine)?.len();
    let unreviewed = match visit.folder {
        Some(_) => ops::unreviewed(engine)?.len(),
        None => 0,
    };
    let model = meaning::meaning_status(&engine.meaning)?;
    let problems: Vec<_> = status
        .findings
        .iter()
        .filter(|one| !one.problem.is_note())
        .collect();
    let waits = [
        (
            "not indexed yet, and searched all the same",
            status.waiting,
            frame::TIMELINE,
        ),
        ("proposals", proposals, "review"),
        ("contradictions", status.conflicts, "review"),
        ("memories of others, not reviewed", unreviewed, "review"),
        (
            "memories of low confidence",
            status.flagged,
            frame::TIMELINE,
        ),
    ];
    Ok(html! {
        section.panel {
        h2 { (texts::HEALTH) }
        @if let Some(folder) = &visit.folder {
            div #list aria-live="polite" { (checks(visit, folder.health)) }
        }
        @if problems.is_empty() { p { "✓ " (texts::SOUND) } }
        @else {
            ul.findings { @for one in problems.iter().take(MOST_FINDINGS) {
                li { code dir="auto" { (entry::cut(&one.file, 120)) } ": " (one.problem) }
            } }
        }
        }
        section.panel {
        h2 { (texts::WAITS) }
        @if waits.iter().all(|(_, count, _)| *count == 0) { p { "✓ " (texts::NOTHING_WAITS) } }
        ul { @for (name, count, address) in waits.iter().filter(|(_, count, _)| *count > 0) {
            li { a href=(address) { (name) ": " (count) } }
        } }
        }
        @if visit.folder.is_some() { section.panel { h2 { (texts::SYNC) } (sync(visit)?) } }
        section.panel {
        h2 { (texts::INDEX) }
        dl.properties {
            // Paths of a server are none of the business of a workspace's visitors.
            @if visit.folder.is_some() {
                dt { "folder" } dd { (status.root.display()) }
                dt { "index" } dd { (status.state.display()) ", " (size(status.index_bytes)) }
            }
            dt { "indexed" } dd { (status.indexed) " of " (status.files) " files, " (status.unreadable) " unreadable" }
            dt { "languages" } dd { (status.languages.join(", ")) }
            @if let Some(leader) = status.leader.as_ref().filter(|_| visit.folder.is_some()) {
                dt { "watched by" } dd { "process " (leader.process) ", " (leader.watching) }
            }
            dt { "model" }
            dd {
                @match &model {
                    Some(model) => { (model.model) }
                    None => { "the vectors of words in the program" }
                }
            }
        }
        }
    })
}

/// Returns what `memdir doctor` says, and whether it is still at it.
fn checks(visit: &Visit<'_>, health: &Health) -> Markup {
    let state = health.state();
    html! {
        div data-busy=[state.is_running.then_some("checks")] {
            @if !state.checks.is_empty() {
                ul.checks { @for check in &state.checks {
                    li.wrong[!check.is_well] {
                        @if check.is_well { span.mark aria-label=(texts::WELL) { "✓" } }
                        @else { span.mark aria-label=(texts::WRONG) { "✗" } }
                        " " strong { (check.name) } " "
                        span dir="auto" { (entry::cut(&check.what, MOST_CHECK)) }
                        @if !check.hint.is_empty() { p.note { (check.hint) } }
                    }
                } }
            }
            @if state.is_running { p.note { (texts::CHECKING) } }
            @else if let Some(age) = state.age() {
                p.note { (texts::CHECKED) " " (ago(age)) }
            }
            @if !state.is_running { (frame::button(visit, "store/check", &[], texts::CHECK_NOW, None)) }
        }
    }
}

/// Returns how long something is past, as people say it.
fn ago(age: Duration) -> String {
    match age.as_secs() {
        0..60 => "just now".to_owned(),
        60..120 => "a minute ago".to_owned(),
        seconds => format!("{} minutes ago", seconds / 60),
    }
}

fn sync(visit: &Visit<'_>) -> Result<Markup, PageError> {
    let status = history::git_status(&visit.engine.history)?;
    let time = |seconds: i64| {
        let at = DateTime::<Utc>::from_timestamp(seconds, 0).unwrap_or_default();
        at.format("%Y-%m-%d %H:%M UTC").to_string()
    };
    Ok(html! {
        @match &status {
            GitStatus::Off(why) => { p { (why) } }
            GitStatus::On { branch, newest, obstacle, remote, note, held_back } => {
                dl.properties {
                    dt { "branch" } dd { (branch) }
                    @if let Some((commit, at)) = newest { dt { "newest commit" } dd { (entry::cut(commit, 10)) ", " (time(*at)) } }
                    @match remote {
                        None => { dt { "remote" } dd { "none: the history stays on this machine" } }
                        Some(remote) => {
                            dt { "remote" } dd { (remote.address) }
                            dt { "not sent yet" } dd { (remote.unsent) " commits" }
                            @if let Some(last) = &remote.last {
                                dt { "last exchange" } dd { (last.state) ", " (time(last.at)) }
                                @if let Some(reason) = &last.reason { dt { "reason" } dd.problem { (reason) } }
                                @if let Some(at) = last.in_step_at { dt { "in step at" } dd { (time(at)) } }
                            }
                        }
                    }
                }
                @for text in obstacle.iter().chain(note) { p.problem { (text) } }
                @if !held_back.is_empty() {
                    p.problem { (held_back.len()) " held back:" }
                    ul { @for one in held_back.iter().take(MOST_FINDINGS) {
                        li { code { (entry::cut(&one.file, 120)) } ":" (one.line) " " (one.kind) }
                    } }
                }
            }
        }
    })
}

/// Returns a size as people read it.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..10_000 => format!("{:.1} KB", bytes as f64 / 1_000.0),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
