//! Titles name memories in this tool set: one title in one namespace is one memory. Of several that
//! came in another way (a merge, an import, an editor), the one that was changed last is shown, and
//! it names the others.

use std::cell::OnceCell;

use schemars::JsonSchema;
use serde::Serialize;

use super::shape;
use super::shape::MemoryView;
use crate::dialect::call::Call;
use crate::dialect::reply::ToolError;
use crate::engine::live::UsesOfAll;
use crate::engine::{Contender, Engine, ops};
use crate::model::{Filter, Memory, Stem};

/// Key of the field with the ids of other memories of the same title.
pub(super) const OTHERS: &str = "same_title";

/// A memory that stands for others of its title.
#[derive(Serialize, JsonSchema)]
pub(super) struct ListedMemory {
    #[serde(flatten)]
    pub memory: MemoryView,
    /// Ids of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_title: Option<Vec<String>>,
}

/// Groups of memories that share a title.
#[derive(Default)]
pub(super) struct Titles {
    groups: Vec<Vec<Contender>>,
    /// Ids of the groups' memories as they are shown.
    ids: Vec<Vec<String>>,
    /// Uses as of the first memory that is listed.
    uses: OnceCell<UsesOfAll>,
}

impl Titles {
    /// Finds the memories that share a title.
    pub fn of(call: &Call<'_>) -> Result<Titles, ToolError> {
        let groups = ops::same_titles(call.engine)?;
        let stems = |group: &Vec<Contender>| {
            let stems: Vec<Stem> = group.iter().map(|one| one.memory.stem.clone()).collect();
            shape::shown_ids(call.engine, &stems)
        };
        Ok(Titles {
            ids: groups.iter().map(stems).collect(),
            groups,
            uses: OnceCell::new(),
        })
    }

    /// Returns the filter, which lets only the shown memory of each group pass.
    pub fn narrow(&self, mut filter: Filter) -> Filter {
        let ids = self.not_shown().map(|memory| memory.stem.short());
        filter
            .differs
            .extend(ids.map(|id| ("id".to_owned(), id.to_owned())));
        filter
    }

    /// Returns the number of memories of `namespace` that are not shown.
    pub fn not_shown_in(&self, namespace: &str) -> usize {
        let theirs = |memory: &&Memory| memory.namespace_or_global() == namespace;
        self.not_shown().filter(theirs).count()
    }

    /// Returns the number of memories that `stems` count as in this tool set.
    pub fn count(&self, stems: &[Stem]) -> usize {
        let repeated = self.groups.iter().map(|group| {
            let files = stems.iter().filter(|stem| {
                let mut group = group.iter();
                group.any(|one| one.memory.stem == **stem)
            });
            files.count().saturating_sub(1)
        });
        stems.len() - repeated.sum::<usize>()
    }

    /// Returns the memories for which another one of their title is shown.
    fn not_shown(&self) -> impl Iterator<Item = &Memory> {
        self.groups.iter().flat_map(|group| {
            let shown = group[0].memory.stem.short();
            let others = group[1..].iter().map(|one| &one.memory);
            // By their ids: of two files of one id the one that is shown has to pass a filter.
            others.filter(move |other| other.stem.short() != shown)
        })
    }

    /// Returns the view of a memory with the ids of the others of its title.
    pub fn listed(&self, engine: &Engine, memory: &Memory) -> ListedMemory {
        let uses = || UsesOfAll::read(&engine.live);
        let memory = MemoryView::by_uses(engine, memory, self.uses.get_or_init(uses));
        ListedMemory {
            same_title: self.others(&memory.id),
            memory,
        }
    }

    /// Returns the ids of the other memories with the title of the memory `id`, if there are any.
    pub fn others(&self, id: &str) -> Option<Vec<String>> {
        let mut groups = self.ids.iter();
        let group = groups.find(|group| group.iter().any(|one| one == id))?;
        let others = group.iter().filter(|one| *one != id);
        Some(others.cloned().collect())
    }

    /// Returns the note beside memories, if one of `ids` stands for others of its title.
    pub fn note<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Option<String> {
        let named =
            ids.filter_map(|id| Some(format!("{id} beside {}", self.others(id)?.join(", "))));
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| {
            format!(
                "several memories have one title in one namespace, and the one that was changed last \
                 is shown: {}. memory_get reads the others; memory_delete, or another title, settles it",
                named.join("; ")
            )
        })
    }
}
