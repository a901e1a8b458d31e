//! The journal of a workspace, as rows.

use std::io;
use std::sync::Arc;

use tokio_postgres::types::{ToSql, Type};

use super::database::{Value, answered, begin, discard};
use super::error::RowsError;
use super::workspace::Rows;
use crate::journal::{Journal, LineJournal, LineStore, NumberedLine};

/// Draws the next numbers of lines, in the order of the commits; none if the workspace is gone.
const DRAW: &str = "INSERT INTO journal_head AS h (workspace, head) \
     SELECT name, $2 FROM workspace WHERE name = $1 \
     ON CONFLICT (workspace) DO UPDATE SET head = h.head + $2 RETURNING head";

/// Adds lines with their numbers.
const ADD: &str = "INSERT INTO journal (workspace, number, line) \
     SELECT $1, number, line FROM unnest($2::bigint[], $3::text[]) AS l(number, line)";

/// Removes lines that are in a sum.
const REMOVE: &str =
    "DELETE FROM journal WHERE workspace = $1 AND number = ANY($2) RETURNING number";

/// Replaces the lines `numbers` by `lines`, in one transaction; changes nothing, and returns false, if one of
/// them is gone.
fn put_lines(rows: &Rows, numbers: &[u64], lines: &[String]) -> Result<bool, RowsError> {
    let workspace = rows.workspace.clone();
    let known = Arc::clone(&rows.known);
    let removed: Vec<i64> = numbers.iter().map(|number| *number as i64).collect();
    let lines = lines.to_vec();
    rows.database.run(|database| async move {
        let connection = database.connection().await?;
        let work = async {
            let count = lines.len() as i64;
            let name: &str = &workspace;
            let begin = begin(name);
            let draw: [(&(dyn ToSql + Sync), Type); 2] =
                [(&name, Type::TEXT), (&count, Type::INT8)];
            let (begun, head) = tokio::join!(
                biased;
                connection.batch_execute(&begin),
                connection.query_typed(DRAW, &draw),
            );
            begun?;
            let head = head?;
            let head = head.first().map(|row| row.get::<_, i64>(0));
            let Some(head) = head else {
                return Err(RowsError::NoWorkspace(name.to_owned()));
            };
            if !removed.is_empty() {
                let values: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&name, Type::TEXT), (&removed, Type::INT8_ARRAY)];
                let gone = connection.query_typed(REMOVE, &values).await?.len();
                if gone != removed.len() {
                    connection.batch_execute("ROLLBACK").await?;
                    return Ok(false);
                }
            }
            let numbers: Vec<i64> = (head - count + 1..=head).collect();
            let values: [(&(dyn ToSql + Sync), Type); 3] = [
                (&name, Type::TEXT),
                (&numbers, Type::INT8_ARRAY),
                (&lines, Type::TEXT_ARRAY),
            ];
            let (added, ended) = tokio::join!(
                biased;
                connection.query_typed(ADD, &values),
                connection.batch_execute("COMMIT"),
            );
            added?;
            ended?;
            // Own lines count at once.
            known.advance_journal(head);
            Ok(true)
        };
        let done = answered(work).await;
        if done.is_err() {
            discard(connection);
        }
        done
    })
}

/// Returns the journal of a workspace.
pub fn journal(rows: &Rows) -> Arc<dyn Journal> {
    Arc::new(LineJournal::new(rows.clone()))
}

impl LineStore for Rows {
    fn name(&self) -> String {
        format!("journal of {}", self.workspace)
    }

    fn append(&self, lines: &[String]) -> io::Result<()> {
        put_lines(self, &[], lines)
            .map(drop)
            .map_err(RowsError::into_io)
    }

    fn lines_after(&self, number: u64) -> io::Result<Vec<NumberedLine>> {
        let sql =
            "SELECT number, line FROM journal WHERE workspace = $1 AND number > $2 ORDER BY number";
        let rows = self.look_at_newest(sql, [Value::Number(number as i64)]);
        let rows = rows.map_err(RowsError::into_io)?;
        let line = |row: &tokio_postgres::Row| NumberedLine {
            number: row.get::<_, i64>(0) as u64,
            text: row.get(1),
        };
        Ok(rows.iter().map(line).collect())
    }

    fn ends_with(&self, number: u64) -> bool {
        let last = self.known.journal_head();
        last.is_some_and(|last| last <= number as i64)
    }

    fn replace(&self, numbers: &[u64], lines: &[String]) -> io::Result<bool> {
        put_lines(self, numbers, lines).map_err(RowsError::into_io)
    }
}
