//! Entries: memories by category and key.
//!
//! A memory that was stored by `remember` of this set has its key in its metadata. Any other one is
//! called by the words of its headline and its id, of which the id decides; so is one that another
//! machine stored under a key that is taken. The key of an entry thus never depends on which other
//! entries are shown.

use std::collections::HashMap;

use super::vocabulary;
use super::vocabulary::KEY;
use super::vocabulary::category_of;
use crate::dialect::Call;
use crate::dialect::ToolError;
use crate::engine::Hit;
use crate::engine::Recalled;
use crate::model::Memory;
use crate::model::MetaValue;
use crate::model::Stem;

/// What an entry that states no importance counts as.
pub(super) const USUAL_IMPORTANCE: u8 = 5;
/// So many words of a headline, and characters, are in the key made of it.
const SLUG_WORDS: usize = 6;
const SLUG_CHARACTERS: usize = 48;

/// A memory with what this set calls it.
pub(super) struct Entry {
    pub memory: Memory,
    /// Its file, as the engine names it.
    pub file: String,
    pub category: &'static str,
    pub key: String,
}

impl Entry {
    /// As links show it.
    pub fn name(&self) -> String {
        format!("{}.{}", self.category, self.key)
    }

    pub fn id(&self) -> &str {
        self.memory.stem.as_str()
    }

    pub fn importance(&self) -> u8 {
        self.memory.importance.unwrap_or(USUAL_IMPORTANCE)
    }

    /// The entry that a search found.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be searched for others of its key.
    pub fn of_hit(call: &Call<'_>, hit: Hit) -> Result<Entry, ToolError> {
        let key = key_of(call, &hit.memory)?;
        Ok(Entry::new(hit, key))
    }

    fn new(hit: Hit, key: String) -> Entry {
        Entry {
            category: category_of(&hit.memory),
            key,
            memory: hit.memory,
            file: hit.name,
        }
    }

    /// For counting a use of it.
    pub fn recalled(&self) -> Recalled {
        Recalled::Found {
            memory: Box::new(self.memory.clone()),
            name: self.file.clone(),
        }
    }
}

/// The entries of a category, or of all, in the order of the categories and of their making.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub(super) fn list(call: &Call<'_>, category: Option<&str>) -> Result<Vec<Entry>, ToolError> {
    let hits = call.engine.search(&vocabulary::everything(category))?.hits;
    // The first one with a key has it.
    let mut holders: HashMap<(&'static str, String), Stem> = HashMap::new();
    for hit in &hits {
        let Some(key) = own_key(&hit.memory) else {
            continue;
        };
        let holder = holders
            .entry((category_of(&hit.memory), key.to_owned()))
            .or_insert_with(|| hit.memory.stem.clone());
        if hit.memory.stem < *holder {
            holder.clone_from(&hit.memory.stem);
        }
    }
    let named = |hit: Hit| {
        let own = own_key(&hit.memory).map(str::to_owned);
        let holder = own.and_then(|own| holders.get(&(category_of(&hit.memory), own)));
        let key = shown_key(call, &hit.memory, holder == Some(&hit.memory.stem));
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

/// The entry that is called so; `None` if there is none.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub(super) fn find(call: &Call<'_>, category: &str, key: &str) -> Result<Option<Entry>, ToolError> {
    let found = match holder(call, category, key)? {
        Some(hit) => Some(hit),
        None => by_id(call, category, key),
    };
    Ok(found.map(|hit| Entry::new(hit, key.to_owned())))
}

/// As [`find`], where the call makes no sense without it.
///
/// # Errors
///
/// Fails if there is none, too.
pub(super) fn required(call: &Call<'_>, category: &str, key: &str) -> Result<Entry, ToolError> {
    find(call, category, key)?.ok_or_else(|| {
        let shown: String = key.chars().take(80).collect();
        ToolError::refused(format!("no entry '{shown}' in category '{category}'"))
    })
}

/// The first of the memories that were stored under a key.
fn holder(call: &Call<'_>, category: &str, key: &str) -> Result<Option<Hit>, ToolError> {
    let mut search = vocabulary::everything(Some(category));
    let named = (format!("metadata.{KEY}"), key.to_owned());
    search.filter.equals.push(named);
    let hits = call.engine.search(&search)?.hits.into_iter();
    // The index folds case.
    let with_key = hits.filter(|hit| own_key(&hit.memory) == Some(key));
    Ok(with_key.min_by(|a, b| a.memory.stem.cmp(&b.memory.stem)))
}

/// The memory whose id stands at the end of a key.
fn by_id(call: &Call<'_>, category: &str, key: &str) -> Option<Hit> {
    let after = key.rmatch_indices('-').map(|(at, _)| &key[at + 1..]);
    let mut ids = after.chain([key]).take(SLUG_WORDS + 4);
    ids.find_map(|id| {
        let (stem, _) = call.engine.resolve(id).ok()?;
        // A beginning of an id is none.
        let is_it = call.engine.shown_id(&stem) == id;
        let hit = read(call, stem.as_str()).filter(|_| is_it)?;
        let own = own_key(&hit.memory);
        let is_called = own.is_none_or(|own| key == format!("{own}-{id}"));
        (is_called && category_of(&hit.memory) == category).then_some(hit)
    })
}

/// The entry that a memory is; `None` if it is gone.
///
/// # Errors
///
/// As for [`Entry::of_hit`].
pub(super) fn with_stem(call: &Call<'_>, stem: &Stem) -> Result<Option<Entry>, ToolError> {
    let hit = read(call, stem.as_str());
    hit.map(|hit| Entry::of_hit(call, hit)).transpose()
}

/// The live memory called `id`.
pub(super) fn read(call: &Call<'_>, id: &str) -> Option<Hit> {
    match call.engine.recall(&[id.to_owned()]).pop()? {
        Recalled::Found { memory, name } => Some(Hit {
            memory: *memory,
            name,
            score: 0.0,
            matched: Vec::new(),
            parts: None,
        }),
        Recalled::Failed { .. } => None,
    }
}

/// What a memory is called in its category.
fn key_of(call: &Call<'_>, memory: &Memory) -> Result<String, ToolError> {
    let is_holder = match own_key(memory) {
        Some(own) => {
            let holder = holder(call, category_of(memory), own)?;
            holder.is_none_or(|hit| hit.memory.stem == memory.stem)
        }
        None => false,
    };
    Ok(shown_key(call, memory, is_holder))
}

fn shown_key(call: &Call<'_>, memory: &Memory, is_holder: bool) -> String {
    let id = call.engine.shown_id(&memory.stem);
    match own_key(memory) {
        Some(own) if is_holder => own.to_owned(),
        Some(own) => format!("{own}-{id}"),
        None => match slug(memory.headline()) {
            slug if slug.is_empty() => id,
            slug => format!("{slug}-{id}"),
        },
    }
}

/// The key that a memory was stored under.
fn own_key(memory: &Memory) -> Option<&str> {
    text(memory, KEY).filter(|key| !key.trim().is_empty())
}

/// The text under a key of the metadata.
pub(super) fn text<'a>(memory: &'a Memory, key: &str) -> Option<&'a str> {
    let mut metadata = memory.metadata.iter();
    metadata.find_map(|(known, value)| match value {
        MetaValue::Text(text) if known == key => Some(text.as_str()),
        _ => None,
    })
}

/// The first words of a line, in lower case, joined by hyphens.
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
