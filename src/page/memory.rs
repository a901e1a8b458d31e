//! One memory: its text, its fields, its links, its uses, and what can be done with it.

use chrono::SecondsFormat;
use maud::{Markup, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::parts::error::PageError;
use super::parts::visit::Visit;
use super::parts::{entry, frame, markdown, picture, texts};
use crate::dialect::core::reasons;
use crate::engine::{EngineError, Relation, Relations, live, ops};
use crate::model::{MENTIONED, Memory, MetaValue, Stem};

/// Number of links that are listed in each direction.
const MOST_LINKS: usize = 60;
/// Number of topics that are listed.
const MOST_TOPICS: usize = 100;
/// Maximum number of characters of a value among the properties.
const MOST_VALUE: usize = 400;

/// A memory as a view shows it.
pub(super) struct Shown {
    pub(super) memory: Box<Memory>,
    pub(super) id: String,
    /// Path of its file below the folder of memories; `None` of a forgotten one.
    pub(super) file: Option<String>,
    /// Hash of that file in hexadecimal digits: the page's script compares it with that of a later view.
    pub(super) seen: Option<String>,
}

impl Shown {
    /// Returns what calls this memory and no other, also where several ids begin alike.
    pub(super) fn whole_id(&self) -> &str {
        match self.memory.stem.is_canonical() {
            true => self.memory.stem.as_str(),
            false => &self.id,
        }
    }
}

/// Reads the memory called `id`, also a forgotten one.
pub(super) fn find(visit: &Visit<'_>, id: &str) -> Result<Shown, PageError> {
    let shown = read(visit, id)?;
    visit.name(&shown.id);
    Ok(shown)
}

fn read(visit: &Visit<'_>, id: &str) -> Result<Shown, PageError> {
    match ops::recall_version(visit.engine, id) {
        Ok((memory, name, hash)) => Ok(Shown {
            id: live::shown_name(&visit.engine.live, &memory.stem, &name),
            memory,
            file: Some(name),
            seen: Some(format!("{hash:032x}")),
        }),
        Err(missing @ EngineError::NotFound(_)) => {
            let forgotten = ops::forgotten(visit.engine, id).map_err(|_| missing)?;
            Ok(Shown {
                // As its history has it: there may be a live one of its name in another folder.
                id: match forgotten.memory.stem.is_canonical() || !forgotten.name.contains('/') {
                    true => forgotten.memory.stem.as_str().to_owned(),
                    false => forgotten.name,
                },
                memory: Box::new(forgotten.memory),
                file: None,
                seen: None,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the heading of the views of one memory, with the way from one to the other.
pub(super) fn head(visit: &Visit<'_>, shown: &Shown, here: &str) -> Markup {
    let views = [
        ("", texts::TEXT),
        ("/raw", texts::RAW),
        ("/history", texts::HISTORY),
        ("/edit", texts::EDIT),
    ];
    html! {
        h1 dir="auto" { (entry::headline(&shown.memory)) }
        nav.views aria-label=(texts::TEXT) {
            @for (view, name) in views {
                @if view != "/edit" || (visit.visitor.may_write && shown.file.is_some()) {
                    a href=(entry::address(&shown.id, view)) aria-current=[(view == here).then_some("page")]
                        data-key=[(view == "/edit").then_some("e")] { (name) }
                }
            }
        }
        @if shown.file.is_none() {
            p.problem {
                (texts::FORGOTTEN) " "
                (frame::button(visit, &entry::address(&shown.id, "/restore"), &[], texts::RESTORE, None))
            }
        }
    }
}

/// Returns the view of a memory's text.
pub(super) fn view(visit: &Visit<'_>, id: &str) -> Result<String, PageError> {
    let shown = find(visit, id)?;
    let memory = &shown.memory;
    let relations = match shown.file {
        Some(_) => ops::relations_of(visit.engine, shown.whole_id())?,
        None => Relations::default(),
    };
    let known = |name: &str| -> Option<String> {
        let to = relations.to.iter();
        let found = to.filter_map(|relation| Some((&relation.written, relation.to.as_ref()?)));
        let mut found = found.filter(|(written, _)| written.eq_ignore_ascii_case(name));
        found
            .next()
            .map(|(_, stem)| visit.engine.live.shown_id(stem))
    };
    let (text, is_cut) = beginning(&memory.content, markdown::MOST_BYTES);
    let warnings = reasons(memory.title.as_deref(), &memory.content);
    let main = html! {
        div #memory data-id=(shown.id) data-stem=(memory.stem.as_str()) data-seen=[&shown.seen] {
            (head(visit, &shown, ""))
            (superseding(visit, memory, &relations))
            @for warning in warnings { p.problem { (texts::SUSPICIOUS) " " (warning) } }
            div.text dir="auto" { (markdown::render(text, visit.address, &known)) }
            @if is_cut { p.note { (texts::CUT) " " a href=(entry::address(&shown.id, "/raw")) { (texts::RAW) } } }
            (actions(visit, &shown))
            h2 { (texts::LINKS) }
            (picture::neighbourhood(visit, memory.headline(), &relations))
            (links(visit, &shown.id, &relations))
            @if shown.file.is_some() { (new_link(visit, &shown.id)) }
            h2 { (texts::PROPERTIES) }
            (properties(visit, &shown))
        }
    };
    Ok(frame::document(visit, "", &entry::headline(memory), &main))
}

/// Returns the bytes of a memory's file as text.
pub(super) fn raw(visit: &Visit<'_>, id: &str) -> Result<String, PageError> {
    let shown = find(visit, id)?;
    let text = match &shown.file {
        Some(_) => {
            let (_, version) = ops::read_text(visit.engine, shown.whole_id())?;
            String::from_utf8_lossy(&version.bytes).into_owned()
        }
        None => shown.memory.content.clone(),
    };
    let main = html! {
        div #memory data-id=(shown.id) data-stem=(shown.memory.stem.as_str()) data-seen=[&shown.seen] {
            (head(visit, &shown, "/raw"))
            pre.raw tabindex="0" dir="auto" { (text) }
        }
    };
    Ok(frame::document(
        visit,
        "",
        &entry::headline(&shown.memory),
        &main,
    ))
}

/// Returns at most `most` bytes of a text, and whether that is not all.
fn beginning(text: &str, most: usize) -> (&str, bool) {
    if text.len() <= most {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(most)], true)
}

/// Returns what supersedes or contradicts a memory.
fn superseding(visit: &Visit<'_>, memory: &Memory, relations: &Relations) -> Markup {
    let mut newer: Vec<Stem> = memory
        .superseded_by
        .iter()
        .map(|stem| Stem::from_file_name(stem))
        .collect();
    let from = relations.from.iter();
    newer.extend(
        from.filter(|one| one.relation == "supersedes")
            .map(|one| one.from.clone()),
    );
    newer.dedup();
    let all = relations.to.iter().chain(&relations.from);
    let contradicting: Vec<&Relation> =
        all.filter(|one| one.relation == "conflicts-with").collect();
    let other = |one: &Relation| match one.from == memory.stem {
        true => one.to.clone(),
        false => Some(one.from.clone()),
    };
    html! {
        @for stem in newer {
            @let id = visit.engine.live.shown_id(&stem);
            p.problem { (texts::SUPERSEDED) " " a href=(entry::address(&id, "")) { (id) } }
        }
        @for stem in contradicting.into_iter().filter_map(other) {
            @let id = visit.engine.live.shown_id(&stem);
            p.problem { (texts::CONTRADICTED) " " a href=(entry::address(&id, "")) { (id) } " "
                a href="review" { (texts::REVIEW) } }
        }
    }
}

fn actions(visit: &Visit<'_>, shown: &Shown) -> Markup {
    let to = |view: &str| entry::address(&shown.id, view);
    let is_pinned = shown.memory.is_pinned();
    let (pin, pin_name) = match is_pinned {
        true => ("/unpin", texts::UNPIN),
        false => ("/pin", texts::PIN),
    };
    html! {
        @if shown.file.is_some() && visit.visitor.may_write {
            div.actions {
                (frame::button(visit, &to(pin), &[], pin_name, None))
                form.one method="post" action=(to("/forget")) data-sure=(texts::FORGET_SURE) {
                    (frame::token(visit))
                    button.danger type="submit" { (texts::FORGET) }
                }
                @if visit.visitor.is_local { (programs(visit, shown)) }
            }
        }
    }
}

/// Returns links that open the file in programs of this machine.
fn programs(visit: &Visit<'_>, shown: &Shown) -> Markup {
    let Some(file) = &shown.file else {
        return html! {};
    };
    let path = visit.engine.live.files_folder().join(file);
    let path = path.display().to_string();
    let encoded = utf8_percent_encode(&path, NON_ALPHANUMERIC);
    html! {
        a href={ "vscode://file/" (encoded) } { (texts::OPEN_EDITOR) } " "
        a href={ "obsidian://open?path=" (encoded) } { (texts::OPEN_OBSIDIAN) }
    }
}

/// Returns the links of the memory `id` in both directions, each stated one with a button that takes it out.
fn links(visit: &Visit<'_>, id: &str, relations: &Relations) -> Markup {
    let side = |relation: &Relation, stem: Option<&Stem>| {
        let other = stem.map(|stem| visit.engine.live.shown_id(stem));
        other.iter().for_each(|other| visit.name(other));
        html! {
            li {
                span.relation { (entry::cut(&relation.relation, 40)) } " "
                @match &other {
                    Some(id) => {
                        a href=(entry::address(id, "")) dir="auto" { (entry::cut(&relation.headline, 120)) }
                    }
                    None => { bdi { (entry::cut(&relation.written, 120)) } }
                }
                // A mention goes with the text that holds it.
                @if relation.relation != MENTIONED {
                    " " (unlink(visit, id, relation))
                }
            }
        }
    };
    html! {
        @if relations.to.is_empty() && relations.from.is_empty() { p.nothing { (texts::NO_LINKS) } }
        @if !relations.to.is_empty() {
            h3 { (texts::LINKS_TO) }
            ul.links { @for one in relations.to.iter().take(MOST_LINKS) { (side(one, one.to.as_ref())) } }
        }
        @if !relations.from.is_empty() {
            h3 { (texts::LINKS_FROM) }
            ul.links { @for one in relations.from.iter().take(MOST_LINKS) { (side(one, Some(&one.from))) } }
        }
    }
}

/// Returns the form that links the memory `id` to another one.
fn new_link(visit: &Visit<'_>, id: &str) -> Markup {
    html! {
        @if visit.visitor.may_write {
            form.link method="post" action=(entry::address(id, "/link")) {
                (frame::token(visit))
                input name="relation" value="related-to" required aria-label=(texts::LINK_TYPE) maxlength="60";
                input name="to" required placeholder=(texts::LINK_TO) aria-label=(texts::LINK_TO) maxlength="200";
                button type="submit" { (texts::LINK) }
            }
        }
    }
}

/// Returns the form that takes a link out of the file that states it, and comes back to the memory `id`.
fn unlink(visit: &Visit<'_>, id: &str, relation: &Relation) -> Markup {
    let from = visit.engine.live.shown_id(&relation.from);
    let back = entry::address(id, "");
    let fields = [
        ("to", relation.written.as_str()),
        ("relation", &relation.relation),
        ("back", &back),
    ];
    let name = format!(
        "{}: {} {}",
        texts::UNLINK,
        relation.relation,
        relation.headline
    );
    html! {
        @if visit.visitor.may_write {
            form.one method="post" action=(entry::address(&from, "/unlink")) {
                (frame::fields(visit, &fields))
                button.quiet type="submit" title=(entry::cut(&name, 120)) aria-label=(entry::cut(&name, 120)) { (texts::UNLINK) }
            }
        }
    }
}

fn properties(visit: &Visit<'_>, shown: &Shown) -> Markup {
    let memory = &shown.memory;
    let (state, _) = live::state_of(&visit.engine.live, memory);
    let mut rows: Vec<(String, String)> = vec![
        ("id".to_owned(), shown.id.clone()),
        ("time".to_owned(), memory.timestamp.as_str().to_owned()),
        ("agent".to_owned(), memory.agent.clone()),
        ("user".to_owned(), memory.user.clone()),
    ];
    let mut row = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| (name.to_owned(), value)));
    };
    row("title", memory.title.clone());
    row("kind", memory.kind.map(|kind| kind.to_string()));
    row("namespace", memory.namespace.clone());
    row("scope", memory.scope.map(|scope| scope.to_string()));
    row("tier", state.tier.map(|tier| tier.to_string()));
    row("importance", memory.importance.map(|one| one.to_string()));
    row(
        "confidence",
        memory.confidence.map(|one| format!("{one:.2}")),
    );
    row("source", memory.source.clone());
    row("status", memory.status.clone());
    row(
        "ends",
        state
            .expires
            .map(|at| at.to_rfc3339_opts(SecondsFormat::Secs, true)),
    );
    row("file", shown.file.clone());
    for (key, value) in &memory.metadata {
        row(&format!("metadata.{key}"), Some(written(value)));
    }
    for (key, value) in &memory.unknown {
        row(key, Some(value.trim().to_owned()));
    }
    let uses = match state.uses {
        0 => texts::NEVER_USED.to_owned(),
        count => count.to_string(),
    };
    row(texts::USES, Some(uses));
    let more = memory.topics.len().saturating_sub(MOST_TOPICS);
    html! {
        dl.properties {
            @for (name, value) in &rows {
                dt { (entry::cut(name, 60)) } dd dir="auto" { (entry::cut(value, MOST_VALUE)) }
            }
            @if !memory.topics.is_empty() {
                dt { "topics" }
                dd {
                    @for topic in memory.topics.iter().take(MOST_TOPICS) { (entry::chip("topic", topic)) " " }
                    @if more > 0 { "+" (more) }
                }
            }
        }
    }
}

fn written(value: &MetaValue) -> String {
    match value {
        MetaValue::Null => "null".to_owned(),
        MetaValue::Bool(value) => value.to_string(),
        MetaValue::Int(value) => value.to_string(),
        MetaValue::Float(value) => value.to_string(),
        MetaValue::Text(value) => value.clone(),
        MetaValue::List(values) => values.iter().map(written).collect::<Vec<_>>().join(", "),
        MetaValue::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{key}: {}", written(value)));
            entries.collect::<Vec<_>>().join(", ")
        }
    }
}
