//! Which file is meant by what stands in a link, or by an id that a memory had elsewhere.
//!
//! What came in by an import keeps the id that it had there as `source_id` in its metadata, a fact of
//! the index: whoever knows the old id finds the memory by it. A name of its own goes first.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::collections::HashMap;

use crate::engine::EARLIER_OF;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::exchange::SOURCE_ID;
use crate::engine::live::reading::stem_of;
use crate::engine::retrieval::recall::is_whole_name;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Snapshot;
use crate::model::ALIASES;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::Visibility;
use crate::model::plain_id;
use crate::model::stripped_id;
use crate::model::unwrapped_id;

/// Whether `id`, as a link has it, names the memory `stem`.
pub(in crate::engine) fn is_called(stem: &Stem, id: &str) -> bool {
    let id = plain_id(id);
    let id = id.rsplit('/').next().unwrap_or(&id);
    id == plain_id(stem.as_str()) || id == stem.short()
}

/// What a memory was called where it comes from; `None` of an earlier text, whose id another has.
pub(in crate::engine) fn former_id(memory: &Memory) -> Option<&str> {
    let is_earlier = memory.metadata_text(EARLIER_OF).is_some();
    memory.metadata_text(SOURCE_ID).filter(|_| !is_earlier)
}

/// Whether `id`, as a text has it, is the `former` one.
pub(in crate::engine) fn is_former(former: &str, id: &str) -> bool {
    spellings(id).any(|id| id.eq_ignore_ascii_case(former))
}

/// What a source may have called what is written as `id`: that, what is inside a link, and the file
/// of a note.
pub(in crate::engine) fn spellings(id: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let (trimmed, stripped) = (id.trim(), stripped_id(id));
    let file = format!("{stripped}.md");
    [trimmed.into(), stripped.into(), file.into()].into_iter()
}

/// The files of a view by what links call them.
pub(in crate::engine) struct Names<'a> {
    engine: &'a Engine,
    snapshot: &'a dyn Snapshot,
    /// More than one where several are called so.
    by_id: HashMap<String, Vec<&'a str>>,
    /// The files by the aliases that they state, in small letters.
    by_alias: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> Names<'a> {
    pub fn of(engine: &'a Engine, snapshot: &'a dyn Snapshot) -> Names<'a> {
        let mut by_id: HashMap<String, Vec<&str>> = HashMap::new();
        for (name, _) in snapshot.files() {
            let stem = stem_of(name);
            let mut ids = vec![plain_id(stem.as_str()), stem.short().to_owned()];
            ids.dedup();
            for id in ids {
                by_id.entry(id).or_default().push(name);
            }
        }
        Names {
            engine,
            snapshot,
            by_id,
            by_alias: OnceCell::new(),
        }
    }

    /// The file that `[[id]]` in the file `from` means, as [`Names::called`]; of several of one name the
    /// nearest, and what an alias of a note says where no name does.
    pub fn mentioned(&self, id: &str, from: &str) -> Option<Cow<'a, str>> {
        let plain = plain_id(id);
        let last = plain.rsplit('/').next().unwrap_or(&plain);
        if let Some(known) = self.by_id.get(last)
            && known.len() > 1
        {
            return nearest(known, id, from).map(Cow::Borrowed);
        }
        let by_alias = || {
            let aliases = self.by_alias.get_or_init(|| self.aliases());
            let known = aliases.get(&id.trim().to_lowercase())?;
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let found = known.iter().min_by_key(|name| distance(name, from))?;
            Some(Cow::Owned((*found).to_owned()))
        };
        self.called(id).or_else(by_alias)
    }

    fn aliases(&self) -> HashMap<String, Vec<String>> {
        let mut names = BTreeSet::new();
        for key in ALIASES {
            let holders = self.snapshot.holders(key).unwrap_or_default();
            names.extend(holders.into_iter().map(|(_, name)| name));
        }
        let mut by_alias: HashMap<String, Vec<String>> = HashMap::new();
        for name in names {
            let memory = self.engine.read_memory(&name);
            for alias in memory.iter().flat_map(Memory::aliases) {
                by_alias
                    .entry(alias.to_lowercase())
                    .or_default()
                    .push(name.clone());
            }
        }
        by_alias
    }

    /// The one file that is called so, or was where it comes from; `None` if there is none, or if
    /// there are several and `id` is the whole name of none.
    pub fn called(&self, id: &str) -> Option<Cow<'a, str>> {
        let plain = plain_id(id);
        let last = plain.rsplit('/').next().unwrap_or(&plain);
        if let Some(known) = self.by_id.get(last) {
            let [only] = known.as_slice() else {
                return whole_name(known, id).map(Cow::Borrowed);
            };
            return Some(Cow::Borrowed(only));
        }
        let mut former = self.engine.formerly_called(self.snapshot, id).ok()?;
        let only = former.pop().filter(|_| former.is_empty());
        only.map(Cow::Owned)
    }
}

/// Which of several files of one name `[[link]]` in the file `from` means, as Obsidian has it: the one
/// whose path it gives, else of those whose path ends so the one in the same folder, else the one in
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

/// What orders files of one name, seen from the file `from`.
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

/// The one of several files of one stem that `id` names with its folders; or by `files/` before,
/// as a path below the store.
fn whole_name<'a>(namesakes: &[&'a str], id: &str) -> Option<&'a str> {
    let id = unwrapped_id(id);
    let of = |id: &str| {
        let mut all = namesakes.iter().copied();
        all.find(|name| is_whole_name(name, id))
    };
    of(id).or_else(|| of(id.strip_prefix("files/")?))
}

impl Engine {
    /// What a link to the live file `name` says: its stem, or where others have that, its whole name.
    pub(in crate::engine) fn link_text(&self, name: &str) -> String {
        let stem = stem_of(name);
        match self.resolve(stem.as_str()) {
            Err(EngineError::Ambiguous { .. }) => name.to_owned(),
            _ => stem.as_str().to_owned(),
        }
    }

    /// What the memory in the live file `name` is shown as: as [`Engine::shown_id`], and where notes of
    /// several folders have one name, with the folder.
    pub fn shown_name(&self, stem: &Stem, name: &str) -> String {
        match stem.is_canonical() {
            true => self.shown_id(stem),
            false => self.link_text(name),
        }
    }

    /// The live files of the memories that were called `id` where they come from.
    pub(in crate::engine) fn formerly_called(
        &self,
        snapshot: &dyn Snapshot,
        id: &str,
    ) -> Result<Vec<String>, EngineError> {
        let mut names = BTreeSet::new();
        for id in spellings(id) {
            names.extend(self.holding(snapshot, &format!("metadata.{SOURCE_ID}"), &[&id])?);
        }
        // The index folds case and cuts long values; what is written decides.
        let mut found: Vec<(bool, String)> = Vec::new();
        for name in names {
            if let Some(memory) = self.read_memory(&name)
                && let Some(former) = former_id(&memory).filter(|former| is_former(former, id))
            {
                found.push((spellings(id).any(|id| id == former), name));
            }
        }
        let is_exact = found.iter().any(|(is_exact, _)| *is_exact);
        found.retain(|(exact, _)| *exact == is_exact);
        Ok(found.into_iter().map(|(_, name)| name).collect())
    }

    /// As [`Engine::formerly_called`], of the forgotten ones, which no index holds: every file of the
    /// archive is read.
    pub(in crate::engine) fn formerly_called_archived(
        &self,
        id: &str,
    ) -> Result<Vec<String>, EngineError> {
        let reader = self.store.reader(Place::Archive);
        let mut names = Vec::new();
        for entry in self.store.list(Place::Archive)?.entries {
            let Ok(version) = reader.read(&entry.name, MAX_INDEXED_BYTES as u64) else {
                continue;
            };
            let memory = crate::engine::live::reading::parse(&version.entry, &version.bytes);
            if former_id(&memory).is_some_and(|former| is_former(former, id)) {
                names.push(entry.name);
            }
        }
        Ok(names)
    }

    /// The live files that hold one of `ids` under a key.
    pub(in crate::engine) fn holding(
        &self,
        snapshot: &dyn Snapshot,
        key: &str,
        ids: &[&str],
    ) -> Result<BTreeSet<String>, EngineError> {
        let mut names = BTreeSet::new();
        for id in ids.iter().collect::<BTreeSet<_>>() {
            let filter = Filter {
                equals: vec![(key.to_owned(), (*id).to_owned())],
                visibility: Visibility::Everything,
                ..Filter::default()
            };
            names.extend(self.names_of(snapshot, &filter)?);
        }
        Ok(names)
    }
}
