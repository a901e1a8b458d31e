//! Truncation of entries of an answer to a number of tokens.

use serde_json::{Value, json};

use super::json::JsonObject;
use super::reply::written;
use crate::model::estimated_tokens;

/// Minimum number of characters of a truncated content.
const BEGINNING: usize = 80;

/// Truncates an entry's `content` so that the entry takes at most `tokens` as JSON, and sets `truncated`.
/// Metadata that leaves no room for a beginning is removed first, and named in `omitted`.
pub(super) fn fit(entry: &mut JsonObject, tokens: usize) {
    let Some(Value::String(content)) = entry.get("content") else {
        return;
    };
    if estimated_tokens(&written(entry)) <= tokens {
        return;
    }
    let content = content.clone();
    let mut cut = entry.clone();
    let kept = cut_content(&mut cut, &content, tokens);
    let has_metadata = entry.remove("metadata").is_some();
    if has_metadata && kept < content.chars().count().min(BEGINNING) {
        entry.insert("omitted".to_owned(), json!(["metadata"]));
        // Where nothing has room, what was asked for is not left out as well.
        if cut_content(entry, &content, tokens) > kept {
            return;
        }
    }
    *entry = cut;
}

/// Sets the longest beginning of `content` that fits, and returns its number of characters.
fn cut_content(entry: &mut JsonObject, content: &str, tokens: usize) -> usize {
    if estimated_tokens(&written(entry)) <= tokens {
        return content.chars().count();
    }
    entry.insert("truncated".to_owned(), json!(true));
    let ends: Vec<usize> = content.char_indices().map(|(at, _)| at).collect();
    // A longer beginning never takes less.
    let fitting = ends.partition_point(|&end| {
        entry.insert("content".to_owned(), json!(content[..end]));
        estimated_tokens(&written(entry)) <= tokens
    });
    let kept = fitting.saturating_sub(1);
    let end = ends.get(kept).copied().unwrap_or(0);
    entry.insert("content".to_owned(), json!(content[..end]));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::reply::object;

    fn fitted(content: &str, metadata: &str, tokens: usize) -> (JsonObject, usize) {
        let metadata = json!({"note": metadata});
        let mut entry = object(json!({"id": "0123abcd", "content": content, "metadata": metadata}));
        fit(&mut entry, tokens);
        let kept = entry["content"].as_str().unwrap();
        assert!(content.starts_with(kept));
        let kept = kept.chars().count();
        (entry, kept)
    }

    #[test]
    fn what_is_escaped_is_cut_where_it_no_longer_fits() {
        for content in [
            "line\n".repeat(6000),
            "\"\\".repeat(6000),
            "東\n".repeat(6000),
        ] {
            let (entry, kept) = fitted(&content, "", 1000);
            let tokens = estimated_tokens(&written(&entry));
            assert!((990..=1000).contains(&tokens), "{tokens}");
            assert!(kept > 700, "{kept}");
            assert_eq!(entry["truncated"], true);
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        let (entry, kept) = fitted("a\nb", "c", 1000);
        assert_eq!((kept, entry.len()), (3, 3));
    }

    #[test]
    fn metadata_without_room_for_a_beginning_is_left_out() {
        let (entry, kept) = fitted(&"line\n".repeat(600), &"x".repeat(4000), 500);
        assert!(kept > 1000, "{kept}");
        assert_eq!(entry["omitted"], json!(["metadata"]));
        assert!(!entry.contains_key("metadata"));
        assert!(estimated_tokens(&written(&entry)) <= 500);
        // A content that is whole then is not cut.
        let (entry, kept) = fitted("short", &"x".repeat(4000), 500);
        assert_eq!(kept, 5);
        assert!(!entry.contains_key("truncated"));
    }

    #[test]
    fn where_nothing_has_room_the_content_is_empty_and_the_rest_stays() {
        let (entry, kept) = fitted("text", "x", 1);
        assert_eq!((kept, entry.len()), (0, 4));
        assert_eq!(entry["metadata"]["note"], "x");
    }
}
