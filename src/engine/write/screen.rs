//! Screens a text for credentials before it is written.
//!
//! The whole text of a file is checked before it is passed to `files`, and a credential counts
//! only if the change adds it. Commits are checked before they are sent
//! (`history/commits/outgoing_secrets`), files before they are committed
//! (`history/commits/quarantine`). A store's own settings cannot disable this: they may have
//! come from the remote.

use std::borrow::Cow;

use crate::engine::error::{EngineError, FoundSecret};
use crate::engine::texts::stem_of;
use crate::engine::write::writer::Writer;
use crate::model::{Memory, Problem};
use crate::secrets::{Policy, Secret};
use crate::{format, secrets};

/// Credentials found in a written text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Screened {
    /// The credentials.
    pub found: Vec<FoundSecret>,
    /// Whether they were replaced before writing.
    pub redacted: bool,
}

/// Replacement of a credential in the frontmatter, where brackets and colons are syntax.
pub(in crate::engine) const WORD: &str = "redacted";

/// Maximum number of rounds, as a replacement can reveal another finding; rarely twice.
pub(in crate::engine) const MAX_ROUNDS: usize = 16;

impl Screened {
    /// Returns a sentence about each finding.
    pub fn warnings(&self) -> Vec<String> {
        let sentence = |found: &FoundSecret| match self.redacted {
            true => format!("{found} of the memory's file was replaced before it was written"),
            false => format!(
                "the memory's file holds {found}; say where it is kept instead, or `memdir redact` it"
            ),
        };
        self.found.iter().map(sentence).collect()
    }
}

/// Returns the credentials of a file that its frontmatter does not allow.
pub(in crate::engine) fn not_allowed(bytes: &[u8]) -> Vec<FoundSecret> {
    not_allowed_by(bytes, &[])
}

/// As [`not_allowed`], also without those in `besides`.
pub(in crate::engine) fn not_allowed_by(bytes: &[u8], besides: &[String]) -> Vec<FoundSecret> {
    let mut allowed = format::allowed_secrets(bytes);
    allowed.extend_from_slice(besides);
    found_but_in(bytes, &allowed)
}

/// Returns the credentials in a text that is no memory, and allows none.
pub(in crate::engine) fn found_in(bytes: &[u8]) -> Vec<FoundSecret> {
    found_but_in(bytes, &[])
}

/// Returns the credentials in `bytes` whose fingerprints are not in `allowed`.
pub(in crate::engine) fn found_but_in(bytes: &[u8], allowed: &[String]) -> Vec<FoundSecret> {
    // UTF-16 of other programs has a NUL beside each ASCII character.
    let bytes = match memchr::memchr(0, bytes) {
        None => Cow::Borrowed(bytes),
        Some(_) => bytes.iter().copied().filter(|byte| *byte != 0).collect(),
    };
    let text = String::from_utf8_lossy(&bytes);
    found_secrets(&text, &found_but(&text, allowed))
}

/// Finds the credentials in `text` whose fingerprints are not in `known`.
pub(in crate::engine) fn found_but(text: &str, known: &[String]) -> Vec<Secret> {
    let mut found = secrets::find(text);
    if !known.is_empty() {
        found.retain(|secret| !known.contains(&secret.fingerprint(text)));
    }
    found
}

/// Returns the kind and line of each of the credentials `found` in `text`.
pub(in crate::engine) fn found_secrets(text: &str, found: &[Secret]) -> Vec<FoundSecret> {
    let found_secret = |secret: &Secret| FoundSecret {
        kind: secret.kind,
        line: secret.line(text),
    };
    found.iter().map(found_secret).collect()
}

/// Replaces the credentials in `text` that are not in `known`; `None` if that does not end.
pub(in crate::engine) fn without(text: &str, known: &[String]) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..MAX_ROUNDS {
        let found = found_but(&text, known);
        if found.is_empty() {
            return Some(text);
        }
        let content = format::content_start(text.as_bytes());
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for secret in found {
            out.push_str(&text[copied..secret.range.start]);
            match secret.range.start < content {
                true => out.push_str(WORD),
                false => out.push_str(&secret.mark()),
            }
            copied = secret.range.end;
        }
        out.push_str(&text[copied..]);
        text = out;
    }
    None
}

/// Returns the text to write to the file `name` in place of `bytes`, and the credentials found in them.
/// Credentials that the text `before` contained already do not count.
///
/// # Errors
///
/// [`EngineError::Secrets`] if nothing may be written.
pub(in crate::engine) fn screen(
    writer: &Writer,
    name: &str,
    before: Option<&[u8]>,
    bytes: Vec<u8>,
) -> Result<(Vec<u8>, Screened), EngineError> {
    if writer.secrets == Policy::Off {
        return Ok((bytes, Screened::default()));
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut found = secrets::find(&text);
    if found.is_empty() {
        return Ok((bytes, Screened::default()));
    }
    let mut known = format::allowed_secrets(&bytes);
    if let Some(before) = before {
        let before = String::from_utf8_lossy(before);
        let held = secrets::find(&before).into_iter();
        known.extend(held.map(|secret| secret.fingerprint(&before)));
    }
    found.retain(|secret| !known.contains(&secret.fingerprint(&text)));
    let found = found_secrets(&text, &found);
    if found.is_empty() || writer.secrets == Policy::Warn {
        let redacted = false;
        return Ok((bytes, Screened { found, redacted }));
    }
    if writer.secrets == Policy::Refuse {
        return Err(EngineError::Secrets(found));
    }
    match self::redacted(writer, name, &bytes, &known) {
        Some(bytes) => {
            let redacted = true;
            Ok((bytes, Screened { found, redacted }))
        }
        None => Err(EngineError::Secrets(found)),
    }
}

/// Replaces the credentials in `bytes` that are not in `known`; `None` if that would damage the
/// file.
pub(in crate::engine) fn redacted(
    writer: &Writer,
    name: &str,
    bytes: &[u8],
    known: &[String],
) -> Option<Vec<u8>> {
    let redacted = without(std::str::from_utf8(bytes).ok()?, known)?.into_bytes();
    let before = preview(writer, name, bytes).problems;
    let after = preview(writer, name, &redacted).problems;
    after
        .iter()
        .all(|problem| before.contains(problem))
        .then_some(redacted)
}

/// Parses `bytes` as the memory at `name`, for checking before saving.
pub fn preview(writer: &Writer, name: &str, bytes: &[u8]) -> Memory {
    format::parse(&stem_of(name), bytes, writer.live.clock.now())
}

/// Returns the problems that the memory at `name` would have with `bytes`, and does not have with `before`. A note whose
/// name is no id needs no keys.
pub fn new_problems(writer: &Writer, name: &str, bytes: &[u8], before: &[u8]) -> Vec<Problem> {
    let known = preview(writer, name, before).problems;
    let mut new = preview(writer, name, bytes).problems;
    let needs_keys = stem_of(name).is_canonical();
    let is_new = |problem: &Problem| match problem {
        Problem::MissingKey(_) | Problem::NoFrontmatter if !needs_keys => false,
        // However large.
        Problem::FrontmatterTooLarge { .. } => {
            let is_it = |one: &Problem| matches!(one, Problem::FrontmatterTooLarge { .. });
            !known.iter().any(is_it)
        }
        problem => !known.contains(problem),
    };
    new.retain(is_new);
    new
}
