//! Checks of a workspace: the hashes of its files, and its feed of changes.

use std::collections::HashMap;

use super::database::Value;
use super::error::RowsError;
use super::workspace::{Rows, path_of, place_name};
use super::writing::hash_in;
use crate::files::Place;
use crate::format::is_memory_name;

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checked {
    /// Number of files that were read.
    pub files: usize,
    /// Hash of each live memory, by name.
    pub memories: HashMap<String, u128>,
    /// Faults, each as a sentence.
    pub findings: Vec<String>,
}

/// Number of files that are read together.
const BATCH: i64 = 200;

/// Files after a place and a name.
const FILES: &str = "SELECT place, name, bytes, hash FROM memory WHERE workspace = $1 \
     AND (place, name) > ($2, $3) ORDER BY place, name LIMIT $4";

/// Numbers that are missing between two changes, and the last number if it is not that of the workspace.
const GAPS: &str = "SELECT seq, before FROM ( \
     SELECT seq, lag(seq, 1, 0::bigint) OVER (ORDER BY seq) AS before FROM change WHERE workspace = $1 \
     ) c WHERE seq <> before + 1 UNION ALL \
     SELECT w.head + 1, last FROM workspace w, \
     (SELECT coalesce(max(seq), 0) AS last FROM change WHERE workspace = $1) c \
     WHERE w.name = $1 AND w.head <> last ORDER BY 1 LIMIT 100";

/// Files whose newest change in the feed says something else.
const NOT_AS_TOLD: &str = "SELECT coalesce(m.place, c.place), coalesce(m.name, c.name) \
     FROM (SELECT DISTINCT ON (place, name) place, name, seq, hash FROM change WHERE workspace = $1 \
     ORDER BY place, name, seq DESC) c \
     FULL JOIN (SELECT place, name, seq, hash FROM memory WHERE workspace = $1) m \
     ON m.place = c.place AND m.name = c.name \
     WHERE m.hash IS DISTINCT FROM c.hash OR (m.seq IS NOT NULL AND m.seq IS DISTINCT FROM c.seq) \
     ORDER BY 1, 2 LIMIT 100";

/// The counters of the workspace, and the numbers of what is there.
const COUNTS: &str = "SELECT w.memories, w.bytes, m.memories, m.bytes FROM workspace w, \
     (SELECT count(*) FILTER (WHERE place <> 'beside') AS memories, \
     coalesce(sum(octet_length(bytes)), 0)::bigint AS bytes FROM memory WHERE workspace = $1) m \
     WHERE w.name = $1 AND (w.memories, w.bytes) <> (m.memories, m.bytes)";

/// Checks that each file has the hash that stands beside it, that the numbers of changes have no gaps, that the newest
/// change of each file is what the file is, and that the counters of quotas are right.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn check(rows: &Rows) -> Result<Checked, RowsError> {
    let mut checked = Checked::default();
    let (mut place, mut name) = (String::new(), String::new());
    loop {
        let after = [
            Value::Text(place.clone()),
            Value::Text(name.clone()),
            Value::Number(BATCH),
        ];
        let found = rows.ask(FILES, after)?;
        let Some(last) = found.last() else { break };
        (place, name) = (last.get(0), last.get(1));
        checked.files += found.len();
        let is_damaged = |row: &&tokio_postgres::Row| {
            hash_in(row.get(3)) != Some(crate::files::digest(row.get(2)))
        };
        let memories = found
            .iter()
            .filter(|row| row.get::<_, &str>(0) == place_name(Place::Files))
            .filter(|row| {
                let name: &str = row.get(1);
                is_memory_name(name.rsplit('/').next().unwrap_or_default())
            });
        checked.memories.extend(
            memories.filter_map(|row| Some((row.get::<_, String>(1), hash_in(row.get(3))?))),
        );
        let damaged = found.iter().filter(is_damaged);
        checked.findings.extend(damaged.map(|row| {
            let path = path_of(row.get(0), row.get(1));
            format!("{path} has other bytes than its hash says")
        }));
    }
    for row in rows.ask(GAPS, [])? {
        let (next, before): (i64, i64) = (row.get(0), row.get(1));
        let (first, last) = (before + 1, next - 1);
        checked
            .findings
            .push(format!("the changes {first} to {last} are missing"));
    }
    for row in rows.ask(NOT_AS_TOLD, [])? {
        let path = path_of(row.get(0), row.get(1));
        checked
            .findings
            .push(format!("{path} is not what its newest change says"));
    }
    for row in rows.ask(COUNTS, [])? {
        let (memories, bytes): (i64, i64) = (row.get(0), row.get(1));
        let (there, size): (i64, i64) = (row.get(2), row.get(3));
        checked.findings.push(format!(
            "the counters say {memories} memories and {bytes} bytes, and there are {there} and {size}"
        ));
    }
    Ok(checked)
}
