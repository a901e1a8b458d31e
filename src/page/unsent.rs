//! A text that somebody typed, and that could not be saved: in a form again, whatever failed.

use maud::html;

use super::act::Action;
use super::parts::parameters::Parameters;
use super::parts::{entry, frame, texts};

/// Returns the document that says why a form failed, and holds its text, to be sent again with the form token `token`; `None`
/// of a form without a text of a person. `message` says why it failed; with `is_gone` the store has nothing any more that
/// the text is for, and it can only be copied.
///
/// It needs nothing of the store, which may be what failed.
pub fn unsent(
    base: &str,
    token: &str,
    action: Action<'_>,
    form: &Parameters,
    (message, is_gone): (&str, bool),
) -> Option<String> {
    let (address, key, name, back) = match action {
        Action::Memory(id, "save") => {
            let back = entry::address(id, "");
            (entry::address(id, "/save"), "seen", texts::SAVE, back)
        }
        Action::Review("accept") => {
            let back = "review".to_owned();
            ("review/accept".to_owned(), "id", texts::ACCEPT, back)
        }
        _ => return None,
    };
    let text = form.text("text")?;
    let body = html! {
        main #main {
            h1 { (texts::WENT_WRONG) }
            p.problem role="alert" { (message) }
            p.note { @if is_gone { (texts::UNSENT_FOR_GOOD) } @else { (texts::UNSENT) } }
            form.unsent method="post" action=(address) {
                input type="hidden" name="token" value=(token);
                input type="hidden" name=(key) value=(form.get(key).unwrap_or_default());
                // A browser drops the first line break of a field.
                textarea name="text" aria-label=(texts::YOURS) rows="24" dir="auto" readonly[is_gone] { "\n" (text) }
                p {
                    @if !is_gone { button.main type="submit" { (name) } " " }
                    a href=(back) { (texts::CANCEL) }
                }
            }
        }
    };
    Some(frame::whole(base, texts::WENT_WRONG, &body, true))
}
