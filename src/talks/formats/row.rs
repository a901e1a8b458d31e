//! Rows of databases whose columns hold JSON.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::de::DeserializeOwned;

use crate::talks::records::Records;

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

/// Reads the JSON in a column, text or bytes; `None` where there is none. Of JSON in a JSON string the string
/// is read.
///
/// # Errors
///
/// The reason in words.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Option<T>, String> {
    let bytes = match row.get_ref(column).map_err(|error| error.to_string())? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(_) | ValueRef::Real(_) => return Err("it is no JSON".to_owned()),
    };
    let inner;
    let bytes = match bytes.trim_ascii_start().first() {
        Some(b'"') => {
            inner = serde_json::from_slice::<String>(bytes).map_err(|error| error.to_string())?;
            inner.as_bytes()
        }
        _ => bytes,
    };
    let mut records = Records::new(bytes).map_err(|error| error.to_string())?;
    match records.next::<T>() {
        Some(Ok(value)) => Ok(Some(value)),
        Some(Err(bad)) => Err(bad.reason),
        None => Ok(None),
    }
}

/// Returns the size of the value in a column, in bytes.
pub(super) fn size(row: &Row<'_>, column: usize) -> u64 {
    match row.get_ref(column) {
        Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes.len() as u64,
        _ => 0,
    }
}
