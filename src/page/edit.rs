//! The text of a file in a form, and saving it over the version that it was made from.

use std::path::Path;

use maud::{Markup, html};

use super::memory;
use super::parts::error::PageError;
use super::parts::parameters::Parameters;
use super::parts::visit::Visit;
use super::parts::{difference, entry, frame, line_ends, texts};
use crate::engine::{EngineError, ops, write};
use crate::files::Version;

/// Outcome of saving.
pub(super) enum Saved {
    /// It is in the file.
    Done,
    /// The file is another one than the one that was edited: a document shows both.
    Changed(String),
}

/// Returns the form with a file's text.
pub(super) fn view(visit: &Visit<'_>, id: &str) -> Result<String, PageError> {
    let shown = memory::find(visit, id)?;
    let (_, version) = ops::read_text(visit.engine, shown.whole_id())?;
    let main = html! {
        div #memory data-id=(shown.id) data-stem=(shown.memory.stem.as_str()) data-seen=[&shown.seen] {
            (memory::head(visit, &shown, "/edit"))
            @match line_ends::editable(&version.bytes) {
                Some(text) => (form(visit, &shown.id, &version, text)),
                None => { p.problem { (texts::NO_TEXT) } }
            }
        }
    };
    let title = format!("{} · {}", entry::headline(&shown.memory), texts::EDIT);
    Ok(frame::document(visit, "", &title, &main))
}

fn form(visit: &Visit<'_>, id: &str, seen: &Version, text: &str) -> Markup {
    let hint = match visit.folder {
        Some(_) => texts::EDIT_HINT,
        None => texts::EDIT_HINT_OF_WORKSPACE,
    };
    html! {
        form.edit method="post" action=(entry::address(id, "/save")) {
            (frame::token(visit))
            input type="hidden" name="seen" value=(format!("{:032x}", seen.hash));
            p.note { (hint) }
            // A browser drops the first line break of a field.
            textarea #text name="text" aria-label=(texts::FILE_TEXT) rows="24" dir="auto" spellcheck="true" { "\n" (text) }
            p {
                button.main type="submit" data-key="s" { (texts::SAVE) } " "
                a href=(entry::address(id, "")) { (texts::CANCEL) }
            }
        }
    }
}

/// Saves the text of a form, if the file is still the one that it was made from.
pub(super) fn save(visit: &Visit<'_>, id: &str, form: &Parameters) -> Result<Saved, PageError> {
    let seen = form
        .get("seen")
        .and_then(|seen| u128::from_str_radix(seen, 16).ok());
    let (Some(seen), Some(text)) = (seen, form.text("text")) else {
        return Err(PageError::Bad(
            "the form has no text, or not the version that it was made from".to_owned(),
        ));
    };
    let (name, version) = ops::open_text(visit.engine, id)?;
    let Some(file) = line_ends::editable(&version.bytes) else {
        return Err(PageError::Bad(texts::NO_TEXT.to_owned()));
    };
    let text = line_ends::with_line_ends_of(file, text);
    if version.hash != seen {
        return Ok(Saved::Changed(both(visit, id, &version, &text, None)?));
    }
    let seen = &version.bytes;
    let problems = write::new_problems(&visit.engine.writer, &name, text.as_bytes(), seen);
    if !problems.is_empty() {
        let said = problems.iter();
        let said: Vec<String> = said
            .map(|problem| format!("{problem}. {}", problem.hint()))
            .collect();
        return Err(PageError::Bad(said.join(" ")));
    }
    match ops::save_text(visit.engine, &name, &version, text.as_bytes()) {
        Ok(edited) => {
            visit.warn(edited.screened.warnings());
            Ok(Saved::Done)
        }
        // In the moment in between.
        Err(EngineError::ChangedMeanwhile { copy, .. }) => {
            let (_, version) = ops::open_text(visit.engine, id)?;
            Ok(Saved::Changed(both(
                visit,
                id,
                &version,
                &text,
                Some(&copy),
            )?))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the document with the file as it is now, and the visitor's text in a form over it; `copy` is the path of a file
/// that holds that text already.
fn both(
    visit: &Visit<'_>,
    id: &str,
    now: &Version,
    text: &str,
    copy: Option<&str>,
) -> Result<String, PageError> {
    let shown = memory::find(visit, id)?;
    // Folders of a server are none of the visitor's business.
    let copy = copy.and_then(|copy| Path::new(copy).file_name()?.to_str());
    let main = html! {
        h1 dir="auto" { (entry::headline(&shown.memory)) }
        p.problem role="alert" {
            (texts::CHANGED_MEANWHILE) " "
            @match copy {
                Some(copy) => { (texts::SAVED_AS) " " code { (copy) } ". " }
                None => { (texts::NOT_SAVED) " " }
            }
            (texts::MERGE)
        }
        h2 { (texts::DIFFERING) }
        (difference::difference(text.as_bytes(), &now.bytes)?)
        h2 { (texts::THEIRS) }
        pre.whole.theirs tabindex="0" dir="auto" { (String::from_utf8_lossy(&now.bytes)) }
        h2 { (texts::YOURS) }
        (form(visit, &shown.id, now, text))
    };
    Ok(frame::document(visit, "", texts::EDIT, &main))
}
