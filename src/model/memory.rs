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

impl MetaValue {
    /// Returns the text of a key that the program does not know as a value: true and false as what they are, anything
    /// else as it is spelled.
    pub fn of_unknown(text: &str) -> MetaValue {
        match text {
            "true" => MetaValue::Bool(true),
            "false" => MetaValue::Bool(false),
            _ => MetaValue::Text(text.to_owned()),
        }
    }
}

/// A memory as read from its file.
///
/// Absent fields are `None` or empty. What was wrong with the file is in `problems`: a memory
/// with problems is still a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// Stem of its file's name, which identifies it.
    pub stem: Stem,
    /// Id in the frontmatter; the stem takes precedence.
    pub id: String,
    /// Time of the memory.
    pub timestamp: Timestamp,
    /// Writer of the memory.
    pub agent: String,
    /// Person that it is about or from.
    pub user: String,
    /// Topics, in the order of the file.
    pub topics: Vec<String>,
    /// Title.
    pub title: Option<String>,
    /// Kind of knowledge.
    pub kind: Option<Kind>,
    /// Normalized ([`super::normalized_namespace`]), whatever the file says.
    pub namespace: Option<String>,
    /// Readers that it is meant for.
    pub scope: Option<Scope>,
    /// Intended length of life.
    pub tier: Option<Tier>,
    /// Importance, 1–10.
    pub importance: Option<u8>,
    /// Confidence, 0–1.
    pub confidence: Option<f64>,
    /// Source of the knowledge.
    pub source: Option<String>,
    /// Free text of its status.
    pub status: Option<String>,
    /// End of life; `None` follows from the tier.
    pub expires: Option<Timestamp>,
    /// Stems or handles of the memories that it replaces, as written.
    pub supersedes: Vec<String>,
    /// Stem or handle of the memory that replaces it, as written.
    pub superseded_by: Option<String>,
    /// Relations to other memories.
    pub links: Vec<Link>,
    /// Free metadata, in the order of the file.
    pub metadata: Vec<(String, MetaValue)>,
    /// Keys the program does not know, with their text: without quotes and comment where it is one line, else as written.
    pub unknown: Vec<(String, String)>,
    /// Everything after the frontmatter's closing line and its one blank line, untrimmed.
    pub content: String,
    /// Faults of the file.
    pub problems: Vec<Problem>,
}

/// Key of memories that every brief of their namespace has.
pub const PINNED: &str = "pinned";

/// Frontmatter key of other programs for the time of the last change.
pub const UPDATED: &str = "updated";

/// Frontmatter keys of further names of a note.
pub const ALIASES: [&str; 2] = ["aliases", "alias"];

impl Memory {
    /// Returns the time of the last change in its frontmatter (`updated`).
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

    /// Returns the text under a key of the metadata.
    pub fn metadata_text(&self, key: &str) -> Option<&str> {
        let mut metadata = self.metadata.iter();
        metadata.find_map(|(known, value)| match value {
            MetaValue::Text(text) if known == key => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns whether its file says `pinned: true`, by itself or in its metadata.
    pub fn is_pinned(&self) -> bool {
        let mut unknown = self.unknown.iter();
        let by_key =
            unknown.any(|(key, text)| key == PINNED && text.trim().eq_ignore_ascii_case("true"));
        let mut metadata = self.metadata.iter();
        by_key || metadata.any(|(key, value)| key == PINNED && *value == MetaValue::Bool(true))
    }

    /// Returns its namespace; `global` if it states none.
    pub fn namespace_or_global(&self) -> &str {
        self.namespace.as_deref().unwrap_or(GLOBAL)
    }

    /// Returns its scope; if it states none, the usual one of its kind.
    pub fn scope_or_usual(&self) -> Scope {
        let usual = self.kind.map_or(Scope::Global, Kind::usual_scope);
        self.scope.unwrap_or(usual)
    }

    /// Returns the title, else the first line of the content that says something, without `#`.
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
    /// Time of the memory; `None` for the moment of writing.
    pub timestamp: Option<Timestamp>,
    /// Taken if no memory has it yet, for importers that keep ids; else one is drawn.
    pub handle: Option<Handle>,
    /// Writer of the memory.
    pub agent: String,
    /// Person that it is about or from.
    pub user: String,
    /// Topics.
    pub topics: Vec<String>,
    /// Title.
    pub title: Option<String>,
    /// Kind of knowledge.
    pub kind: Option<Kind>,
    /// Namespace; `None` is `global`.
    pub namespace: Option<String>,
    /// Readers that it is meant for.
    pub scope: Option<Scope>,
    /// Intended length of life.
    pub tier: Option<Tier>,
    /// Importance, 1–10.
    pub importance: Option<u8>,
    /// Confidence, 0–1.
    pub confidence: Option<f64>,
    /// Source of the knowledge.
    pub source: Option<String>,
    /// Free text of its status.
    pub status: Option<String>,
    /// End of life; `None` follows from the tier.
    pub expires: Option<Timestamp>,
    /// Stems or handles of the memories that it replaces.
    pub supersedes: Vec<String>,
    /// For importers: what replaced it where it comes from.
    pub superseded_by: Option<String>,
    /// Relations to other memories.
    pub links: Vec<Link>,
    /// Free metadata, in order.
    pub metadata: Vec<(String, MetaValue)>,
    /// Content, without frontmatter.
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
