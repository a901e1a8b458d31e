//! Folders and exports of other programs → memories to be written.
//!
//! Sources are only read. The name of each memory in its source is kept as `source_id`, so that importing
//! twice adds nothing. An unreadable item does not stop the import. Relations have the names of memories
//! in the source, which `engine` maps to memories.

mod ai_memory;
mod aiaml;
mod block;
mod draft;
mod fields;
mod i_am;
mod jsonl;
mod loci;
mod markdown;
mod mem0;
mod program;
mod records;
mod rows;
mod server_memory;
mod source_file;
mod sqlite;
mod vault;

use std::path::PathBuf;

pub use ai_memory::{ai_memory, ai_memory_objects};
pub use aiaml::aiaml;
pub use i_am::i_am;
pub use jsonl::jsonl;
pub use loci::loci;
pub use markdown::markdown;
pub use mem0::mem0;
pub use program::Program;
pub use server_memory::server_memory;
pub use vault::{basic_memory, obsidian};

use crate::model::{Link, NewMemory, Timestamp};

/// A memory from elsewhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Foreign {
    /// The memory.
    pub memory: NewMemory,
    /// Its name in the source.
    pub source_id: Option<String>,
    /// Location for messages: a file, or a file and a line.
    pub source: String,
    /// Further names of it in relations of its source.
    pub names: Vec<String>,
    /// Its relations to other memories, by their names in the source.
    pub relations: Vec<Link>,
    /// Time of its last use in the source.
    pub last_used: Option<Timestamp>,
    /// Number of uses before that, where the source counts as memdir does.
    pub earlier_uses: usize,
    /// Time of its last change in the source, if that is not its creation.
    pub updated: Option<Timestamp>,
    /// Reason why it is not current in the source; `None` of a current one.
    pub ended: Option<EndReason>,
    /// Kinds of data that it had and that are not imported.
    pub not_carried: Vec<&'static str>,
}

/// Reason why a memory is not current in its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// It was archived, for this reason.
    Archived(String),
    /// Another one replaced it, which may be unknown.
    Superseded,
}

/// A relation between two memories, by their names in the source. It may come before either of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRelation {
    /// Name of the first memory.
    pub from: String,
    /// Relation of the first to the second.
    pub relation: String,
    /// Name of the second memory.
    pub to: String,
    /// Whether the source has its time, which a link cannot hold.
    pub is_dated: bool,
}

/// Relation to a replaced memory; it becomes the supersession fields instead of a link.
pub const SUPERSEDES: &str = "supersedes";
/// The inverse of [`SUPERSEDES`].
pub const SUPERSEDED_BY: &str = "superseded_by";

/// An item of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum ForeignItem {
    Memory(Box<Foreign>),
    ForeignRelation(ForeignRelation),
    /// An item that is not imported.
    LeftOut {
        /// Its name in the source, if it is a memory.
        source_id: Option<String>,
        /// Kind of the item.
        what: &'static str,
    },
    /// Number of sessions of clients with the source.
    Sessions(usize),
}

impl From<Foreign> for ForeignItem {
    fn from(foreign: Foreign) -> ForeignItem {
        ForeignItem::Memory(Box::new(foreign))
    }
}

/// Values for fields that are missing in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// Name of the agent.
    pub agent: String,
    /// Name of the user.
    pub user: String,
    /// Namespace; `None` for none.
    pub namespace: Option<String>,
}

/// Error of importing an item.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{source_name}: {what}")]
    Unreadable { source_name: String, what: String },
}

impl ImportError {
    /// Returns the file or line that was not imported.
    pub fn source_name(&self) -> String {
        match self {
            ImportError::Io { path, .. } => path.display().to_string(),
            ImportError::Unreadable { source_name, .. } => source_name.clone(),
        }
    }
}

/// Iterator over the memories of a source.
pub type ForeignMemories = Box<dyn Iterator<Item = Result<Foreign, ImportError>>>;

/// Iterator over the items of a source.
pub type ForeignItems = Box<dyn Iterator<Item = Result<ForeignItem, ImportError>>>;

/// Returns the memories as items.
pub fn items(memories: ForeignMemories) -> ForeignItems {
    Box::new(memories.map(|memory| memory.map(ForeignItem::from)))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::MetaValue;

    pub fn defaults() -> Defaults {
        Defaults {
            agent: "importer".to_owned(),
            user: "me".to_owned(),
            namespace: None,
        }
    }

    type Open = fn(&Path, &Defaults) -> Result<ForeignItems, ImportError>;

    const SOURCES: [Open; 7] = [
        ai_memory,
        i_am,
        loci,
        mem0,
        server_memory,
        |path, defaults| obsidian(path, defaults).map(items),
        |path, defaults| basic_memory(path, defaults).map(items),
    ];

    proptest::proptest! {
        #[test]
        fn no_input_makes_a_source_panic_or_run_for_ever(
            head in proptest::sample::select(vec![
                "", "[", "{\"memories\": [{", "{\"memories\": {\"a\": {", "SQLite format 3\0",
                "---\n", "- r [[",
            ]),
            tail in "[\\[\\]{}\",:\\\\ \\-|#\na-z]{0,100}",
        ) {
            for open in SOURCES {
                told(&format!("{head}{tail}"), |path| open(path, &defaults()));
            }
        }
    }

    /// Returns a line for each item that `open` makes of a file that holds `input`.
    pub fn told(
        input: &str,
        open: impl Fn(&Path) -> Result<ForeignItems, ImportError>,
    ) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in");
        std::fs::write(&path, input).unwrap();
        let items = match open(&path) {
            Ok(items) => items.collect(),
            Err(error) => vec![Err(error)],
        };
        let place = format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR);
        items
            .into_iter()
            .map(|item| match item {
                Ok(ForeignItem::Memory(foreign)) => said(*foreign),
                Ok(ForeignItem::ForeignRelation(it)) => {
                    format!("{} {} {}", it.from, it.relation, it.to)
                }
                Ok(ForeignItem::LeftOut { source_id, what }) => {
                    format!("{}: {what}", source_id.as_deref().unwrap_or("?"))
                }
                Ok(ForeignItem::Sessions(count)) => format!("{count} sessions"),
                Err(error) => error.to_string().replace(&place, ""),
            })
            .collect()
    }

    fn said(foreign: Foreign) -> String {
        let metadata = fields::to_json(&MetaValue::Map(foreign.memory.metadata));
        let mut said = format!(
            "{}: {:?} {metadata}",
            foreign.source_id.as_deref().unwrap_or("?"),
            foreign.memory.content
        );
        for link in foreign.relations {
            said += &format!(" {} {}", link.relation, link.to);
        }
        for what in foreign.not_carried {
            said += &format!(" lacks {what}");
        }
        said
    }
}
