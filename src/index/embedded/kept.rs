//! The table of a committed state in a file beside the segments, as it lies in memory.
//!
//! To read the table from the segments costs a third of a second for a million memories, each time
//! a process starts; to map it costs nothing, and all processes share its pages. The file names the
//! state that it is of, and no other state is read from it: whoever finds another one reads the
//! segments. It is written by whoever committed, where that costs little beside the commit, and
//! else when there is nothing to do.

use std::path::Path;
use std::sync::Arc;

use super::opened::Committed;
use super::opened::Part;
use super::table::RowsOf;
use super::table::Table;
use crate::columns::Column;
use crate::columns::Columns;
use crate::columns::Texts;
use crate::columns::Writer;
use crate::ranking::Collection;

/// The file's name in the index folder.
pub(super) const NAME: &str = "table";
/// Tables of so many rows are written with every commit.
const SMALL: usize = 20_000;
/// Larger ones when so large a part of the rows came since.
const PART: usize = 64;

/// Columns of the table, in their order; those of the rows of each segment's documents are last.
const STATE: usize = 0;
const WORDS: usize = 1;
const NAMES: usize = 2;
const NAME_RANGES: usize = 3;
const EXPIRES: usize = 4;
const IMPORTANCE: usize = 5;
const CONFIDENCE: usize = 6;
const FLAGS: usize = 7;
const VERSIONS: usize = 8;
const BY_NAME: usize = 9;
const IMPERMANENT: usize = 10;
const COLLECTION: usize = 11;

/// The table of `committed` with the rows of its documents, if the file in `folder` holds it.
pub(super) fn open(folder: &Path, committed: &Committed) -> Option<(Table, RowsOf)> {
    let file = Columns::open(&folder.join(NAME)).ok()??;
    if file.bytes(STATE)? != committed.state.as_bytes() {
        return None;
    }
    let (namespaces, users) = words(file.bytes(WORDS)?)?;
    let name_ranges: Column<[u32; 2]> = file.column(NAME_RANGES)?;
    let count = name_ranges.len();
    let (collection, mut next) = Collection::open(&file, COLLECTION, count, users)?;
    let table = Table {
        names: Texts(file.column(NAMES)?),
        name_ranges,
        expires: file.column(EXPIRES)?,
        importance: file.column(IMPORTANCE)?,
        confidence: file.column(CONFIDENCE)?,
        flags: file.column(FLAGS)?,
        versions: file.column(VERSIONS)?,
        by_name: file.column(BY_NAME)?,
        impermanent: file.column(IMPERMANENT)?,
        namespaces,
        collection,
    };
    let lengths = [
        table.expires.len(),
        table.importance.len(),
        table.confidence.len(),
        table.flags.len(),
        table.versions.len(),
        table.by_name.len(),
    ];
    let mut rows = RowsOf::new();
    for part in &committed.parts {
        let of_part: Column<u32> = file.column(next)?;
        if of_part.len() != part.reader.max_doc() as usize {
            return None;
        }
        rows.push(Arc::new(of_part));
        next += 1;
    }
    let is_of_one_length = lengths.iter().all(|length| *length == count);
    is_of_one_length.then_some((table, rows))
}

/// Writes the table of a committed state into `folder`, in the place of the one that is there.
///
/// # Errors
///
/// Fails if it cannot be written; then the one that was there is left.
pub(super) fn write(
    folder: &Path,
    state: &str,
    table: &Table,
    rows: &RowsOf,
) -> std::io::Result<()> {
    let mut file = Writer::begin(&folder.join(NAME))?;
    let users = table.collection.user_names();
    let words = serde_json::to_vec(&(&table.namespaces, users))?;
    file.add(state.as_bytes())?;
    file.add(&words)?;
    file.add(&table.names.0)?;
    file.add(&table.name_ranges)?;
    file.add(&table.expires)?;
    file.add(&table.importance)?;
    file.add(&table.confidence)?;
    file.add(&table.flags)?;
    file.add(&table.versions)?;
    file.add(&table.by_name)?;
    file.add(&table.impermanent)?;
    table.collection.write(&mut file)?;
    for of_part in rows {
        file.add(of_part)?;
    }
    file.finish()
}

/// Whether the file in `folder` is of this state.
pub(super) fn is_of(folder: &Path, state: &str) -> bool {
    state_in(folder).is_some_and(|known| known == state.as_bytes())
}

/// Whether the table of `parts` is to be written with the commit that made them: it is small, or
/// much is new beside the one that is there.
pub(super) fn is_due(folder: &Path, parts: &[Arc<Part>]) -> bool {
    let documents = |part: &Arc<Part>| part.reader.max_doc() as usize;
    let all: usize = parts.iter().map(documents).sum();
    if all <= SMALL {
        return true;
    }
    let known = state_in(folder).unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let is_new = |part: &&Arc<Part>| !known.contains(&part.reader.segment_id().uuid_string());
    let new: usize = parts.iter().filter(is_new).map(documents).sum();
    new * PART > all
}

fn state_in(folder: &Path) -> Option<Vec<u8>> {
    let file = Columns::open(&folder.join(NAME)).ok()??;
    Some(file.bytes(STATE)?.to_vec())
}

/// The namespaces and the users by number.
fn words(json: &[u8]) -> Option<(Vec<String>, Vec<String>)> {
    serde_json::from_slice(json).ok()
}
