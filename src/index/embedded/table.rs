//! One row a memory, in the order that gives each its neighbours: by namespace, time and name.
//!
//! The rows of what is committed are read once; those of an overlay are put between them, so that a
//! write costs the next search a copy of the columns and not their reading.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::DateTime;
use tantivy::SegmentReader;
use tantivy::columnar::Column;
use tantivy::columnar::StrColumn;

use super::layers::Layer;
use super::opened::Part;
use super::schema;
use super::schema::SKETCH_NAMES;
use super::schema::flag;
use super::trouble::unusable;
use crate::index::IndexError;
use crate::index::Indexed;
use crate::index::Overlay;
use crate::lifecycle::Stated;
use crate::model::Stamp;
use crate::ranking::Collection;
use crate::ranking::Member;
use crate::ranking::Sketch;
use crate::ranking::Splice;
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
    /// The namespaces by number.
    namespaces: Vec<String>,
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

/// What the columns say of one document.
struct Values {
    expires: i64,
    importance: u8,
    confidence: f32,
    flags: u8,
    indexed: Indexed,
    length: u32,
    traits: Traits,
}

impl Columns {
    fn values(&self, doc: u32) -> Values {
        let number = |column: &Column<u64>| column.first(doc).unwrap_or(0);
        let flags = number(&self.flags);
        Values {
            expires: self.expires.first(doc).unwrap_or(i64::MAX),
            importance: number(&self.importance) as u8,
            confidence: self.confidence.first(doc).unwrap_or(-1.0) as f32,
            flags: flags as u8,
            indexed: Indexed {
                stamp: Stamp {
                    size: number(&self.size),
                    modified: self.modified.first(doc).unwrap_or(0),
                    inode: number(&self.inode),
                },
                hash: u128::from(number(&self.hash_high)) << 64
                    | u128::from(number(&self.hash_low)),
                racy: flags & flag::RACY != 0,
            },
            length: number(&self.length) as u32,
            traits: Traits::unpack(
                number(&self.traits),
                Sketch::unpack(std::array::from_fn(|at| number(&self.sketch[at]))),
            ),
        }
    }
}

/// A document of the overlay.
struct Newcomer {
    segment: usize,
    doc: u32,
    namespace: String,
    user: String,
    timestamp: i64,
    name: String,
    values: Values,
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
    /// Reads the rows of `parts`. Returns with it, for each segment, the row of each document.
    pub fn read(parts: &[Arc<Part>]) -> Result<(Table, Vec<Vec<u32>>), IndexError> {
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
                if reader.is_deleted(doc) {
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
        table.namespaces = namespaces.words;
        Ok((table, rows))
    }

    /// The rows of `base` with those of `overlay`, whose documents are in `layers`, in the place of
    /// the same names. `rows` has the row of each document of the segments of `base`; returned are
    /// those of all segments, the layers' last.
    pub fn over<'a>(
        base: &Table,
        rows: impl Iterator<Item = &'a [u32]>,
        layers: &[Arc<Layer>],
        overlay: &Overlay,
    ) -> Result<(Table, Vec<Vec<u32>>), IndexError> {
        let mut newcomers = newcomers(layers, overlay)?;
        newcomers.sort_by(|a, b| a.order().cmp(&b.order()));
        let covered = overlay.files.keys();
        let mut removed: Vec<u32> = covered.filter_map(|name| base.row(name)).collect();
        removed.sort_unstable();
        let inserted: Vec<u32> = newcomers.iter().map(|one| base.place_for(one)).collect();
        let splice = Splice::new(base.len() as u32, &removed, &inserted);

        let mut namespaces = base.namespaces.clone();
        let mut users = base.collection.user_names().to_vec();
        let mut names = base.names.clone();
        let mut ranges = Vec::new();
        let mut known = Vec::new();
        for one in &newcomers {
            let begin = names.len() as u32;
            names.push_str(&one.name);
            ranges.push((begin, names.len() as u32));
            known.push(Member {
                namespace: number_of(&mut namespaces, &one.namespace),
                user: number_of(&mut users, &one.user),
                timestamp: one.timestamp,
                length: one.values.length,
                traits: one.values.traits,
            });
        }
        let new = |at: usize| &newcomers[at].values;
        let mut table = Table {
            names,
            name_ranges: splice.apply(&base.name_ranges, |at| ranges[at]),
            expires: splice.apply(&base.expires, |at| new(at).expires),
            importance: splice.apply(&base.importance, |at| new(at).importance),
            confidence: splice.apply(&base.confidence, |at| new(at).confidence),
            flags: splice.apply(&base.flags, |at| new(at).flags),
            indexed: splice.apply(&base.indexed, |at| new(at).indexed),
            by_name: Vec::new(),
            namespaces,
            collection: base.collection.spliced(&splice, &known, users),
        };
        table.collection.forget_absent_users();
        let moved = splice.moved(NO_ROW);
        let places = splice.places();
        table.by_name = table.merged_names(&base.by_name, &moved, &places);

        let move_to = |row: &u32| moved.get(*row as usize).copied().unwrap_or(NO_ROW);
        let mut all: Vec<Vec<u32>> = rows
            .map(|rows| rows.iter().map(move_to).collect())
            .collect();
        let first = all.len();
        let readers = layers.iter().map(|layer| &layer.part.reader);
        all.extend(readers.map(|reader| vec![NO_ROW; reader.max_doc() as usize]));
        for (one, place) in newcomers.iter().zip(places) {
            all[first + one.segment][one.doc as usize] = place;
        }
        Ok((table, all))
    }

    /// Before which row a document belongs.
    fn place_for(&self, one: &Newcomer) -> u32 {
        let order = |row: u32| {
            let namespace = &self.namespaces[self.collection.namespace(row) as usize];
            (
                namespace.as_str(),
                self.collection.timestamp(row),
                self.name(row),
            )
        };
        let (mut low, mut high) = (0, self.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            match order(middle) < one.order() {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// All rows in the order of their names: those of `known` that are still there, and `new` ones.
    fn merged_names(&self, known: &[u32], moved: &[u32], new: &[u32]) -> Vec<u32> {
        let mut new = new.to_vec();
        new.sort_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut new = new.into_iter().peekable();
        let mut merged = Vec::with_capacity(self.len());
        for &row in known {
            let row = moved[row as usize];
            if row == NO_ROW {
                continue;
            }
            while let Some(earlier) = new.next_if(|&one| self.name(one) < self.name(row)) {
                merged.push(earlier);
            }
            merged.push(row);
        }
        merged.extend(new);
        merged
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
            let values = columns.values(from.doc);
            rows[from.segment as usize][from.doc as usize] = row as u32;
            self.name_ranges.push(from.name);
            self.expires.push(values.expires);
            self.importance.push(values.importance);
            self.confidence.push(values.confidence);
            self.flags.push(values.flags);
            self.indexed.push(values.indexed);
            self.collection.push(Member {
                namespace: from.namespace,
                user: from.user,
                timestamp: from.timestamp,
                length: values.length,
                traits: values.traits,
            });
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

impl Newcomer {
    fn order(&self) -> (&str, i64, &str) {
        (&self.namespace, self.timestamp, &self.name)
    }
}

/// The documents of `overlay`, as `layers` hold them.
fn newcomers(layers: &[Arc<Layer>], overlay: &Overlay) -> Result<Vec<Newcomer>, IndexError> {
    let mut newcomers = Vec::new();
    for (segment, layer) in layers.iter().enumerate() {
        let part = &layer.part;
        let columns = Columns::of(&part.reader).map_err(|error| unusable(&error))?;
        let Some(columns) = columns else { continue };
        let names = texts(&columns.name)?;
        let namespaces = texts(&columns.namespace)?;
        let users = texts(&columns.user)?;
        for doc in 0..part.reader.max_doc() {
            let name = names.of(&columns.name, doc);
            let Some(name) = name.filter(|_| layer.is_current(doc, overlay)) else {
                continue;
            };
            newcomers.push(Newcomer {
                segment,
                doc,
                namespace: namespaces.of(&columns.namespace, doc).unwrap_or_default(),
                user: users.of(&columns.user, doc).unwrap_or_default(),
                timestamp: columns.timestamp.first(doc).unwrap_or(0),
                name,
                values: columns.values(doc),
            });
        }
    }
    Ok(newcomers)
}

/// The number of a word, which gets one if it is new.
fn number_of(words: &mut Vec<String>, word: &str) -> u32 {
    let known = words.iter().position(|known| known == word);
    known.unwrap_or_else(|| {
        words.push(word.to_owned());
        words.len() - 1
    }) as u32
}

fn ord(column: &StrColumn, doc: u32) -> Option<usize> {
    column.ords().first(doc).map(|ord| ord as usize)
}

/// A dictionary's texts in the order of their numbers.
struct Texts {
    text: String,
    ranges: Vec<(u32, u32)>,
}

impl Texts {
    /// What a document says in the column.
    fn of(&self, column: &StrColumn, doc: u32) -> Option<String> {
        let &(start, end) = self.ranges.get(ord(column, doc)?)?;
        Some(self.text[start as usize..end as usize].to_owned())
    }
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
