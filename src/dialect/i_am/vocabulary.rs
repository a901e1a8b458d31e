//! The words of the category set, and which category a memory belongs to.
//!
//! The rule can be said by a filter, so that searches and lists ask for a category themselves: a
//! memory is of the first category that its metadata names, and what names none is a learning.

use crate::dialect::reply::ToolError;
use crate::engine::Query;
use crate::model::{Filter, Memory, MetaValue, Visibility};

pub(super) const SCHEMA_VERSION: &str = "1.2";

/// In this order, as everything is listed; the last one is for what names none.
pub(super) const CATEGORIES: [&str; 6] = [
    "user",
    "assistant",
    "project",
    "relationships",
    "tools",
    "learnings",
];
pub(super) const RELATIONS: [&str; 5] = [
    "supersedes",
    "elaborates",
    "contradicts",
    "related-to",
    "depends-on",
];
pub(super) const SOURCES: [&str; 4] = ["session", "user-stated", "inferred", "codebase"];
pub(super) const STATUSES: [&str; 3] = ["active", "archived", "superseded"];
pub(super) const FORMATS: [&str; 2] = ["markdown", "json"];

/// The metadata keys that name an entry, and the one that says more of its source.
pub(super) const CATEGORY: &str = "category";
pub(super) const KEY: &str = "key";
pub(super) const SOURCE_DETAIL: &str = "source_detail";

/// The word of `known` that `word` is.
///
/// # Errors
///
/// Fails with all of them if it is none.
pub(super) fn word(
    what: &str,
    word: &str,
    known: &[&'static str],
) -> Result<&'static str, ToolError> {
    let plain = word.trim().to_lowercase();
    let mut found = known.iter().filter(|known| **known == plain);
    found.next().copied().ok_or_else(|| {
        let shown: String = word.chars().take(40).collect();
        let all = known.join(", ");
        ToolError::refused(format!("invalid {what} '{shown}', valid are: {all}"))
    })
}

/// The category that `word` names.
///
/// # Errors
///
/// As for [`word`].
pub(super) fn category(text: &str) -> Result<&'static str, ToolError> {
    word("category", text, &CATEGORIES)
}

/// The category that a memory belongs to.
pub(super) fn category_of(memory: &Memory) -> &'static str {
    let (last, named) = CATEGORIES.split_last().expect("there are some");
    let mut values = memory.metadata.iter().filter(|(key, _)| key == CATEGORY);
    let values = values.next().map(|(_, value)| value);
    let mut named = named.iter();
    let found = named.find(|category| values.is_some_and(|value| names(value, category)));
    found.unwrap_or(last)
}

/// Whether a value of the metadata names a category, as a filter reads it.
fn names(value: &MetaValue, category: &str) -> bool {
    match value {
        MetaValue::Text(text) => text.to_lowercase() == category,
        MetaValue::List(items) => items.iter().any(|item| names(item, category)),
        _ => false,
    }
}

/// The filter for memories of a category, or of all.
pub(super) fn filter(category: Option<&str>) -> Filter {
    let Some(category) = category else {
        return Filter::default();
    };
    let named = |category: &str| (format!("metadata.{CATEGORY}"), category.to_owned());
    let (last, earlier) = CATEGORIES.split_last().expect("there are some");
    let place = earlier.iter().position(|known| *known == category);
    let before = &earlier[..place.unwrap_or(earlier.len())];
    Filter {
        equals: match category == *last {
            true => Vec::new(),
            false => vec![named(category)],
        },
        differs: before.iter().map(|category| named(category)).collect(),
        ..Filter::default()
    }
}

/// The search that lists a category, or all, whatever the status.
pub(super) fn everything(category: Option<&str>) -> Query {
    let filter = Filter {
        visibility: Visibility::Everything,
        ..filter(category)
    };
    Query::everything(filter, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_category_is_asked_for_without_the_ones_before_it() {
        let first = filter(Some("user"));
        assert_eq!((first.equals.len(), first.differs.len()), (1, 0));
        let fifth = filter(Some("tools"));
        assert_eq!((fifth.equals.len(), fifth.differs.len()), (1, 4));
        let last = filter(Some("learnings"));
        assert_eq!((last.equals.len(), last.differs.len()), (0, 5));
        assert_eq!(filter(None), Filter::default());
    }

    #[test]
    fn a_word_that_is_none_is_answered_with_all() {
        assert_eq!(category(" User ").unwrap(), "user");
        let error = category("users").unwrap_err().to_string();
        assert!(error.contains("'users'"), "{error}");
        assert!(error.contains("user, assistant, project"), "{error}");
    }
}
