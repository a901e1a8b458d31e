//! The rows of a committed state in a file beside the segments, as they lie in memory.
//!
//! Reading the rows from the segments takes a third of a second for a million memories at each start
//! of a process; mapping them takes no time, and all processes share the pages. The file names its
//! state and segments: a view of a newer state is these rows and the changes since (`table`). The file
//! is written by a process that committed much, else when there is nothing to do and enough is new.

use std::path::Path;
use std::sync::Arc;

use crate::columns::{Column, ColumnWriter, Columns, Texts};
use crate::index::embedded::part::Part;
use crate::index::embedded::rows::mapped_table::{MappedTable, Written};
use crate::index::embedded::rows::table::{RowOf, Table};
use crate::ranking::Rows;

/// The file's name in the index folder.
pub(in crate::index::embedded) const NAME: &str = "table";
/// The file is written with a commit if more than one row in this many is not as in it.
pub(in crate::index::embedded) const WITH_A_COMMIT: usize = 64;
/// The same where there is nothing else to do: to write all rows for each memory that is added alone
/// would cost hundreds of times what the few rows cost the next process.
pub(in crate::index::embedded) const AT_REST: usize = 1024;

/// Prefix of the state's name in the file: the version of the format.
const FORMAT: &str = "5 ";

/// Columns of the table, in their order; behind them are those of the rows of each segment's
/// documents.
const STATE: usize = 0;
const WORDS: usize = 1;
const NAMES: usize = 2;
const NAME_RANGES: usize = 3;
const EXPIRES: usize = 4;
const UPDATED: usize = 5;
const IMPORTANCE: usize = 6;
const CONFIDENCE: usize = 7;
const FLAGS: usize = 8;
const VERSIONS: usize = 9;
const BY_NAME: usize = 10;
const IMPERMANENT: usize = 11;
const CUT: usize = 12;
const ROWS: usize = 13;

/// The text part of the file: namespaces, users, and each segment's id with the number of the
/// operation that last deleted in it.
type Words = (Vec<String>, Vec<String>, Vec<(String, Option<u64>)>);

/// Opens the table file in `folder`; `None` if there is none that can be read.
pub(in crate::index::embedded) fn open(folder: &Path) -> Option<MappedTable> {
    let file = Columns::open(&folder.join(NAME)).ok()??;
    let state = state_of(&file)?;
    let (namespaces, users, segments): Words = serde_json::from_slice(file.bytes(WORDS)?).ok()?;
    let name_ranges: Column<[u32; 2]> = file.column(NAME_RANGES)?;
    let count = name_ranges.len();
    let (rows, mut next) = Rows::open(&file, ROWS, count, users)?;
    let mut flat = MappedTable {
        state,
        segments: Vec::new(),
        names: Texts(file.column(NAMES)?),
        name_ranges,
        expires: file.column(EXPIRES)?,
        updated: file.column(UPDATED)?,
        importance: file.column(IMPORTANCE)?,
        confidence: file.column(CONFIDENCE)?,
        flags: file.column(FLAGS)?,
        versions: file.column(VERSIONS)?,
        by_name: file.column(BY_NAME)?,
        impermanent: file.column(IMPERMANENT)?,
        cut: file.column(CUT)?,
        namespaces,
        rows: Arc::new(rows),
    };
    let lengths = [
        flat.expires.len(),
        flat.updated.len(),
        flat.importance.len(),
        flat.confidence.len(),
        flat.flags.len(),
        flat.versions.len(),
        flat.by_name.len(),
    ];
    for (id, deleted) in segments {
        let rows = Arc::new(file.column(next)?);
        flat.segments.push(Written { id, deleted, rows });
        next += 1;
    }
    let is_of_one_length = lengths.iter().all(|length| *length == count);
    (is_of_one_length && next == file.len()).then_some(flat)
}

/// Writes the rows of a view of a committed state into `folder`: `segments` are its segments, each
/// with the rows of its documents. Finishing the returned writer replaces the file that is there.
///
/// # Errors
///
/// Fails if they cannot be written.
pub(in crate::index::embedded) fn write<'a>(
    folder: &Path,
    state: &str,
    table: &Table,
    segments: impl Iterator<Item = (&'a Part, RowOf<'a>)> + Clone,
) -> std::io::Result<ColumnWriter> {
    let mut file = ColumnWriter::begin(&folder.join(NAME))?;
    let flat = table.flat();
    let named = segments
        .clone()
        .map(|(part, _)| (part.id(), part.deleted()));
    let named: Vec<_> = named.collect();
    let users = table.collection.user_names();
    let words = serde_json::to_vec(&(table.namespaces(), users, named))?;
    let rows = 0..table.len() as u32;
    file.add(format!("{FORMAT}{state}").as_bytes())?;
    file.add(&words)?;
    file.add_slices(rows.clone().map(|row| table.name(row).as_bytes()))?;
    let mut end = 0;
    file.add_values(rows.clone().map(|row| {
        let start = end;
        end += table.name(row).len() as u32;
        [start, end]
    }))?;
    file.add_values(table.values(&flat.expires, |values| values.expires))?;
    file.add_values(table.values(&flat.updated, |values| values.updated))?;
    file.add_values(table.values(&flat.importance, |values| values.importance))?;
    file.add_values(table.values(&flat.confidence, |values| values.confidence))?;
    file.add_values(table.values(&flat.flags, |values| values.flags))?;
    file.add_values(table.versions())?;
    file.add(&table.by_name())?;
    let mut impermanent: Vec<u32> = table.impermanent().collect();
    impermanent.sort_unstable();
    file.add(&impermanent)?;
    let cut = table.cut().filter_map(|name| table.row(name));
    file.add_values(cut)?;
    table.collection.write(&mut file)?;
    for (_, row_of) in segments {
        file.add_values(row_of.each())?;
    }
    Ok(file)
}

/// Returns the state of the table file in `folder`; `None` if there is none that can be read.
pub(in crate::index::embedded) fn state_in(folder: &Path) -> Option<String> {
    state_of(&Columns::open(&folder.join(NAME)).ok()??)
}

/// Returns whether the file in `folder` is to be written anew for the state with `parts`: more than one
/// row in `part` was added or removed since, or one of that many files was touched.
pub(in crate::index::embedded) fn is_due(
    folder: &Path,
    parts: &[Arc<Part>],
    touched: usize,
    part: usize,
) -> bool {
    let (state, rows) = match open(folder) {
        Some(kept) => (kept.state, kept.name_ranges.len()),
        None => (String::new(), 0),
    };
    let mut all = 0;
    let mut added = 0;
    for segment in parts {
        let documents = segment.num_docs() as usize;
        all += documents;
        if !state.contains(&segment.id()) {
            added += documents;
        }
    }
    let removed = (rows + added).saturating_sub(all);
    (added + removed).max(touched) * part > all
}

fn state_of(file: &Columns) -> Option<String> {
    let state = std::str::from_utf8(file.bytes(STATE)?).ok()?;
    Some(state.strip_prefix(FORMAT)?.to_owned())
}
