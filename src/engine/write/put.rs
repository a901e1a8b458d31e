//! Writes one changed memory, if its file is unchanged since it was read.

use crate::engine::error::EngineError;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::replace;
use crate::engine::write::screen::{Screened, preview};
use crate::engine::write::writer::Writer;
use crate::files::{FilesError, Place, Replaced, Version};
use crate::model::{Memory, Stem};

/// Maximum number of versions that a change is made of before it gives up. On a busy machine a writer may lose to the
/// others many times in a row.
const MAX_VERSIONS: usize = 64;

/// Makes `attempt` anew, with the version that is there then, as long as it returns `None`: the
/// file that it read has changed meanwhile. `id` names the memory in the error.
///
/// # Errors
///
/// [`EngineError::Invalid`] after 64 attempts; otherwise those of `attempt`.
pub(in crate::engine) fn until_put<T>(
    id: &str,
    mut attempt: impl FnMut() -> Result<Option<T>, EngineError>,
) -> Result<T, EngineError> {
    for _ in 0..MAX_VERSIONS {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
    }
    Err(EngineError::Invalid(format!(
        "`{id}` changes faster than it can be written"
    )))
}

/// Writes the text that contradicts another one as a memory of its own.
pub(in crate::engine) fn put_aside(
    writer: &Writer,
    place: Place,
    stem: &Stem,
    text: &[u8],
) -> Result<(), EngineError> {
    let name = format!("{stem}.md");
    match writer.add((place, &name), text) {
        Err(FilesError::Taken { .. }) => Ok(()), // By a run that was killed.
        other => Ok(other?),
    }
}

/// Writes `bytes` over the version `seen`; `None` if the file has changed since.
pub(in crate::engine) fn put(
    writer: &Writer,
    name: &str,
    seen: &Version,
    bytes: &[u8],
    tool: &str,
) -> Result<Option<Edited>, EngineError> {
    if bytes == seen.bytes {
        let memory = parse(&seen.entry, bytes);
        return Ok(Some(Edited {
            memory,
            changed: false,
            screened: Screened::default(),
        }));
    }
    let replaced = match replace::replace_text(writer, Place::Files, name, seen, bytes) {
        Err(FilesError::Missing { .. }) => {
            return Err(EngineError::NotFound(stem_of(name).as_str().to_owned()));
        }
        other => other?,
    };
    if replaced.is_written() {
        // The record of `remember` names that it replaced an existing memory.
        writer.note_change_because(tool, name, (tool == "remember").then_some(REPLACED));
    }
    match replaced {
        Replaced::Done => Ok(Some(Edited {
            memory: preview(writer, name, bytes),
            changed: true,
            screened: Screened::default(),
        })),
        Replaced::Stale => Ok(None),
        Replaced::KeptOther => Err(EngineError::KeptOther {
            id: stem_of(name).short().to_owned(),
        }),
    }
}

/// Result of changing a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The memory after the change.
    pub memory: Memory,
    /// Whether a byte of its file was changed.
    pub changed: bool,
    /// Credentials that the change added.
    pub screened: Screened,
}

/// Reason in the record if `remember` replaced an existing memory.
pub(in crate::engine) const REPLACED: &str = "replaced what was there";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::engine::options::Options;
    use crate::engine::parts::Engine;
    use crate::engine::{live, ops};
    use crate::model::NewMemory;

    #[test]
    fn a_text_that_is_not_written_is_not_recorded() {
        let root = tempfile::tempdir().unwrap();
        let engine = Engine::open(Options::new(root.path()), Box::new(SystemClock)).unwrap();
        let new = NewMemory {
            agent: "a".to_owned(),
            user: "u".to_owned(),
            topics: vec!["t".to_owned()],
            content: "One.".to_owned(),
            ..NewMemory::default()
        };
        let stem = ops::remember(&engine, new, None).unwrap().stem;
        let (name, seen) = live::names::read(&engine.live, stem.as_str()).unwrap();
        let newer = [&seen.bytes[..], b"Two.\n"].concat();
        std::fs::write(root.path().join("files").join(&name), newer).unwrap();
        let records = || live::usage::records_of(&engine.live, &stem);
        let before = records().unwrap();
        let put = put(
            &engine.writer,
            &name,
            &seen,
            b"---\n---\n\nThree.\n",
            "update",
        );
        assert_eq!(put.unwrap(), None);
        assert_eq!(records().unwrap(), before);
    }
}
