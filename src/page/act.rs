//! Actions of the forms of the page.

use percent_encoding::percent_decode_str;

use super::edit::{self, Saved};
use super::parts::error::PageError;
use super::parts::parameters::{MOST_OF_FORM, Parameters};
use super::parts::visit::Visit;
use super::parts::{entry, texts};
use super::view::View;
use super::{import, review};
use crate::engine::{EngineError, Revision, ops};
use crate::model::Memory;

/// Action of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action<'a> {
    /// An action on one memory: its id, and the name of the action.
    Memory(&'a str, &'a str),
    /// An action of the review: its name.
    Review(&'a str),
    /// Stores what an import has shown before.
    Import,
    /// Begins the checks of `memdir doctor`.
    Check,
}

/// Answer to a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// It is done: address of the view to go on with, below that of the page.
    Done(String),
    /// It is done: document that says more about it.
    Shown(String),
    /// It is not: document that says what is to be decided.
    Undecided(String),
}

/// Does what a form asks for. The caller has checked the form's token.
///
/// # Errors
///
/// Fails without the right to write, and as the operation does; nothing is changed then.
pub fn act(visit: &Visit<'_>, action: Action<'_>, form: &Parameters) -> Result<Acted, PageError> {
    if !visit.visitor.may_write {
        return Err(PageError::Forbidden(visit.may_not_write()));
    }
    form.check(MOST_OF_FORM)?;
    match action {
        Action::Memory(id, action) => {
            let acted = of_memory(visit, id, action, form)?;
            Ok(with_warnings(visit, acted, &View::Memory(id.to_owned())))
        }
        Action::Review(action) => {
            of_review(visit, action, form)?;
            let acted = Acted::Done("review".to_owned());
            Ok(with_warnings(visit, acted, &View::Review))
        }
        Action::Check => {
            visit.folder()?.health.begin();
            Ok(Acted::Done("store".to_owned()))
        }
        Action::Import => import::perform(visit, form).map(Acted::Done),
    }
}

/// Returns the view with the warnings of what is done; as it was, if there are none.
fn with_warnings(visit: &Visit<'_>, acted: Acted, view: &View) -> Acted {
    if !matches!(acted, Acted::Done(_)) || visit.warnings.borrow().is_empty() {
        return acted;
    }
    // It is done, whether or not it can be shown.
    super::view::view(visit, view).map_or(acted, Acted::Shown)
}

fn of_memory(
    visit: &Visit<'_>,
    id: &str,
    action: &str,
    form: &Parameters,
) -> Result<Acted, PageError> {
    let engine = visit.engine;
    let field = |name: &str| form.get(name).ok_or_else(|| missing(name));
    let back = match form.get("back") {
        Some(back) if is_own(back) => back.to_owned(),
        _ => entry::address(id, ""),
    };
    match action {
        "save" => match edit::save(visit, id, form)? {
            Saved::Done => {}
            Saved::Changed(document) => return Ok(Acted::Undecided(document)),
        },
        "forget" => {
            ops::forget(engine, id)?;
        }
        "restore" => {
            ops::restore(engine, id)?;
        }
        "restore-version" => {
            let revision = Revision {
                text: field("version")?.to_owned(),
                at: None,
            };
            ops::restore_as_of(engine, id, &revision)?;
            return Ok(Acted::Done(entry::address(id, "/history")));
        }
        "undo" => {
            visit.folder()?;
            ops::undo(engine, Some(id), false)?;
            return Ok(Acted::Done(entry::address(id, "/history")));
        }
        "pin" | "unpin" => {
            ops::pin(engine, id, action == "pin")?;
        }
        "link" => {
            ops::link(engine, id, field("to")?, field("relation")?)?;
        }
        "unlink" => {
            let (to, relation) = (field("to")?, field("relation")?);
            if ops::unlink(engine, id, to, Some(relation))? == 0 {
                return Err(PageError::Bad(texts::NO_SUCH_LINK.to_owned()));
            }
        }
        _ => return Err(unknown(action)),
    }
    Ok(Acted::Done(back))
}

fn of_review(visit: &Visit<'_>, action: &str, form: &Parameters) -> Result<(), PageError> {
    let engine = visit.engine;
    let id = form.get("id").ok_or_else(|| missing("id"))?;
    match action {
        "accept" => {
            let proposal = ops::proposal_called(engine, id)?;
            let text = form.text("text").map(|text| text.replace("\r\n", "\n"));
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                return Err(PageError::Bad(texts::BLANK.to_owned()));
            }
            let text = text.filter(|text| text.trim() != proposal.memory.content.trim());
            let remembered = ops::accept_proposal(engine, &proposal, text.as_deref())?;
            visit.warn(remembered.screened.warnings());
        }
        "drop" | "never" => {
            let proposal = ops::proposal_called(engine, id)?;
            ops::drop_proposal(engine, &proposal, action == "never")?;
        }
        "keep" => {
            let keep = form.get("keep").ok_or_else(|| missing("keep"))?;
            ops::keep_one(engine, id, keep)?;
        }
        "both" => {
            ops::keep_both(engine, id, form.get("other"))?;
        }
        "trust" => {
            visit.folder()?;
            let (memory, _) = ops::recall_one(engine, id)?;
            let seen = form.get("seen").ok_or_else(|| missing("seen"))?;
            if seen != review::digest(&memory) {
                return Err(PageError::Changed(texts::CHANGED_SINCE));
            }
            ops::accept(engine, &[Memory::clone(&memory)])?;
        }
        _ => return Err(unknown(action)),
    }
    Ok(())
}

fn missing(field: &str) -> PageError {
    PageError::Bad(format!("the form has no `{field}`"))
}

fn unknown(action: &str) -> PageError {
    PageError::Engine(EngineError::NotFound(entry::cut(action, 40)))
}

/// Returns whether an address leads to this page, once that of the page stands before it.
fn is_own(address: &str) -> bool {
    // Browsers take `\` for a slash, leave line breaks and tabs out, and read `%2e` as a dot.
    let is_plain = |c: char| c != '\\' && !c.is_control();
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let leads_up = |step: &str| {
        let step: Vec<u8> = percent_decode_str(step).collect();
        step == b".."
    };
    !address.starts_with('/') && address.chars().all(is_plain) && !path.split('/').any(leads_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_comes_back_to_an_address_of_the_page_alone() {
        for address in [
            "",
            "review",
            "?topic=a",
            "brief?namespace=../x",
            "memory/notes%20v1%2E2",
        ] {
            assert!(is_own(address), "{address}");
        }
        for address in [
            "/evil.example",
            "//evil.example",
            "\\evil.example",
            "\t/evil.example",
            "a\r\nSet-Cookie: b",
            "../w/beta/",
            "memory/../../beta/",
            "memory/%2e%2E/%2e./beta",
        ] {
            assert!(!is_own(address), "{address}");
        }
    }
}
