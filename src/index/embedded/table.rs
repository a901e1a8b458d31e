//! One row a memory, in the order that gives each its neighbours: by namespace, time and name.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::DateTime;
use tantivy::SegmentReader;
use tantivy::columnar::Column;
use tantivy::columnar::StrColumn;

use super::opened::Part;
use super::schema;
use super::schema::SKETCH_NAMES;
use super::schema::flag;
use super::trouble::unusable;
use crate::index::IndexError;
use crate::index::Indexed;
use crate::lifecycle::Stated;
use crate::model::Stamp;
use crate::ranking::Collection;
use crate::ranking::Sketch;
use crate::ranking::Traits;

/// A document that is not in the table: deleted, or covered by the overlay.
pub(super) const NO_ROW: u32 = u32::MAX;

/// The columns of all live documents of a snapshot.
#[derive(Default)]
pub(super) struct Table {
    names: String,
    /// Where each row's name ends in `names`; rows lie there in the order they were read.
    name_ranges: Vec<(u32, u32)>,
    expires: Vec<i64>,
    importance: Vec<u8>,
    confidence: Vec<f32>,
    pub flags: Vec<u8>,
    indexed: Vec<Indexed>,
    /// Rows in the order of their names.
    by_name: Vec<u32>,
    /// What ranking knows of the rows.
    pub collection: Collection,
}

/// Reads the columns of one segment.
struct Columns {
    name: StrColumn,
    namespace: StrColumn,
    user: StrColumn,
    timestamp: Column<i64>,
    expires: Column<i64>,
    importance: Column<u64>,
    confidence: Column<f64>,
    length: Column<u64>,
    traits: Column<u64>,
    sketch: Vec<Column<u64>>,
    flags: Column<u64>,
    size: Column<u64>,
    modified: Column<i64>,
    inode: Column<u64>,
    hash_high: Column<u64>,
    hash_low: Column<u64>,
}

impl Columns {
    fn of(reader: &SegmentReader) -> tantivy::Result<Option<Columns>> {
        let fast = reader.fast_fields();
        let (Some(name), Some(namespace), Some(user)) =
            (fast.str("name")?, fast.str("namespace")?, fast.str("user")?)
        else {
            return Ok(None); // A segment without documents has no text columns.
        };
        Ok(Some(Columns {
            name,
            namespace,
            user,
            timestamp: fast.i64("timestamp")?,
            expires: fast.i64("expires")?,
            importance: fast.u64("importance")?,
            confidence: fast.f64("confidence")?,
            length: fast.u64("length")?,
            traits: fast.u64("traits")?,
            sketch: SKETCH_NAMES
                .iter()
                .map(|name| fast.u64(name))
                .collect::<Result<_, _>>()?,
            flags: fast.u64("flags")?,
            size: fast.u64("size")?,
            modified: fast.i64("modified")?,
            inode: fast.u64("inode")?,
            hash_high: fast.u64("hash_high")?,
            hash_low: fast.u64("hash_low")?,
        }))
    }
}

/// A row before it has its place.
struct Unplaced {
    segment: u32,
    doc: u32,
    namespace: u32,
    user: u32,
    timestamp: i64,
    name: (u32, u32),
}

impl Table {
    /// Reads the rows of `parts`. `covered` says which names the overlay replaces in all but
    /// the last segment. Returns with it, for each segment, the row of each document.
    pub fn read(
        parts: &[Arc<Part>],
        overlay_segment: Option<usize>,
        covered: impl Fn(&str) -> bool,
    ) -> Result<(Table, Vec<Vec<u32>>), IndexError> {
        let columns: Vec<Option<Columns>> = parts
            .iter()
            .map(|part| Columns::of(&part.reader))
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&error))?;
        let mut namespaces = Words::default();
        let mut users = Words::default();
        let mut table = Table::default();
        let mut unplaced = Vec::new();
        for (segment, (part, columns)) in parts.iter().zip(&columns).enumerate() {
            let reader = &part.reader;
            let Some(columns) = columns else { continue };
            let names = texts(&columns.name)?;
            let namespace_of = namespaces.merge(&columns.namespace)?;
            let user_of = users.merge(&columns.user)?;
            for doc in 0..reader.max_doc() {
                let Some(&name) = ord(&columns.name, doc).and_then(|ord| names.ranges.get(ord))
                else {
                    continue;
                };
                let name = &names.text[name.0 as usize..name.1 as usize];
                if reader.is_deleted(doc) || (overlay_segment != Some(segment) && covered(name)) {
                    continue;
                }
                let start = table.names.len() as u32;
                table.names.push_str(name);
                unplaced.push(Unplaced {
                    segment: segment as u32,
                    doc,
                    namespace: ord(&columns.namespace, doc).map_or(0, |ord| namespace_of[ord]),
                    user: ord(&columns.user, doc).map_or(0, |ord| user_of[ord]),
                    timestamp: columns.timestamp.first(doc).unwrap_or(0),
                    name: (start, table.names.len() as u32),
                });
            }
        }
        let name = |row: &Unplaced| &table.names[row.name.0 as usize..row.name.1 as usize];
        let order = namespaces.sorted_ranks();
        unplaced.sort_unstable_by(|a, b| {
            (order[a.namespace as usize], a.timestamp)
                .cmp(&(order[b.namespace as usize], b.timestamp))
                .then_with(|| name(a).cmp(name(b)))
        });
        let rows = table.place(&unplaced, parts, &columns);
        let mut by_name: Vec<u32> = (0..table.len() as u32).collect();
        // Names lie in the arena in each segment's order of documents, mostly that of names.
        by_name.sort_unstable_by_key(|&row| table.name_ranges[row as usize]);
        by_name.sort_by(|&a, &b| table.name(a).cmp(table.name(b)));
        table.by_name = by_name;
        table
            .collection
            .set_users(users.of_numbers(unplaced.iter().map(|row| row.user)));
        table.collection.find_episodes();
        Ok((table, rows))
    }

    fn place(
        &mut self,
        unplaced: &[Unplaced],
        parts: &[Arc<Part>],
        columns: &[Option<Columns>],
    ) -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| vec![NO_ROW; part.reader.max_doc() as usize])
            .collect();
        for (row, from) in unplaced.iter().enumerate() {
            let columns = columns[from.segment as usize]
                .as_ref()
                .expect("it was read from");
            let number = |column: &Column<u64>| column.first(from.doc).unwrap_or(0);
            rows[from.segment as usize][from.doc as usize] = row as u32;
            self.name_ranges.push(from.name);
            self.expires
                .push(columns.expires.first(from.doc).unwrap_or(i64::MAX));
            self.importance.push(number(&columns.importance) as u8);
            self.confidence
                .push(columns.confidence.first(from.doc).unwrap_or(-1.0) as f32);
            let flags = number(&columns.flags);
            self.flags.push(flags as u8);
            self.indexed.push(Indexed {
                stamp: Stamp {
                    size: number(&columns.size),
                    modified: columns.modified.first(from.doc).unwrap_or(0),
                    inode: number(&columns.inode),
                },
                hash: u128::from(number(&columns.hash_high)) << 64
                    | u128::from(number(&columns.hash_low)),
                racy: flags & flag::RACY != 0,
            });
            self.collection.push(
                from.namespace,
                from.user,
                from.timestamp,
                number(&columns.length) as u32,
                Traits::unpack(
                    number(&columns.traits),
                    Sketch::unpack(std::array::from_fn(|at| number(&columns.sketch[at]))),
                ),
            );
        }
        rows
    }

    pub fn len(&self) -> usize {
        self.name_ranges.len()
    }

    pub fn name(&self, row: u32) -> &str {
        let (start, end) = self.name_ranges[row as usize];
        &self.names[start as usize..end as usize]
    }

    pub fn indexed(&self, row: u32) -> Indexed {
        self.indexed[row as usize]
    }

    /// What a row's file states of its life.
    pub fn stated(&self, row: u32) -> Stated {
        let at = row as usize;
        let moment = |micros: i64| DateTime::from_timestamp_micros(micros).unwrap_or_default();
        let (expires, confidence) = (self.expires[at], f64::from(self.confidence[at]));
        Stated {
            timestamp: moment(self.collection.timestamp(row)),
            expires: (expires != i64::MAX).then(|| moment(expires)),
            tier: schema::tier_of(self.flags[at]),
            kind: schema::kind_of(self.flags[at]),
            importance: Some(self.importance[at]).filter(|importance| *importance > 0),
            confidence: Some(confidence).filter(|confidence| *confidence >= 0.0),
        }
    }

    /// The row of the file `name`.
    pub fn row(&self, name: &str) -> Option<u32> {
        let at = self
            .by_name
            .binary_search_by(|&row| self.name(row).cmp(name))
            .ok()?;
        Some(self.by_name[at])
    }

    /// The rows in the order of their names.
    pub fn by_name(&self) -> &[u32] {
        &self.by_name
    }
}

fn ord(column: &StrColumn, doc: u32) -> Option<usize> {
    column.ords().first(doc).map(|ord| ord as usize)
}

/// A dictionary's texts in the order of their numbers.
struct Texts {
    text: String,
    ranges: Vec<(u32, u32)>,
}

fn texts(column: &StrColumn) -> Result<Texts, IndexError> {
    let mut texts = Texts {
        text: String::new(),
        ranges: Vec::with_capacity(column.dictionary().num_terms()),
    };
    let mut stream = column
        .dictionary()
        .stream()
        .map_err(|error| unusable(&error))?;
    while stream.advance() {
        let start = texts.text.len() as u32;
        texts
            .text
            .push_str(std::str::from_utf8(stream.key()).unwrap_or_default());
        texts.ranges.push((start, texts.text.len() as u32));
    }
    Ok(texts)
}

/// Distinct words, numbered as they come.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Words {
    /// Takes a segment's dictionary in; returns the number of each of its entries.
    fn merge(&mut self, column: &StrColumn) -> Result<Vec<u32>, IndexError> {
        let texts = texts(column)?;
        Ok(texts
            .ranges
            .iter()
            .map(|&(start, end)| {
                let word = &texts.text[start as usize..end as usize];
                *self.numbers.entry(word.to_owned()).or_insert_with(|| {
                    self.words.push(word.to_owned());
                    self.words.len() as u32 - 1
                })
            })
            .collect())
    }

    /// The words by number; those that none of `numbers` stands for are empty. The last document
    /// of a user may be deleted, and its dictionary still there.
    fn of_numbers(self, numbers: impl Iterator<Item = u32>) -> Vec<String> {
        let mut words = vec![String::new(); self.words.len()];
        let mut all = self.words;
        for number in numbers {
            let number = number as usize;
            if words[number].is_empty() {
                words[number] = std::mem::take(&mut all[number]);
            }
        }
        words
    }

    /// For each number its place in alphabetical order, so that the order of rows does not depend
    /// on which segment came first.
    fn sorted_ranks(&self) -> Vec<u32> {
        let mut by_word: Vec<u32> = (0..self.words.len() as u32).collect();
        by_word.sort_unstable_by_key(|&number| &self.words[number as usize]);
        let mut ranks = vec![0; self.words.len()];
        for (rank, number) in by_word.into_iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        ranks
    }
}
