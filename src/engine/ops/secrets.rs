//! Decisions of the user about credentials that were found: allow or redact them.

use std::collections::HashSet;

use crate::engine::error::{EngineError, FoundSecret};
use crate::engine::history::commits::replaced;
use crate::engine::live::names;
use crate::engine::ops::maintenance::purged;
use crate::engine::ops::past::purge::earlier_texts;
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::screen::{found_but, found_secrets};
use crate::engine::write::{put, screen};
use crate::files::{FilesError, FilesOf, Place, Replaced, Version};
use crate::model::Stem;
use crate::{format, secrets};

/// A memory whose credentials were allowed or redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Stem of the memory.
    pub stem: Stem,
    /// Credentials that were allowed or redacted; empty if there were none.
    pub found: Vec<FoundSecret>,
}

/// Records in the memory called `id`, live or forgotten, that it may hold the credentials
/// that it holds now.
///
/// # Errors
///
/// Fails if there is no such memory, or its frontmatter is not closed.
pub fn allow_secrets(engine: &Engine, id: &str) -> Result<Settled, EngineError> {
    settle_secrets(engine, id, "allow", |_, version| {
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
        Ok((bytes, found_secrets(&text, &found)))
    })
}

/// Replaces the credentials in the memory called `id`, live or forgotten, and in its earlier texts, also those that
/// were allowed.
///
/// # Errors
///
/// Fails if there is no such memory, or if they cannot be replaced without damage.
pub fn redact_secrets(engine: &Engine, id: &str) -> Result<Settled, EngineError> {
    let mut settled = redact_one(engine, id)?;
    for (earlier, _) in earlier_texts(engine, [&settled.stem])? {
        let of_earlier = redact_one(engine, earlier.as_str())?;
        settled.found.extend(of_earlier.found);
    }
    Ok(settled)
}

fn redact_one(engine: &Engine, id: &str) -> Result<Settled, EngineError> {
    settle_secrets(engine, id, "redact", |name, version| {
        let bytes = &version.bytes;
        let text = String::from_utf8_lossy(bytes);
        let found = found_secrets(&text, &secrets::find(&text));
        let redacted = match found.is_empty() {
            true => Some(bytes.clone()),
            false => screen::redacted(&engine.writer, name, bytes, &[]),
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
    engine: &Engine,
    id: &str,
    tool: &str,
    change: impl Fn(&str, &Version) -> Result<(Vec<u8>, Vec<FoundSecret>), EngineError>,
) -> Result<Settled, EngineError> {
    engine.writer.check_writable()?;
    put::until_put(id, || {
        let (place, name, seen) = read_anywhere(engine, id)?;
        let (bytes, found) = change(&name, &seen)?;
        let settled = Settled {
            stem: stem_of(&name),
            found,
        };
        if tool == "redact" && !settled.found.is_empty() {
            purged::forget_in_plans(engine, std::slice::from_ref(&settled.stem));
        }
        if bytes == seen.bytes {
            return Ok(Some(settled));
        }
        // Before and after the change: where the call ends in between, its repetition finds nothing to do.
        let erase_former = || match tool == "redact" {
            true => {
                replaced::forget_secrets(&engine.history, &name);
                engine.writer.erase_former(FilesOf::Name(&name))
            }
            false => Ok(()),
        };
        erase_former()?;
        let replaced = match engine.writer.replace((place, &name), &seen, &bytes) {
            Err(FilesError::Missing { .. }) => return Ok(None), // Forgotten or restored meanwhile.
            other => other?,
        };
        if replaced.is_written() {
            engine.writer.note_change(tool, &name);
        }
        erase_former()?;
        match replaced {
            Replaced::Done => Ok(Some(settled)),
            Replaced::Stale => Ok(None),
            Replaced::KeptOther => Err(EngineError::KeptOther {
                id: settled.stem.short().to_owned(),
            }),
        }
    })
}

/// Reads the memory called `id`, live or forgotten.
fn read_anywhere(engine: &Engine, id: &str) -> Result<(Place, String, Version), EngineError> {
    match names::read(&engine.live, id) {
        Err(EngineError::NotFound(_)) => {
            let (_, name) = names::resolve_archived(&engine.live, id)?;
            let version = engine
                .live
                .store
                .reader(Place::Archive)
                .read(&name, u64::MAX)?;
            Ok((Place::Archive, name, version))
        }
        other => other.map(|(name, version)| (Place::Files, name, version)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::write::screen::{not_allowed, without};

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
