//! Finds the memories that a new one may duplicate, and carries out the decision about it.
//!
//! `lifecycle` decides; this module collects the candidates and writes the result. An updated memory
//! leaves its earlier text in the archive, as a memory of its own, before it is changed.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::names::EARLIER_OF;
use crate::engine::live::{current_snapshot, index_recovery, names, rows, usage};
use crate::engine::ops::relations::titles;
use crate::engine::ops::remembered::{Remembered, WriteOutcome};
use crate::engine::ops::retrieval::similar;
use crate::engine::ops::retrieval::similar::{Likeness, Similar};
use crate::engine::ops::update;
use crate::engine::ops::update::{check_change, check_details, edited};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::put::Edited;
use crate::engine::write::screen::Screened;
use crate::engine::write::{new, put, screen};
use crate::files::{FilesError, Place, Version};
use crate::lifecycle::{
    Decision, DuplicateCandidate, DuplicatePolicy, Ends, Resemblance, USUAL_IMPORTANCE, WritePolicy,
};
use crate::model::{
    Change, Filter, Handle, Link, Memory, MetaValue, NewMemory, Patch, Stem, Timestamp, TopicMatch,
    Visibility,
};
use crate::{format, lifecycle};

const EARLIER_TEXT: &str = "an earlier text of ";

/// Relation of a link between memories that are related.
const RELATED: &str = "related-to";

/// Number of most similar memories that are compared with the new one.
const COMPARED: usize = 8;

/// Maximum number of topics of a memory that are looked up.
const MOST_TOPICS: usize = 8;

/// Maximum number of newest memories that are read for each set of topics, and in all.
const MOST_SHARING: usize = 20;

const MOST_SHARING_IN_ALL: usize = 100;

/// Maximum number of names that are drawn for an earlier text.
const MAX_DRAWS: usize = 16;

/// A memory that gets a new text, before it is written.
pub(in crate::engine) struct Renewal {
    /// Path of its file below `files/`.
    pub(in crate::engine) name: String,
    /// Version of the file that is replaced.
    pub(in crate::engine) version: Version,
    old: Memory,
    change: Change,
    ends: Ends,
    /// New bytes of the file.
    pub(in crate::engine) bytes: Vec<u8>,
    screened: Screened,
}

/// The file of an earlier text in the archive.
pub(in crate::engine) struct Earlier {
    /// Path of the file below `archive/`.
    pub(in crate::engine) name: String,
    /// Content of the file.
    pub(in crate::engine) bytes: Vec<u8>,
}

/// Part of an earlier version that makes a second copy of it unnecessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// The same text, whatever its metadata.
    Text,
    Everything,
}

impl Renewal {
    /// Whether the new bytes equal the old ones.
    pub(in crate::engine) fn is_nothing(&self) -> bool {
        self.bytes == self.version.bytes
    }

    /// Puts the replaced text into the archive, if the text changes.
    pub(in crate::engine) fn keep_earlier(
        &self,
        engine: &Engine,
    ) -> Result<Option<Stem>, EngineError> {
        let is_new_text = self.change.content.is_some();
        let kept =
            is_new_text.then(|| keep_earlier(engine, &self.old, &self.version.bytes, Kept::Text));
        kept.transpose()
    }

    /// Returns the file that [`Renewal::keep_earlier`] tries to write first.
    pub(in crate::engine) fn earlier(&self, engine: &Engine) -> Option<Earlier> {
        let is_new_text = self.change.content.is_some();
        is_new_text.then(|| {
            let marked = marked_as_earlier(&self.old, &self.version.bytes);
            let stem = earlier_stem(&self.old, &marked, Kept::Text);
            earlier_file(engine, &stem, &marked)
        })
    }
}

/// Decides what to do with `new`, whose namespace and supersession are settled.
pub(in crate::engine) fn decide_on(
    engine: &Engine,
    new: &NewMemory,
    policy: &WritePolicy,
) -> Result<Decision, EngineError> {
    let is_stored_anyhow = policy.force || !new.supersedes.is_empty();
    let candidates = match policy.duplicates {
        _ if is_stored_anyhow => Vec::new(),
        DuplicatePolicy::Allow => Vec::new(),
        DuplicatePolicy::SameTitle => with_title_of(engine, new, Some(&new.user))?,
        DuplicatePolicy::Similar => like(engine, new, &group(new))?,
        DuplicatePolicy::Suggest => {
            let filter = match &policy.among {
                _ if policy.broad => Filter::default(),
                Some(among) => among.clone(),
                None => group(new),
            };
            let mut candidates = match policy.resemblance {
                Resemblance::Everything => like(engine, new, &filter)?,
                Resemblance::WordSets => like_by_words(engine, &as_memory(engine, new), &filter)?,
            };
            let others = sharing_topics(engine, &new.topics, 2, &filter)?.into_iter();
            let others = others.map(|memory| resembling(new, memory));
            candidates.extend(others);
            if policy.among.is_none() {
                candidates.extend(with_title_of(engine, new, None)?);
            }
            let mut seen = BTreeSet::new();
            candidates.retain(|one| seen.insert(one.memory.stem.as_str().to_owned()));
            candidates
        }
    };
    Ok(lifecycle::decide(new, &candidates, policy))
}

/// Links `new` with the near duplicates `near`, and as the policy defines with those that share its
/// topics; returns the latter.
pub(in crate::engine) fn relate(
    engine: &Engine,
    new: &mut NewMemory,
    near: &[Stem],
    policy: &WritePolicy,
) -> Result<Vec<Stem>, EngineError> {
    let mut by_topics = Vec::new();
    if policy.auto_links > 0 {
        let of_namespace = || Filter {
            namespaces: vec![namespace(new)],
            ..Filter::default()
        };
        let filter = policy.among.clone().unwrap_or_else(of_namespace);
        let least = policy.shared_topics.max(1);
        let others = sharing_topics(engine, &new.topics, least, &filter)?;
        by_topics = lifecycle::related_by_topics(&new.topics, &others, policy);
        by_topics.retain(|stem| {
            let id = stem.as_str();
            !near.contains(stem)
                && !new.supersedes.iter().any(|known| known == id)
                && !new
                    .links
                    .iter()
                    .any(|link| crate::engine::texts::is_called(stem, &link.to))
        });
    }
    new.links
        .extend(near.iter().chain(&by_topics).map(|stem| Link {
            to: stem.as_str().to_owned(),
            relation: RELATED.to_owned(),
        }));
    Ok(by_topics)
}

/// Makes `new` the text of the live memory called `id`: fields that it states replace the old ones,
/// other fields stay, topics and links are united. The earlier text, if it differs, is kept in
/// the archive.
///
/// # Errors
///
/// Fails if there is no such memory, if a value breaks the format's limits, or if a file cannot
/// be written.
pub fn rewrite(engine: &Engine, id: &str, new: &NewMemory) -> Result<Remembered, EngineError> {
    engine.writer.check_writable()?;
    check_details(new.kind, &new.metadata)?;
    let (_, name) = names::resolve(&engine.live, id)?;
    renew(
        engine,
        &Stem::from_file_name(&name),
        new.clone(),
        &WritePolicy::plain(),
    )
}

/// Returns the live memory whose metadata holds all of `names`, texts by their keys, and that is in
/// `namespace` or in none. Of several, one in `namespace` comes first, then one that is no earlier
/// text of another memory, then the newest.
pub(in crate::engine) fn called_by(
    engine: &Engine,
    names: &[(&str, &str)],
    namespace: Option<&str>,
) -> Result<Option<Stem>, EngineError> {
    let equals = names
        .iter()
        .map(|(key, name)| (format!("metadata.{key}"), (*name).to_owned()));
    let filter = Filter {
        equals: equals.collect(),
        visibility: Visibility::Everything,
        ..Filter::default()
    };
    let found = rows::names_where(&engine.live, &filter)?;
    // The index folds case and cuts long values; what is written decides.
    let is_it = |memory: &Memory| {
        let own = memory.namespace.as_deref();
        (own.is_none() || own == namespace)
            && names
                .iter()
                .all(|(key, name)| memory.metadata_text(key) == Some(name))
    };
    rows::prefetch(&engine.live, &found);
    let memories = found
        .iter()
        .filter_map(|name| rows::read_memory(&engine.live, name));
    let place = |memory: &Memory| {
        let is_earlier = memory.metadata_text(EARLIER_OF).is_some();
        let newest = Reverse(memory.timestamp.utc());
        let is_of_all = memory.namespace.as_deref() != namespace;
        (is_of_all, is_earlier, newest, memory.stem.clone())
    };
    let found = memories.filter(is_it).min_by_key(place);
    Ok(found.map(|memory| memory.stem))
}

/// Makes `new` the text of the memory `stem`. The earlier text, if it differs, is kept in the
/// archive under a name of its own.
pub(in crate::engine) fn renew(
    engine: &Engine,
    stem: &Stem,
    new: NewMemory,
    policy: &WritePolicy,
) -> Result<Remembered, EngineError> {
    put::until_put(stem.short(), || {
        let renewal = self::renewal(engine, stem, &new, policy)?;
        let done = |earlier| Remembered {
            changed: lifecycle::changed_fields(&renewal.change),
            lives_on: renewal.ends.is_new_sooner(),
            screened: renewal.screened.clone(),
            ..Remembered::of(stem_of(&renewal.name), WriteOutcome::Updated { earlier })
        };
        if renewal.is_nothing() {
            return Ok(Some(done(None)));
        }
        // First: should this process end in between, a text is there twice, and none is lost.
        let earlier = renewal.keep_earlier(engine)?;
        let Renewal {
            name,
            version,
            bytes,
            ..
        } = &renewal;
        let edited = put::put(&engine.writer, name, version, bytes, "remember")?;
        Ok(edited.map(|_| done(earlier)))
    })
}

/// Returns the change that makes `new` the text of the memory `stem`, as its file is now.
pub(in crate::engine) fn renewal(
    engine: &Engine,
    stem: &Stem,
    new: &NewMemory,
    policy: &WritePolicy,
) -> Result<Renewal, EngineError> {
    let (name, version) = names::read(&engine.live, stem.as_str())?;
    let old = parse(&version.entry, &version.bytes);
    let mut new = new.clone();
    if policy.keeps_importance {
        let known = old.importance.unwrap_or(USUAL_IMPORTANCE);
        new.importance = new.importance.filter(|importance| *importance > known);
    }
    let ends = self::ends(engine, &new, &old);
    let change = lifecycle::as_update(&new, &old, ends);
    check_change(&old, &change)?;
    let bytes = edited(&old, &version.bytes, &change)?;
    let (bytes, screened) = screen::screen(&engine.writer, &name, Some(&version.bytes), bytes)?;
    Ok(Renewal {
        name,
        version,
        old,
        change,
        ends,
        bytes,
        screened,
    })
}

/// As [`update`], with the entries `entries` of the metadata set, null to take one out; a replaced text is kept in
/// the archive as a memory of its own, which is returned.
///
/// # Errors
///
/// As for [`update`].
pub fn update_keeping(
    engine: &Engine,
    id: &str,
    change: &Change,
    entries: &[(String, MetaValue)],
) -> Result<(Edited, Option<Stem>), EngineError> {
    engine.writer.check_writable()?;
    let (stem, name) = names::resolve(&engine.live, id)?;
    put::until_put(stem.short(), || {
        let (name, version) = names::read(&engine.live, &name)?;
        let old = parse(&version.entry, &version.bytes);
        let mut change = change.clone();
        if !entries.is_empty() {
            // Of the file as it is now: another call may have set one since.
            change.metadata = update::with_entries(&old.metadata, entries);
        }
        let (change, tool) = update::with_end_of_tier(engine, &old, change, "update");
        check_change(&old, &change)?;
        let bytes = edited(&old, &version.bytes, &change)?;
        let (bytes, screened) = screen::screen(&engine.writer, &name, Some(&version.bytes), bytes)?;
        let is_new_text = |content: &String| *content != old.content;
        let earlier = match change.content.as_ref().is_some_and(is_new_text) {
            // First, as above.
            true => Some(keep_earlier(engine, &old, &version.bytes, Kept::Text)?),
            false => None,
        };
        let edited = put::put(&engine.writer, &name, &version, &bytes, tool)?;
        Ok(edited.map(|edited| (Edited { screened, ..edited }, earlier)))
    })
}

/// Adds to the memory `stem`, which has the same text, the other fields that `new` states; `None` if
/// its text differs by now. Where metadata is replaced, the old file is kept in the archive.
pub(in crate::engine) fn enrich(
    engine: &Engine,
    stem: &Stem,
    new: &NewMemory,
) -> Result<Option<Remembered>, EngineError> {
    put::until_put(stem.short(), || {
        let (name, version) = match names::read(&engine.live, stem.as_str()) {
            Err(EngineError::NotFound(_)) => return Ok(Some(None)),
            read => read?,
        };
        let old = parse(&version.entry, &version.bytes);
        if !lifecycle::is_same_text(new, &old) {
            return Ok(Some(None));
        }
        let ends = self::ends(engine, new, &old);
        let change = Change {
            content: None,
            ..lifecycle::as_update(new, &old, ends)
        };
        check_change(&old, &change)?;
        let bytes = edited(&old, &version.bytes, &change)?;
        let (bytes, screened) = screen::screen(&engine.writer, &name, Some(&version.bytes), bytes)?;
        if lifecycle::replaces_metadata(&change, &old) {
            keep_earlier(engine, &old, &version.bytes, Kept::Everything)?;
        }
        let edited = put::put(&engine.writer, &name, &version, &bytes, "remember")?;
        Ok(edited.map(|_| {
            Some(Remembered {
                changed: lifecycle::changed_fields(&change),
                lives_on: ends.is_new_sooner(),
                screened,
                ..Remembered::of(stem.clone(), WriteOutcome::Known)
            })
        }))
    })
}

/// Returns the expiry of both memories, as of now.
fn ends(engine: &Engine, new: &NewMemory, old: &Memory) -> Ends {
    let end = |memory: &Memory| usage::state_of(&engine.live, memory).0.expires;
    Ends {
        new: end(&as_memory(engine, new)),
        old: end(old),
    }
}

/// Writes `bytes`, the file of the memory `old`, into the archive as a memory of its own, unless the
/// same text is there already as an earlier one of the same memory.
fn keep_earlier(
    engine: &Engine,
    old: &Memory,
    bytes: &[u8],
    what: Kept,
) -> Result<Stem, EngineError> {
    let marked = marked_as_earlier(old, bytes);
    let mut stem = earlier_stem(old, &marked, what);
    for _ in 0..MAX_DRAWS {
        let Earlier { name, bytes } = earlier_file(engine, &stem, &marked);
        // One that was brought back has that name.
        let is_free = engine.live.store.look_at(Place::Files, &name).is_none();
        let added = is_free.then(|| engine.writer.add((Place::Archive, &name), &bytes));
        match added.unwrap_or_else(|| Err(taken(engine, &name))) {
            Ok(()) => {
                kept_earlier(engine, &old.stem, &name);
                return Ok(stem);
            }
            Err(FilesError::Taken { .. }) if is_kept_in(engine, &name, old, what) => {
                return Ok(stem);
            }
            Err(FilesError::Taken { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        stem = Stem::new(earlier_time(old), new::draw_handle(&engine.writer));
    }
    Err(EngineError::Invalid(format!(
        "no free name was found in {MAX_DRAWS} draws"
    )))
}

fn taken(engine: &Engine, name: &str) -> FilesError {
    FilesError::Taken {
        path: engine.live.path(Place::Files, name),
    }
}

/// Returns the stem of an earlier text in the archive. It is derived from the text, so that several
/// processes or machines that replace the same text keep it once.
fn earlier_stem(old: &Memory, marked: &[u8], what: Kept) -> Stem {
    let text = match what {
        Kept::Text => old.content.as_bytes(),
        Kept::Everything => marked,
    };
    let of = [old.stem.as_str().as_bytes(), b"\0", text].concat();
    let handle = format!("{:08x}", crate::files::digest(&of) as u32);
    let handle = Handle::parse(&handle).expect("eight hex digits are a handle");
    Stem::new(earlier_time(old), handle)
}

fn earlier_file(engine: &Engine, stem: &Stem, marked: &[u8]) -> Earlier {
    Earlier {
        name: engine.live.new_name(stem),
        // A frontmatter that names no id cannot name this one.
        bytes: format::called(marked, stem).unwrap_or_else(|_| marked.to_vec()),
    }
}

/// Whether the file `name` of the archive has the same content as `old`.
fn is_kept_in(engine: &Engine, name: &str, old: &Memory, what: Kept) -> bool {
    let version = engine
        .live
        .store
        .reader(Place::Archive)
        .read(name, u64::MAX);
    version.is_ok_and(|version| {
        let kept = parse(&version.entry, &version.bytes);
        kept.content == old.content && (what == Kept::Text || as_earlier(&kept) == as_earlier(old))
    })
}

/// Records that an earlier text of the memory `whose` is in the archive now.
pub(in crate::engine) fn kept_earlier(engine: &Engine, whose: &Stem, name: &str) {
    engine.writer.note_kept(name, &earlier_text_of(whose));
}

/// Returns the current memories with the title of `new` in its namespace, of one user or of all; the
/// last changed first.
fn with_title_of(
    engine: &Engine,
    new: &NewMemory,
    user: Option<&str>,
) -> Result<Vec<DuplicateCandidate>, EngineError> {
    let Some(title) = new.title.as_deref() else {
        return Ok(Vec::new());
    };
    let mut equals = vec![("title".to_owned(), title.trim().to_owned())];
    equals.extend(user.map(|user| ("user".to_owned(), user.to_owned())));
    let filter = Filter {
        namespaces: vec![namespace(new)],
        equals,
        ..Filter::default()
    };
    let mut memories = newest(engine, &filter, COMPARED)?;
    titles::changed_last_first(engine, &mut memories, |memory| memory);
    let memories = memories.into_iter();
    Ok(memories.map(|memory| resembling(new, memory)).collect())
}

/// Returns the memories most similar to `new`, by their words, and by their meaning where there is
/// a model.
fn like(
    engine: &Engine,
    new: &NewMemory,
    filter: &Filter,
) -> Result<Vec<DuplicateCandidate>, EngineError> {
    let memory = as_memory(engine, new);
    let mut candidates = like_by_words(engine, &memory, filter)?;
    let near = similar::similar(engine, &memory, filter, COMPARED)?.into_iter();
    for Similar {
        hit, similarity, ..
    } in near.filter(|similar| similar.by == Likeness::Meaning)
    {
        let mut known = candidates.iter_mut();
        match known.find(|one| one.memory.stem == hit.memory.stem) {
            Some(known) => known.meaning = Some(similarity),
            None => candidates.push(DuplicateCandidate {
                meaning: Some(similarity),
                ..resembling(new, hit.memory.into_memory())
            }),
        }
    }
    Ok(candidates)
}

fn like_by_words(
    engine: &Engine,
    memory: &Memory,
    filter: &Filter,
) -> Result<Vec<DuplicateCandidate>, EngineError> {
    let by_words = similar::sharing_words(engine, memory, filter)?.into_iter();
    let candidate = |similar: Similar| DuplicateCandidate {
        words: similar.similarity,
        memory: similar.hit.memory.into_memory(),
        meaning: None,
    };
    Ok(by_words.map(candidate).collect())
}

/// Returns current memories that have at least `least` of `topics`, the newest for each subset.
fn sharing_topics(
    engine: &Engine,
    topics: &[String],
    least: usize,
    filter: &Filter,
) -> Result<Vec<Memory>, EngineError> {
    let mut distinct: Vec<String> = topics.iter().map(|topic| topic.to_lowercase()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.truncate(MOST_TOPICS);
    let mut names: Vec<String> = index_recovery::mending(&engine.live, || {
        let mut names = Vec::new();
        let snapshot = current_snapshot::snapshot(&engine.live)?;
        for topics in subsets(&distinct, least) {
            let filter = Filter {
                topics,
                topic_match: TopicMatch::All,
                ..filter.clone()
            };
            let page = rows::page_of(&engine.live, snapshot.as_ref(), &filter, 0..MOST_SHARING)?;
            names.extend(page.1);
        }
        Ok(names)
    })?;
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names.truncate(MOST_SHARING_IN_ALL);
    rows::prefetch(&engine.live, &names);
    Ok(names
        .iter()
        .filter_map(|name| rows::read_memory(&engine.live, name))
        .collect())
}

/// Returns the newest memories that pass `filter`.
fn newest(engine: &Engine, filter: &Filter, limit: usize) -> Result<Vec<Memory>, EngineError> {
    let (_, names) = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        rows::page_of(&engine.live, snapshot, filter, 0..limit)
    })?;
    rows::prefetch(&engine.live, &names);
    Ok(names
        .iter()
        .filter_map(|name| rows::read_memory(&engine.live, name))
        .collect())
}

/// Returns the memory that `new` would be if it were written now.
pub(in crate::engine) fn as_memory(engine: &Engine, new: &NewMemory) -> Memory {
    let now = Timestamp::from_utc(engine.live.clock.now());
    let timestamp = new.timestamp.clone().unwrap_or(now);
    let stem = Stem::new(timestamp.utc(), Handle::draw());
    new.clone().into_memory(stem, timestamp)
}

/// Returns the reason that the journal records for an earlier text of a memory in the archive.
pub(in crate::engine) fn earlier_text_of(stem: &Stem) -> String {
    format!("{EARLIER_TEXT}{}", stem.short())
}

/// Whether `why` is the journal's reason for an earlier text in the archive.
pub(in crate::engine) fn is_earlier_text(why: &str) -> bool {
    why.starts_with(EARLIER_TEXT)
}

/// Returns the time in the stem of an earlier text.
fn earlier_time(old: &Memory) -> DateTime<Utc> {
    old.stem.time().unwrap_or_else(|| old.timestamp.utc())
}

/// Returns `bytes`, the file of the memory `old`, with metadata that marks them as an earlier text.
fn marked_as_earlier(old: &Memory, bytes: &[u8]) -> Vec<u8> {
    // Otherwise no metadata can name the memory by it, or the file is kept as it is.
    if old.metadata.is_empty() || !old.problems.is_empty() {
        return bytes.to_vec();
    }
    let change = Change {
        metadata: Patch::Set(as_earlier(old)),
        ..Change::default()
    };
    format::edit(bytes, &change).unwrap_or_else(|_| bytes.to_vec())
}

/// Returns the metadata of a memory, as that of an earlier text of it.
fn as_earlier(old: &Memory) -> Vec<(String, MetaValue)> {
    let mut metadata = old.metadata.clone();
    metadata.retain(|(key, _)| key != EARLIER_OF);
    let whose = MetaValue::Text(old.stem.as_str().to_owned());
    metadata.push((EARLIER_OF.to_owned(), whose));
    metadata
}

/// Returns the namespace that `new` counts as.
fn namespace(new: &NewMemory) -> String {
    new.namespace.clone().unwrap_or_else(|| "global".to_owned())
}

/// Returns the filter for the group of `new`; a kind or a scope that is not stated is left to the decision.
fn group(new: &NewMemory) -> Filter {
    Filter {
        namespaces: vec![namespace(new)],
        kinds: new.kind.into_iter().collect(),
        scopes: new.scope.into_iter().collect(),
        ..Filter::default()
    }
}

fn resembling(new: &NewMemory, memory: Memory) -> DuplicateCandidate {
    DuplicateCandidate {
        words: crate::ranking::resemblance(&new.content, &memory.content),
        memory,
        meaning: None,
    }
}

/// Returns every subset of `items` of the given size; none if there are fewer items.
fn subsets(items: &[String], size: usize) -> Vec<Vec<String>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in items.iter().enumerate() {
        for mut rest in subsets(&items[at + 1..], size - 1) {
            rest.insert(0, first.clone());
            all.push(rest);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_topics_are_complete() {
        let items = ["a", "b", "c"].map(str::to_owned);
        let joined = |size| -> Vec<String> {
            let sets = subsets(&items, size).into_iter();
            sets.map(|set| set.concat()).collect()
        };
        assert_eq!(joined(1), ["a", "b", "c"]);
        assert_eq!(joined(2), ["ab", "ac", "bc"]);
        assert_eq!(joined(3), ["abc"]);
        assert_eq!(joined(4), [""; 0]);
    }
}
