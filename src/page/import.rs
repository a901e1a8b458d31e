//! Imports of files and folders that were dropped on the page: first what it would do, then with progress.

use std::sync::{Arc, Mutex};

use maud::{Markup, html};

use super::parts::error::PageError;
use super::parts::import_run::{ImportRun, formats};
use super::parts::locked::locked;
use super::parts::parameters::Parameters;
use super::parts::uploads::{Outcome, Upload};
use super::parts::visit::Visit;
use super::parts::{entry, frame, texts};

/// Returns the form; with the parameter `upload` how far its import is.
pub(super) fn view(visit: &Visit<'_>) -> Result<String, PageError> {
    if let Some(id) = visit.parameters.get("upload") {
        let (upload, outcome) = visit.folder()?.uploads.get(id)?;
        let outcome = locked(&outcome).clone();
        let state = state(visit, id, &upload, &outcome);
        if visit.parameters.get("part").is_some() {
            return Ok(state.into_string());
        }
        let main = html! { h1 { (texts::IMPORT) } div #list { (state) } };
        return Ok(frame::document(visit, "import", texts::IMPORT, &main));
    }
    visit.folder()?;
    let main = html! {
        h1 { (texts::IMPORT) }
        @if visit.visitor.may_write {
            p { (texts::IMPORT_HINT) }
            form #import.fields data-token=(visit.visitor.form_token) data-sending=(texts::SENDING) data-none=(texts::NO_FILE) {
                label { span { (texts::FORMAT) }
                    select name="format" {
                        @for (name, is_talks) in formats() {
                            option value=(name) { @if is_talks { "conversations: " } (name) }
                        }
                    }
                }
                label { span { (texts::FILES) } input type="file" name="files" multiple; }
                label { span { (texts::OR_FOLDER) } input type="file" name="folder" webkitdirectory; }
                button.main type="submit" { (texts::LOOK_FIRST) }
            }
            noscript { p.note { (texts::WITHOUT_SCRIPT) " " code { "memdir import --from FORMAT PATH" } } }
        } @else { p.problem { (visit.may_not_write()) } }
        div #list aria-live="polite" {}
    };
    Ok(frame::document(visit, "import", texts::IMPORT, &main))
}

fn state(visit: &Visit<'_>, id: &str, upload: &Upload, outcome: &Outcome) -> Markup {
    html! {
        section data-busy=[(outcome.has_begun && !outcome.has_ended).then_some(id)] {
            h2 { @if outcome.has_begun { (texts::IMPORTED) } @else { (texts::WOULD_IMPORT) } }
            p {
                bdi { (entry::cut(&upload.name, 120)) }
                @if upload.files.len() > 1 { " · " (upload.files.len()) " files" }
            }
            ul {
                li { (outcome.added) " new" }
                li { (outcome.known) " known already" }
                li { (outcome.left_out) " left out" }
                li { (outcome.failed) " that cannot be read" }
            }
            @if !outcome.failures.is_empty() {
                ul.problem { @for one in &outcome.failures { li dir="auto" { (entry::cut(one, 200)) } } }
            }
            @if !outcome.has_begun { (frame::button(visit, "import/perform", &[("upload", id)], texts::DO_IMPORT, None)) }
            @if outcome.has_ended { p { a href=(frame::TIMELINE) { (texts::TIMELINE) } } }
        }
    }
}

/// Returns what an import of the upload would do, and keeps it under `id`.
///
/// # Errors
///
/// Fails without the right to write, for an unknown format, and if nothing of the file can be read.
pub fn uploaded(visit: &Visit<'_>, id: &str, upload: Upload) -> Result<String, PageError> {
    if !visit.visitor.may_write {
        return Err(PageError::Forbidden(visit.may_not_write()));
    }
    let folder = visit.folder()?;
    let outcome = Mutex::new(Outcome::default());
    let run = ImportRun {
        engine: visit.engine,
        user: folder.user,
        upload: &upload,
        outcome: &outcome,
        is_dry_run: true,
    };
    run.run()?;
    let outcome = locked(&outcome).clone();
    let shown = state(visit, id, &upload, &outcome).into_string();
    folder.uploads.keep(id, upload, outcome);
    Ok(shown)
}

/// Begins the import of an upload, and returns the address that shows how far it is.
pub(super) fn perform(visit: &Visit<'_>, form: &Parameters) -> Result<String, PageError> {
    let id = form
        .get("upload")
        .ok_or_else(|| PageError::Bad("the form has no `upload`".to_owned()))?;
    let folder = visit.folder()?;
    let (upload, outcome) = folder.uploads.get(id)?;
    let was_begun = std::mem::replace(
        &mut *locked(&outcome),
        Outcome {
            has_begun: true,
            ..Outcome::default()
        },
    )
    .has_begun;
    if !was_begun {
        let (engine, user) = (Arc::clone(visit.engine), folder.user.to_owned());
        // It may take longer than any request may.
        std::thread::spawn(move || {
            let run = ImportRun {
                engine: &engine,
                user: &user,
                upload: &upload,
                outcome: &outcome,
                is_dry_run: false,
            };
            if let Err(error) = run.run() {
                locked(&outcome).fail(error.to_string());
            }
            locked(&outcome).has_ended = true;
        });
    }
    Ok(Parameters::default().and("upload", id).address("import"))
}
