//! [`NewMemory`] → the text of its file.

use super::limits::MAX_FRONTMATTER_BYTES;
use super::{FormatError, limits, scalar, value};
use crate::model::{NewMemory, Stem, Timestamp, normalized_namespace};

/// Returns the file's text: known keys in the format's order, `---`, a blank line, the content
/// exactly as given.
///
/// # Errors
///
/// Fails if a field is empty that must not be, too long, out of range, or holds a control
/// character; nothing is repaired silently.
pub fn render(
    memory: &NewMemory,
    stem: &Stem,
    timestamp: &Timestamp,
) -> Result<String, FormatError> {
    check(memory)?;
    let mut lines = Lines(String::from("---\n"));
    lines.line("id", stem.short());
    lines.line("timestamp", timestamp.as_str());
    lines.scalar("agent", Some(&memory.agent));
    lines.scalar("user", Some(&memory.user));
    lines.line("topics", &scalar::write_list(&memory.topics));
    lines.scalar("title", memory.title.as_deref());
    lines.scalar("kind", memory.kind.map(|kind| kind.as_str()));
    let namespace = memory.namespace.as_deref().map(normalized_namespace);
    lines.scalar("namespace", namespace.as_deref());
    lines.scalar("scope", memory.scope.map(|scope| scope.as_str()));
    lines.scalar("tier", memory.tier.map(|tier| tier.as_str()));
    lines.optional("importance", memory.importance.map(|n| n.to_string()));
    lines.optional("confidence", memory.confidence.map(|n| n.to_string()));
    lines.scalar("source", memory.source.as_deref());
    lines.scalar("status", memory.status.as_deref());
    lines.optional(
        "expires",
        memory.expires.as_ref().map(|at| at.as_str().to_owned()),
    );
    let supersedes = &memory.supersedes;
    lines.optional(
        "supersedes",
        list(supersedes.is_empty(), || scalar::write_list(supersedes)),
    );
    lines.scalar("superseded_by", memory.superseded_by.as_deref());
    if !memory.links.is_empty() {
        lines.0.push_str(&format!(
            "links:{}\n",
            value::write_links(&memory.links, "\n")
        ));
    }
    let metadata = &memory.metadata;
    lines.optional(
        "metadata",
        list(metadata.is_empty(), || value::write_metadata(metadata)),
    );
    let Lines(mut text) = lines;
    if text.len() > MAX_FRONTMATTER_BYTES {
        return Err(FormatError::FrontmatterTooLarge {
            bytes: text.len(),
            limit: MAX_FRONTMATTER_BYTES,
        });
    }
    text.push_str("---\n\n");
    text.push_str(&memory.content);
    Ok(text)
}

fn list(is_empty: bool, text: impl FnOnce() -> String) -> Option<String> {
    (!is_empty).then(text)
}

fn check(memory: &NewMemory) -> Result<(), FormatError> {
    limits::check_required("agent", &memory.agent)?;
    limits::check_required("user", &memory.user)?;
    limits::check_topics(&memory.topics)?;
    for (field, text) in [
        ("title", &memory.title),
        ("namespace", &memory.namespace),
        ("source", &memory.source),
        ("status", &memory.status),
        ("superseded_by", &memory.superseded_by),
    ] {
        text.iter()
            .try_for_each(|text| limits::check_required(field, text))?;
    }
    memory.importance.map_or(Ok(()), limits::check_importance)?;
    memory.confidence.map_or(Ok(()), limits::check_confidence)?;
    memory
        .supersedes
        .iter()
        .try_for_each(|s| limits::check_required("supersedes", s))?;
    limits::check_links(&memory.links)?;
    limits::check_metadata(&memory.metadata)?;
    limits::check_content(&memory.content)
}

struct Lines(String);

impl Lines {
    fn line(&mut self, key: &str, value: &str) {
        self.0.push_str(&format!("{key}: {value}\n"));
    }

    fn scalar(&mut self, key: &str, value: Option<&str>) {
        self.optional(key, value.map(|value| scalar::write(value).into_owned()));
    }

    fn optional(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.line(key, &value);
        }
    }
}
