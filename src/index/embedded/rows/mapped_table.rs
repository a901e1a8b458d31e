//! The rows of a committed state: one a memory, ordered by namespace, time and name.
//!
//! They are read from the segments, or mapped from a file beside them (`kept`). `table` holds the
//! changes since.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::DateTime;
use tantivy::columnar::StrColumn;

use crate::columns::{Column, Texts};
use crate::index::embedded::failure::unusable;
use crate::index::embedded::opened::Committed;
use crate::index::embedded::part::Part;
use crate::index::embedded::rows::documents::{
    Columns, Version, is_cut, ord, texts, version, with_stamp,
};
use crate::index::embedded::schema;
use crate::index::{IndexError, Indexed};
use crate::lifecycle::Stated;
use crate::model::Stamp;
use crate::ranking::{Collection, Member, Members, Rows};

/// Row of a document that has none, because it was deleted.
pub(in crate::index::embedded) const NO_ROW: u32 = u32::MAX;

/// Usual length of a name, for the first allocation.
const NAME_BYTES: usize = 28;

/// The columns of all live documents of a committed state.
#[derive(Default)]
pub(in crate::index::embedded) struct MappedTable {
    /// Name of the state: see [`Committed::state`].
    pub state: String,
    /// Its segments.
    pub segments: Vec<Written>,
    /// All names, in one buffer.
    pub names: Texts,
    /// Start and end of each row's name in `names`, in bytes.
    pub name_ranges: Column<[u32; 2]>,
    /// Moments of expiry, in microseconds since 1970; `i64::MAX` for never.
    pub expires: Column<i64>,
    /// Moments of the last change, likewise; `i64::MIN` where none is stated.
    pub updated: Column<i64>,
    /// Stated importance; 0 for none.
    pub importance: Column<u8>,
    /// Stated confidence; below 0 for none.
    pub confidence: Column<f32>,
    /// Bits of [`schema::flag`].
    pub flags: Column<u8>,
    /// Versions of the files.
    pub versions: Column<Version>,
    /// Rows in the order of their names.
    pub by_name: Column<u32>,
    /// Rows whose memories may end, or were stated to be of a tier that can.
    pub impermanent: Column<u32>,
    /// Rows whose files are not indexed to their ends.
    pub cut: Column<u32>,
    /// The namespaces by number.
    pub namespaces: Vec<String>,
    /// Ranking columns of the rows.
    pub rows: Arc<Rows>,
}

/// A segment of the state.
pub(in crate::index::embedded) struct Written {
    /// Tantivy's id of the segment.
    pub id: String,
    /// Number of the operation that last deleted in it.
    pub deleted: Option<u64>,
    /// The row of each of its documents, or [`NO_ROW`].
    pub rows: Arc<Column<u32>>,
}

/// A row before sorting.
struct Unplaced {
    segment: u32,
    doc: u32,
    namespace: u32,
    user: u32,
    timestamp: i64,
    name: [u32; 2],
}

impl MappedTable {
    /// Reads the rows of a committed state.
    pub fn read(committed: &Committed) -> Result<MappedTable, IndexError> {
        let parts = &committed.parts;
        let columns: Vec<Option<Columns>> = parts
            .iter()
            .map(|part| part.reader().map_or(Ok(None), Columns::of))
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(&error))?;
        let mut namespaces = Words::default();
        let mut users = Words::default();
        let count = parts.iter().map(|part| part.num_docs() as usize);
        let count: usize = count.sum();
        // Growing it would take twice the memory.
        let mut arena = String::with_capacity(count * NAME_BYTES);
        let mut unplaced = Vec::with_capacity(count);
        for (segment, (part, columns)) in parts.iter().zip(&columns).enumerate() {
            let Some(columns) = columns else { continue };
            let names = texts(&columns.name)?;
            let namespace_of = namespaces.merge(&columns.namespace)?;
            let user_of = users.merge(&columns.user)?;
            for doc in 0..part.max_doc() {
                let Some(&name) = ord(&columns.name, doc).and_then(|ord| names.ranges.get(ord))
                else {
                    continue;
                };
                let name = &names.text[name.0 as usize..name.1 as usize];
                if part.is_deleted(doc) {
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
        // Bytes sort as their texts do, and need no UTF-8 check.
        let name = |row: &Unplaced| &arena.as_bytes()[row.name[0] as usize..row.name[1] as usize];
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
        Ok(MappedTable {
            state: committed.state.clone(),
            names: Texts(arena.into_bytes().into()),
            by_name: by_name.into(),
            namespaces: namespaces.words,
            ..MappedTable::placed(&unplaced, parts, &columns, users)
        })
    }

    /// Returns the columns of these rows, without the names.
    fn placed(
        unplaced: &[Unplaced],
        parts: &[Arc<Part>],
        columns: &[Option<Columns>],
        users: Vec<String>,
    ) -> MappedTable {
        let mut rows: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| vec![NO_ROW; part.max_doc() as usize])
            .collect();
        let count = unplaced.len();
        let mut members = Members::with_capacity(count);
        let (mut expires, mut updated) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut importance = Vec::with_capacity(count);
        let (mut confidence, mut flags) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut versions = Vec::with_capacity(count);
        for (row, from) in unplaced.iter().enumerate() {
            let columns = columns[from.segment as usize]
                .as_ref()
                .expect("it was read from");
            let values = columns.values(from.doc);
            rows[from.segment as usize][from.doc as usize] = row as u32;
            expires.push(values.expires);
            updated.push(values.updated);
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
                vector: values.vector,
            });
        }
        let name_ranges: Vec<[u32; 2]> = unplaced.iter().map(|row| row.name).collect();
        let collection = Collection::of(members, users);
        let segments = parts.iter().zip(rows);
        let mut flat = MappedTable {
            segments: segments
                .map(|(part, rows)| Written {
                    id: part.id(),
                    deleted: part.deleted(),
                    rows: Arc::new(rows.into()),
                })
                .collect(),
            name_ranges: name_ranges.into(),
            expires: expires.into(),
            updated: updated.into(),
            importance: importance.into(),
            confidence: confidence.into(),
            flags: flags.into(),
            versions: versions.into(),
            rows: collection.into_rows(),
            ..MappedTable::default()
        };
        let may_end = |row: &u32| {
            let at = *row as usize;
            let (expires, importance) = (flat.expires[at], flat.importance[at]);
            let confidence = flat.confidence[at];
            !stated(
                [0, expires, i64::MIN],
                flat.flags[at],
                importance,
                confidence,
            )
            .is_permanent()
        };
        let impermanent: Vec<u32> = (0..flat.len() as u32).filter(may_end).collect();
        flat.impermanent = impermanent.into();
        let versions = (0_u32..).zip(flat.versions.iter());
        let cut = versions.filter(|(_, version)| is_cut(version));
        flat.cut = cut.map(|(row, _)| row).collect::<Vec<_>>().into();
        flat
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.name_ranges.len()
    }

    /// Returns the file name of a row.
    pub fn name(&self, row: u32) -> &str {
        self.names.get(self.name_ranges[row as usize])
    }

    /// Returns the row of the file `name`.
    pub fn row(&self, name: &str) -> Option<u32> {
        let by_name = &*self.by_name;
        let at = by_name.binary_search_by(|&row| self.name(row).cmp(name));
        Some(by_name[at.ok()?])
    }

    /// Returns these rows, which were read from segments, with the stamps of a `former` table where the bytes are the same: it
    /// has taken over those of touched files, and a merged segment has those of its documents.
    pub fn with_stamps_of(mut self, former: &MappedTable) -> MappedTable {
        let mut versions = self.versions.to_vec();
        for (row, indexed) in (0_u32..).zip(&mut versions) {
            if let Some(stamp) = former.stamp(self.name(row), version(*indexed, 0)) {
                *indexed = with_stamp(*indexed, stamp);
            }
        }
        self.versions = versions.into();
        self
    }

    /// Returns the stamp of the file `name`, if its bytes are those that were indexed as `of`.
    pub fn stamp(&self, name: &str, of: Indexed) -> Option<Stamp> {
        let known = version(self.versions[self.row(name)? as usize], 0);
        let is_same = (known.hash, known.stamp.size) == (of.hash, of.stamp.size);
        is_same.then_some(known.stamp)
    }
}

/// Returns the lifecycle fields of a memory's file from their column values; the moments are those of
/// the memory, its expiry and its last change.
pub(in crate::index::embedded) fn stated(
    [timestamp, expires, updated]: [i64; 3],
    flags: u8,
    importance: u8,
    confidence: f32,
) -> Stated {
    let moment = |micros: i64| DateTime::from_timestamp_micros(micros).unwrap_or_default();
    let confidence = f64::from(confidence);
    Stated {
        timestamp: moment(timestamp),
        updated: (updated != i64::MIN).then(|| moment(updated)),
        expires: (expires != i64::MAX).then(|| moment(expires)),
        tier: schema::tier_of(flags),
        kind: schema::kind_of(flags),
        importance: Some(importance).filter(|importance| *importance > 0),
        confidence: Some(confidence).filter(|confidence| *confidence >= 0.0),
    }
}

/// Distinct words, numbered as they come.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Words {
    /// Adds a segment's dictionary, and returns the number of each of its entries.
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

    /// Returns the words by number; those with none of `numbers` are empty. The last document of a user
    /// may be deleted while its dictionary entry remains.
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

    /// Returns the alphabetical rank of each number, so that the order of rows does not depend on the
    /// order of segments.
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
