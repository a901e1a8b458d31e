//! Finds lines by regular expression, reading only the files that can match.

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, index_recovery, rows, usage};
use crate::engine::parts::Engine;
use crate::files::{FilesError, Place, Version};
use crate::literals::required;
use crate::model::{Filter, Talks, is_talk_name};
use rayon::prelude::*;
use regex::bytes::{Regex, RegexBuilder};

/// One line that matches the pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// Path of the file below the memory directory.
    pub name: String,
    /// Line number, from 1.
    pub number: usize,
    /// Text without its line end.
    pub text: Vec<u8>,
    /// Byte range of the first match in the text.
    pub matched: (usize, usize),
}

/// Maximum size of a pattern in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// Maximum size of a compiled pattern in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// Number of files that are read in parallel; the results stream group by group.
const GROUP: usize = 256;

/// Calls `each` with every line of every memory file (frontmatter too) that matches
/// `pattern`, by file name and line, until it returns `false`.
///
/// # Errors
///
/// Fails if the pattern is no regular expression, or if the directory cannot be read.
pub fn grep(
    engine: &Engine,
    pattern: &str,
    ignore_case: bool,
    filter: &Filter,
    each: &mut dyn FnMut(&GrepLine) -> bool,
) -> Result<(), EngineError> {
    let regex = compile(pattern, ignore_case)?;
    let names = index_recovery::mending(&engine.live, || {
        grep_candidates(engine, pattern, ignore_case, filter)
    })?;
    let reader = engine.live.store.reader(Place::Files);
    let lines = |read: Result<Version, FilesError>| match read {
        Ok(version) => matching_lines(&regex, &version.entry.name, &version.bytes),
        Err(_) => Vec::new(), // Gone or unreadable since it was listed.
    };
    let together = match engine.live.directory() {
        Some(_) => GROUP,
        None => rows::TOGETHER,
    };
    for group in names.chunks(together) {
        let all: Vec<&str> = group.iter().map(String::as_str).collect();
        let found: Vec<Vec<GrepLine>> = match reader.read_many(&all, u64::MAX) {
            Some(read) => read.into_par_iter().map(lines).collect(),
            None => {
                let read = all.par_iter().map(|name| reader.read(name, u64::MAX));
                read.map(lines).collect()
            }
        };
        if !found.iter().flatten().all(&mut *each) {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the names of the files to read, sorted.
fn grep_candidates(
    engine: &Engine,
    pattern: &str,
    ignore_case: bool,
    filter: &Filter,
) -> Result<Vec<String>, EngineError> {
    let snapshot = current_snapshot::snapshot(&engine.live)?;
    let narrowed = match required_literals(pattern, ignore_case) {
        Some(alternatives) => snapshot.containing(&alternatives)?,
        None => None,
    };
    let is_any = *filter == Filter::default();
    let mut names: Vec<String> = match narrowed {
        Some(mut names) => {
            // What lies beyond the indexed part of a large file has no trigrams.
            names.extend(snapshot.cut());
            match is_any {
                true => names,
                false => usage::at_once(&engine.live, |moment| {
                    let texts = |name: &str| rows::read_memory(&engine.live, name);
                    snapshot.passing(names.clone(), filter, moment, &texts)
                })?,
            }
        }
        None if is_any => snapshot.files().map(|(name, _)| name.to_owned()).collect(),
        None => rows::names_of(&engine.live, snapshot.as_ref(), filter)?,
    };
    if filter.talks != Talks::Everywhere && filter.stems.is_none() {
        names.retain(|name| !is_talk_name(name));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex, EngineError> {
    let bad = |what: String| {
        EngineError::Invalid(format!(
            "cannot search for `{}`: {what}",
            shortened(pattern)
        ))
    };
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(bad(format!(
            "the pattern is longer than {MAX_PATTERN_BYTES} bytes"
        )));
    }
    RegexBuilder::new(pattern)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| bad(error.to_string().trim().to_owned()))
}

fn shortened(pattern: &str) -> String {
    if pattern.chars().count() <= 60 {
        return pattern.to_owned();
    }
    pattern.chars().take(59).chain(['…']).collect()
}

/// Returns texts of which each matching line contains at least one, as alternatives; `None` if
/// the pattern requires none.
fn required_literals(pattern: &str, ignore_case: bool) -> Option<Vec<Vec<String>>> {
    let hir = regex_syntax::ParserBuilder::new()
        .case_insensitive(ignore_case)
        .utf8(false)
        .build()
        .parse(pattern)
        .ok()?;
    // A text of fewer than three characters has no trigram and narrows nothing down.
    let texts = required(&hir, 3)?.into_iter().map(String::from_utf8);
    let mut texts: Vec<String> = texts.collect::<Result<_, _>>().ok()?;
    if texts.iter().any(|text| text.chars().count() < 3) {
        return None;
    }
    // The index ignores case.
    texts
        .iter_mut()
        .for_each(|text| text.make_ascii_lowercase());
    texts.sort_unstable();
    texts.dedup();
    Some(texts.into_iter().map(|text| vec![text]).collect())
}

fn matching_lines(regex: &Regex, name: &str, bytes: &[u8]) -> Vec<GrepLine> {
    let mut lines = Vec::new();
    // A byte order mark is no part of the first line.
    let (mark, mut number) = (b"\xef\xbb\xbf", 0);
    let mut start = if bytes.starts_with(mark) {
        mark.len()
    } else {
        0
    };
    while start < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |at| start + at);
        let line = bytes[start..end]
            .strip_suffix(b"\r")
            .unwrap_or(&bytes[start..end]);
        number += 1;
        if let Some(found) = regex.find(line) {
            let matched = (found.start(), found.end());
            lines.push(GrepLine {
                name: name.to_owned(),
                number,
                text: line.to_vec(),
                matched,
            });
        }
        start = end + 1;
    }
    lines
}
