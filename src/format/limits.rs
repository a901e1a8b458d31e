//! Limits of the parts of a memory, and the check of a memory about to be written.

use crate::format::FormatError;
use crate::model::{Link, MetaValue};

/// Maximum length of a content that is written.
pub const MAX_CONTENT_BYTES: usize = 1024 * 1024;
pub(super) const MAX_FRONTMATTER_BYTES: usize = 16 * 1024;
pub(super) const MAX_KEYS: usize = 64;
pub(super) const MAX_DEPTH: usize = 16;
const MAX_SCALAR_BYTES: usize = 1024;
const MAX_TOPICS: usize = 100;
const MAX_TOPIC_BYTES: usize = 256;
const MAX_LINKS: usize = 200;

/// Checks one scalar: no control characters, not too long.
pub(super) fn check_scalar(field: &str, text: &str) -> Result<(), FormatError> {
    if let Some(bad) = text.chars().find(|c| c.is_control()) {
        return Err(FormatError::ControlCharacter {
            field: field.to_owned(),
            code: bad as u32,
        });
    }
    check_length(field, text, MAX_SCALAR_BYTES)
}

/// Checks a scalar that must say something.
pub(super) fn check_required(field: &'static str, text: &str) -> Result<(), FormatError> {
    if text.trim().is_empty() {
        return Err(FormatError::Empty { field });
    }
    check_scalar(field, text)
}

pub(super) fn check_topics(topics: &[String]) -> Result<(), FormatError> {
    check_count("topics", topics.len(), MAX_TOPICS)?;
    topics.iter().try_for_each(|topic| {
        check_required("topic", topic)?;
        check_length("topic", topic, MAX_TOPIC_BYTES)
    })
}

pub(super) fn check_links(links: &[Link]) -> Result<(), FormatError> {
    check_count("links", links.len(), MAX_LINKS)?;
    links.iter().try_for_each(|link| {
        check_required("link target", &link.to)?;
        check_required("link type", &link.relation)
    })
}

pub(super) fn check_importance(importance: u8) -> Result<(), FormatError> {
    if (1..=10).contains(&importance) {
        return Ok(());
    }
    Err(FormatError::OutOfRange {
        field: "importance",
        value: importance.to_string(),
        low: 1,
        high: 10,
    })
}

pub(super) fn check_confidence(confidence: f64) -> Result<(), FormatError> {
    if (0.0..=1.0).contains(&confidence) {
        return Ok(());
    }
    Err(FormatError::OutOfRange {
        field: "confidence",
        value: confidence.to_string(),
        low: 0,
        high: 1,
    })
}

/// Checks `metadata`: unique keys, bounded depth. Texts inside may hold any character: they are
/// written with escapes.
pub(super) fn check_metadata(metadata: &[(String, MetaValue)]) -> Result<(), FormatError> {
    fn entries(map: &[(String, MetaValue)], depth: usize) -> Result<(), FormatError> {
        // The frontmatter itself and the `metadata` key are the first two levels.
        if depth + 2 > MAX_DEPTH {
            return Err(FormatError::TooDeep { limit: MAX_DEPTH });
        }
        check_count("metadata entries", map.len(), MAX_KEYS)?;
        for (at, (key, value)) in map.iter().enumerate() {
            check_required("metadata key", key)?;
            if map[..at].iter().any(|(earlier, _)| earlier == key) {
                return Err(FormatError::DuplicateMetadata { key: key.clone() });
            }
            inside(value, depth)?;
        }
        Ok(())
    }
    fn inside(value: &MetaValue, depth: usize) -> Result<(), FormatError> {
        match value {
            MetaValue::Map(map) => entries(map, depth + 1),
            MetaValue::List(_) if depth + 3 > MAX_DEPTH => {
                Err(FormatError::TooDeep { limit: MAX_DEPTH })
            }
            MetaValue::List(items) => items.iter().try_for_each(|item| inside(item, depth + 1)),
            _ => Ok(()),
        }
    }
    entries(metadata, 0)
}

/// Checks a content: no NUL, which readers take for the end of a text or for damage, and not too
/// long.
pub(super) fn check_content(content: &str) -> Result<(), FormatError> {
    if content.contains('\0') {
        return Err(FormatError::ControlCharacter {
            field: "content".to_owned(),
            code: 0,
        });
    }
    check_length("content", content, MAX_CONTENT_BYTES)
}

fn check_length(field: &str, text: &str, limit: usize) -> Result<(), FormatError> {
    if text.len() <= limit {
        return Ok(());
    }
    Err(FormatError::TooLong {
        field: field.to_owned(),
        bytes: text.len(),
        limit,
    })
}

fn check_count(field: &'static str, count: usize, limit: usize) -> Result<(), FormatError> {
    if count <= limit {
        Ok(())
    } else {
        Err(FormatError::TooMany {
            field,
            count,
            limit,
        })
    }
}
