//! The words of the category set, and the category of a memory.
//!
//! A memory is of the first category that its metadata names, else of `learnings`. A filter can express
//! this rule, so that searches and lists select a category.

use crate::dialect::reply::ToolError;
use crate::engine::Query;
use crate::model::{Filter, Memory, MetaValue, Visibility};

/// Version of the specification's schema.
pub(super) const SCHEMA_VERSION: &str = "1.2";

/// Categories in the order of lists; the last one is the default.
pub(super) const CATEGORIES: [&str; 6] = [
    "user",
    "assistant",
    "project",
    "relationships",
    "tools",
    "learnings",
];
/// Valid relations of a link.
pub(super) const RELATIONS: [&str; 5] = [
    "supersedes",
    "elaborates",
    "contradicts",
    "related-to",
    "depends-on",
];
/// Valid sources of an entry; the first one is the default.
pub(super) const SOURCES: [&str; 4] = ["session", "user-stated", "inferred", "codebase"];
/// Statuses of an entry.
pub(super) const STATUSES: [&str; 3] = ["active", "archived", "superseded"];
/// Formats of an export; the first one is the default.
pub(super) const FORMATS: [&str; 2] = ["markdown", "json"];

/// Metadata key of the category.
pub(super) const CATEGORY: &str = "category";
/// Metadata key of the entry's key.
pub(super) const KEY: &str = "key";
/// Metadata key of the source's detail.
pub(super) const SOURCE_DETAIL: &str = "source_detail";

/// Returns the word of `known` that equals `word`, without case.
///
/// # Errors
///
/// Fails with a list of the known words if there is none.
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

/// Returns the category that `text` names.
///
/// # Errors
///
/// As for [`word`].
pub(super) fn category(text: &str) -> Result<&'static str, ToolError> {
    word("category", text, &CATEGORIES)
}

/// Returns the category of a memory.
pub(super) fn category_of(memory: &Memory) -> &'static str {
    let (last, named) = CATEGORIES.split_last().expect("there are some");
    let mut values = memory.metadata.iter().filter(|(key, _)| key == CATEGORY);
    let values = values.next().map(|(_, value)| value);
    let mut named = named.iter();
    let found = named.find(|category| values.is_some_and(|value| names(value, category)));
    found.unwrap_or(last)
}

/// Returns whether a value of the metadata names a category, by the rule of a filter.
fn names(value: &MetaValue, category: &str) -> bool {
    match value {
        MetaValue::Text(text) => text.to_lowercase() == category,
        MetaValue::List(items) => items.iter().any(|item| names(item, category)),
        _ => false,
    }
}

/// Returns the filter for memories of a category, or of all.
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

/// Returns the search that lists a category, or all, whatever the status.
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
