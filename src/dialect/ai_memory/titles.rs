//! One title in one namespace is one memory in this tool set. Of several that came in another way (a
//! merge, an import, an editor), the one that was changed last is shown, and the others are named.

use serde_json::Value;
use serde_json::json;

use super::shape;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::add_note;
use crate::engine::Contender;
use crate::engine::Engine;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Stem;

/// The key of a memory's field that names the others of its title.
pub(super) const OTHERS: &str = "same_title";

/// The memories that share a title with another one, in groups.
#[derive(Default)]
pub(super) struct Titles(Vec<Vec<Contender>>);

impl Titles {
    pub fn of(call: &Call<'_>) -> Result<Titles, ToolError> {
        Ok(Titles(ops::same_titles(call.engine)?))
    }

    /// The filter, which of each group lets only the one pass that is shown.
    pub fn narrow(&self, mut filter: Filter) -> Filter {
        let ids = self.not_shown().map(|memory| memory.stem.short());
        filter
            .differs
            .extend(ids.map(|id| ("id".to_owned(), id.to_owned())));
        filter
    }

    /// How many memories of `namespace` are not shown.
    pub fn not_shown_in(&self, namespace: &str) -> usize {
        let theirs = |memory: &&Memory| memory.namespace_or_global() == namespace;
        self.not_shown().filter(theirs).count()
    }

    /// How many memories `stems` are in this tool set.
    pub fn count(&self, stems: &[Stem]) -> usize {
        let repeated = self.0.iter().map(|group| {
            let files = stems.iter().filter(|stem| {
                let mut group = group.iter();
                group.any(|one| one.memory.stem == **stem)
            });
            files.count().saturating_sub(1)
        });
        stems.len() - repeated.sum::<usize>()
    }

    /// The memories for which another one of their title is shown.
    fn not_shown(&self) -> impl Iterator<Item = &Memory> {
        self.0.iter().flat_map(|group| {
            let shown = group[0].memory.stem.short();
            let others = group[1..].iter().map(|one| &one.memory);
            // By their ids: of two files of one id the one that is shown has to pass a filter.
            others.filter(move |other| other.stem.short() != shown)
        })
    }

    /// Names in each of `rows`, memories as they are shown, the others of its title. Returns what is to
    /// be said of that beside them, if any stands for others.
    pub fn name_others(&self, engine: &Engine, rows: &mut [Value]) -> Option<String> {
        let groups = self.0.iter().map(|group| {
            let stems: Vec<Stem> = group.iter().map(|one| one.memory.stem.clone()).collect();
            shape::shown_ids(engine, &stems)
        });
        let groups: Vec<Vec<String>> = groups.collect();
        let mut named = Vec::new();
        for row in rows {
            let is_it = |id: &&String| row["id"] == id.as_str();
            let Some(group) = groups
                .iter()
                .find(|group| group.iter().any(|id| is_it(&id)))
            else {
                continue;
            };
            let others: Vec<&String> = group.iter().filter(|id| !is_it(id)).collect();
            let texts: Vec<&str> = others.iter().map(|id| id.as_str()).collect();
            named.push(format!("{} beside {}", row["id"], texts.join(", ")).replace('"', ""));
            row[OTHERS] = json!(others);
        }
        (!named.is_empty()).then(|| {
            format!(
                "several memories have one title in one namespace, and the one that was changed last \
                 is shown: {}. memory_get reads the others; memory_delete, or another title, settles it",
                named.join("; ")
            )
        })
    }
}

/// Says beside an answer all that is to be said.
pub(super) fn add_notes<const N: usize>(answer: &mut JsonObject, notes: [Option<String>; N]) {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    add_note(answer, (!notes.is_empty()).then(|| notes.join(". ")));
}
