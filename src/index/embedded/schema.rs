//! The fields of the full-text index, and the document that is made of a file.

use std::sync::{Arc, Mutex};

use tantivy::TantivyDocument;
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STRING, Schema, SchemaBuilder, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TokenizerManager;

use super::failure::locked;
use super::tokenize::{Cut, MAX_RUN_BYTES, Runs, TERM_END, Trigrams};
use crate::index::facts::{calling, each_fact, fact};
use crate::index::text::look;
use crate::index::{Document, passage};
use crate::model::{Kind, Tier};
use crate::ranking::{SKETCH_PARTS, TextPart, callings};
use crate::words::{Analyzer, Language};

/// Version of the index, raised whenever the same file would be indexed differently.
pub(super) const VERSION: u32 = 14;

/// Fields of every document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// Name of the file below the memory directory; the key of the document.
    pub name: Field,
    /// Terms of user, topics, title and content, with frequencies.
    pub words: Field,
    /// Terms of the title.
    pub title: Field,
    /// Blank-separated pieces of content, user and agent, lower case, with frequencies.
    pub runs: Field,
    /// The same of the topics, which count double.
    pub topic_runs: Field,
    /// The same as `runs` of talks: keyword counts mostly leave them out, and then need not pass over what
    /// stands in them.
    pub talk_runs: Field,
    /// Every trigram of the file's text.
    pub trigrams: Field,
    /// `key`, NUL, lower-case value, for every value that a filter can ask for, and for the names by which
    /// a message calls somebody.
    pub facts: Field,
    /// Calendar terms of the timestamp.
    pub dates: Field,
    /// Namespace of the memory.
    pub namespace: Field,
    /// User who wrote it.
    pub user: Field,
    /// Microseconds since 1970.
    pub timestamp: Field,
    /// Microseconds since 1970; `i64::MAX` for never.
    pub expires: Field,
    /// Microseconds since 1970; `i64::MIN` where no change is stated.
    pub updated: Field,
    /// Stated importance; 0 for none.
    pub importance: Field,
    /// Stated confidence; -1 for none.
    pub confidence: Field,
    /// Number of terms.
    pub length: Field,
    /// [`TextFeatures`](crate::ranking::TextFeatures), packed.
    pub traits: Field,
    /// Parts of the text's sketch.
    pub sketch: [Field; SKETCH_PARTS],
    /// Vector of the words of the text.
    pub vector: Field,
    /// Bits of [`flag`].
    pub flags: Field,
    /// Size of the file, in bytes.
    pub size: Field,
    /// Modification time of the file, in nanoseconds since 1970.
    pub modified: Field,
    /// Inode of the file.
    pub inode: Field,
    /// Upper half of the file's hash.
    pub hash_high: Field,
    /// Lower half of the file's hash.
    pub hash_low: Field,
    /// Upper half of the vector key of the memory's own passage.
    pub key_high: Field,
    /// Lower half of that key.
    pub key_low: Field,
}

/// The columns of a [`Sketch`](crate::ranking::Sketch).
pub(super) const SKETCH_NAMES: [&str; SKETCH_PARTS] = ["sketch0", "sketch1", "sketch2", "sketch3"];

/// The column of a [`TextVector`](crate::words::TextVector).
pub(super) const VECTOR_NAME: &str = "vector";

/// The columns of a [`VectorKey`](crate::vectors::VectorKey).
pub(super) const KEY_NAMES: [&str; 2] = ["key_high", "key_low"];

/// Bits of the `flags` column.
pub(super) mod flag {
    /// The file may change without a new stamp ([`Indexed::racy`](crate::index::Indexed::racy)).
    pub const RACY: u64 = 2;
    /// Keyword counts must be made by reading the text.
    pub const UNCOUNTED: u64 = 4;
    /// Lowest of the two bits of the tier: 0 for none, else its position among the tiers and 1.
    pub const TIER: u32 = 3;
    /// Lowest of the three bits of the kind, likewise.
    pub const KIND: u32 = 5;
}

const TIERS: [Tier; 3] = [Tier::Short, Tier::Mid, Tier::Long];
const KINDS: [Kind; 4] = [
    Kind::Episodic,
    Kind::Semantic,
    Kind::Procedural,
    Kind::Entity,
];

/// Returns the tier in `flags`.
pub(super) fn tier_of(flags: u8) -> Option<Tier> {
    let place = usize::from(flags >> flag::TIER & 3).checked_sub(1)?;
    TIERS.get(place).copied()
}

/// Returns the kind in `flags`.
pub(super) fn kind_of(flags: u8) -> Option<Kind> {
    let place = usize::from(flags >> flag::KIND & 7).checked_sub(1)?;
    KINDS.get(place).copied()
}

/// Returns 0 for none, else the position among `all` and 1.
fn place_of<T: PartialEq>(all: &[T], value: Option<T>) -> u64 {
    let place = value.and_then(|value| all.iter().position(|known| *known == value));
    place.map_or(0, |place| place as u64 + 1)
}

fn schema() -> (Schema, Fields) {
    let mut builder = SchemaBuilder::new();
    let text = |tokenizer: &str, record| {
        TextOptions::default().set_indexing_options(
            TextFieldIndexing::default()
                .set_tokenizer(tokenizer)
                .set_index_option(record)
                .set_fieldnorms(false),
        )
    };
    let counted = IndexRecordOption::WithFreqs;
    let present = IndexRecordOption::Basic;
    let raw = text("raw", present);
    let fields = Fields {
        name: builder.add_text_field("name", STRING | FAST),
        words: builder.add_text_field("words", text("cut", counted)),
        title: builder.add_text_field("title", text("cut", present)),
        runs: builder.add_text_field("runs", text("runs", counted)),
        topic_runs: builder.add_text_field("topic_runs", text("runs", counted)),
        talk_runs: builder.add_text_field("talk_runs", text("runs", counted)),
        trigrams: builder.add_text_field("trigrams", text("trigrams", present)),
        facts: builder.add_text_field("facts", raw.clone()),
        dates: builder.add_text_field("dates", raw),
        namespace: builder.add_text_field("namespace", TextOptions::default().set_fast("raw")),
        user: builder.add_text_field("user", TextOptions::default().set_fast("raw")),
        timestamp: builder.add_i64_field("timestamp", FAST),
        expires: builder.add_i64_field("expires", FAST),
        updated: builder.add_i64_field("updated", FAST),
        importance: builder.add_u64_field("importance", FAST),
        confidence: builder.add_f64_field("confidence", FAST),
        length: builder.add_u64_field("length", FAST),
        traits: builder.add_u64_field("traits", FAST),
        sketch: SKETCH_NAMES.map(|name| builder.add_u64_field(name, FAST)),
        vector: builder.add_bytes_field(VECTOR_NAME, FAST),
        flags: builder.add_u64_field("flags", FAST),
        size: builder.add_u64_field("size", FAST),
        modified: builder.add_i64_field("modified", FAST),
        inode: builder.add_u64_field("inode", FAST),
        hash_high: builder.add_u64_field("hash_high", FAST),
        hash_low: builder.add_u64_field("hash_low", FAST),
        key_high: builder.add_u64_field(KEY_NAMES[0], FAST),
        key_low: builder.add_u64_field(KEY_NAMES[1], FAST),
    };
    (builder.build(), fields)
}

/// Returns the tokenizers that the schema names.
pub(super) fn tokenizers() -> TokenizerManager {
    let manager = TokenizerManager::default();
    manager.register("cut", Cut::default());
    manager.register("runs", Runs::default());
    manager.register("trigrams", Trigrams::default());
    manager
}

/// Builder of the index's documents.
pub(super) struct DocumentBuilder {
    /// Schema of the index.
    pub schema: Schema,
    /// Fields of the schema.
    pub fields: Fields,
    /// Analyzers of the store's languages.
    pub analyzers: Arc<Analyzers>,
}

impl DocumentBuilder {
    /// Returns the builder for texts in `languages`.
    pub fn new(languages: &[Language]) -> DocumentBuilder {
        let (schema, fields) = schema();
        DocumentBuilder {
            schema,
            fields,
            analyzers: Arc::new(Analyzers {
                languages: languages.to_vec(),
                idle: Mutex::default(),
            }),
        }
    }

    /// Returns the document with its fields filled.
    pub fn build(&self, document: &Document) -> TantivyDocument {
        self.analyzers
            .lend(|analyzer| fill(&self.fields, analyzer, document))
    }
}

/// A pool of analyzers, kept for their caches of words.
pub(super) struct Analyzers {
    languages: Vec<Language>,
    idle: Mutex<Vec<Analyzer>>,
}

impl Analyzers {
    /// Calls `work` with an analyzer of the pool.
    pub fn lend<T>(&self, work: impl FnOnce(&mut Analyzer) -> T) -> T {
        let idle = locked(&self.idle).pop();
        let mut analyzer = idle.unwrap_or_else(|| Analyzer::new(&self.languages));
        let done = work(&mut analyzer);
        locked(&self.idle).push(analyzer);
        done
    }
}

/// Fills the fields from a document.
fn fill(fields: &Fields, analyzer: &mut Analyzer, document: &Document) -> TantivyDocument {
    let memory = &document.memory;
    let content = memory.content.as_str();
    let mut filled = TantivyDocument::default();
    filled.add_text(fields.name, &document.name);
    let mut terms = String::with_capacity(content.len());
    let mut title_terms = String::new();
    let looked = look(analyzer, memory, |part, term| {
        terms.push_str(term);
        terms.push(TERM_END);
        if part == TextPart::Title {
            title_terms.push_str(term);
            title_terms.push(TERM_END);
        }
    });
    filled.add_text(fields.words, terms);
    filled.add_text(fields.title, title_terms);
    let runs = match memory.is_talk() {
        true => fields.talk_runs,
        false => fields.runs,
    };
    for text in [content, &memory.user, &memory.agent] {
        filled.add_text(runs, text);
    }
    for topic in &memory.topics {
        filled.add_text(fields.topic_runs, topic);
    }
    filled.add_text(fields.trigrams, trigram_text(document));
    each_fact(memory, |key, value| {
        filled.add_text(fields.facts, fact(key, value));
    });
    for (whom, name) in callings(content, &memory.user) {
        filled.add_text(fields.facts, calling(whom, &name));
    }
    for token in crate::ranking::date_terms(memory.timestamp.date()) {
        filled.add_text(fields.dates, token);
    }
    filled.add_text(fields.namespace, memory.namespace_or_global());
    filled.add_text(fields.user, &memory.user);
    filled.add_i64(fields.timestamp, memory.timestamp.utc().timestamp_micros());
    let expires = memory
        .expires
        .as_ref()
        .map_or(i64::MAX, |at| at.utc().timestamp_micros());
    filled.add_i64(fields.expires, expires);
    let updated = memory.updated();
    let updated = updated.map_or(i64::MIN, |at| at.utc().timestamp_micros());
    filled.add_i64(fields.updated, updated);
    filled.add_u64(fields.importance, memory.importance.map_or(0, u64::from));
    filled.add_f64(fields.confidence, memory.confidence.unwrap_or(-1.0));
    filled.add_u64(fields.length, u64::from(looked.length));
    filled.add_u64(fields.traits, u64::from(looked.traits.pack()));
    for (field, part) in fields.sketch.into_iter().zip(looked.traits.sketch.pack()) {
        filled.add_u64(field, part);
    }
    filled.add_bytes(fields.vector, &looked.vector.0);
    filled.add_u64(fields.flags, flags(document, content));
    let stamp = document.indexed.stamp;
    filled.add_u64(fields.size, stamp.size);
    filled.add_i64(fields.modified, stamp.modified);
    filled.add_u64(fields.inode, stamp.inode);
    filled.add_u64(fields.hash_high, (document.indexed.hash >> 64) as u64);
    filled.add_u64(fields.hash_low, document.indexed.hash as u64);
    let key = passage::own_key(&passage::own(memory));
    filled.add_u64(fields.key_high, (key >> 64) as u64);
    filled.add_u64(fields.key_low, key as u64);
    filled
}

/// Returns the file's text and, unescaped, the values that may stand in it escaped, so that a text
/// search finds the trigrams of either spelling.
fn trigram_text(document: &Document) -> String {
    let memory = &document.memory;
    let mut text = String::from_utf8_lossy(&document.bytes).into_owned();
    for value in [&memory.user, &memory.agent]
        .into_iter()
        .chain(&memory.topics)
    {
        text.push('\n');
        text.push_str(value);
    }
    text
}

fn flags(document: &Document, content: &str) -> u64 {
    let memory = &document.memory;
    let mut flags = 0;
    if document.indexed.racy {
        flags |= flag::RACY;
    }
    let long = |text: &str| {
        text.len() > MAX_RUN_BYTES / 3
            && text
                .split_whitespace()
                .any(|run| run.len() > MAX_RUN_BYTES / 3)
    };
    if [content, &memory.user, &memory.agent].into_iter().any(long) {
        flags |= flag::UNCOUNTED;
    }
    flags
        | place_of(&TIERS, memory.tier) << flag::TIER
        | place_of(&KINDS, memory.kind) << flag::KIND
}
