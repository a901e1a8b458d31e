//! History of a workspace: its changes, and the texts that stood there.

use tokio_postgres::Row;

use super::database::Value;
use super::error::RowsError;
use super::workspace::{Rows, path_of};
use crate::files::{ChangeLog, FilesError, RecordedChange};

/// Changes of one transaction, the newest transactions first, of the newest rows. `$2` is the name of a file without
/// its folder, or empty.
const CHANGES: &str = "SELECT max(seq), (extract(epoch FROM max(at)) * 1000000)::bigint * 1000, \
     array_agg(place ORDER BY seq), array_agg(name ORDER BY seq), array_agg(op ORDER BY seq) \
     FROM (SELECT * FROM change WHERE workspace = $1 AND place <> 'beside' \
     AND ($2 = '' OR regexp_replace(name, '^.*/', '') = $2) ORDER BY seq DESC LIMIT 20000) c \
     GROUP BY token ORDER BY 1 DESC LIMIT $3";

/// Number of the last change of a workspace, and its time of creation in microseconds since 1970.
const STATE: &str =
    "SELECT head, (extract(epoch FROM created) * 1000000)::bigint FROM workspace WHERE name = $1";

/// Number of the last change until a time in nanoseconds.
const LAST: &str = "SELECT max(seq) FROM change WHERE workspace = $1 \
     AND at <= to_timestamp(0) + ($2::bigint / 1000) * interval '1 microsecond'";

/// Places and texts of a file after a change; a live one is first.
const TEXTS: &str = "SELECT place, name, bytes FROM memory WHERE workspace = $1 AND place <> 'beside' \
     AND regexp_replace(name, '^.*/', '') = $2 AND seq <= $3 \
     UNION ALL SELECT place, name, bytes FROM version WHERE workspace = $1 AND place <> 'beside' \
     AND regexp_replace(name, '^.*/', '') = $2 AND seq <= $3 AND until > $3 \
     ORDER BY place DESC LIMIT 1";

/// Names of files of all changes.
const NAMES: &str = "SELECT DISTINCT file FROM ( \
     SELECT regexp_replace(name, '^.*/', '') AS file FROM change WHERE workspace = $1 AND place <> 'beside' \
     ) f WHERE starts_with(lower(file), $2) OR starts_with(lower(substr(file, 17)), $2) LIMIT 100";

fn failed(error: RowsError) -> FilesError {
    error.at("read the history of", "the workspace")
}

impl ChangeLog for Rows {
    fn state(&self) -> Result<(String, u64), FilesError> {
        let rows = self.ask(STATE, []).map_err(failed)?;
        let row = rows
            .first()
            .ok_or_else(|| failed(RowsError::NoWorkspace(self.workspace.to_string())))?;
        let made: i64 = row.get(1);
        let name = format!("{} {made}", self.workspace);
        let identity = format!("{:032x}", crate::files::digest(name.as_bytes()));
        Ok((identity, row.get::<_, i64>(0) as u64))
    }

    fn recorded(&self, stem: Option<&str>, most: usize) -> Result<Vec<RecordedChange>, FilesError> {
        let file = stem.map_or_else(String::new, |stem| format!("{stem}.md"));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.look(CHANGES, [Value::Text(file), Value::Number(most)]);
        let change = |row: &Row| {
            let column = |at: usize| row.get::<_, Vec<String>>(at).into_iter();
            let files = column(2).zip(column(3)).zip(column(4));
            RecordedChange {
                number: row.get::<_, i64>(0) as u64,
                at: row.get(1),
                files: files
                    .map(|((place, name), op)| (path_of(&place, &name), op == "remove"))
                    .collect(),
            }
        };
        Ok(rows.map_err(failed)?.iter().map(change).collect())
    }

    fn number_at(&self, at: i64) -> Result<Option<u64>, FilesError> {
        let rows = self.look(LAST, [Value::Number(at)]).map_err(failed)?;
        let number = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
        Ok(number.map(|number| number as u64))
    }

    fn text_after(&self, stem: &str, number: u64) -> Result<Option<(String, Vec<u8>)>, FilesError> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let values = [Value::Text(format!("{stem}.md")), Value::Number(number)];
        let rows = self.look(TEXTS, values).map_err(failed)?;
        Ok(rows
            .first()
            .map(|row| (path_of(row.get(0), row.get(1)), row.get(2))))
    }

    fn names_like(&self, beginning: &str) -> Result<Vec<String>, FilesError> {
        let rows = self.look(NAMES, [Value::Text(beginning.to_lowercase())]);
        Ok(rows.map_err(failed)?.iter().map(|row| row.get(0)).collect())
    }
}
