//! Reads rows as files, each with its hash.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::database::Value;
use super::error::RowsError;
use super::workspace::{Rows, path_of, place_name};
use super::writing::hash_in;
use crate::files::{Entry, FilesError, Place, Reader, Version};
use crate::model::Stamp;

/// Name, size, number and times of rows with these names. Each is looked up by the whole key: without statistics, as after
/// an import, the planner would read all rows of the workspace for them.
const ENTRIES: &str = "SELECT m.* FROM unnest($3) AS wanted CROSS JOIN LATERAL ( \
     SELECT name, octet_length(bytes)::bigint, seq, modified, changed FROM memory \
     WHERE workspace = $1 AND place = $2 AND name = wanted LIMIT 1) m";

/// The same with the hash, and at most so many bytes of the text.
const VERSIONS: &str = "SELECT m.* FROM unnest($3) AS wanted CROSS JOIN LATERAL ( \
     SELECT name, octet_length(bytes)::bigint, seq, modified, changed, hash, \
     substring(bytes FROM 1 FOR $4::bigint::integer) FROM memory \
     WHERE workspace = $1 AND place = $2 AND name = wanted LIMIT 1) m";

/// Maximum size of a text in the database.
const MAX_BYTES: u64 = 1 << 30;

/// Reader of the files of one place of a workspace.
pub(super) struct RowReader {
    rows: Rows,
    place: &'static str,
}

/// Returns the entry in the columns of `row` from `at` on: name, size, number, times.
pub(super) fn entry_of(row: &Row, at: usize) -> Entry {
    let number = |column: usize| row.get::<_, i64>(at + column);
    Entry {
        name: row.get(at),
        stamp: Stamp {
            size: number(1) as u64,
            modified: number(3),
            inode: number(2) as u64,
        },
        changed: number(4),
        has_links: false,
    }
}

impl RowReader {
    /// Returns a reader of the files of `place`, as it is called in the tables.
    pub(super) fn new(rows: &Rows, place: &'static str) -> RowReader {
        RowReader {
            rows: rows.clone(),
            place,
        }
    }

    /// Returns the entry of the file `name`; `None` if there is none.
    pub(super) fn entry(&self, name: &str) -> Result<Option<Entry>, RowsError> {
        if self.is_live()
            && let Some(entry) = self.rows.known.entry(name)
        {
            return Ok(Some(entry));
        }
        let asked = self.rows.known.ask();
        let values = [Value::from(self.place), Value::Texts(vec![name.to_owned()])];
        let rows = self.rows.look(ENTRIES, values)?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let entry = entry_of(row, 0);
        if self.is_live() {
            self.rows.known.keep(&asked, std::iter::once(&entry));
        }
        Ok(Some(entry))
    }

    fn is_live(&self) -> bool {
        self.place == place_name(Place::Files)
    }
}

impl Reader for RowReader {
    fn read(&self, name: &str, limit: u64) -> Result<Version, FilesError> {
        let mut versions = self.read_many(&[name], limit).unwrap_or_default();
        versions.pop().unwrap_or_else(|| {
            let path = path_of(self.place, name).into();
            Err(FilesError::Missing { path })
        })
    }

    fn read_many(&self, names: &[&str], limit: u64) -> Option<Vec<Result<Version, FilesError>>> {
        if names.is_empty() {
            return Some(Vec::new());
        }
        let path = |name: &str| path_of(self.place, name);
        let asked = self.rows.known.ask();
        let all = names.iter().map(|name| (*name).to_owned()).collect();
        let values = [
            Value::from(self.place),
            Value::Texts(all),
            Value::Number(limit.min(MAX_BYTES) as i64),
        ];
        let rows = match self.rows.look(VERSIONS, values) {
            Ok(rows) => rows,
            Err(error) => {
                let text = super::error::told(&error);
                // Whatever the reason, nothing is known of the files: none of them is unreadable.
                let kind = std::io::ErrorKind::NotConnected;
                let failed = |name: &&str| {
                    Err(FilesError::Io {
                        action: "read",
                        path: path(name).into(),
                        source: std::io::Error::new(kind, text.clone()),
                    })
                };
                return Some(names.iter().map(failed).collect());
            }
        };
        let mut found: HashMap<String, Version> = rows
            .iter()
            .map(|row| {
                let entry = entry_of(row, 0);
                let hash = hash_in(row.get(5)).unwrap_or_default();
                let version = Version {
                    entry: entry.clone(),
                    bytes: row.get(6),
                    hash,
                };
                (entry.name, version)
            })
            .collect();
        if self.is_live() {
            let entries = found.values().map(|version| &version.entry);
            self.rows.known.keep(&asked, entries);
        }
        let mut wanted: HashMap<&str, usize> = HashMap::new();
        for name in names {
            *wanted.entry(name).or_default() += 1;
        }
        let mut versions = Vec::with_capacity(names.len());
        for name in names {
            let left = wanted.entry(name).or_default();
            *left = left.saturating_sub(1);
            // Only what was asked for twice is copied.
            let version = match *left {
                0 => found.remove(*name),
                _ => found.get(*name).cloned(),
            };
            versions.push(version.ok_or_else(|| FilesError::Missing {
                path: path(name).into(),
            }));
        }
        Some(versions)
    }

    fn look(&self, name: &str) -> Option<Entry> {
        self.entry(name).ok().flatten()
    }

    fn held(self: Box<Self>) -> Box<dyn Reader> {
        self
    }
}
