//! Turns notes written by hand into memories, with the names and keys of memories.
//!
//! Promises: a note keeps its folder, its time, its text and its keys; its old name becomes
//! its title where it has none. Links to it from other notes and memories are updated. Nothing is
//! overwritten unseen. An interrupted run is finished by the next one: the new names of notes
//! are written into their frontmatter before a link or a file name changes.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::engine::error::EngineError;
use crate::engine::history::commits::message::Reason;
use crate::engine::history::turn;
use crate::engine::live::names;
use crate::engine::live::names::nearest;
use crate::engine::ops::finding::Finding;
use crate::engine::ops::update::edited;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::engine::write::{new, put};
use crate::files::{FilesError, Lock, Place, Replaced, Version, is_held, said};
use crate::format;
use crate::format::NoteLink;
use crate::model::{Change, Handle, Link, Memory, Patch, Problem, Stem};

/// Author of notes that name none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteAuthor {
    /// Agent of the notes.
    pub agent: String,
    /// User of the notes.
    pub user: String,
}

/// A note and its new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdoptedNote {
    /// Path of its file, below the folder of memories.
    pub name: String,
    /// New path, below the folder of memories.
    pub new_name: String,
    /// Stem of the memory.
    pub stem: Stem,
}

/// Result of an adoption or of its dry run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Adopted {
    /// Adopted notes.
    pub notes: Vec<AdoptedNote>,
    /// Other files whose links were updated.
    pub linking: Vec<String>,
    /// Files that were not adopted, with the reasons.
    pub left: Vec<(String, String)>,
}

/// Maximum number of times a note is read again because another process changes it.
const MAX_TRIES: usize = 8;

const CHANGES: &str = "somebody else changes it at this moment";

/// Adopts the notes with these names, or all that lack a part of a memory; with `dry_run` only
/// returns what would happen, with handles that are drawn anew later.
///
/// # Errors
///
/// Fails if there is no such note, or if the store cannot be read or written.
pub fn adopt_notes(
    engine: &Engine,
    ids: &[String],
    writer: &NoteAuthor,
    dry_run: bool,
) -> Result<Adopted, EngineError> {
    if dry_run {
        let (adopted, _) = to_adopt(engine, ids, writer)?;
        let renames = Renames::of(&live_names(engine)?, &adopted.notes);
        return relink(engine, adopted, &renames, true, &mut BTreeSet::new());
    }
    engine.writer.check_writable()?;
    let run = AdoptionRun::begin(&adoption_mark(engine), ids)?;
    let turn = match engine.history.git {
        None => None,
        Some(_) => Some(turn::take_turn(&engine.history)?),
    };
    let (mut adopted, texts) = to_adopt(engine, ids, writer)?;
    let mut changed = BTreeSet::new();
    // Links use the present name of a note.
    let renames = Renames::of(&live_names(engine)?, &adopted.notes);
    for (name, version, bytes) in texts {
        if put::put(&engine.writer, &name, &version, &bytes, "adopt")?.is_none() {
            adopted.notes.retain(|note| note.name != name);
            adopted.left.push((name, CHANGES.to_owned()));
            continue;
        }
        changed.insert(name);
    }
    let renames = renames.only(&adopted.notes);
    let mut adopted = relink(engine, adopted, &renames, false, &mut changed)?;
    let mut folders = BTreeSet::new();
    for note in std::mem::take(&mut adopted.notes) {
        let (from, to) = (&note.name, &note.new_name);
        match from == to {
            true => {}
            false => match engine
                .writer
                .rename((Place::Files, from), (Place::Files, to))
            {
                Ok(()) => {
                    engine.writer.note_change("adopt", from);
                    engine.writer.note_change("adopt", to);
                    folders.insert(folder_of(to).to_owned());
                    changed.extend([from.clone(), to.clone()]);
                }
                Err(error @ (FilesError::Missing { .. } | FilesError::Taken { .. })) => {
                    adopted.left.push((note.name, error.to_string()));
                    continue;
                }
                Err(error) => return Err(error.into()),
            },
        }
        adopted.notes.push(note);
    }
    for folder in folders {
        engine.writer.sync_folder(Place::Files, &folder)?;
    }
    if let Some((_lock, user)) = turn {
        let subject = match adopted.notes.len() {
            1 => "Adopt 1 note".to_owned(),
            count => format!("Adopt {count} notes"),
        };
        let reason = Reason {
            subject,
            trailers: Vec::new(),
        };
        turn::commit_as(&engine.history, changed, user, &reason)?;
    }
    run.end();
    Ok(adopted)
}

fn adoption_mark(engine: &Engine) -> PathBuf {
    engine.live.state().join("adoption.lock")
}

/// Returns a finding if an adoption was interrupted.
pub(in crate::engine) fn unfinished_adoption(engine: &Engine) -> Option<Finding> {
    let mark = adoption_mark(engine);
    let is_left = mark.exists() && !is_held(&mark);
    is_left.then(|| Finding {
        file: "files".to_owned(),
        problem: Problem::AdoptionUnfinished,
    })
}

fn live_names(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let entries = engine.live.store.list(Place::Files)?.entries.into_iter();
    Ok(entries.map(|entry| entry.name).collect())
}

/// Returns the notes to adopt, with the present version and the new bytes of their files.
#[expect(
    clippy::type_complexity,
    reason = "each part is named where it is used"
)]
fn to_adopt(
    engine: &Engine,
    ids: &[String],
    writer: &NoteAuthor,
) -> Result<(Adopted, Vec<(String, Version, Vec<u8>)>), EngineError> {
    let names = match ids {
        [] => live_names(engine)?,
        ids => {
            let names = ids.iter().map(|id| Ok(names::resolve(&engine.live, id)?.1));
            let names: BTreeSet<String> = names.collect::<Result<_, EngineError>>()?;
            names.into_iter().collect()
        }
    };
    let reader = engine.live.store.reader(Place::Files);
    let (mut adopted, mut texts) = (Adopted::default(), Vec::new());
    let mut taken = BTreeSet::new();
    for name in names {
        let Ok(version) = reader.read(&name, u64::MAX) else {
            continue; // Gone, or `status` tells of it.
        };
        let memory = parse(&version.entry, &version.bytes);
        if !lacks_something(&memory) {
            continue;
        }
        let stem = stem_for(engine, &memory, &mut taken);
        let title = (stem != memory.stem && memory.title.is_none()).then(|| memory.stem.as_str());
        match format::adopted(
            &version.bytes,
            &memory,
            (&stem, title),
            (&writer.agent, &writer.user),
        ) {
            Ok(bytes) => {
                let new_name = match folder_of(&name) {
                    "" => format!("{stem}.md"),
                    folder => format!("{folder}/{stem}.md"),
                };
                adopted.notes.push(AdoptedNote {
                    name: name.clone(),
                    new_name,
                    stem,
                });
                texts.push((name, version, bytes));
            }
            Err(error) => adopted.left.push((name, error.to_string())),
        }
    }
    Ok((adopted, texts))
}

/// Returns the new stem of a note: from its time and the handle that it has, if it is free.
fn stem_for(engine: &Engine, memory: &Memory, taken: &mut BTreeSet<Handle>) -> Stem {
    if memory.stem.is_canonical() {
        return memory.stem.clone();
    }
    let is_free = |handle: &Handle| !engine.live.store.has_handle(handle.as_str());
    let given = Handle::parse(&memory.id).filter(is_free);
    let handle = given.filter(|handle| !taken.contains(handle));
    let handle = handle.unwrap_or_else(|| new::draw_handle(&engine.writer));
    taken.insert(handle);
    Stem::new(memory.timestamp.utc(), handle)
}

/// Updates the links in all live files to the new names of the notes.
fn relink(
    engine: &Engine,
    mut adopted: Adopted,
    renames: &Renames,
    dry_run: bool,
    changed: &mut BTreeSet<String>,
) -> Result<Adopted, EngineError> {
    if renames.new_stems.is_empty() {
        return Ok(adopted);
    }
    'files: for name in live_names(engine)? {
        for _ in 0..MAX_TRIES {
            let Ok(version) = engine.live.store.reader(Place::Files).read(&name, u64::MAX) else {
                continue 'files;
            };
            let memory = parse(&version.entry, &version.bytes);
            let bytes = renames.relinked(&name, &memory, &version.bytes)?;
            if bytes == version.bytes {
                continue 'files;
            }
            let is_own = adopted.notes.iter().any(|note| note.name == name);
            let is_written = match (dry_run, is_own) {
                (true, _) => true,
                (false, false) => {
                    put::put(&engine.writer, &name, &version, &bytes, "adopt")?.is_some()
                }
                // The version that this run wrote needs no copy.
                (false, true) => {
                    let at = (Place::Files, name.as_str());
                    engine.writer.replace(at, &version, &bytes)? == Replaced::Done
                }
            };
            if is_written {
                if !is_own {
                    adopted.linking.push(name.clone());
                }
                changed.insert(name);
                continue 'files;
            }
        }
        adopted.left.push((name, CHANGES.to_owned()));
    }
    Ok(adopted)
}

/// A run of `adopt`, held as a lock whose file stays if the run is killed.
struct AdoptionRun {
    mark: PathBuf,
    lock: Lock,
    /// Whether the run covers all notes of an unfinished one.
    is_all: bool,
}

impl AdoptionRun {
    /// First line of the lock's file; the ids that were asked for follow.
    const HEAD: &str = "adopt";

    fn begin(mark: &Path, ids: &[String]) -> Result<AdoptionRun, EngineError> {
        let left = said(mark).map(|(text, _)| text);
        let lock = Lock::take(mark, "the adoption of notes")?;
        let left = left.filter(|text| text.starts_with(Self::HEAD));
        let is_all = left.as_ref().is_none_or(|left| {
            let mut left = left.lines().skip(1).peekable();
            ids.is_empty()
                || (left.peek().is_some() && left.all(|id| ids.iter().any(|own| own == id)))
        });
        let text = match left {
            Some(left) if !is_all => left,
            _ => [&[Self::HEAD.to_owned()], ids].concat().join("\n"),
        };
        // Only `status` reads it.
        let _ = Lock::say(mark, &text);
        Ok(AdoptionRun {
            mark: mark.to_owned(),
            lock,
            is_all,
        })
    }

    fn end(self) {
        if self.is_all {
            // `status` reports a file that stays, and the next run removes it.
            let _ = self.lock.remove(&self.mark);
        }
    }
}

/// Whether a file lacks a part of a memory. A copy of another memory is left to the user.
fn lacks_something(memory: &Memory) -> bool {
    let is_copy =
        |problem: &Problem| matches!(problem, Problem::ConflictCopyOf(_) | Problem::Empty);
    let is_lacking = |problem: &Problem| {
        matches!(
            problem,
            Problem::ForeignName
                | Problem::NoFrontmatter
                | Problem::FrontmatterNotClosed
                | Problem::MissingKey(_)
        )
    };
    !memory.problems.iter().any(is_copy) && memory.problems.iter().any(is_lacking)
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Links that refer to renamed notes.
struct Renames {
    /// New stems, by file names.
    new_stems: HashMap<String, String>,
    /// Files by the ends of their paths, in lower case.
    by_end: HashMap<String, Vec<String>>,
}

impl Renames {
    /// Collects the new names of the notes `adopted`; `names` are all files.
    fn of(names: &[String], adopted: &[AdoptedNote]) -> Renames {
        let mut by_end: HashMap<String, Vec<String>> = HashMap::new();
        for name in names {
            let path = without_ending(name).to_lowercase();
            let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
            for end in ends.chain([path.as_str()]) {
                let files = by_end.entry(end.to_owned()).or_default();
                files.push(name.clone());
            }
        }
        let new_stems = adopted.iter().filter(|note| note.name != note.new_name);
        let new_stems = new_stems.map(|note| (note.name.clone(), note.stem.as_str().to_owned()));
        Renames {
            new_stems: new_stems.collect(),
            by_end,
        }
    }

    /// Keeps the new names of these notes only.
    fn only(mut self, adopted: &[AdoptedNote]) -> Renames {
        let names: BTreeSet<&str> = adopted.iter().map(|note| note.name.as_str()).collect();
        self.new_stems
            .retain(|name, _| names.contains(name.as_str()));
        self
    }

    /// Returns the new target of `[[link]]` in the file `from`.
    fn of_mention(&self, link: &str, from: &str) -> Option<String> {
        let link = link.strip_prefix("files/").unwrap_or(link);
        let meant = self.by_end.get(&without_ending(link).to_lowercase())?;
        let meant: Vec<&str> = meant.iter().map(String::as_str).collect();
        self.new_stems.get(nearest(&meant, link, from)?).cloned()
    }

    /// Returns the new target of a link by name in a key; `None` for one that may mean several files.
    fn of_name(&self, link: &str) -> Option<String> {
        let link = link.strip_prefix("files/").unwrap_or(link);
        let path = without_ending(link).to_lowercase();
        let meant = self.by_end.get(&path)?;
        let is_whole = |name: &&String| without_ending(name).to_lowercase() == path;
        let only = match meant.as_slice() {
            [only] => only,
            several => several.iter().find(is_whole)?,
        };
        self.new_stems.get(only).cloned()
    }

    /// Returns the new target of a link by path in the file `name`.
    fn of_path(&self, name: &str, path: &str) -> Option<String> {
        let new = self.new_stems.get(&format::path_from(name, path))?;
        let folder = path.rfind('/').map_or("", |slash| &path[..=slash]);
        Some(format!("{folder}{new}.md"))
    }

    /// Returns the bytes of `memory`, the file `name`, with updated links.
    fn relinked(&self, name: &str, memory: &Memory, bytes: &[u8]) -> Result<Vec<u8>, EngineError> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Ok(bytes.to_vec());
        };
        let text = format::relinked(text, &|link| match link {
            NoteLink::Wiki(link) => self.of_mention(link, name),
            NoteLink::Path(path) => self.of_path(name, path),
        });
        let mut change = Change::default();
        let links = memory.links.iter().map(|link| Link {
            to: self.of_name(&link.to).unwrap_or_else(|| link.to.clone()),
            ..link.clone()
        });
        let links: Vec<Link> = links.collect();
        if links != memory.links {
            change.links = Patch::Set(links);
        }
        let older = memory.supersedes.iter();
        let older: Vec<String> = older
            .map(|stem| self.of_name(stem).unwrap_or_else(|| stem.clone()))
            .collect();
        if older != memory.supersedes {
            change.supersedes = Patch::Set(older);
        }
        if let Some(newer) = memory
            .superseded_by
            .as_deref()
            .and_then(|stem| self.of_name(stem))
        {
            change.superseded_by = Patch::Set(newer);
        }
        match change == Change::default() {
            true => Ok(text.into_owned().into_bytes()),
            false => Ok(edited(memory, text.as_bytes(), &change)?),
        }
    }
}

fn without_ending(name: &str) -> &str {
    name.strip_suffix(".md").unwrap_or(name)
}
