//! Folders and exports of other programs → memories to be written.
//!
//! Reads only; keeps what each memory was called as `source_id`, so that importing twice adds
//! nothing. One thing that cannot be read never stops the rest. Relations are told by the names
//! that a source has for its memories; which memories these become is left to `engine`.

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
pub use server_memory::server_memory;
pub use vault::{basic_memory, obsidian};

use crate::model::{Link, NewMemory, Timestamp};

/// A memory from elsewhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Foreign {
    pub memory: NewMemory,
    /// Its name there.
    pub source_id: Option<String>,
    /// Its place, for messages: a file, or a file and a line.
    pub source: String,
    /// Further names by which relations of its source mean it.
    pub names: Vec<String>,
    /// Its relations to memories of its source, by what these are called there.
    pub relations: Vec<Link>,
    /// When it was used there the last time.
    pub last_used: Option<Timestamp>,
    /// Number of uses before that, where the source counts what memdir counts.
    pub earlier_uses: usize,
    /// When it was changed there the last time, where that is another moment than its making.
    pub updated: Option<Timestamp>,
    /// Why it lives no more there.
    pub ended: Option<EndReason>,
    /// Things it had that no memory has a place for, by words for their sorts.
    pub not_carried: Vec<&'static str>,
}

/// Why a memory lives no more where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// It was put aside, for this reason.
    Archived(String),
    /// Another one replaced it, which the source may not name.
    Superseded,
}

/// That one memory of a source stands to another, by what they are called there. It may be told
/// before either of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignRelation {
    pub from: String,
    /// The first one's relation to the second.
    pub relation: String,
    pub to: String,
    /// The source says when it came to be, for which a link has no place.
    pub is_dated: bool,
}

/// The relation of a memory to one that it replaces: it becomes no link but the keys for that.
pub const SUPERSEDES: &str = "supersedes";
/// The same as seen from the memory that was replaced.
pub const SUPERSEDED_BY: &str = "superseded_by";

/// One thing of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum ForeignItem {
    Memory(Box<Foreign>),
    ForeignRelation(ForeignRelation),
    /// Something is not brought over, on purpose or because there is no place for it.
    LeftOut {
        /// Its name there, if it is a memory.
        source_id: Option<String>,
        /// A word for the sort of things it is.
        what: &'static str,
    },
    /// Number of times that clients began to work with the source.
    Sessions(usize),
}

impl From<Foreign> for ForeignItem {
    fn from(foreign: Foreign) -> ForeignItem {
        ForeignItem::Memory(Box::new(foreign))
    }
}

/// Values for fields that a source leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    pub agent: String,
    pub user: String,
    pub namespace: Option<String>,
}

/// Why something was not imported.
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

/// The memories of a source, one by one.
pub type ForeignMemories = Box<dyn Iterator<Item = Result<Foreign, ImportError>>>;

/// All of a source, one by one.
pub type ForeignItems = Box<dyn Iterator<Item = Result<ForeignItem, ImportError>>>;

/// A source that holds memories only.
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
        let place = format!("{}/", folder.path().display());
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
