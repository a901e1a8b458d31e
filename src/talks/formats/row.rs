//! Rows of databases whose columns hold JSON.

use std::io::{BufRead, BufReader, Read};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, Row};
use serde::de::DeserializeOwned;

use crate::talks::records::{MAX_STRING_BYTES, Records};

/// Returns whether a database has a table.
pub(super) fn has_table(connection: &Connection, table: &str) -> bool {
    columns(connection, table).is_ok_and(|columns| !columns.is_empty())
}

/// Returns the names of the columns of a table; none of one that does not exist.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut names = Vec::new();
    connection.pragma(None, "table_info", table, |row| {
        names.push(row.get::<_, String>("name")?);
        Ok(())
    })?;
    Ok(names)
}

/// A column of JSON in a table whose rows have numbers.
#[derive(Clone, Copy)]
pub(super) struct JsonColumn<'a> {
    pub connection: &'a Connection,
    pub table: &'a str,
    pub column: &'a str,
}

impl JsonColumn<'_> {
    /// Returns what a query has to select, three columns: the value unless it is long, its size, and the number
    /// of its row. A long value is read from the row a piece at a time, as a file is.
    pub fn selected(&self) -> String {
        let column = self.column;
        format!(
            "CASE WHEN octet_length({column}) <= {MAX_STRING_BYTES} THEN {column} END, octet_length({column}), rowid"
        )
    }

    /// Reads the JSON in a row, text or bytes, of the columns that [`selected`](Self::selected) names; the first
    /// is column `at`. Returns it with its size in bytes; `None` where there is none. Of JSON in a JSON string the
    /// string is read.
    ///
    /// # Errors
    ///
    /// The reason in words.
    pub fn read<T: DeserializeOwned>(
        &self,
        row: &Row<'_>,
        at: usize,
    ) -> Result<Option<(T, u64)>, String> {
        let in_words = |error: rusqlite::Error| error.to_string();
        let size = row.get::<_, Option<i64>>(at + 1).map_err(in_words)?;
        let Some(size) = size.and_then(|size| u64::try_from(size).ok()) else {
            return Ok(None);
        };
        let value = match row.get_ref(at).map_err(in_words)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => short(bytes)?,
            ValueRef::Integer(_) | ValueRef::Real(_) => return Err("it is no JSON".to_owned()),
            ValueRef::Null => {
                let number = row.get(at + 2).map_err(in_words)?;
                let (table, column) = (self.table, self.column);
                let blob = self
                    .connection
                    .blob_open(MAIN_DB, table, column, number, true);
                long(BufReader::new(blob.map_err(in_words)?), size)?
            }
        };
        Ok(value.map(|value| (value, size)))
    }
}

fn short<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<T>, String> {
    match bytes.trim_ascii_start().first() {
        Some(b'"') => {
            let inner =
                serde_json::from_slice::<String>(bytes).map_err(|error| error.to_string())?;
            first(inner.as_bytes())
        }
        _ => first(bytes),
    }
}

/// Reads a value that is too long to be in memory; what is in a JSON string would have to be.
fn long<T: DeserializeOwned>(mut value: impl BufRead, size: u64) -> Result<Option<T>, String> {
    let beginning = value.fill_buf().map_err(|error| error.to_string())?;
    match beginning.trim_ascii_start().first() {
        Some(b'"') => Err(format!(
            "it is a string of {size} bytes, more than {MAX_STRING_BYTES}"
        )),
        _ => first(value),
    }
}

fn first<T: DeserializeOwned>(bytes: impl Read) -> Result<Option<T>, String> {
    let mut records = Records::new(bytes).map_err(|error| error.to_string())?;
    match records.next::<T>() {
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(bad)) => Err(bad.reason),
        None => Ok(None),
    }
}
