//! The store in numbers.

use std::collections::BTreeMap;

use chrono::DateTime;
use chrono::Utc;

use super::Engine;
use super::EngineError;
use crate::files::Place;
use crate::index::Snapshot;
use crate::model::Filter;
use crate::model::Visibility;

/// How many memories there are, and of what sort.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// All live memories.
    pub memories: usize,
    /// Of these, those that searches find.
    pub current: usize,
    /// Those whose life has ended, and that are not archived yet.
    pub expired: usize,
    /// Those that another live memory replaces.
    pub superseded: usize,
    pub archived: usize,
    /// Of the live memories, by word of the vocabulary; none stated is not counted.
    pub kinds: BTreeMap<String, usize>,
    pub scopes: BTreeMap<String, usize>,
    pub tiers: BTreeMap<String, usize>,
    /// How many distinct topics, users and namespaces there are.
    pub topics: usize,
    pub users: usize,
    pub namespaces: usize,
    /// Memories that have links, or supersede another.
    pub linked: usize,
    /// Of the memory files.
    pub bytes: u64,
    pub oldest: Option<DateTime<Utc>>,
    pub newest: Option<DateTime<Utc>>,
}

impl Engine {
    /// Counts the memories that pass `filter`, whatever its visibility. The archive is counted
    /// whole.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn stats(&self, filter: &Filter) -> Result<Stats, EngineError> {
        self.mending(|| self.stats_now(filter))
    }

    fn stats_now(&self, filter: &Filter) -> Result<Stats, EngineError> {
        let snapshot = self.snapshot()?;
        let snapshot = snapshot.as_ref();
        let with = |visibility| Filter {
            visibility,
            ..filter.clone()
        };
        let everything = with(Visibility::Everything);
        // The newest first, so that both ends are at hand.
        let names = self.names_of(snapshot, &everything)?;
        let at = |name: Option<&String>| Some(self.read_memory(name?)?.timestamp.utc());
        let is_whole = everything
            == Filter {
                visibility: Visibility::Everything,
                ..Filter::default()
            };
        let counted = |key: &str| -> Result<BTreeMap<String, usize>, EngineError> {
            let mut counts = BTreeMap::new();
            for (value, count) in snapshot.facet(key)? {
                let count = match is_whole {
                    true => count,
                    false => self.count(snapshot, &everything, key, &value)?,
                };
                if count > 0 {
                    counts.insert(value, count);
                }
            }
            Ok(counts)
        };
        let distinct = |key: &str| Ok::<_, EngineError>(counted(key)?.len());
        let sizes = names.iter().filter_map(|name| snapshot.indexed(name));
        let mut linked: Vec<String> = Vec::new();
        for key in ["links", "supersedes"] {
            let holders = snapshot.holders(key)?.into_iter();
            linked.extend(holders.map(|(_, name)| name));
        }
        linked.sort_unstable();
        linked.dedup();
        let passing: std::collections::HashSet<&String> = names.iter().collect();
        linked.retain(|name| passing.contains(name));
        let current = self.names_of(snapshot, &with(Visibility::Current))?.len();
        let expired = self.names_of(snapshot, &with(Visibility::Expired))?.len();
        Ok(Stats {
            memories: names.len(),
            current,
            expired,
            // One may have ended between the two looks.
            superseded: names.len().saturating_sub(current + expired),
            archived: self.store.list(Place::Archive)?.entries.len(),
            kinds: counted("kind")?,
            scopes: counted("scope")?,
            tiers: counted("tier")?,
            topics: distinct("topics")?,
            users: distinct("user")?,
            namespaces: distinct("namespace")?,
            linked: linked.len(),
            bytes: sizes.map(|indexed| indexed.stamp.size).sum(),
            oldest: at(names.last()),
            newest: at(names.first()),
        })
    }

    fn count(
        &self,
        snapshot: &dyn Snapshot,
        filter: &Filter,
        key: &str,
        value: &str,
    ) -> Result<usize, EngineError> {
        let mut filter = filter.clone();
        filter.equals.push((key.to_owned(), value.to_owned()));
        Ok(self.names_of(snapshot, &filter)?.len())
    }

    /// The values of a facet (`topics`, `namespace`, `user`, …) with their numbers of live memories,
    /// the commonest first.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, EngineError> {
        self.mending(|| Ok(self.snapshot()?.facet(key)?))
    }
}
