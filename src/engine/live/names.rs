//! Resolves names of memories to files: ids, handles, prefixes, paths, and ids of a source.
//!
//! An imported memory keeps the id of its source as `source_id` in its metadata, which the index holds,
//! and is found by it. Names of the store take precedence.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::engine::error::EngineError;
use crate::engine::live::freshness::HALF_WRITTEN_PATIENCE;
use crate::engine::live::store::LiveStore;
use crate::engine::live::{current_snapshot, index_recovery, rows};
use crate::engine::texts::{age, is_half_written, parse, stem_of};
use crate::files::{Entry, FilesError, Listing, Place, Version};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Snapshot;
use crate::model::{
    ALIASES, Filter, Memory, Stem, Talks, Visibility, plain_id, stripped_id, unwrapped_id,
};

/// Returns the id of a memory in its source; `None` for an earlier text, whose id another memory has.
pub(in crate::engine) fn former_id(memory: &Memory) -> Option<&str> {
    let is_earlier = memory.metadata_text(EARLIER_OF).is_some();
    memory.metadata_text(SOURCE_ID).filter(|_| !is_earlier)
}

/// Whether `id`, as written in a text, is the id `former`.
pub(in crate::engine) fn is_former(former: &str, id: &str) -> bool {
    spellings(id).any(|id| id.eq_ignore_ascii_case(former))
}

/// Returns the ids that a source may have used for the written `id`: the text itself, the target of a
/// link, and the file of a note.
pub(in crate::engine) fn spellings(id: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let (trimmed, stripped) = (id.trim(), stripped_id(id));
    let file = format!("{stripped}.md");
    [trimmed.into(), stripped.into(), file.into()].into_iter()
}

/// Maximum number of ids that are looked up in the index, each at the cost of some hundred names of a table.
const MAX_LOOKED_UP: usize = 100;

/// Files of a view by their names in links.
pub(in crate::engine) struct Names<'a> {
    live: &'a LiveStore,
    snapshot: &'a dyn Snapshot,
    /// Number of ids that were looked up in the index.
    looked_up: Cell<usize>,
    /// Files of each id, made when many are asked for; more than one if several share it.
    by_id: OnceCell<HashMap<String, Vec<&'a str>>>,
    /// Files by their aliases in lower case.
    by_alias: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> Names<'a> {
    /// Returns the names of the files in `snapshot`; reads none of them yet.
    pub fn of(live: &'a LiveStore, snapshot: &'a dyn Snapshot) -> Names<'a> {
        Names {
            live,
            snapshot,
            looked_up: Cell::new(0),
            by_id: OnceCell::new(),
            by_alias: OnceCell::new(),
        }
    }

    /// Returns the files with the id, a stem or its short form: a few ids are looked up in the index, for more a
    /// table of all files is made.
    fn files_of(&self, id: &str) -> Vec<Cow<'a, str>> {
        if self.by_id.get().is_none() && self.looked_up.get() < MAX_LOOKED_UP {
            self.looked_up.set(self.looked_up.get() + 1);
            if let Some(mut names) = self.snapshot.maybe_called(id) {
                names.retain(|name| ids_of(name).iter().any(|known| known == id));
                return names.into_iter().map(Cow::Owned).collect();
            }
        }
        let by_id = self.by_id.get_or_init(|| {
            let mut by_id: HashMap<String, Vec<&str>> = HashMap::new();
            for (name, _) in self.snapshot.files() {
                let [stem, short] = ids_of(name);
                if short != stem {
                    by_id.entry(short).or_default().push(name);
                }
                by_id.entry(stem).or_default().push(name);
            }
            by_id
        });
        let known = by_id.get(id).map(Vec::as_slice).unwrap_or_default();
        known.iter().copied().map(Cow::Borrowed).collect()
    }

    /// Returns the file that `[[id]]` in the file `from` means, as [`Names::called`]; of several of one name
    /// the nearest, and if no name matches, that with the alias.
    pub fn mentioned(&self, id: &str, from: &str) -> Option<Cow<'a, str>> {
        let plain = plain_id(id);
        let known = self.files_of(last_part(&plain));
        if known.len() > 1 {
            return nearest(&borrowed(&known), id, from).map(|name| name.to_owned().into());
        }
        let by_alias = || {
            let aliases = self.by_alias.get_or_init(|| self.aliases());
            let known = aliases.get(&id.trim().to_lowercase())?;
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let found = known.iter().min_by_key(|name| distance(name, from))?;
            Some(Cow::Owned((*found).to_owned()))
        };
        self.only(known, id).or_else(by_alias)
    }

    fn aliases(&self) -> HashMap<String, Vec<String>> {
        let mut names = BTreeSet::new();
        for key in ALIASES {
            let holders = self.snapshot.holders(key).unwrap_or_default();
            names.extend(holders.into_iter().map(|(_, name)| name));
        }
        rows::prefetch(self.live, &names);
        let mut by_alias: HashMap<String, Vec<String>> = HashMap::new();
        for name in names {
            let memory = rows::read_memory(self.live, &name);
            for alias in memory.iter().flat_map(Memory::aliases) {
                by_alias
                    .entry(alias.to_lowercase())
                    .or_default()
                    .push(name.clone());
            }
        }
        by_alias
    }

    /// Returns the one file with this name or former id; `None` if there is none, or if
    /// there are several and `id` is the whole name of none.
    pub fn called(&self, id: &str) -> Option<Cow<'a, str>> {
        self.only(self.files_of(last_part(&plain_id(id))), id)
    }

    /// As [`Names::called`], with the files of that name.
    fn only(&self, mut known: Vec<Cow<'a, str>>, id: &str) -> Option<Cow<'a, str>> {
        if known.len() > 1 {
            return whole_name(&borrowed(&known), id).map(|name| name.to_owned().into());
        }
        known.pop().or_else(|| {
            let mut former = formerly_called(self.live, self.snapshot, id).ok()?;
            let only = former.pop().filter(|_| former.is_empty());
            only.map(Cow::Owned)
        })
    }
}

/// Returns the names of a file in links: its stem, and the short form of it.
pub(in crate::engine) fn ids_of(name: &str) -> [String; 2] {
    let stem = stem_of(name);
    [plain_id(stem.as_str()), stem.short().to_owned()]
}

/// Returns an id without its folders.
fn last_part(id: &str) -> &str {
    id.rsplit('/').next().unwrap_or(id)
}

fn borrowed<'b>(names: &'b [Cow<'_, str>]) -> Vec<&'b str> {
    names.iter().map(AsRef::as_ref).collect()
}

/// Returns the file of several of one name that `[[link]]` in the file `from` means, as in Obsidian: the
/// one with its path, else of those whose path ends with it the one in the same folder, else the one in
/// the fewest folders, else the first by name.
pub(in crate::engine) fn nearest<'a>(
    namesakes: &[&'a str],
    link: &str,
    from: &str,
) -> Option<&'a str> {
    let path = stripped_id(link).trim_start_matches('/').to_lowercase();
    let end = format!("/{path}");
    let is_meant = |name: &&&str| format!("/{}", stripped_id(name).to_lowercase()).ends_with(&end);
    let meant = namesakes.iter().filter(is_meant);
    let by_path = whole_name(namesakes, link).filter(|_| path.contains('/'));
    by_path.or_else(|| meant.min_by_key(|name| distance(name, from)).copied())
}

/// Returns the sort key of files of one name, seen from the file `from`.
fn distance<'a>(name: &'a str, from: &str) -> (bool, usize, &'a str) {
    let folder = |name: &str| {
        name.rsplit_once('/')
            .map_or(String::new(), |(folder, _)| folder.to_owned())
    };
    (
        folder(name) != folder(from),
        name.matches('/').count(),
        name,
    )
}

/// Returns the one of several files of one stem that `id` names with its folders, or as a path below
/// the store with `files/`.
fn whole_name<'a>(namesakes: &[&'a str], id: &str) -> Option<&'a str> {
    let id = unwrapped_id(id);
    let of = |id: &str| {
        let mut all = namesakes.iter().copied();
        all.find(|name| is_whole_name(name, id))
    };
    of(id).or_else(|| of(id.strip_prefix("files/")?))
}

/// Returns the text of a link to the live file `name`: its stem, or if others share that, its whole name.
pub(in crate::engine) fn link_text(live: &LiveStore, name: &str) -> String {
    let stem = stem_of(name);
    match resolve(live, stem.as_str()) {
        Err(EngineError::Ambiguous { .. }) => name.to_owned(),
        _ => stem.as_str().to_owned(),
    }
}

/// Returns the shown id of the memory in the live file `name`: as [`LiveStore::shown_id`], and with the
/// folder if notes of several folders have one name.
pub fn shown_name(live: &LiveStore, stem: &Stem, name: &str) -> String {
    match stem.is_canonical() {
        true => live.shown_id(stem),
        false => link_text(live, name),
    }
}

/// Returns the live files of the memories whose former id is `id`.
pub(in crate::engine) fn formerly_called(
    live: &LiveStore,
    snapshot: &dyn Snapshot,
    id: &str,
) -> Result<Vec<String>, EngineError> {
    let mut names = BTreeSet::new();
    for id in spellings(id) {
        names.extend(holding(
            live,
            snapshot,
            &format!("metadata.{SOURCE_ID}"),
            &[&id],
        )?);
    }
    // The index folds case and cuts long values; the file decides.
    let mut found: Vec<(bool, String)> = Vec::new();
    for name in names {
        if let Some(memory) = rows::read_memory(live, &name)
            && let Some(former) = former_id(&memory).filter(|former| is_former(former, id))
        {
            found.push((spellings(id).any(|id| id == former), name));
        }
    }
    let is_exact = found.iter().any(|(is_exact, _)| *is_exact);
    found.retain(|(exact, _)| *exact == is_exact);
    Ok(found.into_iter().map(|(_, name)| name).collect())
}

/// As [`formerly_called`], of the forgotten ones, which are not indexed: every file of the
/// archive is read.
pub(in crate::engine) fn formerly_called_archived(
    live: &LiveStore,
    id: &str,
) -> Result<Vec<String>, EngineError> {
    let reader = live.store.reader(Place::Archive);
    let all = live.store.list(Place::Archive)?.names();
    let mut names = Vec::new();
    for version in rows::versions(reader.as_ref(), &all, MAX_INDEXED_BYTES as u64).flatten() {
        let memory = parse(&version.entry, &version.bytes);
        if former_id(&memory).is_some_and(|former| is_former(former, id)) {
            names.push(version.entry.name);
        }
    }
    Ok(names)
}

/// Returns the live files that hold one of `ids` under a key.
pub(in crate::engine) fn holding(
    live: &LiveStore,
    snapshot: &dyn Snapshot,
    key: &str,
    ids: &[&str],
) -> Result<BTreeSet<String>, EngineError> {
    let mut names = BTreeSet::new();
    for id in ids.iter().collect::<BTreeSet<_>>() {
        let filter = Filter {
            equals: vec![(key.to_owned(), (*id).to_owned())],
            visibility: Visibility::Everything,
            talks: Talks::Everywhere,
            ..Filter::default()
        };
        names.extend(rows::names_of(live, snapshot, &filter)?);
    }
    Ok(names)
}

/// Maximum time a reader waits for a file that is being written.
pub(in crate::engine) const PATIENCE: Duration = Duration::from_millis(150);

/// Whether a file is half-written and its writer may not be done.
pub(in crate::engine) fn is_being_written(version: &Version) -> bool {
    let Entry { stamp, .. } = version.entry;
    let is_young = age(stamp.modified).is_none_or(|age| age < HALF_WRITTEN_PATIENCE);
    is_young && is_half_written(&parse(&version.entry, &version.bytes))
}

/// Minimum length of a prefix: shorter ones would match too much by accident.
pub(in crate::engine) const MIN_PREFIX: usize = 4;

/// Reads the file of the memory called `id`; waits a moment for one that is being written.
pub(in crate::engine) fn read(
    live: &LiveStore,
    id: &str,
) -> Result<(String, Version), EngineError> {
    let started = Instant::now();
    loop {
        // Also waits until it is clear whether a missing file comes back. The file that is read proves a name that
        // says what was asked for.
        let (_, name) = match matching(live, id, Matches::is_certain)?.only() {
            Err(EngineError::NotFound(id)) => return read_unseen(live, id),
            other => other?,
        };
        let is_patient = started.elapsed() < PATIENCE;
        match live.reader().read(&name, u64::MAX) {
            Ok(version) if is_patient && is_being_written(&version) => {}
            Ok(version) => return Ok((name, version)),
            Err(FilesError::Missing { .. }) if is_patient => {}
            Err(FilesError::Missing { .. }) => {
                return Err(EngineError::NotFound(id.to_owned()));
            }
            Err(error) => return Err(error.into()),
        }
        current_snapshot::pause(live);
    }
}

/// Reads the file called `id` that no snapshot holds, for it could not be read: the error says why, such as
/// that another program has it for itself alone.
fn read_unseen(live: &LiveStore, id: String) -> Result<(String, Version), EngineError> {
    let mut matches = Matches::new(&id);
    let listing = live.store.list(Place::Files)?;
    let entries = listing.entries.iter();
    entries.for_each(|entry| matches.take(&entry.name));
    let (_, name) = matches.only()?;
    match live.store.reader(Place::Files).read(&name, u64::MAX) {
        Err(FilesError::Missing { .. }) => Err(EngineError::NotFound(id)),
        other => Ok((name, other?)),
    }
}

/// Finds the memory called `id`: a file's whole name below the memories, a stem, eight hex digits, a former
/// id, or the unique prefix of a stem or of the digits.
///
/// # Errors
///
/// [`EngineError::NotFound`], or [`EngineError::Ambiguous`] with the stems it could mean.
pub fn resolve(live: &LiveStore, id: &str) -> Result<(Stem, String), EngineError> {
    matching(live, id, |_| false)?.only()
}

/// Returns the files that `id` may mean; the index's files are not asked after if the matches are proved.
fn matching(
    live: &LiveStore,
    id: &str,
    are_proved: impl Fn(&Matches) -> bool,
) -> Result<Matches, EngineError> {
    index_recovery::mending_unless(live, are_proved, || {
        let snapshot = current_snapshot::snapshot(live)?;
        let snapshot = snapshot.as_ref();
        let mut matches = Matches::new(id);
        match matches.looked_up(snapshot) {
            Some(names) => names.iter().for_each(|name| matches.take(name)),
            // Before files are read for former ids.
            None => snapshot.files().for_each(|(name, _)| matches.take(name)),
        }
        if !matches.is_certain() {
            matches.take_former(&formerly_called(live, snapshot, id)?);
        }
        if !matches.is_certain() {
            // It may be a prefix.
            matches = Matches::new(id);
            snapshot.files().for_each(|(name, _)| matches.take(name));
        }
        Ok(matches)
    })
}

/// As [`resolve`], among the forgotten memories.
pub(in crate::engine) fn resolve_archived(
    live: &LiveStore,
    id: &str,
) -> Result<(Stem, String), EngineError> {
    let Listing { entries, .. } = live.store.list(Place::Archive)?;
    let mut matches = Matches::new(id);
    entries.iter().for_each(|entry| matches.take(&entry.name));
    if !matches.is_certain() {
        matches.take_former(&formerly_called_archived(live, id)?);
    }
    matches.only()
}

/// Whether `id` means the file `name` only as the beginning of its name.
pub(in crate::engine) fn is_by_beginning(name: &str, id: &str) -> bool {
    let mut matches = Matches::new(id);
    matches.take(name);
    let mut kinds = matches.found.iter().map(|(kind, ..)| *kind);
    kinds.all(|kind| kind == MatchKind::Prefix) && !matches.found.is_empty()
}

/// Whether `id` is the whole name of the file `name`, with its folders, or `.md`, or both.
pub(in crate::engine) fn is_whole_name(name: &str, id: &str) -> bool {
    name == id || (id.contains('/') && name.strip_suffix(".md") == Some(id))
}

/// Kind of a match of an id, the best one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchKind {
    WholeName,
    Path,
    AsWritten,
    Exact,
    Handle,
    Formerly,
    Prefix,
}

/// Memories that an id could mean.
pub(in crate::engine) struct Matches {
    id: String,
    /// The id with its capital letters.
    written: String,
    /// The id with its folders and `.md`.
    whole: String,
    /// Whether it is a whole stem with an id, and so no beginning of another name.
    is_stem: bool,
    found: Vec<(MatchKind, Stem, String)>,
}

impl Matches {
    /// Prepares to match an id as a user pasted it.
    pub fn new(id: &str) -> Matches {
        Matches {
            is_stem: Stem::parse(&plain_id(id)).is_some(),
            id: plain_id(id),
            written: stripped_id(id).to_owned(),
            whole: unwrapped_id(id).to_owned(),
            found: Vec::new(),
        }
    }

    /// Returns the names of all files that have the whole id as their name, in either spelling, possibly
    /// with others; `None` if the snapshot cannot look them up.
    fn looked_up(&self, snapshot: &dyn Snapshot) -> Option<Vec<String>> {
        let last = |id: &str| id.rsplit('/').next().unwrap_or(id).to_owned();
        let (id, written) = (last(&self.id), last(&self.written));
        let mut names = snapshot.maybe_called(&id)?;
        if written != id {
            names.extend(snapshot.maybe_called(&written)?);
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// Whether a file matched by the whole id: then prefixes
    /// do not count.
    fn is_certain(&self) -> bool {
        let mut kinds = self.found.iter().map(|(kind, ..)| *kind);
        kinds.any(|kind| kind < MatchKind::Prefix)
    }

    fn add(&mut self, kind: MatchKind, name: &str) {
        self.found.push((kind, stem_of(name), name.to_owned()));
    }

    /// Adds the files whose former id is the id.
    fn take_former(&mut self, names: &[String]) {
        let formerly = MatchKind::Formerly;
        names.iter().for_each(|name| self.add(formerly, name));
    }

    /// Matches the file `name`.
    pub fn take(&mut self, name: &str) {
        let path = name.strip_suffix(".md").unwrap_or(name);
        let stem = path.rsplit('/').next().unwrap_or(path);
        // A path names one file even where two folders hold a file of one name.
        if is_whole_name(name, &self.whole) {
            self.add(MatchKind::WholeName, name);
        } else if path == self.written && path != stem {
            self.add(MatchKind::Path, name);
        }
        let is_exact = stem == self.id || (stem.is_ascii() && stem.eq_ignore_ascii_case(&self.id));
        let handle = stem.get(16..).filter(|_| stem.len() == 24);
        // Who names a memory does not mean its former texts.
        let is_former = stem.contains(".replaced-") && {
            let stem = Stem::from_file_name(stem);
            stem.replaced_of()
                .is_some_and(|of| self.id.len() <= of.len())
        };
        if stem == self.written {
            self.add(MatchKind::AsWritten, name);
        } else if is_exact {
            self.add(MatchKind::Exact, name);
        } else if handle == Some(&self.id) {
            self.add(MatchKind::Handle, name);
        } else if self.id.len() >= MIN_PREFIX
            && !self.is_stem
            && !is_former
            && (handle.is_some_and(|handle| handle.starts_with(&self.id))
                || stem.starts_with(&self.id))
        {
            self.add(MatchKind::Prefix, name);
        }
    }

    /// Returns the best match.
    pub fn only(self) -> Result<(Stem, String), EngineError> {
        let Some(kind) = self.found.iter().map(|(kind, ..)| *kind).min() else {
            return Err(EngineError::NotFound(self.id));
        };
        let best = self.found.into_iter().filter(|(of, ..)| *of == kind);
        let mut best: Vec<(Stem, String)> = best.map(|(_, stem, name)| (stem, name)).collect();
        if best.len() == 1 {
            return Ok(best.pop().expect("there is one"));
        }
        best.sort();
        // Two files of one stem in two folders are distinguished by their folders.
        let same_stem = best.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let candidates = best
            .into_iter()
            .take(20)
            .map(|(stem, name)| match same_stem {
                true => name,
                false => stem.as_str().to_owned(),
            });
        Err(EngineError::Ambiguous {
            id: self.id,
            candidates: candidates.collect(),
        })
    }
}

/// Metadata key of an earlier text with the stem of its memory, so that a name refers to
/// that memory if both are live.
pub const EARLIER_OF: &str = "earlier_of";

/// Metadata key with the id of a memory in its source.
pub const SOURCE_ID: &str = "source_id";

/// Result for one requested id.
#[derive(Debug)]
pub enum Recalled {
    Found { memory: Box<Memory>, name: String },
    Failed { id: String, error: EngineError },
}
