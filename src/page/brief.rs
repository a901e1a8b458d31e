//! The brief: the text that the next session of a namespace begins with.

use maud::html;

use super::parts::error::PageError;
use super::parts::visit::Visit;
use super::parts::{entry, frame, texts};
use crate::dialect::session_text;
use crate::engine::{BriefLimits, BriefQuery, ops};
use crate::model::normalized_namespace;

/// Number of namespaces that are offered.
const MOST_OFFERED: usize = 30;

/// Returns the view; the parameter `namespace` says whose brief.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    let instruction = session_text::start_instruction(visit.dialect);
    let around = session_text::characters_around(&instruction);
    let namespace = visit.parameters.get("namespace").map(normalized_namespace);
    let limits = BriefLimits::default();
    let query = BriefQuery {
        namespace: namespace.map(|namespace| namespace.into_owned()),
        limits: BriefLimits {
            characters: limits.characters.saturating_sub(around),
            ..limits
        },
        ..BriefQuery::default()
    };
    let brief = ops::brief(visit.engine, &query)?;
    let lines: Vec<String> = brief.items.iter().map(|item| item.line.clone()).collect();
    let text = session_text::with_lines(&instruction, &lines);
    let namespaces = ops::frequent(visit.engine, "namespace", MOST_OFFERED)?;
    let here = visit.parameters.address("brief");
    brief.items.iter().for_each(|item| visit.name(&item.id));
    let main = html! {
        h1 { (texts::BRIEF) " " bdi { (brief.namespace) } }
        form method="get" action="brief" {
            label { (texts::NAMESPACE) " "
                input name="namespace" value=(brief.namespace) list="namespaces" maxlength="200";
            }
            datalist #namespaces { @for (name, _) in &namespaces { option value=(name) {} } }
            " " button type="submit" { (texts::SHOW) }
        }
        h2 { (texts::NEXT_SESSION) " " span.count { (text.chars().count()) " " (texts::CHARACTERS) } }
        @if lines.is_empty() { p.nothing { (texts::NOTHING_TO_BEGIN) } }
        @else { pre.brief tabindex="0" dir="auto" { (text) } }
        @if !brief.items.is_empty() {
            h2 { (texts::REASONS) }
            @for item in &brief.items {
                article.entry data-id=(item.id) {
                    h3 { a href=(entry::address(&item.id, "")) dir="auto" { (entry::headline(&item.memory)) } }
                    p.about { (item.reason.to_string()) " · " (format!("{:.2}", item.needed)) " · " (item.line.chars().count()) " " (texts::CHARACTERS) }
                    @let is_pinned = item.memory.is_pinned();
                    @let (action, name) = if is_pinned { ("/unpin", texts::UNPIN) } else { ("/pin", texts::PIN) };
                    (frame::button(visit, &entry::address(&item.id, action), &[("back", &here)], name, None))
                }
            }
        }
        @if !brief.left_out.is_empty() {
            h2 { (texts::LEFT_OUT) }
            ul { @for one in &brief.left_out {
                li { a href=(entry::address(&one.id, "")) { (one.id) } ": " (one.why) }
            } }
        }
    };
    Ok(frame::document(visit, "brief", texts::BRIEF, &main))
}
