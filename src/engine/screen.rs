//! Looks for credentials in what is to be written, and does about them what the store's user wants.
//!
//! Promises: what is found is told by kind and line, never by its text; a text that is to be
//! redacted is redacted before any of it reaches a disk. A memory may name credentials that it is
//! meant to hold, by their fingerprints; these are none here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::Engine;
use super::EngineError;
use crate::engine::live::reading::parse;
use crate::engine::live::reading::stem_of;
use crate::files::FilesError;
use crate::files::Place;
use crate::files::Replaced;
use crate::files::Version;
use crate::format;
use crate::model::Stem;
use crate::secrets;
use crate::secrets::Policy;
use crate::secrets::Secret;

/// A credential in a memory's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Such as `a GitHub token`.
    pub kind: &'static str,
    /// The line of the file on which it begins, from 1.
    pub line: usize,
}

/// What was found in a text that was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Screened {
    pub found: Vec<FoundSecret>,
    /// Whether something else was written in its place.
    pub redacted: bool,
}

/// A memory whose credentials were allowed or taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub stem: Stem,
    /// What this was about; empty if there was nothing to do.
    pub found: Vec<FoundSecret>,
}

/// What stands in a credential's place in the frontmatter, where brackets and colons mean things.
const WORD: &str = "redacted";
/// A replacement can set free what was no finding before; hardly ever twice.
const MAX_ROUNDS: usize = 16;
/// How often a change is made anew because somebody else was faster.
const MAX_TRIES: usize = 16;

impl fmt::Display for FoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on line {}", self.kind, self.line)
    }
}

impl Screened {
    /// A sentence about each finding.
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

/// The credentials of a file that it does not say it is meant to hold.
pub(super) fn not_allowed(bytes: &[u8]) -> Vec<FoundSecret> {
    not_allowed_by(bytes, &[])
}

/// As [`not_allowed`], also without those that are allowed besides.
pub(super) fn not_allowed_by(bytes: &[u8], besides: &[String]) -> Vec<FoundSecret> {
    let mut allowed = format::allowed_secrets(bytes);
    allowed.extend_from_slice(besides);
    found_but_in(bytes, &allowed)
}

/// The credentials in a text that is no memory, and allows none.
pub(super) fn found_in(bytes: &[u8]) -> Vec<FoundSecret> {
    found_but_in(bytes, &[])
}

fn found_but_in(bytes: &[u8], allowed: &[String]) -> Vec<FoundSecret> {
    // What other programs write in two bytes a letter has a NUL beside each of ours.
    let bytes = match memchr::memchr(0, bytes) {
        None => Cow::Borrowed(bytes),
        Some(_) => bytes.iter().copied().filter(|byte| *byte != 0).collect(),
    };
    let text = String::from_utf8_lossy(&bytes);
    told(&text, &found_but(&text, allowed))
}

fn found_but(text: &str, known: &[String]) -> Vec<Secret> {
    let mut found = secrets::find(text);
    if !known.is_empty() {
        found.retain(|secret| !known.contains(&secret.fingerprint(text)));
    }
    found
}

fn told(text: &str, found: &[Secret]) -> Vec<FoundSecret> {
    let told = |secret: &Secret| FoundSecret {
        kind: secret.kind,
        line: secret.line(text),
    };
    found.iter().map(told).collect()
}

/// The text without the credentials that are not among `known`; `None` if it cannot be had.
fn without(text: &str, known: &[String]) -> Option<String> {
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

impl Engine {
    /// What is to be written to the file `name` in place of `bytes`, and what was found in them.
    /// What the text `before` held already is nothing that this change brings.
    ///
    /// # Errors
    ///
    /// [`EngineError::Secrets`] if nothing is to be written.
    pub(super) fn screen(
        &self,
        name: &str,
        before: Option<&[u8]>,
        bytes: Vec<u8>,
    ) -> Result<(Vec<u8>, Screened), EngineError> {
        if self.secrets == Policy::Off {
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
        let found = told(&text, &found);
        if found.is_empty() || self.secrets == Policy::Warn {
            let redacted = false;
            return Ok((bytes, Screened { found, redacted }));
        }
        if self.secrets == Policy::Refuse {
            return Err(EngineError::Secrets(found));
        }
        match self.redacted(name, &bytes, &known) {
            Some(bytes) => {
                let redacted = true;
                Ok((bytes, Screened { found, redacted }))
            }
            None => Err(EngineError::Secrets(found)),
        }
    }

    /// `bytes` without the credentials that are not among `known`; `None` if the file would be
    /// damaged by it.
    fn redacted(&self, name: &str, bytes: &[u8], known: &[String]) -> Option<Vec<u8>> {
        let redacted = without(std::str::from_utf8(bytes).ok()?, known)?.into_bytes();
        let before = self.preview(name, bytes).problems;
        let after = self.preview(name, &redacted).problems;
        after
            .iter()
            .all(|problem| before.contains(problem))
            .then_some(redacted)
    }

    /// Notes in the memory called `id`, live or forgotten, that it is meant to hold the credentials
    /// that it holds now.
    ///
    /// # Errors
    ///
    /// Fails if there is no such memory, or its frontmatter has no end.
    pub fn allow_secrets(&self, id: &str) -> Result<Settled, EngineError> {
        self.settle_secrets(id, "allow", |_, version| {
            let bytes = &version.bytes;
            let text = String::from_utf8_lossy(bytes);
            let found = found_but(&text, &format::allowed_secrets(bytes));
            let names: HashSet<String> = found.iter().map(|one| one.fingerprint(&text)).collect();
            let mut names: Vec<String> = names.into_iter().collect();
            names.sort_unstable();
            let bytes = match names.is_empty() {
                true => bytes.clone(),
                false => {
                    let memory = parse(&version.entry, bytes);
                    format::allow_secrets(&format::with_frontmatter(bytes, &memory), &names)?
                }
            };
            Ok((bytes, told(&text, &found)))
        })
    }

    /// Replaces the credentials in the memory called `id`, live or forgotten, also those that it
    /// was meant to hold.
    ///
    /// # Errors
    ///
    /// Fails if there is no such memory, or if they cannot be replaced without damage.
    pub fn redact_secrets(&self, id: &str) -> Result<Settled, EngineError> {
        self.settle_secrets(id, "redact", |name, version| {
            let bytes = &version.bytes;
            let text = String::from_utf8_lossy(bytes);
            let found = told(&text, &secrets::find(&text));
            let redacted = match found.is_empty() {
                true => Some(bytes.clone()),
                false => self.redacted(name, bytes, &[]),
            };
            let redacted = redacted.ok_or_else(|| {
                EngineError::Invalid(format!(
                    "what `{id}` holds cannot be replaced without damage to its file; take it out with `memdir edit {id}`"
                ))
            })?;
            Ok((redacted, found))
        })
    }

    fn settle_secrets(
        &self,
        id: &str,
        tool: &str,
        change: impl Fn(&str, &Version) -> Result<(Vec<u8>, Vec<FoundSecret>), EngineError>,
    ) -> Result<Settled, EngineError> {
        self.check_writable()?;
        for _ in 0..MAX_TRIES {
            let (place, name, seen) = self.read_anywhere(id)?;
            let (bytes, found) = change(&name, &seen)?;
            let settled = Settled {
                stem: stem_of(&name),
                found,
            };
            if tool == "redact" && !settled.found.is_empty() {
                self.forget_in_plans(std::slice::from_ref(&settled.stem));
            }
            if bytes == seen.bytes {
                return Ok(settled);
            }
            let replaced = match self.store.replace(place, &name, &seen, &bytes) {
                Err(FilesError::Missing { .. }) => continue, // Forgotten or restored meanwhile.
                other => other?,
            };
            self.changed_with(tool, &name);
            match replaced {
                Replaced::Done => return Ok(settled),
                Replaced::Stale => {}
                Replaced::KeptOther => {
                    return Err(EngineError::KeptOther {
                        id: settled.stem.short().to_owned(),
                    });
                }
            }
        }
        Err(EngineError::Invalid(format!(
            "`{id}` changes faster than it can be written"
        )))
    }

    /// The memory called `id`, wherever it lies.
    fn read_anywhere(&self, id: &str) -> Result<(Place, String, Version), EngineError> {
        match self.read(id) {
            Err(EngineError::NotFound(_)) => {
                let (_, name) = self.resolve_archived(id)?;
                let version = self.store.reader(Place::Archive).read(&name, u64::MAX)?;
                Ok((Place::Archive, name, version))
            }
            other => other.map(|(name, version)| (Place::Files, name, version)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> String {
        format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi")
    }

    #[test]
    fn a_word_stands_in_the_frontmatter_and_a_mark_in_the_content() {
        let token = token();
        let text = format!("---\nid: aaaaaaaa\ntitle: {token}\n---\n\nUse {token}.\n");
        assert_eq!(
            without(&text, &[]).unwrap(),
            "---\nid: aaaaaaaa\ntitle: redacted\n---\n\nUse [redacted: a GitHub token].\n"
        );
    }

    #[test]
    fn what_a_memory_may_hold_is_none() {
        let text = format!("---\nid: aaaaaaaa\n---\n\n{}\n", token());
        let found = secrets::find(&text);
        assert_eq!(not_allowed(text.as_bytes()).len(), 1);
        let name = found[0].fingerprint(&text);
        let allowed = format::allow_secrets(text.as_bytes(), std::slice::from_ref(&name)).unwrap();
        assert_eq!(not_allowed(&allowed), []);
        assert_eq!(format::allowed_secrets(&allowed), [name]);
        let another = token().replace("R7mQ", "Z3nW");
        let more = [allowed, another.into_bytes()].concat();
        assert_eq!(not_allowed(&more).len(), 1);
    }
}
