//! Removes memories for good, and leaves tombstones: nothing brings them back.
//!
//! Promises: a tombstone is in the store before the first file is removed, so that an interrupted
//! purge can be done again; the tombstone never holds any of the text. The history is not rewritten:
//! what was committed stays in it, and the result reports that.
//!
//! Under the lock of commits: first the tombstone, then the files, then a commit of just these, so
//! that an uncommitted text is never committed. A merge checks the tombstones of both
//! sides. An id is one memory in every folder; under another name only the named file is removed, and
//! the tombstone names its texts by their hashes (`write/tombstones`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::error::EngineError;
use crate::engine::history::commits::message::Reason;
use crate::engine::history::commits::replaced;
use crate::engine::history::past_commits::PastCommits;
use crate::engine::history::{git_work, past_commits, turn};
use crate::engine::live::names::Matches;
use crate::engine::live::{current_snapshot, indexing, names, usage};
use crate::engine::ops::duplicates::earlier_text_of;
use crate::engine::ops::forget;
use crate::engine::ops::forget::Forgotten;
use crate::engine::ops::maintenance::purged;
use crate::engine::ops::past::log;
use crate::engine::ops::proposals::withdraw::withdraw;
use crate::engine::ops::relations::succession;
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, key_of, stem_of};
use crate::engine::write::tombstones;
use crate::engine::write::tombstones::all_texts_since_added;
use crate::files::{FilesError, FilesOf, Place, Replaced, file_of, tombstone_of};
use crate::git::Id;
use crate::model::Stem;
use crate::secrets;

/// A memory that was purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    /// Stem of the memory.
    pub stem: Stem,
    /// Paths of its removed files below the store's folder.
    pub files: Vec<String>,
    /// Start of the commit's id; `None` if it is still to be made.
    pub commit: Option<String>,
    /// Whether older commits of the store still hold its text.
    pub is_in_history: bool,
}

/// Memories that could not be purged: their names, and the errors.
pub type Unpurged = Vec<(String, EngineError)>;

/// Folders in which files of a memory are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Everywhere,
    /// A live memory of the same id stays.
    Archive,
}

impl Reach {
    fn places(self) -> &'static [Place] {
        match self {
            Reach::Everywhere => &[Place::Files, Place::Archive],
            Reach::Archive => &[Place::Archive],
        }
    }
}

/// Maximum number of passes while another process writes the files again.
const MAX_LOOKS: usize = 8;

/// Returns the memory called `id`, live or forgotten, that [`purge`] would remove.
///
/// # Errors
///
/// Fails if there is none, or if several are called so.
pub fn resolve_for_purging(engine: &Engine, id: &str) -> Result<Stem, EngineError> {
    Ok(find_for_purging(engine, id)?.0)
}

/// Returns the purged memory called `id`.
///
/// # Errors
///
/// Fails if there is none, or if several are called so.
pub fn resolve_purged(engine: &Engine, id: &str) -> Result<Stem, EngineError> {
    let mut matches = Matches::new(id);
    for stem in engine.live.store.purged()? {
        matches.take(&format!("{stem}.md"));
    }
    Ok(matches.only()?.0)
}

/// As [`resolve_for_purging`], with the file's name below its folder.
pub(in crate::engine) fn find_for_purging(
    engine: &Engine,
    id: &str,
) -> Result<(Stem, String), EngineError> {
    let not_found = |error: &EngineError| matches!(error, EngineError::NotFound(_));
    let is_by_beginning = |found: &(Stem, String)| names::is_by_beginning(&found.1, id);
    match (
        names::resolve(&engine.live, id),
        names::resolve_archived(&engine.live, id),
    ) {
        // A name that is whole goes before one that only begins so.
        (Ok(live), Ok(archived)) if is_by_beginning(&live) != is_by_beginning(&archived) => {
            Ok(if is_by_beginning(&live) {
                archived
            } else {
                live
            })
        }
        (Ok(live), Ok(archived)) if !files_of(&live.0, &live.1).has(&archived.1) => {
            let is_path = live.0 == archived.0;
            let shown = |(stem, name): (Stem, String)| match is_path {
                true => name,
                false => stem.as_str().to_owned(),
            };
            Err(EngineError::Ambiguous {
                id: id.to_owned(),
                candidates: [live, archived].map(shown).to_vec(),
            })
        }
        (Ok(found), Ok(_)) => Ok(found),
        (Ok(found), Err(error)) | (Err(error), Ok(found)) if not_found(&error) => Ok(found),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// Removes every file of the memory called `id`, live and forgotten, leaves a tombstone, and commits
/// that. Nothing else is committed with it: an uncommitted text is never committed.
///
/// # Errors
///
/// As for [`resolve_for_purging`]; fails if files cannot be removed. Then it can be
/// done again.
pub fn purge(engine: &Engine, id: &str) -> Result<Purged, EngineError> {
    purge_because(engine, id, None)
}

/// As [`purge`], with a reason that the journal records.
///
/// # Errors
///
/// As for [`purge`].
pub fn purge_because(engine: &Engine, id: &str, why: Option<&str>) -> Result<Purged, EngineError> {
    engine.writer.check_writable()?;
    let found = find_for_purging(engine, id);
    if let Err(EngineError::NotFound(_)) = &found
        && let Ok(stem) = resolve_purged(engine, id)
        && stem.is_canonical()
    {
        // What an interrupted call has left.
        engine.writer.erase_former(FilesOf::Stem(stem.as_str()))?;
    }
    let found = found?;
    let why = why.map(secrets::redact);
    let (mut purged, failed) = purge_all(engine, &[found], Reach::Everywhere, why.as_deref())?;
    match (purged.pop(), failed.into_iter().next()) {
        (Some(purged), _) => Ok(purged),
        (None, Some((_, error))) => Err(error),
        (None, None) => Err(EngineError::NotFound(id.to_owned())),
    }
}

/// As [`purge`], of several memories, each as a stem and a name below `files/` or `archive/`, in one commit. A failure does
/// not stop the others; it is returned with its name.
///
/// # Errors
///
/// Fails if the store cannot be written.
pub fn purge_each(
    engine: &Engine,
    memories: &[(Stem, String)],
) -> Result<(Vec<Purged>, Unpurged), EngineError> {
    engine.writer.check_writable()?;
    purge_all(engine, memories, Reach::Everywhere, None)
}

/// As [`purge`], of forgotten memories, each as a stem and a name below `archive/`, in one commit. A
/// live memory of the same id stays, and no tombstone is left then. A failure does not stop the
/// others; it is returned with its name.
///
/// # Errors
///
/// Fails if the store cannot be written.
pub fn purge_forgotten(
    engine: &Engine,
    forgotten: &[(Stem, String)],
) -> Result<(Vec<Purged>, Unpurged), EngineError> {
    engine.writer.check_writable()?;
    purge_all(engine, forgotten, Reach::Archive, None)
}

/// Returns the earlier texts of memories, which their updates have left in the archive: stems and names there. For a
/// name that is no id none while a file has it.
///
/// # Errors
///
/// Fails if the archive or a journal cannot be read.
pub fn earlier_texts<'a>(
    engine: &Engine,
    memories: impl IntoIterator<Item = &'a Stem>,
) -> Result<Vec<(Stem, String)>, EngineError> {
    // Two memories may share the short id that the reason names; the time is the memory's own.
    let mut reasons: HashMap<String, Vec<&Stem>> = HashMap::new();
    for stem in memories {
        // The reason names no folder: it may be the text of another note of that name.
        if stem.is_canonical() || !is_one_called(engine, stem)? {
            reasons.entry(earlier_text_of(stem)).or_default().push(stem);
        }
    }
    let is_earlier = |one: &Forgotten| {
        let why = one.record.as_ref().and_then(|record| record.why.as_ref());
        let of = why.and_then(|why| reasons.get(why));
        of.into_iter().flatten().any(|stem| {
            one.memory.stem != **stem
                && (stem.time().is_none() || one.memory.stem.time() == stem.time())
        })
    };
    let archived = forget::archived(engine)?.into_iter();
    let earlier = archived.filter(is_earlier);
    Ok(earlier.map(|one| (one.memory.stem, one.name)).collect())
}

/// Returns the earlier texts of memories that were purged, with their memory or by themselves: stems and names in the
/// archive.
///
/// # Errors
///
/// Fails if tombstones or a journal cannot be read.
pub fn purged_earlier_texts(
    engine: &Engine,
    memories: &[Stem],
) -> Result<Vec<(Stem, String)>, EngineError> {
    let purged = engine.live.store.purged()?;
    let mut found: BTreeMap<Stem, String> = BTreeMap::new();
    for record in usage::records_since(&engine.live, None)? {
        let Some(why) = &record.why else {
            continue;
        };
        for whose in memories.iter().filter(|stem| earlier_text_of(stem) == *why) {
            let texts = record.of.iter().filter(|stem| purged.contains(*stem));
            let texts = texts.map(|stem| Stem::from_file_name(stem));
            let theirs = texts.filter(|stem| stem != whose && stem.time() == whose.time());
            found.extend(theirs.map(|stem| (stem.clone(), format!("{stem}.md"))));
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns whether a file of this stem is there, in whatever folder.
fn is_one_called(engine: &Engine, stem: &Stem) -> Result<bool, EngineError> {
    let file = FilesOf::Stem(stem.as_str()).file().into_owned();
    for place in Reach::Everywhere.places() {
        if !engine.live.store.list_called(*place, &file)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes the earlier texts of a memory, which its updates have left in the archive.
///
/// # Errors
///
/// As for [`purge_forgotten`], and if the archive or a journal cannot be read.
pub fn purge_earlier_texts(
    engine: &Engine,
    stem: &Stem,
) -> Result<(Vec<Purged>, Unpurged), EngineError> {
    let earlier = earlier_texts(engine, [stem])?;
    match earlier.is_empty() {
        true => Ok((Vec::new(), Vec::new())),
        false => purge_forgotten(engine, &earlier),
    }
}

fn purge_all(
    engine: &Engine,
    wanted: &[(Stem, String)],
    reach: Reach,
    why: Option<&str>,
) -> Result<(Vec<Purged>, Unpurged), EngineError> {
    if reach == Reach::Everywhere {
        wanted
            .iter()
            .for_each(|(_, name)| succession::hand_on(engine, name));
    }
    // No other process commits a part of it, or its text.
    let turn = match &engine.history.git {
        None => None,
        Some(git) => Some((
            git_work::lock_repository(&engine.history)?,
            git.user.as_str(),
        )),
    };
    // Written before the commit, which takes them along.
    let together = engine.writer.collect_records();
    let (mut purged, mut failed) = (Vec::new(), Vec::new());
    let mut all_names = BTreeSet::new();
    let entries = engine.live.store.list(Place::Files)?.entries;
    let live: BTreeSet<Stem> = entries.iter().map(|entry| stem_of(&entry.name)).collect();
    // Texts that memories had before, which the archive keeps where there is no history.
    let formers: Vec<String> = match reach {
        Reach::Archive => Vec::new(),
        Reach::Everywhere => {
            let archived = engine.live.store.list(Place::Archive)?.names().into_iter();
            archived
                .filter(|name| stem_of(name).is_of_replaced_text())
                .collect()
        }
    };
    for (stem, name) in wanted {
        let one = committed_texts(engine, stem, name).and_then(|committed| {
            Ok((
                purge_one(
                    engine,
                    (stem, name),
                    &committed,
                    reach,
                    why,
                    (&live, &formers),
                )?,
                committed,
            ))
        });
        match one {
            Ok((names, committed)) if !names.is_empty() => {
                let files = names.iter().map(|(place, name)| place.path_of(name));
                all_names.extend(committed.former.iter().map(|(name, _)| name.clone()));
                purged.push((files.collect(), stem, committed));
                all_names.extend(names.into_iter().map(|(_, name)| name));
            }
            // Another process was faster, and decides about the file.
            Ok(_) => failed.push((name.clone(), EngineError::NotFound(name.clone()))),
            Err(error) => failed.push((name.clone(), error)),
        }
    }
    drop(together);
    let stems = purged.iter().map(|(_, stem, _)| Stem::clone(stem));
    let stems: Vec<Stem> = stems.collect();
    purged::forget_in_plans(engine, &stems);
    if reach == Reach::Everywhere {
        let is_purged = |name: &str| all_names.iter().any(|own| key_of(own) == key_of(name));
        replaced::forget_replaced(&engine.history, is_purged);
    }
    let mut commit = None;
    if let (Some((_lock, user)), [(_, first, _), ..]) = (&turn, purged.as_slice()) {
        let subject = match purged.len() {
            1 => format!("Purge memory {} ({first}.md)", first.short()),
            count => format!("Purge {count} memories"),
        };
        let reason = Reason {
            subject,
            trailers: Vec::new(),
        };
        commit = turn::commit_as(&engine.history, all_names, user, &reason)?;
    }
    let told = purged.into_iter().map(|(files, stem, committed)| Purged {
        stem: stem.clone(),
        files,
        commit: commit.clone(),
        is_in_history: match stem.is_canonical() {
            _ if turn.is_none() => false,
            true => log::log(engine, Some(stem.as_str()), 1).is_ok(),
            false => !committed.own.is_empty(),
        },
    });
    let told: Vec<Purged> = told.collect();
    // Its words leave the index now, and not with a later segment.
    current_snapshot::snapshot(&engine.live)?;
    indexing::settle(&engine.live, true)?;
    Ok((told, failed))
}

/// Returns whether the archive keeps in `file` a text that the memory `stem`, found as `name`, had before.
fn is_former_text(file: &str, stem: &Stem, name: &str) -> bool {
    let former = stem_of(file);
    match (former.replaced_of(), file.rsplit_once(".replaced-")) {
        (Some(of), _) if stem.is_canonical() => of == stem.as_str(),
        (Some(_), Some((of, _))) => Some(of) == name.strip_suffix(".md"),
        _ => false,
    }
}

/// Leaves a tombstone for one memory and removes its files; returns their paths. `live` are the
/// memories that were live at the start, `formers` the former texts in the archive.
fn purge_one(
    engine: &Engine,
    (stem, name): (&Stem, &str),
    committed: &CommittedTexts,
    reach: Reach,
    why: Option<&str>,
    (live, formers): (&BTreeSet<Stem>, &[String]),
) -> Result<Vec<(Place, String)>, EngineError> {
    // A restored memory has the name that it had before.
    let is_back = || engine.live.store.look_at(Place::Files, name).is_some();
    let is_live = is_back() || (stem.is_canonical() && live.contains(stem));
    let mut leaves_word = reach == Reach::Everywhere || !is_live;
    let path = tombstone_of(stem.as_str());
    let known = engine.live.store.version_at(&path)?;
    if leaves_word {
        let texts = committed.nameable(committed.own.iter().copied());
        tombstones::leave_tombstone(&engine.writer, stem, &texts)?;
        // A machine that changed the note before it heard of its id would bring the text back.
        if let Some((former, texts)) = &committed.former {
            tombstones::leave_tombstone(&engine.writer, &stem_of(former), texts)?;
        }
        // Restored meanwhile: the tombstone would remove a live memory.
        if reach == Reach::Archive && is_back() {
            leaves_word = false;
            let seen = engine.live.store.version_at(&path)?;
            let before = known.as_ref().map(|known| known.bytes.as_slice());
            engine.writer.put_beside(&path, seen.as_ref(), before)?;
        }
    }
    withdraw(engine, stem)?;
    let named = leaves_word.then_some(committed);
    let formers: Vec<&String> = formers
        .iter()
        .filter(|file| is_former_text(file, stem, name))
        .collect();
    let removed = remove_files(engine, (stem, name), reach, (named, &formers), why)?;
    engine.writer.leave_note("purge", stem.as_str());
    Ok(removed)
}

/// Texts in the history of a file whose name is no id; empty of others, whose tombstones name none.
#[derive(Default)]
struct CommittedTexts {
    own: BTreeSet<Id>,
    /// Texts of files of its name in other folders, such as that of a template. A tombstone that named them would
    /// remove those.
    others: BTreeSet<Id>,
    /// Name that a memory with an id had before it got that, and the texts of the file then.
    former: Option<(String, BTreeSet<Id>)>,
}

impl CommittedTexts {
    /// Returns those of `texts` that a tombstone may name.
    fn nameable(&self, texts: impl IntoIterator<Item = Id>) -> BTreeSet<Id> {
        let empty = Id::of_text(&[]);
        let texts = texts.into_iter();
        texts
            .filter(|text| *text != empty && !self.others.contains(text))
            .collect()
    }
}

fn committed_texts(
    engine: &Engine,
    stem: &Stem,
    name: &str,
) -> Result<CommittedTexts, EngineError> {
    if engine.history.git.is_none() {
        return Ok(CommittedTexts::default());
    }
    let history = match past_commits::history(&engine.history) {
        Err(EngineError::Past(_)) => return Ok(CommittedTexts::default()),
        other => other?,
    };
    if stem.is_canonical() {
        let former = former_texts(engine, &history, files_of(stem, name));
        let former = former.unwrap_or_else(|error| {
            tracing::warn!("what {name} was called before is not known: {error}");
            None
        });
        return Ok(CommittedTexts {
            former,
            ..CommittedTexts::default()
        });
    }
    let file = file_of(name).as_bytes();
    let all = all_texts_since_added(&history.repository, history.head, |found| found == file)?;
    let mut texts = CommittedTexts::default();
    for (of, known) in all {
        match of == name {
            true => texts.own = known,
            false => texts.others.extend(known),
        }
    }
    Ok(texts)
}

/// Returns the name of the memory with these files before it was adopted, with the texts that it had; `None` if
/// another file has the name by now, which may have the texts.
fn former_texts(
    engine: &Engine,
    history: &PastCommits,
    files: FilesOf<'_>,
) -> Result<Option<(String, BTreeSet<Id>)>, EngineError> {
    let Some(former) = history.former(files)? else {
        return Ok(None);
    };
    if is_one_called(engine, &stem_of(&former.name))? {
        return Ok(None);
    }
    let path = Place::Files.path_of(&former.name);
    let mut texts = tombstones::texts_since_added(&history.repository, former.commit, &path)?;
    texts.remove(&Id::of_text(&[]));
    Ok((!texts.is_empty()).then_some((former.name, texts)))
}

/// Removes every file of the memory `stem`, found as `name`, within `reach`; returns their
/// places and names. Its tombstone, if it has one, is to name texts beside those of `named`.
fn remove_files(
    engine: &Engine,
    (stem, name): (&Stem, &str),
    reach: Reach,
    (named, formers): (Option<&CommittedTexts>, &[&String]),
    why: Option<&str>,
) -> Result<Vec<(Place, String)>, EngineError> {
    let files = files_of(stem, name);
    let mut removed = Vec::new();
    for _ in 0..MAX_LOOKS {
        let mut is_there = false;
        for place in reach.places() {
            let mut entries = engine.live.store.list_called(*place, &files.file())?;
            entries.retain(|entry| files.has(&entry.name));
            if *place == Place::Archive {
                let look = |name: &&String| engine.live.store.look_at(Place::Archive, name)?.ok();
                entries.extend(formers.iter().filter_map(look));
            }
            for entry in entries {
                is_there = true;
                let name = entry.name;
                let replaced = match engine.live.store.reader(*place).read(&name, u64::MAX) {
                    Ok(seen) => {
                        if let Some(named) = named {
                            let texts = named.nameable([Id::of_text(&seen.bytes)]);
                            tombstones::leave_tombstone(&engine.writer, stem, &texts)?;
                        }
                        engine.writer.remove((*place, &name), &seen)
                    }
                    Err(error) => Err(error),
                };
                match replaced {
                    Err(FilesError::Missing { .. }) | Ok(Replaced::Stale) => continue,
                    Err(error) => return Err(error.into()),
                    Ok(Replaced::KeptOther) => tracing::warn!(
                        "somebody else changed {name} in the same moment; their text is kept as a conflict copy, which `memdir status` names"
                    ),
                    Ok(Replaced::Done) => {}
                }
                engine.writer.note_change_because("purge", &name, why);
                removed.push((*place, name));
            }
        }
        if !is_there {
            if reach == Reach::Everywhere || named.is_some() {
                engine.writer.erase_former(files)?;
            }
            return Ok(removed);
        }
    }
    Err(EngineError::Invalid(format!(
        "`{}` is written again faster than it can be removed",
        stem.short()
    )))
}
