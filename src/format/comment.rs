//! Comments after the values of keys.

use super::read::RAW_KEYS;
use super::{scalar, value};

/// Returns the comment after a one-line value, with the blanks before it, or with one.
pub(super) fn comment_of(key: &str, value: &str) -> String {
    let comment = bare_comment_of(key, value);
    // After no value at all the blanks were those before it.
    let blank = if comment.starts_with('#') { " " } else { "" };
    format!("{blank}{comment}")
}

fn bare_comment_of<'a>(key: &str, value: &'a str) -> &'a str {
    if RAW_KEYS.contains(&key) || key == "links" {
        return "";
    }
    let trimmed = value.trim_start_matches([' ', '\t']);
    if trimmed.starts_with(['[', '{']) {
        // `#` inside a flow value may belong to a word; only what follows its end is a comment.
        let Some((_, after)) = value::split_flow(trimmed) else {
            return "";
        };
        return if after.trim_start().starts_with('#') {
            after
        } else {
            ""
        };
    }
    &trimmed[scalar::comment_start(trimmed)..]
}
