//! One memory, whole.

use super::{GLOBAL, Handle, Kind, Problem, Scope, Stem, Tier, Timestamp};

/// A directed, typed relation from the memory that holds it to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The other memory's stem or handle, as written.
    pub to: String,
    /// The relation's type, for example `related-to`.
    pub relation: String,
}

/// A value of a memory's free `metadata`: what JSON can say.
#[derive(Debug, Clone, PartialEq)]
pub enum MetaValue {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<MetaValue>),
    Map(Vec<(String, MetaValue)>),
}

/// A memory as read from its file.
///
/// Absent fields are `None` or empty. What was wrong with the file is in `problems`: a memory
/// with problems is still a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub stem: Stem,
    /// As the frontmatter states it; the stem decides.
    pub id: String,
    pub timestamp: Timestamp,
    pub agent: String,
    pub user: String,
    pub topics: Vec<String>,
    pub title: Option<String>,
    pub kind: Option<Kind>,
    /// Normalized ([`super::normalized_namespace`]), whatever the file says.
    pub namespace: Option<String>,
    pub scope: Option<Scope>,
    pub tier: Option<Tier>,
    pub importance: Option<u8>,
    pub confidence: Option<f64>,
    pub source: Option<String>,
    pub status: Option<String>,
    pub expires: Option<Timestamp>,
    pub supersedes: Vec<String>,
    pub superseded_by: Option<String>,
    pub links: Vec<Link>,
    /// In the order of the file; empty when there is none.
    pub metadata: Vec<(String, MetaValue)>,
    /// Keys the program does not know, with their raw text; kept, never interpreted.
    pub unknown: Vec<(String, String)>,
    /// Everything after the frontmatter's closing line and its one blank line, untrimmed.
    pub content: String,
    pub problems: Vec<Problem>,
}

/// The key under which other programs state when a note was changed last.
pub const UPDATED: &str = "updated";

/// The keys under which notes state what else they are called.
pub const ALIASES: [&str; 2] = ["aliases", "alias"];

impl Memory {
    /// When its frontmatter says that it was changed last (`updated`).
    pub fn updated(&self) -> Option<Timestamp> {
        let mut unknown = self.unknown.iter();
        let (_, text) = unknown.find(|(key, _)| key == UPDATED)?;
        Timestamp::parse(text.trim().trim_matches(['"', '\'']))
    }

    /// Returns further names of a note, as Obsidian and others write them: `aliases`, or `alias`.
    pub fn aliases(&self) -> Vec<&str> {
        let mut unknown = self.unknown.iter();
        let Some((_, text)) = unknown.find(|(key, _)| ALIASES.contains(&key.as_str())) else {
            return Vec::new();
        };
        let list = text.trim();
        let list = list
            .strip_prefix('[')
            .and_then(|list| list.strip_suffix(']'));
        let items: Vec<&str> = match list {
            Some(list) => list.split([',', '\n']).collect(),
            None => text.lines().collect(),
        };
        let items = items.into_iter().map(|item| {
            let item = item.trim();
            let item = item.strip_prefix("- ").unwrap_or(item);
            item.trim().trim_matches(['"', '\'']).trim()
        });
        items
            .filter(|item| !item.is_empty() && *item != "-")
            .collect()
    }

    /// The text that stands under a key of the metadata.
    pub fn metadata_text(&self, key: &str) -> Option<&str> {
        let mut metadata = self.metadata.iter();
        metadata.find_map(|(known, value)| match value {
            MetaValue::Text(text) if known == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// The namespace it counts as: `global` when it states none.
    pub fn namespace_or_global(&self) -> &str {
        self.namespace.as_deref().unwrap_or(GLOBAL)
    }

    /// The scope it counts as: as it states, else as usual for its kind.
    pub fn scope_or_usual(&self) -> Scope {
        let usual = self.kind.map_or(Scope::Global, Kind::usual_scope);
        self.scope.unwrap_or(usual)
    }

    /// The title, else the first line of the content that says something, without `#`.
    pub fn headline(&self) -> &str {
        self.title.as_deref().unwrap_or_else(|| {
            self.content
                .lines()
                .map(|line| line.trim_start_matches('#').trim())
                .find(|line| !line.is_empty())
                .unwrap_or("")
        })
    }
}

/// A memory that a caller wants written; the store adds the id and, if absent, the time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewMemory {
    pub timestamp: Option<Timestamp>,
    /// Taken if no memory has it yet, for importers that keep ids; else one is drawn.
    pub handle: Option<Handle>,
    pub agent: String,
    pub user: String,
    pub topics: Vec<String>,
    pub title: Option<String>,
    pub kind: Option<Kind>,
    pub namespace: Option<String>,
    pub scope: Option<Scope>,
    pub tier: Option<Tier>,
    pub importance: Option<u8>,
    pub confidence: Option<f64>,
    pub source: Option<String>,
    pub status: Option<String>,
    pub expires: Option<Timestamp>,
    pub supersedes: Vec<String>,
    /// For importers: what replaced it where it comes from.
    pub superseded_by: Option<String>,
    pub links: Vec<Link>,
    pub metadata: Vec<(String, MetaValue)>,
    pub content: String,
}

impl NewMemory {
    /// The memory that it becomes under the name `stem`.
    pub fn into_memory(self, stem: Stem, timestamp: Timestamp) -> Memory {
        Memory {
            id: stem.short().to_owned(),
            stem,
            timestamp,
            agent: self.agent,
            user: self.user,
            topics: self.topics,
            title: self.title,
            kind: self.kind,
            namespace: self.namespace,
            scope: self.scope,
            tier: self.tier,
            importance: self.importance,
            confidence: self.confidence,
            source: self.source,
            status: self.status,
            expires: self.expires,
            supersedes: self.supersedes,
            superseded_by: self.superseded_by,
            links: self.links,
            metadata: self.metadata,
            unknown: Vec::new(),
            content: self.content,
            problems: Vec::new(),
        }
    }
}
