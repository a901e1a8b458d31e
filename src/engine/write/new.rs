//! Writes a new memory: its handle, its name, its frontmatter.

use crate::engine::call_scope;
use crate::engine::error::EngineError;
use crate::engine::texts::parse;
use crate::engine::write::screen;
use crate::engine::write::screen::Screened;
use crate::engine::write::writer::Writer;
use crate::files::{FilesError, Place};
use crate::format;
use crate::model::{Handle, Memory, NewMemory, Stem, Timestamp};

/// Maximum number of names drawn; a second one is needed once in four billion times.
pub(in crate::engine) const MAX_DRAWS: usize = 16;

/// Draws a name and writes the memory; draws again if the name is taken.
pub(in crate::engine) fn write_new(
    writer: &Writer,
    memory: &NewMemory,
    tool: &str,
) -> Result<(Stem, Screened), EngineError> {
    let add = |writer: &Writer, name: &str, bytes: &[u8]| writer.add((Place::Files, name), bytes);
    write_new_by(writer, memory, tool, add)
}

/// As [`write_new`], with `add` writing the file.
pub(in crate::engine) fn write_new_by(
    writer: &Writer,
    memory: &NewMemory,
    tool: &str,
    add: impl Fn(&Writer, &str, &[u8]) -> Result<(), FilesError>,
) -> Result<(Stem, Screened), EngineError> {
    writer.create()?;
    if let Some(written) = written_before(writer, memory, tool)? {
        return Ok(written);
    }
    let timestamp = time_of(writer, memory);
    let mut wanted = memory.handle;
    for _ in 0..MAX_DRAWS {
        let stem = match wanted.take() {
            Some(handle) => Stem::new(timestamp.utc(), handle),
            None => Stem::new(timestamp.utc(), draw_handle(writer)),
        };
        let (name, bytes, screened) = rendered(writer, memory, &stem, &timestamp)?;
        call_scope::announce(&stem);
        match add(writer, &name, &bytes) {
            Ok(()) => {
                writer.note_change(tool, &name);
                return Ok((stem, screened));
            }
            // Taken by another memory, or the temporary file was removed: repeated.
            Err(FilesError::Taken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(EngineError::Invalid(format!(
        "no free name was found in {MAX_DRAWS} draws"
    )))
}

/// Returns the memory that this call wrote when it was made before, if it did: one of those that were
/// announced then, and that says what `memory` says.
pub(in crate::engine) fn written_before(
    writer: &Writer,
    memory: &NewMemory,
    tool: &str,
) -> Result<Option<(Stem, Screened)>, EngineError> {
    for stem in call_scope::earlier() {
        let name = writer.live.new_name(&stem);
        let Ok(there) = writer.live.store.reader(Place::Files).read(&name, u64::MAX) else {
            continue; // The process ended before it was written.
        };
        let known = parse(&there.entry, &there.bytes);
        // Rendered, because credentials may have been replaced.
        let (_, bytes, screened) = rendered(writer, memory, &stem, &known.timestamp)?;
        let again = format::parse(&stem, &bytes, known.timestamp.utc());
        let same = |one: &Memory| (one.content.clone(), one.title.clone(), one.user.clone());
        if same(&known) == same(&again) {
            call_scope::claim(&stem);
            // That process may have ended before it noted the change.
            writer.note_change(tool, &name);
            return Ok(Some((stem, screened)));
        }
    }
    Ok(None)
}

/// Returns the time that a new memory states, or the present time.
pub(in crate::engine) fn time_of(writer: &Writer, memory: &NewMemory) -> Timestamp {
    let now = || Timestamp::from_utc(writer.live.clock.now());
    memory.timestamp.clone().unwrap_or_else(now)
}

/// Returns the name and the bytes of the file of a new memory with this `stem`, and the credentials in
/// them.
pub(in crate::engine) fn rendered(
    writer: &Writer,
    memory: &NewMemory,
    stem: &Stem,
    timestamp: &Timestamp,
) -> Result<(String, Vec<u8>, Screened), EngineError> {
    let text = format::render(memory, stem, timestamp)?;
    let name = writer.live.new_name(stem);
    let (bytes, screened) = screen::screen(writer, &name, None, text.into_bytes())?;
    Ok((name, bytes, screened))
}

/// Draws a handle that no memory has, as known to this process. An error of the check is
/// ignored: names are unique by their time, too.
pub(in crate::engine) fn draw_handle(writer: &Writer) -> Handle {
    let known = writer.live.latest();
    (0..MAX_DRAWS)
        .map(|_| Handle::draw())
        .find(|handle| match &known {
            Some(snapshot) => snapshot.handle_count(handle.as_str()) == 0,
            None => !writer.live.store.has_handle(handle.as_str()),
        })
        .unwrap_or_else(Handle::draw)
}
