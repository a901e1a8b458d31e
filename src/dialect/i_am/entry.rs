//! Entries: memories by category and key.
//!
//! A memory that `remember` of this set stored has its key in its metadata. The key of any other memory
//! is made of the words of its headline and its id; so is that of a memory whose own key another memory
//! holds. No two entries of a category have the same key, and the key of an entry does not depend on
//! which other entries are shown. Calls that write find an entry by its present key only: a key that
//! merely ends with an id is a new one.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::vocabulary;
use super::vocabulary::{KEY, category_of};
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;
use crate::engine::{EARLIER_OF, Hit, Recalled, live, ops};
use crate::model::{Memory, MetaValue, Stem};

/// Importance of an entry that states none.
pub(super) const USUAL_IMPORTANCE: u8 = 5;
/// Maximum number of words of a headline, and of characters, in the key made of it.
const SLUG_WORDS: usize = 6;
const SLUG_CHARACTERS: usize = 48;
/// Maximum number of suffixes of a key that are tried as an id: a file's name has no more hyphens.
const MOST_PARTS: usize = 256;

/// A memory with its category and key.
pub(super) struct Entry {
    /// The memory.
    pub memory: Memory,
    /// Name of its file in the store.
    pub file: String,
    /// Its category.
    pub category: &'static str,
    /// Its key in the category.
    pub key: String,
}

impl Entry {
    /// Returns the name in links: `category.key`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.category, self.key)
    }

    /// Returns the id of the memory.
    pub fn id(&self) -> &str {
        self.memory.stem.as_str()
    }

    /// Returns the stated importance, or the default.
    pub fn importance(&self) -> u8 {
        self.memory.importance.unwrap_or(USUAL_IMPORTANCE)
    }

    /// Returns the entry of a hit.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched for others of its key.
    pub fn of_hit(call: &Call<'_>, hit: Hit) -> Result<Entry, ToolError> {
        let key = key_of(call, &hit)?;
        Ok(Entry::new(hit, key))
    }

    fn new(hit: Hit, key: String) -> Entry {
        Entry {
            category: category_of(&hit.memory),
            key,
            memory: hit.memory.into_memory(),
            file: hit.name,
        }
    }

    /// Returns the entry for counting a use of it.
    pub fn recalled(&self) -> Recalled {
        Recalled::Found {
            memory: Box::new(self.memory.clone()),
            name: self.file.clone(),
        }
    }
}

/// Returns the entries of a category, or of all, by category and time.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub(super) fn list(call: &Call<'_>, category: Option<&str>) -> Result<Vec<Entry>, ToolError> {
    let hits = ops::search(call.engine, &vocabulary::everything(category))?.hits;
    let mut holders: HashMap<(&'static str, String), Claim> = HashMap::new();
    let mut stems: HashMap<Stem, usize> = HashMap::new();
    for hit in &hits {
        *stems.entry(hit.memory.stem.clone()).or_default() += 1;
        let Some(key) = own_key(&hit.memory) else {
            continue;
        };
        let claim = claim(call, hit);
        let holder = holders
            .entry((category_of(&hit.memory), key.to_owned()))
            .or_insert_with(|| claim.clone());
        if claim < *holder {
            *holder = claim;
        }
    }
    let named = |hit: Hit| {
        let category = category_of(&hit.memory);
        let holder = |key: &str| holders.get(&(category, key.to_owned()));
        let own = own_key(&hit.memory);
        let key = match own.filter(|own| holder(own) == Some(&claim(call, &hit))) {
            Some(own) => own.to_owned(),
            None => {
                let id = id_of(call, &hit, stems[&hit.memory.stem] == 1);
                let mut key = lent_key(&hit.memory, &id);
                while holder(&key).is_some() {
                    key = format!("{key}-{id}");
                }
                key
            }
        };
        Entry::new(hit, key)
    };
    let mut entries: Vec<Entry> = hits.into_iter().map(named).collect();
    let place = |entry: &Entry| {
        let mut categories = vocabulary::CATEGORIES.iter();
        categories.position(|known| *known == entry.category)
    };
    let made = |entry: &Entry| (entry.memory.timestamp.utc(), entry.memory.stem.clone());
    entries.sort_by_cached_key(|entry| (place(entry), made(entry)));
    Ok(entries)
}

/// Returns the entry that has this key at present; `None` if there is none.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub(super) fn find(call: &Call<'_>, category: &str, key: &str) -> Result<Option<Entry>, ToolError> {
    if let Some(hit) = holder(call, category, key)? {
        return Ok(Some(Entry::new(hit, key.to_owned())));
    }
    let after = key.rmatch_indices('-').map(|(at, _)| &key[at + 1..]);
    for id in after.chain([key]).take(MOST_PARTS) {
        if live::resolve(&call.engine.live, id).is_err() {
            continue;
        }
        let hit = read(call, id).filter(|hit| category_of(&hit.memory) == category);
        let entry = hit.map(|hit| Entry::of_hit(call, hit)).transpose()?;
        if let Some(entry) = entry.filter(|entry| entry.key == key) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Returns as [`find`], where the entry must exist.
///
/// # Errors
///
/// Fails if there is none, too.
pub(super) fn required(call: &Call<'_>, category: &str, key: &str) -> Result<Entry, ToolError> {
    find(call, category, key)?.ok_or_else(|| missing(category, key))
}

/// Returns as [`required`], for calls that only read: an id at the end of the key is enough, if the words
/// before it have changed.
///
/// # Errors
///
/// As for [`required`].
pub(super) fn readable(call: &Call<'_>, category: &str, key: &str) -> Result<Entry, ToolError> {
    if let Some(entry) = find(call, category, key)? {
        return Ok(entry);
    }
    let id = key.rsplit('-').next().unwrap_or(key);
    let resolved = live::resolve(&call.engine.live, id).ok();
    let is_it = |stem: &Stem| stem.handle().is_some() && call.engine.live.shown_id(stem) == id;
    let hit = resolved
        .filter(|(stem, _)| is_it(stem))
        .and_then(|(stem, _)| read(call, stem.as_str()))
        .filter(|hit| own_key(&hit.memory).is_none() && category_of(&hit.memory) == category);
    let hit = hit.ok_or_else(|| missing(category, key))?;
    Entry::of_hit(call, hit)
}

fn missing(category: &str, key: &str) -> ToolError {
    let shown: String = key.chars().take(80).collect();
    ToolError::refused(format!("no entry '{shown}' in category '{category}'"))
}

/// Returns the memory that holds a key, of those that were stored under it.
fn holder(call: &Call<'_>, category: &str, key: &str) -> Result<Option<Hit>, ToolError> {
    let mut search = vocabulary::everything(None);
    let named = (format!("metadata.{KEY}"), key.to_owned());
    search.filter.equals.push(named);
    let hits = ops::search(call.engine, &search)?.hits.into_iter();
    // The index folds case.
    let with_key = hits
        .filter(|hit| own_key(&hit.memory) == Some(key) && category_of(&hit.memory) == category);
    Ok(with_key.min_by_key(|hit| claim(call, hit)))
}

/// Sort key of the memories stored under one key; the first one holds the key.
type Claim = (Reach, bool, Reverse<DateTime<Utc>>, Stem, String);

/// Owner of an entry, relative to the caller's project: each project has its own keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Own,
    /// No project, and so all.
    All,
    /// Another project.
    Other,
}

/// Returns the owner of `memory`.
pub(super) fn reach(call: &Call<'_>, memory: &Memory) -> Reach {
    match memory.namespace.as_deref() {
        own if own == call.engine.live.namespace().as_deref() => Reach::Own,
        None => Reach::All,
        Some(_) => Reach::Other,
    }
}

/// Returns the sort key of a memory among those stored under one key.
///
/// Memories of the caller's project come first, then the newest: one that is restored from the archive
/// does not take the key from one that was stored since. Earlier texts of an entry come last. All of it
/// is in the files, so every machine gets the same result in a project.
fn claim(call: &Call<'_>, hit: &Hit) -> Claim {
    let memory = &hit.memory;
    (
        reach(call, memory),
        text(memory, EARLIER_OF).is_some(),
        Reverse(memory.timestamp.utc()),
        memory.stem.clone(),
        hit.name.clone(),
    )
}

/// Returns as [`find`], without entries that hold the key in another project, which may not be changed.
///
/// # Errors
///
/// As for [`find`].
pub(super) fn find_own(
    call: &Call<'_>,
    category: &str,
    key: &str,
) -> Result<Option<Entry>, ToolError> {
    let found = find(call, category, key)?;
    let is_other = |entry: &Entry| {
        own_key(&entry.memory) == Some(key) && reach(call, &entry.memory) == Reach::Other
    };
    Ok(found.filter(|entry| !is_other(entry)))
}

/// Returns the entry of a memory; `None` if the memory is gone.
///
/// # Errors
///
/// As for [`Entry::of_hit`].
pub(super) fn with_stem(call: &Call<'_>, stem: &Stem) -> Result<Option<Entry>, ToolError> {
    let hit = read(call, stem.as_str());
    hit.map(|hit| Entry::of_hit(call, hit)).transpose()
}

/// Returns the live memory called `id`.
pub(super) fn read(call: &Call<'_>, id: &str) -> Option<Hit> {
    let (memory, name) = ops::recall_one(call.engine, id).ok()?;
    Some(Hit {
        memory: (*memory).into(),
        name,
        score: 0.0,
        matched: Vec::new(),
        parts: None,
        lines: None,
    })
}

/// Returns the key of a memory in its category.
fn key_of(call: &Call<'_>, hit: &Hit) -> Result<String, ToolError> {
    let category = category_of(&hit.memory);
    if let Some(own) = own_key(&hit.memory) {
        let holder = holder(call, category, own)?;
        if holder.is_none_or(|holder| holder.name == hit.name) {
            return Ok(own.to_owned());
        }
    }
    let is_only = live::resolve(&call.engine.live, hit.memory.stem.as_str()).is_ok();
    let id = id_of(call, hit, is_only);
    let mut key = lent_key(&hit.memory, &id);
    while holder(call, category, &key)?.is_some() {
        key = format!("{key}-{id}");
    }
    Ok(key)
}

/// Returns the id of a memory, or its path if several files have its name.
fn id_of(call: &Call<'_>, hit: &Hit, is_only: bool) -> String {
    match is_only {
        true => call.engine.live.shown_id(&hit.memory.stem),
        false => hit.name.trim_end_matches(".md").to_owned(),
    }
}

/// Returns the key of a memory that has none of its own, or whose own key another memory holds.
fn lent_key(memory: &Memory, id: &str) -> String {
    match own_key(memory) {
        Some(own) => format!("{own}-{id}"),
        None => match slug(memory.headline()) {
            slug if slug.is_empty() => id.to_owned(),
            slug => format!("{slug}-{id}"),
        },
    }
}

/// Returns the key that a memory was stored under; `None` for one with blanks around it, which no call
/// can pass.
pub(super) fn own_key(memory: &Memory) -> Option<&str> {
    text(memory, KEY).filter(|key| !key.is_empty() && key.trim() == *key)
}

/// Returns the text under a key of the metadata.
pub(super) fn text<'a>(memory: &'a Memory, key: &str) -> Option<&'a str> {
    let mut metadata = memory.metadata.iter();
    metadata.find_map(|(known, value)| match value {
        MetaValue::Text(text) if known == key => Some(text.as_str()),
        _ => None,
    })
}

/// Returns the first words of a line, in lower case, joined by hyphens.
fn slug(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(SLUG_WORDS);
    let slug = words.collect::<Vec<_>>().join("-").to_lowercase();
    let slug: String = slug.chars().take(SLUG_CHARACTERS).collect();
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_becomes_a_few_words() {
        assert_eq!(slug("How we deploy: atlas"), "how-we-deploy-atlas");
        assert_eq!(slug("a b c d e f g h"), "a-b-c-d-e-f");
        assert_eq!(slug("Größe – prüfen!"), "größe-prüfen");
        assert_eq!(slug(" … "), "");
        assert!(slug(&"word".repeat(40)).chars().count() <= SLUG_CHARACTERS);
    }
}
