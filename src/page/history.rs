//! The versions of a memory, each with what it changed.

use maud::{Markup, html};

use super::memory;
use super::parts::error::PageError;
use super::parts::visit::Visit;
use super::parts::{difference, entry, frame, texts};
use crate::engine::{EngineError, Log, PastChange, Revision, history, ops};

/// Number of versions that are listed.
const MOST: usize = 50;

/// Returns the list of versions; the parameter `version` opens one.
pub(super) fn view(visit: &Visit<'_>, id: &str) -> Result<String, PageError> {
    let shown = memory::find(visit, id)?;
    let stem = shown.memory.stem.as_str();
    if visit.folder.is_some()
        && !visit.engine.live.is_read_only()
        && let Err(error) = history::commit_everything(&visit.engine.history)
    {
        tracing::info!("what waits was not committed: {error}");
    }
    let log = match ops::log(visit.engine, Some(shown.whole_id()), MOST) {
        Ok(log) => Some(log),
        // Without a repository there is none; an error of reading one is told.
        Err(EngineError::Past(_) | EngineError::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let open = visit.parameters.get("version");
    let main = html! {
        div #memory data-id=(shown.id) data-stem=(stem) data-seen=[&shown.seen] {
            (memory::head(visit, &shown, "/history"))
            @match log.filter(|log| !log.changes.is_empty()) {
                None => { p.nothing { (texts::NO_HISTORY) } }
                Some(log) => {
                    @if shown.file.is_some() && visit.folder.is_some() {
                        (frame::button(visit, &entry::address(&shown.id, "/undo"), &[], texts::UNDO_LAST, None))
                    }
                    (versions(visit, &shown.id, &log, open)?)
                    @if log.has_more {
                        p.note {
                            @if visit.folder.is_some() { (texts::WHOLE_HISTORY) " " (shown.id) }
                            @else { (texts::OLDER_VERSIONS) }
                        }
                    }
                }
            }
        }
    };
    let title = format!("{} · {}", entry::headline(&shown.memory), texts::HISTORY);
    Ok(frame::document(visit, "", &title, &main))
}

fn versions(
    visit: &Visit<'_>,
    id: &str,
    log: &Log,
    open: Option<&str>,
) -> Result<Markup, PageError> {
    let mut rows = Vec::new();
    // Numbers of changes are whole; of commits a beginning is enough.
    let is_whole = log
        .changes
        .iter()
        .any(|one| Some(one.commit.as_str()) == open);
    for (at, change) in log.changes.iter().enumerate() {
        let is_open = match open {
            Some(version) if is_whole => change.commit == version,
            Some(version) => change.commit.starts_with(version),
            None => at == 0,
        };
        let older = log.changes.get(at + 1);
        let changed = match is_open {
            true => Some(changed(visit, id, change, older)?),
            false => None,
        };
        rows.push((change, at > 0, changed));
    }
    Ok(html! {
        ol.versions {
            @for (change, is_past, changed) in rows {
                li {
                    p {
                        time datetime=(change.at.to_rfc3339()) { (change.at.format("%Y-%m-%d %H:%M:%S")) } " "
                        strong dir="auto" { (entry::cut(&change.what, 120)) } " "
                        span.who { (who(change)) } " "
                        @let version = visit.parameters.with("version", Some(change.short()));
                        a href=(version.address(&entry::address(id, "/history"))) { (change.short()) } " "
                        @if is_past {
                            (frame::button(visit, &entry::address(id, "/restore-version"),
                                &[("version", &change.commit)], texts::RESTORE_VERSION, None))
                        }
                    }
                    @if let Some(changed) = changed { h2 { (texts::CHANGE) } (changed) }
                }
            }
        }
    })
}

/// Returns who changed it, and with what.
fn who(change: &PastChange) -> String {
    let mut who: Vec<&str> = Vec::new();
    let named = change.agents.iter().chain(&change.users);
    who.extend(named.map(String::as_str));
    if who.is_empty() {
        who.push(&change.author);
    }
    let tools = change.tools.join(", ");
    match tools.is_empty() {
        true => who.join(", "),
        false => format!("{} ({tools})", who.join(", ")),
    }
}

/// Returns the difference of a version from the one before it.
fn changed(
    visit: &Visit<'_>,
    id: &str,
    change: &PastChange,
    older: Option<&PastChange>,
) -> Result<Markup, PageError> {
    let after = text_at(visit, id, change)?;
    let Some(older) = older else {
        let after = String::from_utf8_lossy(&after).into_owned();
        return Ok(
            html! { p.note { (texts::FIRST_VERSION) } pre tabindex="0" dir="auto" { (after) } },
        );
    };
    difference::difference(&text_at(visit, id, older)?, &after)
}

/// Returns the text of a memory as of a commit; empty where it was not there.
fn text_at(visit: &Visit<'_>, id: &str, change: &PastChange) -> Result<Vec<u8>, PageError> {
    let revision = Revision {
        text: change.commit.clone(),
        at: None,
    };
    match ops::versions(visit.engine, id, Some(&revision)) {
        Ok(versions) => Ok(versions
            .before
            .map(|before| before.bytes)
            .unwrap_or_default()),
        Err(EngineError::Past(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}
