//! Plan of an undo, made as a whole before anything is done.
//!
//! Promises: a plan deletes nothing, and overwrites no text that is not in the history; later changes
//! are merged, or the plan refuses. Making a plan changes nothing. `undo` performs
//! it, and `undo_recorded` where the storage keeps the history.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::error::EngineError;
use crate::engine::history::commits::compare::pair_moves;
use crate::engine::options::SETTINGS;
use crate::engine::parts::Engine;
use crate::engine::texts::{FOLDERS, key_of, name_of, stem_of};
use crate::engine::write::tombstones;
use crate::files::{FilesError, Place, Version, file_of};
use crate::format::{MergeSide, Merged, is_memory_name, merge};
use crate::git::{Id, PathChange};
use crate::model::Stem;

/// Change of one file that undoes a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneFile {
    /// Stem of the memory; `None` for the settings.
    pub stem: Option<Stem>,
    /// Path below the store's folder, afterwards.
    pub file: String,
    /// Description of the change, such as `forgotten`.
    pub what: &'static str,
    /// Whether the file has to be changed.
    pub is_change: bool,
}

/// One step on a file. Names are below the place's folder.
#[derive(Debug, Clone)]
pub(in crate::engine) enum Operation {
    Add {
        place: Place,
        name: String,
        bytes: Vec<u8>,
    },
    Replace {
        place: Place,
        seen: Version,
        bytes: Vec<u8>,
    },
    /// Move to another place or name; nothing is replaced.
    Move {
        from: (Place, String),
        to: (Place, String),
    },
    Settings {
        seen: Version,
        bytes: Vec<u8>,
    },
}

/// Steps that undo a commit, or a change of a storage that keeps its history.
#[derive(Debug, Default)]
pub(in crate::engine) struct Plan {
    /// Changes of the files.
    pub files: Vec<UndoneFile>,
    /// Steps, in order.
    pub operations: Vec<Operation>,
    /// Reasons against the undo, by file.
    pub refused: Vec<String>,
}

impl Plan {
    /// Whether the undone change is about a single file.
    pub fn is_of_one_file(&self) -> bool {
        self.files.len() + self.refused.len() == 1
    }
}

/// Path and text id of a file.
type At = (String, Id);

/// File before and after a commit; `None`: no file.
type Pair = (Option<At>, Option<At>);

/// Present places of files, by name without folder.
type Present = HashMap<String, Vec<(Place, String)>>;

/// Returns a text of the history by its id.
pub(in crate::engine) type ReadText<'a> = &'a dyn Fn(Id) -> Result<Vec<u8>, EngineError>;

/// Plans the undo of `changes`, made together, whose texts `text_of` returns; with `files`, as [`key_of`] tells
/// them apart, of those only.
pub(in crate::engine) fn plan(
    engine: &Engine,
    changes: Vec<PathChange>,
    text_of: ReadText<'_>,
    files: Option<&BTreeSet<String>>,
) -> Result<Plan, EngineError> {
    let present = present_files(engine)?;
    let mut plan = Plan::default();
    let is_meant = meant(files, &changes);
    for (name, pairs) in by_file(changes) {
        for (before, after) in pairs {
            // Of a move, either end.
            let is_end_meant = |end: &Option<At>| end.as_ref().is_some_and(|at| is_meant(&at.0));
            if !is_end_meant(&before) && !is_end_meant(&after) {
                continue;
            }
            if name == SETTINGS {
                plan_settings(engine, text_of, before, after, &mut plan)?;
                continue;
            }
            let stem = stem_of(&name);
            // Of names that are no ids, each folder may have one.
            let is_it = |(_, file): &&(Place, String)| {
                let mut paths = [&before, &after].into_iter().flatten();
                stem.is_canonical() || paths.any(|(path, _)| name_of(path) == file)
            };
            let named = present.get(&name).map_or(&[][..], Vec::as_slice);
            let present: Vec<_> = named.iter().filter(is_it).cloned().collect();
            let planner = Planner {
                engine,
                text_of,
                stem,
                present: &present,
            };
            match planner.decide(before, after)? {
                Decided::Do {
                    file,
                    what,
                    operations,
                } => {
                    plan.files.push(UndoneFile {
                        stem: Some(planner.stem),
                        file,
                        what,
                        is_change: !operations.is_empty(),
                    });
                    plan.operations.extend(operations);
                }
                Decided::Refuse(reason) => plan.refused.push(format!("{name} {reason}")),
            }
        }
    }
    refuse_taken(engine, &present, &mut plan);
    Ok(plan)
}

/// Refuses the steps to names that something has that no earlier step moves away: nothing is replaced, and half of an
/// undo would be done.
fn refuse_taken(engine: &Engine, present: &Present, plan: &mut Plan) {
    let mut freed: HashMap<&str, Vec<Place>> = HashMap::new();
    // What is listed as no memory has a name as well, in a folder.
    let is_folder = engine.live.directory().is_some();
    let is_there = |place: Place, name: &String| {
        let named = present.get(file_of(name)).map_or(&[][..], Vec::as_slice);
        named.contains(&(place, name.clone()))
            || (is_folder && engine.live.store.look_at(place, name).is_some())
    };
    for operation in &plan.operations {
        let to = match operation {
            Operation::Add { place, name, .. } => (*place, name),
            Operation::Move { to, .. } => (to.0, &to.1),
            Operation::Replace { .. } | Operation::Settings { .. } => continue,
        };
        let is_freed = freed.get(to.1.as_str());
        let is_freed = is_freed.is_some_and(|places| places.contains(&to.0));
        if !is_freed && is_there(to.0, to.1) {
            let path = to.0.path_of(to.1);
            plan.refused.push(format!("{path} is there already"));
        }
        if let Operation::Move { from, .. } = operation {
            freed.entry(&from.1).or_default().push(from.0);
        }
    }
}

/// Returns whether a path below the store is one of `files`, which [`key_of`] tells apart, in a commit of `changes`;
/// `None`: any is. Commits of earlier versions name all files without their folders.
pub(in crate::engine) fn meant<'a>(
    files: Option<&'a BTreeSet<String>>,
    changes: &[PathChange],
) -> impl Fn(&str) -> bool + use<'a> {
    let keys = changes.iter().map(|change| key_at(&change.path));
    let known: BTreeSet<&str> = keys.collect();
    let old = files.into_iter().flatten();
    let old: BTreeSet<&str> = old
        .map(String::as_str)
        .filter(|file| !known.contains(file))
        .collect();
    move |path| {
        files.is_none_or(|files| files.contains(key_at(path)) || old.contains(file_of(path)))
    }
}

/// Returns the key of the memory at a path below the store; of another file, its path.
fn key_at(path: &str) -> &str {
    Place::of(path).map_or(path, |(_, name)| key_of(name))
}

fn present_files(engine: &Engine) -> Result<Present, EngineError> {
    let mut present = Present::new();
    for place in [Place::Files, Place::Archive] {
        for entry in engine.live.store.list(place)?.entries {
            let file = file_of(&entry.name).to_owned();
            present.entry(file).or_default().push((place, entry.name));
        }
    }
    Ok(present)
}

fn plan_settings(
    engine: &Engine,
    text_of: ReadText<'_>,
    before: Option<At>,
    after: Option<At>,
    plan: &mut Plan,
) -> Result<(), EngineError> {
    let mut what = "kept as it is";
    let mut operations = Vec::new();
    // Settings that were not there before stay: a folder without them may be no store.
    if let (Some((_, before)), Some((_, after))) = (before, after) {
        let seen = engine.live.store.beside().read(SETTINGS, u64::MAX)?;
        let now = Id::of_text(&seen.bytes);
        if now == after {
            what = "changed back";
            let bytes = text_of(before)?;
            operations.push(Operation::Settings { seen, bytes });
        } else if now != before {
            plan.refused.push(format!("{SETTINGS} was changed since"));
            return Ok(());
        }
    }
    plan.files.push(UndoneFile {
        stem: None,
        file: SETTINGS.to_owned(),
        what,
        is_change: !operations.is_empty(),
    });
    plan.operations.extend(operations);
    Ok(())
}

enum Decided {
    Do {
        /// Path below the store, afterwards.
        file: String,
        what: &'static str,
        operations: Vec<Operation>,
    },
    Refuse(&'static str),
}

/// Decides about one file.
struct Planner<'a> {
    engine: &'a Engine,
    text_of: ReadText<'a>,
    stem: Stem,
    /// Present places of files of its name.
    present: &'a [(Place, String)],
}

impl Planner<'_> {
    fn decide(&self, before: Option<At>, after: Option<At>) -> Result<Decided, EngineError> {
        match (before, after) {
            (None, Some(after)) => Ok(self.decide_added(&after)),
            (Some(before), None) => self.decide_deleted(&before),
            (Some(before), Some(after)) => self.decide_changed(&before, &after),
            (None, None) => Ok(Decided::Refuse("is in no version of it")),
        }
    }

    /// Forgets a memory that was added, whatever was written into it since.
    fn decide_added(&self, after: &At) -> Decided {
        let nothing = |file: &str, what| Decided::Do {
            file: file.to_owned(),
            what,
            operations: Vec::new(),
        };
        match self.at(&after.0).or_else(|| self.present.first().cloned()) {
            None => nothing(&after.0, "gone already"),
            Some((Place::Archive, name)) => {
                nothing(&Place::Archive.path_of(&name), "forgotten already")
            }
            Some((Place::Files, name)) => {
                let to = (Place::Archive, name.clone());
                if self.present.contains(&to) {
                    return Decided::Refuse("is in the archive, too");
                }
                Decided::Do {
                    file: Place::Archive.path_of(&name),
                    what: "forgotten",
                    operations: vec![Operation::Move {
                        from: (Place::Files, name),
                        to,
                    }],
                }
            }
        }
    }

    fn decide_deleted(&self, (path, text): &At) -> Result<Decided, EngineError> {
        let Some((place, name)) = lying_at(path) else {
            return Ok(Decided::Refuse("lay outside of the store's folders"));
        };
        if let Some((place, name)) = self.at(path).or_else(|| self.present.first().cloned()) {
            let Some(version) = self.read(place, &name)? else {
                return Ok(Decided::Refuse(MOVING));
            };
            if Id::of_text(&version.bytes) != *text {
                return Ok(Decided::Refuse("is there again, with another text"));
            }
            return Ok(Decided::Do {
                file: place.path_of(&name),
                what: "there again already",
                operations: Vec::new(),
            });
        }
        let bytes = (self.text_of)(*text)?;
        if tombstones::is_purged(&self.engine.writer, &self.stem, &bytes)? {
            return Ok(Decided::Refuse("was purged: nothing brings it back"));
        }
        Ok(Decided::Do {
            file: path.clone(),
            what: "written back",
            operations: vec![Operation::Add { place, name, bytes }],
        })
    }

    /// Reverts a change of text, a move, or both.
    fn decide_changed(&self, before: &At, after: &At) -> Result<Decided, EngineError> {
        let (Some(old), Some(new)) = (lying_at(&before.0), lying_at(&after.0)) else {
            return Ok(Decided::Refuse("lay outside of the store's folders"));
        };
        let here = self.at(&after.0).or_else(|| self.at(&before.0));
        let Some(here) = here.or_else(|| self.present.first().cloned()) else {
            return Ok(Decided::Refuse("was deleted since"));
        };
        let mut operations = Vec::new();
        if before.1 != after.1 {
            let Some(seen) = self.read(here.0, &here.1)? else {
                return Ok(Decided::Refuse(MOVING));
            };
            match self.text_without(&seen.bytes, before.1, after.1)? {
                Ok(None) => {}
                Ok(Some(bytes)) => operations.push(Operation::Replace {
                    place: here.0,
                    seen,
                    bytes,
                }),
                Err(reason) => return Ok(Decided::Refuse(reason)),
            }
        }
        let mut file = here.0.path_of(&here.1);
        if old != new && here != old {
            if here != new {
                return Ok(Decided::Refuse("was moved to another place since"));
            }
            file.clone_from(&before.0);
            operations.push(Operation::Move {
                from: here,
                to: old.clone(),
            });
        }
        let what = match (old.0, new.0) {
            _ if operations.is_empty() => "as it was before already",
            _ if old == new => "changed back",
            (Place::Files, Place::Archive) => "restored",
            (Place::Archive, Place::Files) => "forgotten",
            _ => "moved back",
        };
        Ok(Decided::Do {
            file,
            what,
            operations,
        })
    }

    /// Returns the text `now` without the change from `before` to `after`; `Ok(None)` if it does not
    /// contain that change.
    fn text_without(
        &self,
        now: &[u8],
        before: Id,
        after: Id,
    ) -> Result<Result<Option<Vec<u8>>, &'static str>, EngineError> {
        let id = Id::of_text(now);
        if id == before {
            return Ok(Ok(None));
        }
        let before = (self.text_of)(before)?;
        if id == after {
            return Ok(Ok(Some(before)));
        }
        let base = (self.text_of)(after)?;
        // Where a value was changed again, the newer one stays.
        let ours = MergeSide {
            bytes: now,
            at: i64::MAX,
        };
        let theirs = MergeSide {
            bytes: &before,
            at: i64::MIN,
        };
        Ok(match merge(&self.stem, Some(&base), ours, theirs) {
            Merged::One(text) if text == now => Err("was changed again in the same place since"),
            Merged::One(text) => Ok(Some(text)),
            Merged::Two { .. } => Err("was changed since, and the two changes contradict"),
        })
    }

    /// Returns the file at `path` below the store, if it is there now.
    fn at(&self, path: &str) -> Option<(Place, String)> {
        let at = lying_at(path)?;
        self.present.contains(&at).then_some(at)
    }

    fn read(&self, place: Place, name: &str) -> Result<Option<Version>, EngineError> {
        match self.engine.live.store.reader(place).read(name, u64::MAX) {
            Ok(version) => Ok(Some(version)),
            Err(FilesError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

const MOVING: &str = "is being moved at this moment";

/// Groups the changes of a commit by file name: path and text before, and after. A file that is
/// gone from one path and new at another was moved.
fn by_file(changes: Vec<PathChange>) -> BTreeMap<String, Vec<Pair>> {
    let mut files: BTreeMap<String, Vec<Pair>> = BTreeMap::new();
    let mut moved: BTreeMap<String, (Vec<At>, Vec<At>)> = BTreeMap::new();
    for PathChange {
        path,
        before,
        after,
    } in changes
    {
        if !is_ours(&path) {
            continue;
        }
        let name = file_of(&path).to_owned();
        match (before, after) {
            (Some(before), Some(after)) => {
                let pair = (Some((path.clone(), before)), Some((path, after)));
                files.entry(name).or_default().push(pair);
            }
            (Some(before), None) => moved.entry(name).or_default().0.push((path, before)),
            (None, Some(after)) => moved.entry(name).or_default().1.push((path, after)),
            (None, None) => {}
        }
    }
    for (name, (gone, new)) in moved {
        fn texts(side: &[At]) -> Vec<(&str, Id)> {
            side.iter()
                .map(|(path, text)| (path.as_str(), *text))
                .collect()
        }
        let from = pair_moves(&texts(&gone), &texts(&new));
        let pairs = files.entry(name).or_default();
        let mut gone: Vec<Option<At>> = gone.into_iter().map(Some).collect();
        for (at, from) in new.into_iter().zip(from) {
            pairs.push((from.and_then(|from| gone[from].take()), Some(at)));
        }
        pairs.extend(gone.into_iter().flatten().map(|at| (Some(at), None)));
    }
    files
}

fn is_ours(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let is_memory = parts.next().is_some_and(is_memory_name);
    let is_in = |folder: &&str| path.starts_with(&format!("{folder}/"));
    let is_seen = parts.all(|folder| !folder.starts_with('.'));
    path == SETTINGS || (is_memory && is_seen && FOLDERS.iter().any(is_in))
}

/// Returns the place and name of the memory at `path` below the store's folder.
fn lying_at(path: &str) -> Option<(Place, String)> {
    Place::of(path).map(|(place, name)| (place, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_folders_means_files_below_them_only_in_commits_of_earlier_versions() {
        let change = |path: &str| PathChange {
            path: path.to_owned(),
            before: None,
            after: None,
        };
        let files = BTreeSet::from(["index.md".to_owned()]);
        let paths = ["files/index.md", "files/p1/index.md", "archive/p2/index.md"];
        let both = |changes: &[PathChange]| {
            let is_meant = meant(Some(&files), changes);
            paths.map(is_meant)
        };
        assert_eq!(both(&paths.map(change)), [true, false, false]);
        assert_eq!(
            both(&[change(paths[1]), change(paths[2])]),
            [true, true, true]
        );
        let id = "20260101_000000_aaaaaaaa.md";
        let files = BTreeSet::from([id.to_owned()]);
        let path = format!("files/2026-01/{id}");
        assert!(meant(Some(&files), &[change(&path)])(&path));
        assert!(meant(None, &[])("memdir.toml"));
    }
}
