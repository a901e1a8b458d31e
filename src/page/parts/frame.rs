//! The document around a view, and documents of those who are not logged in.

use maud::{DOCTYPE, Markup, html};

use super::texts;
use super::visit::Visit;

/// Address of the timeline below that of the page.
pub(in crate::page) const TIMELINE: &str = "./";

/// Views of the navigation: address below that of the page, name and the key behind `g`.
const PLACES: [(&str, &str, &str); 6] = [
    (TIMELINE, texts::TIMELINE, "t"),
    ("search", texts::SEARCH, "s"),
    ("review", texts::REVIEW, "r"),
    ("brief", texts::BRIEF, "b"),
    ("store", texts::STORE, "o"),
    ("import", texts::IMPORT, "i"),
];

/// Returns the document of a view: `here` is its address in the navigation, empty of a view that is not there.
pub(in crate::page) fn document(
    visit: &Visit<'_>,
    here: &str,
    title: &str,
    main: &Markup,
) -> String {
    let root = visit.engine.live.root();
    let store = root.file_name().unwrap_or(root.as_os_str());
    let store = store.to_string_lossy();
    let question = visit.parameters.get("q").unwrap_or_default();
    // Lists are narrowed by parameters: a search from one is narrowed as it is.
    let is_list = here == TIMELINE || here == "search";
    let narrowed = visit.parameters.pairs().iter().filter(|(name, value)| {
        is_list && !["q", "part", "before"].contains(&name.as_str()) && !value.trim().is_empty()
    });
    let body = html! {
        a.skip href={ (visit.address) "#main" } { (texts::SKIP) }
        header { div.bar {
            a.brand href=(TIMELINE) {
                img src="assets/icon.svg" alt="" width="20" height="20";
                (texts::PRODUCT) " " bdi.store { (store) }
            }
            form #search action="search" role="search" {
                input type="search" name="q" value=(question) placeholder=(texts::SEARCH_FOR)
                    aria-label=(texts::SEARCH_FOR) autocomplete="off" maxlength="2000";
                @for (name, value) in narrowed { input type="hidden" name=(name) value=(value); }
            }
            nav aria-label=(texts::PRODUCT) {
                @for (address, name, key) in PLACES {
                    @if address != "import" || (visit.visitor.may_write && visit.folder.is_some()) {
                        a href=(address) data-go=(key) aria-current=[(address == here).then_some("page")] { (name) }
                    }
                }
            }
        } }
        main #main tabindex="-1" data-at=[visit.at] {
            @for warning in visit.warnings.borrow().iter() { p.problem role="status" { (warning) } }
            (main)
        }
        footer {
            button type="button" #keys-button hidden { (texts::KEYS) }
            @if !visit.visitor.may_write { span { (texts::ONLY_READS) } }
            form method="post" action="logout" {
                (token(visit))
                button type="submit" { (texts::LEAVE) }
            }
        }
        dialog #keys aria-label=(texts::KEYS) {
            h2 { (texts::KEYS) }
            dl { @for (key, meaning) in texts::KEY_LIST { dt { kbd { (key) } } dd { (meaning) } } }
            form method="dialog" { button { (texts::CLOSE) } }
        }
    };
    whole(visit.base, &format!("{title} · {store}"), &body, true)
}

/// Returns the hidden field of a form that proves where it comes from.
pub(in crate::page) fn token(visit: &Visit<'_>) -> Markup {
    html! { input type="hidden" name="token" value=(visit.visitor.form_token); }
}

/// Returns the hidden fields of a form, with that of its token.
pub(in crate::page) fn fields(visit: &Visit<'_>, fields: &[(&str, &str)]) -> Markup {
    html! {
        (token(visit))
        @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
    }
}

/// Returns a form of one button, or nothing for a visitor who may not write.
pub(in crate::page) fn button(
    visit: &Visit<'_>,
    address: &str,
    fields: &[(&str, &str)],
    name: &str,
    key: Option<&str>,
) -> Markup {
    html! {
        @if visit.visitor.may_write {
            form.one method="post" action=(address) {
                (self::fields(visit, fields))
                button type="submit" data-key=[key] { (name) }
            }
        }
    }
}

/// Returns the document for a browser that has no session at the page at `base`; `is_refused` if the code that it sent
/// is not valid.
pub fn entrance(base: &str, is_refused: bool) -> String {
    let body = html! {
        main #main.alone {
            img src="assets/icon.svg" alt="" width="40" height="40";
            h1 { (texts::ENTER) }
            @if is_refused { p.problem role="alert" { (texts::BAD_CODE) } }
            p { (texts::ENTER_HOW) }
            pre { "memdir open" }
            form method="get" action="login" {
                p { label { (texts::ENTER_CODE) br; input name="code" aria-label=(texts::CODE) autocomplete="off" required; } }
                button.main type="submit" { (texts::ENTER_BUTTON) }
            }
        }
    };
    whole(base, texts::ENTER, &body, false)
}

/// Returns the document for a browser that has no session at the page of a workspace at `base`; `is_refused` if the token
/// that it sent opens nothing there.
pub fn entrance_of_workspace(base: &str, is_refused: bool) -> String {
    let body = html! {
        main #main.alone {
            img src="assets/icon.svg" alt="" width="40" height="40";
            h1 { (texts::ENTER) }
            @if is_refused { p.problem role="alert" { (texts::BAD_TOKEN) } }
            p { (texts::ENTER_TOKEN_HOW) }
            // By a body: an address is kept in histories and logs.
            form method="post" action="login" {
                p { label { (texts::ENTER_TOKEN) br;
                    input type="password" name="token" aria-label=(texts::TOKEN) autocomplete="current-password" required;
                } }
                button.main type="submit" { (texts::ENTER_BUTTON) }
            }
        }
    };
    whole(base, texts::ENTER, &body, false)
}

/// Returns the document for a browser that a link of another site led to `address` of the page at `base`: its cookie comes
/// with the next click.
pub fn elsewhere(base: &str, address: &str) -> String {
    let body = html! {
        main #main.alone {
            h1 { (texts::PRODUCT) }
            p { (texts::FROM_ELSEWHERE) }
            p { a href=(address) { (texts::GO_ON) } }
        }
    };
    whole(base, texts::PRODUCT, &body, false)
}

/// Returns the document that says why something could not be done at the page at `base`.
pub fn failure(base: &str, message: &str) -> String {
    let body = html! {
        main #main.alone {
            h1 { (texts::WENT_WRONG) }
            p.problem role="alert" { (message) }
            p { a href=(TIMELINE) { (texts::BACK) } }
        }
    };
    whole(base, texts::WENT_WRONG, &body, false)
}

/// Returns a document. All addresses in it are relative to `base`: the page may lie at any address of a server.
pub(in crate::page) fn whole(base: &str, title: &str, body: &Markup, has_script: bool) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                base href=(base);
                title { (title) }
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="assets/page.css";
                @if has_script { script src="assets/page.js" defer {} }
            }
            body data-changed=(texts::CHANGED_HERE) data-reload=(texts::RELOAD) data-edited=(texts::CHANGED_AND_EDITED)
                data-newer=(texts::NEW_MEMORIES) data-restored=(texts::RESTORED) data-discard=(texts::DISCARD) { (body) }
        }
    };
    document.into_string()
}
