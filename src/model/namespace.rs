//! The one rule by which namespaces are written and compared.

use std::borrow::Cow;

/// The namespace of memories that state none.
pub const GLOBAL: &str = "global";

/// `text` as the namespace that it means, in the form in which namespaces are written.
///
/// Blanks around it and around its parts, slashes at its end and second slashes in a row say
/// nothing: ` atlas // web/ ` is `atlas/web`. A slash at the beginning stays, because groups of
/// Loci are paths. It is [`GLOBAL`] where nothing is left. Case is kept, and not compared
/// ([`is_same_namespace`]).
pub fn normalized_namespace(text: &str) -> Cow<'_, str> {
    let is_blank = |part: &str| part.is_empty() || trimmed(part) != part;
    let rest = text.strip_prefix('/').unwrap_or(text);
    if !rest.split('/').any(is_blank) {
        return Cow::Borrowed(text);
    }
    let parts = text.split('/').map(trimmed);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    match (trimmed(text).starts_with('/'), parts.is_empty()) {
        (true, _) => Cow::Owned(format!("/{}", parts.join("/"))),
        (false, true) => Cow::Borrowed(GLOBAL),
        (false, false) => Cow::Owned(parts.join("/")),
    }
}

/// Without the blanks around it. Control characters stay, line ends too: no namespace may have one,
/// and whoever checks that must see them.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() && !c.is_control())
}

/// Returns whether both mean one namespace.
pub fn is_same_namespace(one: &str, other: &str) -> bool {
    comparable(one) == comparable(other)
}

/// Returns whether `text` means the namespace of memories that state none.
pub fn is_global_namespace(text: &str) -> bool {
    is_same_namespace(text, GLOBAL)
}

fn comparable(text: &str) -> String {
    normalized_namespace(text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_idle_slashes_say_nothing() {
        for text in [
            "atlas/web",
            "atlas/web/",
            " atlas/web",
            "atlas//web",
            "atlas / web // ",
            "atlas/ /web",
        ] {
            assert_eq!(normalized_namespace(text), "atlas/web", "{text:?}");
        }
        for text in ["", "  ", "global", "global/", " global "] {
            assert_eq!(normalized_namespace(text), "global", "{text:?}");
        }
        // No namespace may hold one, and whoever checks that must see it.
        assert_eq!(normalized_namespace("atlas\t"), "atlas\t");
    }

    #[test]
    fn a_slash_at_the_beginning_stays() {
        for text in ["/home/mira", "/home//mira/", " //home/mira"] {
            assert_eq!(normalized_namespace(text), "/home/mira", "{text:?}");
        }
        for text in ["/", "//", " / / "] {
            assert_eq!(normalized_namespace(text), "/", "{text:?}");
        }
    }

    #[test]
    fn a_normalized_namespace_stays_as_it_is() {
        for text in ["atlas", "Atlas/Web 2", "/home/mira", "/", "..", "a\\b"] {
            assert_eq!(normalized_namespace(text), text);
        }
    }

    #[test]
    fn case_is_not_compared() {
        assert!(is_same_namespace("Atlas/", "atlas"));
        assert!(is_global_namespace("GLOBAL/"));
        assert!(!is_same_namespace("/atlas", "atlas"));
    }
}
