//! Sets the relations between imported memories, once all of them are there.
//!
//! A source has its own names for its memories; their new stems are collected during the import,
//! and relations wait until the end, so that their order does not matter. A relation is set if
//! one of its memories is new, so that links that somebody removed are not added again. Only the keys
//! of relations are changed.

use std::collections::{BTreeMap, HashMap};

use crate::engine::error::EngineError;
use crate::engine::ops::update;
use crate::engine::parts::Engine;
use crate::engine::texts::is_called;
use crate::files::Place;
use crate::import::{ForeignRelation, SUPERSEDED_BY, SUPERSEDES};
use crate::model::{Change, Link, Memory, NewMemory, Patch, Stem};

/// Maximum number of links of one memory, as in `format`.
const MAX_LINKS: usize = 200;

/// A memory that a relation can start from or lead to.
#[derive(Debug, Clone)]
pub(in crate::engine) struct End {
    /// Stem of the memory; `None` in a dry run.
    pub stem: Option<Stem>,
    /// Name of its live file; `None` if it has none.
    pub name: Option<String>,
    /// Whether this import created it.
    pub is_new: bool,
}

/// Counts of relations by result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::engine) struct Related {
    /// Relations that were set.
    pub set: usize,
    /// Set relations whose times are lost.
    pub dated: usize,
    /// Relations of which one memory does not exist.
    pub dangling: usize,
    /// Relations with a name that several memories have.
    pub ambiguous: usize,
    /// Relations from a memory to itself.
    pub to_itself: usize,
    /// Relations beyond the limits of a memory's file.
    pub no_room: usize,
    /// Supersessions that would form a cycle.
    pub circular: usize,
}

/// Collected relations, and the memories that they may lead to.
#[derive(Default)]
pub(in crate::engine) struct Relating {
    ends: Vec<End>,
    by_id: HashMap<String, usize>,
    /// Number of the memory; `None` where several have the name.
    by_name: HashMap<String, Option<usize>>,
    wanted: Vec<ForeignRelation>,
    /// Numbers of new memories whose files name others, with these names.
    stated: Vec<(usize, Vec<String>)>,
}

/// Relations to add to one memory.
#[derive(Default)]
struct Gains {
    links: Vec<Link>,
    supersedes: Vec<Stem>,
    superseded_by: Option<Stem>,
    /// Names in its file that are those of the source, with the memories that they are here.
    renamed: HashMap<String, Stem>,
}

impl Relating {
    /// Records the result of importing the memory called `source_id`. Of several with one id, the first counts.
    pub fn became(&mut self, source_id: Option<&str>, names: Vec<String>, end: End) {
        let number = self.ends.len();
        self.ends.push(end);
        if let Some(id) = source_id {
            self.by_id.entry(id.to_owned()).or_insert(number);
        }
        for name in names {
            let known = self.by_name.entry(name).or_insert(Some(number));
            // A line that stands twice is one memory; a dry run makes none to tell it by.
            let stem = |number: usize| self.ends[number].stem.as_ref();
            let is_same =
                |known| known == number || (stem(known).is_some() && stem(known) == stem(number));
            *known = known.filter(|known| is_same(*known));
        }
    }

    /// Records what the file of the memory that became last names, as the source called it.
    pub fn states(&mut self, memory: &NewMemory) {
        let links = memory.links.iter().map(|link| &link.to);
        let named = memory.supersedes.iter().chain(&memory.superseded_by);
        let named: Vec<String> = named.chain(links).cloned().collect();
        if !named.is_empty() {
            self.stated.push((self.ends.len() - 1, named));
        }
    }

    /// Records a relation.
    pub fn wants(&mut self, relation: ForeignRelation) {
        self.wanted.push(match relation.relation.as_str() {
            SUPERSEDED_BY => ForeignRelation {
                from: relation.to,
                relation: SUPERSEDES.to_owned(),
                to: relation.from,
                ..relation
            },
            _ => relation,
        });
    }

    /// Returns the memory that the source calls `id`; `earlier` returns those of former runs.
    fn end(&mut self, id: &str, earlier: &dyn Fn(&str) -> Option<End>) -> Option<usize> {
        let here = self.by_id.get(id).copied();
        if let Some(number) = here.or_else(|| self.by_name.get(id).copied().flatten()) {
            return Some(number);
        }
        let end = earlier(id)?;
        self.became(Some(id), Vec::new(), end);
        Some(self.ends.len() - 1)
    }

    /// Whether several memories have this name.
    fn is_shared(&self, id: &str) -> bool {
        !self.by_id.contains_key(id) && self.by_name.get(id).is_some_and(Option::is_none)
    }

    /// Returns the relations to add to each memory, by its number. With `all`, also those between memories
    /// that are not new.
    fn gains(
        &mut self,
        all: bool,
        earlier: &dyn Fn(&str) -> Option<End>,
        related: &mut Related,
    ) -> BTreeMap<usize, Gains> {
        let mut gains: BTreeMap<usize, Gains> = BTreeMap::new();
        for (from, names) in std::mem::take(&mut self.stated) {
            for name in names {
                let to = self.end(&name, earlier).filter(|to| *to != from);
                let stem = to.and_then(|to| self.ends[to].stem.clone());
                if let Some(stem) = stem.filter(|stem| !is_called(stem, &name)) {
                    let renamed = &mut gains.entry(from).or_default().renamed;
                    renamed.insert(name, stem);
                }
            }
        }
        let mut replaced_by: HashMap<usize, usize> = HashMap::new();
        for wanted in std::mem::take(&mut self.wanted) {
            let ends = self.end(&wanted.from, earlier);
            let ends = ends.zip(self.end(&wanted.to, earlier));
            let Some((from, to)) = ends else {
                match self.is_shared(&wanted.from) || self.is_shared(&wanted.to) {
                    true => related.ambiguous += 1,
                    false => related.dangling += 1,
                }
                continue;
            };
            if from == to && wanted.relation != SUPERSEDES {
                related.to_itself += 1;
                continue;
            }
            if !all && !self.ends[from].is_new && !self.ends[to].is_new {
                continue;
            }
            if wanted.relation == SUPERSEDES {
                if is_replaced_by(&replaced_by, from, to) {
                    related.circular += 1;
                    continue;
                }
                replaced_by.entry(to).or_insert(from);
            }
            related.set += 1;
            related.dated += usize::from(wanted.is_dated);
            // A dry run only counts.
            let stems = self.ends[from].stem.clone().zip(self.ends[to].stem.clone());
            let Some((from_stem, to_stem)) = stems else {
                continue;
            };
            if wanted.relation == SUPERSEDES {
                gains.entry(from).or_default().supersedes.push(to_stem);
                let old = gains.entry(to).or_default();
                old.superseded_by.get_or_insert(from_stem);
            } else {
                gains.entry(from).or_default().links.push(Link {
                    to: to_stem.as_str().to_owned(),
                    relation: wanted.relation,
                });
            }
        }
        gains
    }
}

/// Whether `one` is `other`, or is superseded by it, directly or indirectly.
fn is_replaced_by(replaced_by: &HashMap<usize, usize>, one: usize, other: usize) -> bool {
    let mut at = Some(one);
    // No cycle was added before, so this ends.
    while let Some(number) = at {
        if number == other {
            return true;
        }
        at = replaced_by.get(&number).copied();
    }
    false
}

/// Sets the collected relations. With `all`, also those between memories that existed
/// before; a dry run only counts.
///
/// # Errors
///
/// Fails if the store cannot be written at all.
pub(in crate::engine) fn relate_imported(
    engine: &Engine,
    mut relating: Relating,
    all: bool,
    earlier: &dyn Fn(&str) -> Option<End>,
) -> Result<Related, EngineError> {
    let mut related = Related::default();
    for (number, gains) in relating.gains(all, earlier, &mut related) {
        // A forgotten memory is not changed.
        let End { stem, name, .. } = &relating.ends[number];
        if let (Some(stem), Some(name)) = (stem, name) {
            let refused = give(engine, stem, name, gains)?;
            related.no_room += refused;
            related.set -= refused.min(related.set);
        }
    }
    Ok(related)
}

/// Writes the relations into the memory's file; returns the number of links that it does not hold then.
fn give(engine: &Engine, stem: &Stem, name: &str, mut gains: Gains) -> Result<usize, EngineError> {
    let wanted = gains.links.clone();
    loop {
        let read = || {
            let version = engine
                .live
                .store
                .reader(Place::Files)
                .read(name, u64::MAX)?;
            Ok((name.to_owned(), version))
        };
        let change = |memory: &Memory| Ok(gains.change(memory));
        match update::update_read(engine, "import", stem.as_str(), read, change) {
            Ok(edited) => {
                let links = wanted.iter();
                return Ok(links.filter(|link| !holds(&edited.memory, link)).count());
            }
            Err(EngineError::Format(_)) if !gains.links.is_empty() => {
                gains.links.truncate(gains.links.len() / 2);
            }
            Err(EngineError::Format(_)) if !gains.supersedes.is_empty() => {
                // The `superseded_by` of each older memory states the same.
                gains.supersedes.clear();
            }
            Err(EngineError::Files(error)) if error.is_full() || error.is_read_only() => {
                return Err(error.into());
            }
            // A damaged file, or a concurrent change: the others are still written.
            Err(error) => {
                tracing::warn!("cannot set the links of {stem}: {error}");
                return Ok(wanted.len());
            }
        }
    }
}

/// Whether the memory has the link already, under any name of its target.
fn holds(memory: &Memory, link: &Link) -> bool {
    let stem = Stem::from_file_name(&link.to);
    let mut links = memory.links.iter();
    links.any(|known| known.relation == link.relation && is_called(&stem, &known.to))
}

impl Gains {
    /// Returns the change that adds them to `memory`.
    fn change(&self, memory: &Memory) -> Change {
        let mut change = Change::default();
        let now_called = |name: &String| {
            let stem = self.renamed.get(name);
            stem.map_or_else(|| name.clone(), |stem| stem.as_str().to_owned())
        };
        let mut links = memory.links.clone();
        for link in &mut links {
            link.to = now_called(&link.to);
        }
        for link in &self.links {
            if !holds(memory, link) && !links.contains(link) && links.len() < MAX_LINKS {
                links.push(link.clone());
            }
        }
        if links != memory.links {
            change.links = Patch::Set(links);
        }
        let mut supersedes: Vec<String> = memory.supersedes.iter().map(now_called).collect();
        for stem in &self.supersedes {
            if !supersedes.iter().any(|known| is_called(stem, known)) {
                supersedes.push(stem.as_str().to_owned());
            }
        }
        if supersedes != memory.supersedes {
            change.supersedes = Patch::Set(supersedes);
        }
        let superseded_by = match (&self.superseded_by, &memory.superseded_by) {
            (_, Some(name)) => Some(now_called(name)),
            (stem, None) => stem.as_ref().map(|stem| stem.as_str().to_owned()),
        };
        if superseded_by != memory.superseded_by {
            change.superseded_by = superseded_by.map_or(Patch::Keep, Patch::Set);
        }
        change
    }
}
