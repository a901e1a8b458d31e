//! One row a memory, in the order that gives each its neighbours: by namespace, time and name.
//!
//! The rows of what is committed are read once, from the segments or from a file beside them
//! (`kept`); those of an overlay are put between them, so that a write costs the next search a copy
//! of the columns and not their reading.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::DateTime;
use tantivy::SegmentReader;
use tantivy::columnar::Column as Fast;
use tantivy::columnar::StrColumn;

use super::layers::Layer;
use super::opened::Part;
use super::schema;
use super::schema::SKETCH_NAMES;
use super::schema::flag;
use super::trouble::unusable;
use crate::columns::Column;
use crate::columns::Texts;
use crate::columns::text_in;
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

/// Where more than one row of so many is another, everything is read again.
const MUCH: usize = 4;
/// What a name takes, and a part of a folder's.
const NAME_BYTES: usize = 40;
/// A document that is not in the table: deleted, or covered by the overlay.
pub(super) const NO_ROW: u32 = u32::MAX;

/// The columns of all live documents of a snapshot.
#[derive(Default)]
pub(super) struct Table {
    pub(super) names: Texts,
    /// Where each row's name lies in `names`; there they are in the order they were read.
    pub(super) name_ranges: Column<[u32; 2]>,
    pub(super) expires: Column<i64>,
    pub(super) importance: Column<u8>,
    pub(super) confidence: Column<f32>,
    pub flags: Column<u8>,
    pub(super) versions: Column<Version>,
    /// Rows in the order of their names.
    pub(super) by_name: Column<u32>,
    /// Rows whose memories may end, or were stated to be of a tier that can.
    pub(super) impermanent: Column<u32>,
    /// The namespaces by number.
    pub(super) namespaces: Vec<String>,
    /// What ranking knows of the rows.
    pub collection: Collection,
}

/// An [`Indexed`] as it is kept: size, modification time, inode, and the two halves of the hash.
/// Whether the file was racy is among the flags.
pub(super) type Version = [u64; 5];

/// For each segment, the row of each of its documents.
pub(super) type RowsOf = Vec<Arc<Column<u32>>>;

/// Reads the columns of one segment.
struct Columns {
    name: StrColumn,
    namespace: StrColumn,
    user: StrColumn,
    timestamp: Fast<i64>,
    expires: Fast<i64>,
    importance: Fast<u64>,
    confidence: Fast<f64>,
    length: Fast<u64>,
    traits: Fast<u64>,
    sketch: Vec<Fast<u64>>,
    flags: Fast<u64>,
    size: Fast<u64>,
    modified: Fast<i64>,
    inode: Fast<u64>,
    hash_high: Fast<u64>,
    hash_low: Fast<u64>,
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
    version: Version,
    length: u32,
    traits: Traits,
}

impl Columns {
    fn values(&self, doc: u32) -> Values {
        let number = |column: &Fast<u64>| column.first(doc).unwrap_or(0);
        Values {
            expires: self.expires.first(doc).unwrap_or(i64::MAX),
            importance: number(&self.importance) as u8,
            confidence: self.confidence.first(doc).unwrap_or(-1.0) as f32,
            flags: number(&self.flags) as u8,
            version: [
                number(&self.size),
                self.modified.first(doc).unwrap_or(0).cast_unsigned(),
                number(&self.inode),
                number(&self.hash_high),
                number(&self.hash_low),
            ],
            length: number(&self.length) as u32,
            traits: Traits::unpack(
                number(&self.traits) as u32,
                Sketch::unpack(std::array::from_fn(|at| number(&self.sketch[at]))),
            ),
        }
    }
}

/// A segment of a table that is made from another one.
enum Segment<'a> {
    /// It was in that one: the row that each document had there.
    Known(&'a Column<u32>),
    New(&'a Part),
}

/// A document that is put between the rows of a table.
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
    name: [u32; 2],
}

impl Table {
    /// Reads the rows of `parts`. Returns with it, for each segment, the row of each document.
    pub fn read(parts: &[Arc<Part>]) -> Result<(Table, RowsOf), IndexError> {
        let columns: Vec<Option<Columns>> = parts
            .iter()
            .map(|part| Columns::of(&part.reader))
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&error))?;
        let mut namespaces = Words::default();
        let mut users = Words::default();
        let mut arena = String::new();
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
                let start = arena.len() as u32;
                arena.push_str(name);
                unplaced.push(Unplaced {
                    segment: segment as u32,
                    doc,
                    namespace: ord(&columns.namespace, doc).map_or(0, |ord| namespace_of[ord]),
                    user: ord(&columns.user, doc).map_or(0, |ord| user_of[ord]),
                    timestamp: columns.timestamp.first(doc).unwrap_or(0),
                    name: [start, arena.len() as u32],
                });
            }
        }
        let name = |row: &Unplaced| text_in(arena.as_bytes(), row.name);
        let order = namespaces.sorted_ranks();
        unplaced.sort_unstable_by(|a, b| {
            (order[a.namespace as usize], a.timestamp)
                .cmp(&(order[b.namespace as usize], b.timestamp))
                .then_with(|| name(a).cmp(name(b)))
        });
        let mut by_name: Vec<u32> = (0..unplaced.len() as u32).collect();
        let name = |row: u32| name(&unplaced[row as usize]);
        // Names lie in the arena in each segment's order of documents, mostly that of names.
        by_name.sort_unstable_by_key(|&row| unplaced[row as usize].name);
        by_name.sort_by(|&a, &b| name(a).cmp(name(b)));
        let users = users.of_numbers(unplaced.iter().map(|row| row.user));
        let (mut table, rows) = Table::placed(&unplaced, parts, &columns, users);
        table.names = Texts(arena.into_bytes().into());
        table.by_name = by_name.into();
        table.namespaces = namespaces.words;
        Ok((table, rows))
    }

    /// The rows of `base` with those of `overlay`, whose documents are in `layers`, in the place of
    /// the same names. `rows` has the row of each document of the segments of `base`; returned are
    /// those of all segments, the layers' last.
    pub fn over<'a>(
        base: &Table,
        rows: impl Iterator<Item = &'a Arc<Column<u32>>>,
        layers: &[Arc<Layer>],
        overlay: &Overlay,
    ) -> Result<(Table, RowsOf), IndexError> {
        let mut segments: Vec<Segment> = rows.map(|rows| Segment::Known(rows)).collect();
        let mut newcomers = Vec::new();
        for layer in layers {
            let is_current = |doc| layer.is_current(doc, overlay);
            newcomers_of(&layer.part, segments.len(), is_current, &mut newcomers)?;
            segments.push(Segment::New(&layer.part));
        }
        let covered = overlay.files.keys();
        let removed: Vec<u32> = covered.filter_map(|name| base.row(name)).collect();
        Ok(Table::spliced(base, &segments, removed, newcomers))
    }

    /// The rows of `parts`, from those of `base`, whose segments were `known`; `None` if so much is
    /// another that reading everything is as quick.
    pub fn renewed(
        base: &Table,
        known: &[(Arc<Part>, Arc<Column<u32>>)],
        parts: &[Arc<Part>],
    ) -> Result<Option<(Table, RowsOf)>, IndexError> {
        let is_one = |one: &Arc<Part>, other: &Arc<Part>| {
            one.reader.segment_id() == other.reader.segment_id()
        };
        let mut segments: Vec<Segment> = Vec::new();
        let mut new: Vec<(usize, &Arc<Part>)> = Vec::new();
        let mut removed = Vec::new();
        for part in parts {
            match known.iter().find(|(known, _)| is_one(known, part)) {
                Some((before, rows)) => {
                    let reader = &part.reader;
                    if reader.delete_opstamp() != before.reader.delete_opstamp() {
                        let rows = (0_u32..).zip(rows.iter());
                        let gone = rows.filter(|(doc, _)| reader.is_deleted(*doc));
                        removed.extend(gone.map(|(_, row)| *row).filter(|row| *row != NO_ROW));
                    }
                    segments.push(Segment::Known(rows));
                }
                None => {
                    new.push((segments.len(), part));
                    segments.push(Segment::New(part));
                }
            }
        }
        for (before, rows) in known {
            if !parts.iter().any(|part| is_one(part, before)) {
                removed.extend(rows.iter().copied().filter(|row| *row != NO_ROW));
            }
        }
        let documents = new.iter().map(|(_, part)| part.reader.num_docs() as usize);
        let is_much = (removed.len() + documents.sum::<usize>()) * MUCH > base.len();
        // Names of rows that went stay where they are until everything is read again.
        let is_full_of_holes = base.names.0.len() > 2 * NAME_BYTES * base.len();
        if is_much || is_full_of_holes {
            return Ok(None);
        }
        let mut newcomers = Vec::new();
        for (segment, part) in new {
            let is_live = |doc| !part.reader.is_deleted(doc);
            newcomers_of(part, segment, is_live, &mut newcomers)?;
        }
        Ok(Some(Table::spliced(base, &segments, removed, newcomers)))
    }

    /// The rows of `base` without `removed` and with those of `newcomers`, for these segments.
    fn spliced(
        base: &Table,
        segments: &[Segment<'_>],
        mut removed: Vec<u32>,
        mut newcomers: Vec<Newcomer>,
    ) -> (Table, RowsOf) {
        newcomers.sort_by(|a, b| a.order().cmp(&b.order()));
        removed.sort_unstable();
        let inserted: Vec<u32> = newcomers.iter().map(|one| base.place_for(one)).collect();
        let splice = Splice::new(base.len() as u32, &removed, &inserted);

        let mut namespaces = base.namespaces.clone();
        let mut users = base.collection.user_names().to_vec();
        let mut names = base.names.0.to_vec();
        let mut ranges = Vec::new();
        let mut known = Vec::new();
        for one in &newcomers {
            let begin = names.len() as u32;
            names.extend_from_slice(one.name.as_bytes());
            ranges.push([begin, names.len() as u32]);
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
            names: Texts(names.into()),
            name_ranges: splice.apply(&base.name_ranges, |at| ranges[at]).into(),
            expires: splice.apply(&base.expires, |at| new(at).expires).into(),
            importance: splice
                .apply(&base.importance, |at| new(at).importance)
                .into(),
            confidence: splice
                .apply(&base.confidence, |at| new(at).confidence)
                .into(),
            flags: splice.apply(&base.flags, |at| new(at).flags).into(),
            versions: splice.apply(&base.versions, |at| new(at).version).into(),
            by_name: Column::default(),
            impermanent: Column::default(),
            namespaces,
            collection: base.collection.spliced(&splice, &known, users),
        };
        table.collection.forget_absent_users();
        let moved = splice.moved(NO_ROW);
        let places = splice.places();
        table.by_name = table.merged_names(&base.by_name, &moved, &places).into();
        let known = base.impermanent.iter().map(|&row| moved[row as usize]);
        let known = known.filter(|&row| row != NO_ROW);
        let may_end = |&row: &u32| !table.stated(row).is_permanent();
        let mut impermanent: Vec<u32> = known.collect();
        impermanent.extend(places.iter().copied().filter(may_end));
        impermanent.sort_unstable();
        table.impermanent = impermanent.into();

        let move_to = |row: &u32| moved.get(*row as usize).copied().unwrap_or(NO_ROW);
        let mut rows: Vec<Vec<u32>> = segments
            .iter()
            .map(|segment| match segment {
                Segment::Known(rows) => rows.iter().map(move_to).collect(),
                Segment::New(part) => vec![NO_ROW; part.reader.max_doc() as usize],
            })
            .collect();
        for (one, place) in newcomers.iter().zip(places) {
            rows[one.segment][one.doc as usize] = place;
        }
        let rows = rows.into_iter().map(|rows| Arc::new(rows.into()));
        (table, rows.collect())
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

    /// The columns of these rows, but for the names.
    fn placed(
        unplaced: &[Unplaced],
        parts: &[Arc<Part>],
        columns: &[Option<Columns>],
        users: Vec<String>,
    ) -> (Table, RowsOf) {
        let mut rows: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| vec![NO_ROW; part.reader.max_doc() as usize])
            .collect();
        let count = unplaced.len();
        let mut members = Vec::with_capacity(count);
        let (mut expires, mut importance) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut confidence, mut flags) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut versions = Vec::with_capacity(count);
        for (row, from) in unplaced.iter().enumerate() {
            let columns = columns[from.segment as usize]
                .as_ref()
                .expect("it was read from");
            let values = columns.values(from.doc);
            rows[from.segment as usize][from.doc as usize] = row as u32;
            expires.push(values.expires);
            importance.push(values.importance);
            confidence.push(values.confidence);
            flags.push(values.flags);
            versions.push(values.version);
            members.push(Member {
                namespace: from.namespace,
                user: from.user,
                timestamp: from.timestamp,
                length: values.length,
                traits: values.traits,
            });
        }
        let name_ranges: Vec<[u32; 2]> = unplaced.iter().map(|row| row.name).collect();
        let mut table = Table {
            name_ranges: name_ranges.into(),
            expires: expires.into(),
            importance: importance.into(),
            confidence: confidence.into(),
            flags: flags.into(),
            versions: versions.into(),
            collection: Collection::of(&members, users),
            ..Table::default()
        };
        let may_end = |&row: &u32| !table.stated(row).is_permanent();
        let impermanent: Vec<u32> = (0..table.len() as u32).filter(may_end).collect();
        table.impermanent = impermanent.into();
        let rows = rows.into_iter().map(|rows| Arc::new(rows.into()));
        (table, rows.collect())
    }

    pub fn len(&self) -> usize {
        self.name_ranges.len()
    }

    pub fn name(&self, row: u32) -> &str {
        self.names.get(self.name_ranges[row as usize])
    }

    pub fn indexed(&self, row: u32) -> Indexed {
        version(self.versions[row as usize], self.flags[row as usize])
    }

    /// Every name with its version, in the order of the names.
    pub fn files(&self) -> impl Iterator<Item = (&str, Indexed)> {
        let (names, ranges) = (&*self.names.0, &*self.name_ranges);
        let (versions, flags) = (&*self.versions, &*self.flags);
        self.by_name.iter().map(move |&row| {
            let at = row as usize;
            (text_in(names, ranges[at]), version(versions[at], flags[at]))
        })
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
}

fn version([size, modified, inode, high, low]: Version, flags: u8) -> Indexed {
    Indexed {
        stamp: Stamp {
            size,
            modified: modified.cast_signed(),
            inode,
        },
        hash: u128::from(high) << 64 | u128::from(low),
        racy: u64::from(flags) & flag::RACY != 0,
    }
}

impl Newcomer {
    fn order(&self) -> (&str, i64, &str) {
        (&self.namespace, self.timestamp, &self.name)
    }
}

/// Adds the documents of a segment that are wanted; it is called by its number.
fn newcomers_of(
    part: &Part,
    segment: usize,
    is_wanted: impl Fn(u32) -> bool,
    newcomers: &mut Vec<Newcomer>,
) -> Result<(), IndexError> {
    let columns = Columns::of(&part.reader).map_err(|error| unusable(&error))?;
    let Some(columns) = columns else {
        return Ok(());
    };
    let names = texts(&columns.name)?;
    let namespaces = texts(&columns.namespace)?;
    let users = texts(&columns.user)?;
    for doc in 0..part.reader.max_doc() {
        let name = names.of(&columns.name, doc);
        let Some(name) = name.filter(|_| is_wanted(doc)) else {
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
    Ok(())
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
struct Terms {
    text: String,
    ranges: Vec<(u32, u32)>,
}

impl Terms {
    /// What a document says in the column.
    fn of(&self, column: &StrColumn, doc: u32) -> Option<String> {
        let &(start, end) = self.ranges.get(ord(column, doc)?)?;
        Some(self.text[start as usize..end as usize].to_owned())
    }
}

fn texts(column: &StrColumn) -> Result<Terms, IndexError> {
    let mut texts = Terms {
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
