//! Reads memories by their names, whole or some lines of them.

use std::ops::RangeInclusive;

use crate::engine::error::EngineError;
use crate::engine::live::names;
use crate::engine::live::names::Recalled;
use crate::engine::live::read_cache::Shared;
use crate::engine::live::reading::before_reading;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::files::Place;
use crate::model::Memory;

/// Number of lines before and after the wanted ones that are returned with them.
const SURROUNDINGS: usize = 6;

/// Reads the memories called `ids`, in that order, with one result for each. `ID:LINES`, as `1f3a9c02:120-134`,
/// returns these lines of the content with their surroundings.
pub fn recall(engine: &Engine, ids: &[String]) -> Vec<Recalled> {
    let read = |id: &String| match recall_lines(engine, id) {
        Ok((memory, name)) => Recalled::Found { memory, name },
        Err(error) => Recalled::Failed {
            id: id.clone(),
            error,
        },
    };
    ids.iter().map(read).collect()
}

/// Reads the memory called `id`, or if there is none, the lines of one that it names.
fn recall_lines(engine: &Engine, id: &str) -> Result<(Box<Memory>, String), EngineError> {
    let whole = recall_one(engine, id);
    match (whole, wanted_lines(id)) {
        (Err(EngineError::NotFound(_)), Some((id, lines))) => {
            let (mut memory, name) = recall_one(engine, id)?;
            memory.content = surroundings(&memory.content, &lines).ok_or_else(|| {
                let count = memory.content.lines().count();
                EngineError::Invalid(format!(
                    "`{id}` has {count} lines, and no line {}",
                    lines.start()
                ))
            })?;
            Ok((memory, name))
        }
        (whole, _) => whole,
    }
}

/// Returns the id and the lines that `ID:LINES` names.
fn wanted_lines(id: &str) -> Option<(&str, RangeInclusive<usize>)> {
    let (id, lines) = id.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (1 <= first && first <= last && !id.is_empty()).then_some((id, first..=last))
}

/// Returns the lines of a content with those around them, and what is left out; `None` if there is no such line.
fn surroundings(content: &str, wanted: &RangeInclusive<usize>) -> Option<String> {
    let lines: Vec<&str> = content.lines().collect();
    if *wanted.start() > lines.len() {
        return None;
    }
    let first = wanted.start().saturating_sub(SURROUNDINGS).max(1);
    let last = wanted.end().saturating_add(SURROUNDINGS).min(lines.len());
    let mut text = String::new();
    if first > 1 {
        text += &format!("[… lines 1-{} left out]\n", first - 1);
    }
    for line in &lines[first - 1..last] {
        text += line;
        text.push('\n');
    }
    if last < lines.len() {
        text += &format!("[… lines {}-{} left out]\n", last + 1, lines.len());
    }
    Some(text)
}

/// Reads the memory called `id`; returns it with its file's name.
///
/// # Errors
///
/// Fails if no memory or several have the name, or if the file cannot be read.
pub fn recall_one(engine: &Engine, id: &str) -> Result<(Box<Memory>, String), EngineError> {
    recall_version(engine, id).map(|(memory, name, _)| (memory, name))
}

/// Does what [`recall_one`] does, and returns the hash of the file that was read, too.
///
/// # Errors
///
/// Fails as [`recall_one`] does.
pub fn recall_version(
    engine: &Engine,
    id: &str,
) -> Result<(Box<Memory>, String, u128), EngineError> {
    let live = &engine.live;
    // A folder's file is read as quickly as it is looked at. A database is asked only for what is not known.
    let cache = live.read_cache().filter(|_| live.directory().is_none());
    let Some(cache) = cache else {
        let (name, version) = names::read(live, id)?;
        let memory = Box::new(parse(&version.entry, &version.bytes));
        return Ok((memory, name, version.hash));
    };
    if let Ok((_, name)) = names::resolve(live, id) {
        let reader = live.store.reader(Place::Files);
        if let Some((hash, memory)) = cache.get(reader.as_ref(), &name) {
            return Ok((Box::new(memory.into_memory()), name, hash));
        }
    }
    let now = before_reading(live);
    let (name, version) = names::read(live, id)?;
    let memory = Shared::from(parse(&version.entry, &version.bytes));
    cache.put(&version.entry, version.hash, &memory, now);
    Ok((Box::new(memory.into_memory()), name, version.hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_behind_the_last_colon() {
        assert_eq!(wanted_lines("1f3a9c02:12-14"), Some(("1f3a9c02", 12..=14)));
        assert_eq!(wanted_lines("a:b:7"), Some(("a:b", 7..=7)));
        for other in ["1f3a9c02", "a:0", "a:9-7", "a:x", ":3", "a:1-2-3", "a:"] {
            assert_eq!(wanted_lines(other), None, "{other}");
        }
    }

    #[test]
    fn lines_come_with_those_around_them() {
        let lines: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
        let text = surroundings(&lines.join("\n"), &(10..=11)).unwrap();
        assert!(
            text.starts_with("[… lines 1-3 left out]\nline 4\n"),
            "{text}"
        );
        assert!(
            text.ends_with("line 17\n[… lines 18-30 left out]\n"),
            "{text}"
        );
        assert_eq!(surroundings("one\ntwo", &(2..=9)).unwrap(), "one\ntwo\n");
        assert_eq!(surroundings("one\ntwo", &(3..=3)), None);
    }
}
