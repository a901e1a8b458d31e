//! Holders of tokens, as the claims of the token name them.

use std::time::Duration;

use serde_json::{Map, Value};

/// Maximum number of bytes of a subject, as in OpenID Connect.
const MAX_SUBJECT: usize = 255;

/// Holder of a token of the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Subject and issuer: `SUBJECT@ISSUER`.
    pub name: String,
    /// Groups of the holder.
    pub groups: Vec<String>,
    /// Time until the token counts no more.
    pub left: Duration,
}

/// Returns the name of the subject of `issuer`; `None` of a subject that cannot stand in a line of a log.
pub(super) fn name_of(claims: &Map<String, Value>, issuer: &str) -> Option<String> {
    let subject = claims.get("sub")?.as_str()?;
    let fits = (1..=MAX_SUBJECT).contains(&subject.len());
    // Also the marks that change the direction of text, and other blanks than the plain one.
    let is_plain = |c: char| c == ' ' || !(c.is_control() || c.is_whitespace() || is_mark(c));
    (fits && subject.chars().all(is_plain)).then(|| format!("{subject}@{issuer}"))
}

fn is_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Returns the groups in the claim `name`: a list of texts, or one text. A name with dots leads through objects
/// (`realm_access.roles`), unless a claim is called so itself. Names with control characters are left out.
pub(super) fn groups_of(claims: &Map<String, Value>, name: &str) -> Vec<String> {
    let within = || {
        let mut names = name.split('.');
        let first = claims.get(names.next()?)?;
        names.try_fold(first, |value, name| value.get(name))
    };
    let text = |value: &Value| {
        let text = value
            .as_str()
            .filter(|text| !text.contains(char::is_control));
        text.map(str::to_owned)
    };
    match claims.get(name).or_else(within) {
        Some(Value::Array(all)) => all.iter().filter_map(text).collect(),
        Some(one) => text(one).into_iter().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_name_holds_subject_and_issuer_and_nothing_that_a_log_would_hide() {
        let name = |subject: Value| name_of(&claims(json!({"sub": subject})), "https://id.example");
        let anna = name(json!("anna b"));
        assert_eq!(anna.as_deref(), Some("anna b@https://id.example"));
        for bad in [
            json!(""),
            json!("a\nb"),
            json!("a\u{202e}b"),
            json!("x".repeat(256)),
            json!(7),
            Value::Null,
        ] {
            assert_eq!(name(bad.clone()), None, "{bad}");
        }
    }

    #[track_caller]
    fn check(claim: &str, value: Value, expected: &[&str]) {
        assert_eq!(groups_of(&claims(value), claim), expected, "{claim}");
    }

    #[test]
    fn groups_are_a_list_or_a_text_in_a_claim_or_within_one() {
        check(
            "groups",
            json!({"groups": ["a", 7, "b", "c\0"]}),
            &["a", "b"],
        );
        check("groups", json!({"groups": "a b"}), &["a b"]);
        check("groups", json!({"roles": ["a"]}), &[]);
        check("groups", json!({"groups": {"a": true}}), &[]);
        let nested = json!({"realm_access": {"roles": ["a"]}});
        check("realm_access.roles", nested, &["a"]);
        let dotted = json!({"https://x.example/groups": ["a"]});
        check("https://x.example/groups", dotted, &["a"]);
    }
}
