//! The review of all that waits for a person: proposals, contradictions side by side, memories of others.

use maud::{Markup, html};

use super::parts::error::PageError;
use super::parts::visit::Visit;
use super::parts::{difference, entry, frame, texts};
use crate::dialect::core::reasons;
use crate::engine::{Conflict, Contender, Proposal, ops};
use crate::model::{Memory, Stem};

/// Number of items of each list.
const MOST: usize = 50;
/// Number of characters of a text of a pair, whose difference is shown, too.
const PREVIEW: usize = 600;
/// Number of characters of a text of others.
const MOST_SHOWN: usize = 20_000;

/// Returns the view.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    let engine = visit.engine;
    let proposals = ops::proposals(engine)?;
    let mut shown = Vec::new();
    for proposal in proposals.iter().take(MOST) {
        shown.push(proposed(visit, proposal)?);
    }
    let linked = ops::conflicts(engine)?;
    let titled = ops::title_conflicts(engine)?;
    let count = linked.len() + titled.len();
    let mut pairs = Vec::new();
    for (conflict, may_stay) in linked
        .iter()
        .map(|one| (one, true))
        .chain(titled.iter().map(|one| (one, false)))
        .take(MOST)
    {
        pairs.push(pair(visit, conflict, may_stay)?);
    }
    // Whose texts may be shown is a record of this user, and what took markers out is a command for a folder.
    let (unreviewed, unmerged) = match visit.folder {
        Some(_) => (ops::unreviewed(engine)?, ops::unmerged(engine)?),
        None => (Vec::new(), Vec::new()),
    };
    let main = html! {
        h1 { (texts::REVIEW) }
        h2 { (texts::PROPOSALS) " " span.count { (proposals.len()) } }
        @if proposals.is_empty() { p.nothing { (texts::NO_PROPOSALS) } }
        @for item in shown { (item) }
        h2 { (texts::CONFLICTS) " " span.count { (count) } }
        @if count == 0 { p.nothing { (texts::NO_CONFLICTS) } }
        @for item in pairs { (item) }
        @if !unmerged.is_empty() {
            h3 { (texts::MARKERS) }
            ul { @for one in unmerged.iter().take(MOST) {
                li { a href=(entry::address(&engine.live.shown_id(&one.stem), "")) { (entry::cut(&one.name, 80)) } ":" (one.line) }
            } }
        }
        @if visit.folder.is_some() {
            h2 { (texts::UNREVIEWED) " " span.count { (unreviewed.len()) } }
            @if unreviewed.is_empty() { p.nothing { (texts::NO_UNREVIEWED) } }
            @for (memory, source) in unreviewed.iter().take(MOST) { (foreign(visit, memory, source.as_str())) }
        }
    };
    Ok(frame::document(visit, "review", texts::REVIEW, &main))
}

fn proposed(visit: &Visit<'_>, proposal: &Proposal) -> Result<Markup, PageError> {
    let known = ops::known_of_proposal(visit.engine, proposal)?;
    let id = proposal.id();
    let talk = visit
        .engine
        .live
        .shown_id(&Stem::from_file_name(proposal.talk()));
    let other = |stem: &Stem, headline: &str| {
        let id = visit.engine.live.shown_id(stem);
        visit.name(&id);
        html! { a href=(entry::address(&id, "")) dir="auto" { (entry::cut(headline, 120)) } }
    };
    let fields = [("id", id)];
    Ok(html! {
        article.entry.item data-id=(id) {
            p.about {
                strong { (proposal.kind.as_str()) } " " (format!("{:.2}", proposal.confidence)) " "
                (texts::FROM_TALK) " " a href=(entry::address(&talk, "")) { (talk) }
            }
            @if let Some((stem, headline)) = &known.duplicate { p.problem { (texts::SAYS_THE_SAME) " " (other(stem, headline)) } }
            @for one in &known.contradicted {
                p.problem { (texts::SAYS_OTHERWISE) " " (other(&one.stem, &one.headline)) }
            }
            @for reason in &known.suspicious { p.problem { (texts::SUSPICIOUS) " " (reason) } }
            @if visit.visitor.may_write {
                @let form = format!("accept-{id}");
                form id=(form) method="post" action="review/accept" {
                    (frame::token(visit))
                    input type="hidden" name="id" value=(id);
                    textarea name="text" rows="3" dir="auto" aria-label=(texts::PROPOSED_TEXT) { "\n" (proposal.memory.content.trim()) }
                }
                button.main type="submit" form=(form) data-key="a" { (texts::ACCEPT) } " "
                (frame::button(visit, "review/drop", &fields, texts::DROP, Some("d")))
                (frame::button(visit, "review/never", &fields, texts::NEVER, Some("n")))
            } @else {
                div.preview dir="auto" { (proposal.memory.content.trim()) }
            }
        }
    })
}

/// Returns a pair side by side; `may_stay` if both can be kept as they are.
fn pair(visit: &Visit<'_>, conflict: &Conflict, may_stay: bool) -> Result<Markup, PageError> {
    let [one, other] = &conflict.pair;
    let ids = [one, other].map(|side| visit.engine.live.shown_id(&side.memory.stem));
    ids.iter().for_each(|id| visit.name(id));
    let side = |side: &Contender, id: &str| {
        html! {
            div {
                h3 { a href=(entry::address(id, "")) dir="auto" { (entry::headline(&side.memory)) } }
                p.about { (entry::time(&side.memory.timestamp)) " " (side.memory.agent) " " (side.memory.user) }
                div.preview dir="auto" { (entry::cut(&side.memory.content, PREVIEW)) }
            }
        }
    };
    let both = [("id", ids[0].as_str()), ("other", ids[1].as_str())];
    // By the one that goes: either may be in other pairs, too.
    let keep = |kept: usize| [("id", ids[1 - kept].as_str()), ("keep", ids[kept].as_str())];
    Ok(html! {
        article.entry.item data-id=(ids[0]) {
            div.pair { (side(one, &ids[0])) (side(other, &ids[1])) }
            (difference::difference(one.memory.content.as_bytes(), other.memory.content.as_bytes())?)
            div.actions {
                (frame::button(visit, "review/keep", &keep(0), texts::KEEP_FIRST, Some("1")))
                (frame::button(visit, "review/keep", &keep(1), texts::KEEP_SECOND, Some("2")))
                @if may_stay { (frame::button(visit, "review/both", &both, texts::KEEP_BOTH, Some("3"))) }
            }
        }
    })
}

/// Returns what a form says of the text that was shown with it.
pub(super) fn digest(memory: &Memory) -> String {
    format!("{:032x}", ops::digest_of(memory))
}

fn foreign(visit: &Visit<'_>, memory: &Memory, source: &str) -> Markup {
    let id = visit.engine.live.shown_id(&memory.stem);
    visit.name(&id);
    let forget = [("back", "review")];
    let seen = digest(memory);
    let accept = [("id", id.as_str()), ("seen", seen.as_str())];
    let count = memory.content.chars().count();
    let shown: String = memory.content.chars().take(MOST_SHOWN).collect();
    html! {
        article.entry.item data-id=(id) {
            h3 { a href=(entry::address(&id, "")) dir="auto" { (entry::headline(memory)) } }
            p.about { (entry::time(&memory.timestamp)) " " (source) }
            @for reason in reasons(memory.title.as_deref(), &memory.content) {
                p.problem { (texts::SUSPICIOUS) " " (reason) }
            }
            div.preview.whole dir="auto" tabindex="0" { (shown.trim()) }
            @if count > MOST_SHOWN {
                p.note { (texts::FIRST) " " (MOST_SHOWN) " of " (count) " " (texts::CHARACTERS) ": "
                    a href=(entry::address(&id, "/raw")) { (texts::RAW) } }
            }
            (frame::button(visit, "review/trust", &accept, texts::ACCEPT, Some("a")))
            (frame::button(visit, &entry::address(&id, "/forget"), &forget, texts::FORGET, Some("d")))
        }
    }
}
