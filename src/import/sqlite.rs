//! The database of ai-memory → rows of its tables.
//!
//! The database is opened to read only ([`sqlite`]). Since others may write meanwhile, that is checked at the end. Missing
//! columns of older versions are skipped, and other columns, such as vectors, are not read.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::ImportError;
use super::fields::ForeignFields;
use super::rows::ImportRow;
use super::source_file::unreadable;
use crate::model::MetaValue;
use crate::sqlite;
use crate::sqlite::FileStamps;

/// Name of the list of memories, also in an export.
pub(super) const MEMORIES: &str = "memories";
/// Name of the list of links, also in an export.
pub(super) const LINKS: &str = "links";

/// Number of rows in memory at a time.
const PAGE: usize = 256;

/// A table, its columns, and the list of its rows.
struct Table {
    name: &'static str,
    list: &'static str,
    columns: &'static [&'static str],
    /// Columns that follow those of `columns`.
    more: &'static [&'static str],
}

/// Columns of both tables of memories.
const OF_MEMORIES: [&str; 14] = [
    "id",
    "tier",
    "namespace",
    "title",
    "content",
    "tags",
    "priority",
    "confidence",
    "source",
    "access_count",
    "created_at",
    "updated_at",
    "last_accessed_at",
    "expires_at",
];

const TABLES: [Table; 3] = [
    Table {
        name: "memories",
        list: MEMORIES,
        columns: &OF_MEMORIES,
        more: &["metadata"],
    },
    Table {
        name: "memory_links",
        list: LINKS,
        columns: &["source_id", "target_id", "relation", "created_at"],
        more: &[],
    },
    // Memories that its own clean-up has put aside. An older version has no such table.
    Table {
        name: "archived_memories",
        list: MEMORIES,
        columns: &OF_MEMORIES,
        more: &["archived_at", "archive_reason"],
    },
];

/// Reads the rows of the memories and links in the database at `path`.
///
/// # Errors
///
/// Fails if it cannot be opened, or holds no memories of ai-memory.
pub(super) fn rows(
    path: &Path,
) -> Result<impl Iterator<Item = Result<ImportRow, ImportError>> + use<>, ImportError> {
    let seen = FileStamps::of(path);
    let connection = open(path)?;
    let mut database = Database {
        path: path.to_owned(),
        seen,
        connection,
        ready: VecDeque::new(),
        table: 0,
        after: None,
    };
    let columns = database
        .columns(&TABLES[0])
        .map_err(|error| at(path, &error))?;
    if !["id", "content"]
        .iter()
        .all(|wanted| columns.contains(wanted))
    {
        let what = "this database is not one of ai-memory: it has no table `memories` with `id` \
                    and `content`. Of another program, import the export.";
        return Err(unreadable(path, what.to_owned()));
    }
    Ok(std::iter::from_fn(move || database.next()))
}

fn at(path: &Path, error: &rusqlite::Error) -> ImportError {
    unreadable(path, format!("the database cannot be read: {error}"))
}

fn open(path: &Path) -> Result<Connection, ImportError> {
    if sqlite::is_interrupted(path) {
        let what = "whoever wrote it was interrupted, and left a journal beside it. Have ai-memory \
                    open it once, then import.";
        return Err(unreadable(path, what.to_owned()));
    }
    sqlite::open(path).map_err(|error| at(path, &error))
}

struct Database {
    path: PathBuf,
    seen: FileStamps,
    connection: Connection,
    ready: VecDeque<Result<ImportRow, ImportError>>,
    /// Index of the table in [`TABLES`] that is read.
    table: usize,
    /// Number of the last row that was read of it.
    after: Option<i64>,
}

impl Database {
    fn next(&mut self) -> Option<Result<ImportRow, ImportError>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Some(row);
            }
            let table = TABLES.get(self.table)?;
            match self.page(table) {
                Ok(0) => self.next_table(),
                Ok(_) => {}
                Err(error) => {
                    self.next_table();
                    return Some(Err(at(&self.path, &error)));
                }
            }
        }
    }

    fn next_table(&mut self) {
        self.table += 1;
        self.after = None;
        if self.table == TABLES.len() && self.seen != FileStamps::of(&self.path) {
            let what = "it was written to meanwhile, so something may be missing. Import it again.";
            let error = unreadable(&self.path, what.to_owned());
            self.ready.push_back(Err(error));
        }
    }

    /// Returns the wanted columns that a table has.
    fn columns(&self, table: &Table) -> rusqlite::Result<Vec<&'static str>> {
        let mut has = Vec::new();
        self.connection
            .pragma(None, "table_info", table.name, |row| {
                has.push(row.get::<_, String>("name")?);
                Ok(())
            })?;
        let wanted = table.columns.iter().chain(table.more).copied();
        Ok(wanted
            .filter(|name| has.iter().any(|known| known == name))
            .collect())
    }

    /// Reads the next rows of a table, and returns their number.
    fn page(&mut self, table: &Table) -> rusqlite::Result<usize> {
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return Ok(0); // An older version has no such table.
        }
        let query = format!(
            "SELECT rowid, {} FROM {} WHERE rowid > ?1 ORDER BY rowid LIMIT {PAGE}",
            columns.join(", "),
            table.name
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query([self.after.unwrap_or(i64::MIN)])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            let number: i64 = row.get(0)?;
            self.after = Some(number);
            let source = format!("{}: row {number} of {}", self.path.display(), table.name);
            let mut fields = Vec::new();
            for (column, name) in columns.iter().enumerate() {
                fields.push((*name, row.get_ref(column + 1)?));
            }
            self.ready.push_back(match values(&fields) {
                Ok(fields) => Ok(ImportRow {
                    list: table.list,
                    source,
                    fields: ForeignFields(fields),
                }),
                Err(name) => Err(ImportError::Unreadable {
                    source_name: source,
                    what: format!("its `{name}` is no text"),
                }),
            });
        }
        Ok(count)
    }
}

/// Returns the values of a row; the error is the name of one that cannot be read.
fn values<'a>(columns: &[(&'a str, ValueRef<'_>)]) -> Result<Vec<(String, MetaValue)>, &'a str> {
    columns
        .iter()
        .map(|(name, value)| {
            let value = match value {
                ValueRef::Null => MetaValue::Null,
                ValueRef::Integer(int) => MetaValue::Int(*int),
                ValueRef::Real(float) => MetaValue::Float(*float),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| *name)?;
                    MetaValue::Text(text.to_owned())
                }
            };
            Ok(((*name).to_owned(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::defaults;
    use crate::import::{ForeignItem, ForeignItems, ai_memory};

    /// Returns a database with these tables, open.
    fn database(folder: &Path, tables: &str) -> (PathBuf, Connection) {
        let path = folder.join("db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch(tables).unwrap();
        (path, connection)
    }

    fn read(items: ForeignItems) -> Vec<String> {
        items
            .map(|item| match item {
                Ok(ForeignItem::Memory(foreign)) => foreign.memory.content,
                Ok(other) => format!("{other:?}"),
                Err(error) => error.to_string(),
            })
            .collect()
    }

    #[test]
    fn columns_and_tables_that_a_version_lacks_are_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _open) = database(
            folder.path(),
            "CREATE TABLE memories (id TEXT, content TEXT, later TEXT);
             INSERT INTO memories VALUES ('a', 'x', 'y'), ('b', 7, NULL), ('c', NULL, NULL);",
        );
        let found = read(ai_memory(&path, &defaults()).unwrap());
        assert_eq!(found[..2], ["x", "7"]);
        assert!(
            found[2].ends_with("row 3 of memories: it has no `content`"),
            "{found:?}"
        );
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn more_rows_than_are_held_at_a_time_come_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let (path, _open) = database(
            folder.path(),
            "CREATE TABLE memories (id TEXT, content TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
             INSERT INTO memories SELECT i, i FROM n;
             DELETE FROM memories WHERE id = '300';",
        );
        let expected: Vec<String> = (1..=600)
            .filter(|n| *n != 300)
            .map(|n| n.to_string())
            .collect();
        assert_eq!(read(ai_memory(&path, &defaults()).unwrap()), expected);
    }

    #[test]
    fn a_change_while_it_is_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (path, open) = database(
            folder.path(),
            "CREATE TABLE memories (id TEXT, content TEXT);
             INSERT INTO memories VALUES ('a', 'x');",
        );
        let mut items = ai_memory(&path, &defaults()).unwrap();
        assert!(items.next().is_some_and(|item| item.is_ok()));
        let insert = "INSERT INTO memories VALUES ('b', hex(zeroblob(100000)))";
        open.execute_batch(insert).unwrap();
        let last = read(items).pop().unwrap();
        assert!(last.contains("was written to meanwhile"), "{last}");
    }
}
