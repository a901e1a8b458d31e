//! History of a workspace: its changes, and the texts that stood there.

use tokio_postgres::Row;

use super::database::Value;
use super::error::RowsError;
use super::workspace::{Rows, note_lack, path_of, row_of};
use super::writing;
use super::writing::{Edit, Expected, Text};
use crate::files::{
    ChangeLog, FileEdit, FilesError, FilesOf, RecordedChange, RecordedFile, RecordedText,
};

/// Condition that a file is one of those that `$2` stands for, see [`names`]. Its first part is that of an index.
macro_rules! is_one {
    () => {
        "regexp_replace(name, '^.*/', '') = regexp_replace($2, '^.*/', '') \
         AND $2 IN ('/' || name, regexp_replace(name, '^.*/', ''))"
    };
}

/// Changes of one transaction, the newest transactions first, of the newest rows. `$2` is empty for those of all files.
const CHANGES: &str = concat!(
    "SELECT max(seq), (extract(epoch FROM max(at)) * 1000000)::bigint * 1000, \
     array_agg(place ORDER BY seq), array_agg(name ORDER BY seq), array_agg(op ORDER BY seq), max(undoes), max(author), max(tool) \
     FROM (SELECT * FROM change WHERE workspace = $1 AND place <> 'beside' AND ($2 = '' OR ",
    is_one!(),
    ") ORDER BY seq DESC LIMIT 20000) c GROUP BY token ORDER BY 1 DESC LIMIT $3"
);

/// The same of the transactions that undo others.
const UNDOS: &str = "SELECT max(seq), (extract(epoch FROM max(at)) * 1000000)::bigint * 1000, \
     array_agg(place ORDER BY seq), array_agg(name ORDER BY seq), array_agg(op ORDER BY seq), max(undoes), max(author), max(tool) \
     FROM change WHERE workspace = $1 AND undoes IS NOT NULL GROUP BY token ORDER BY 1 DESC";

/// The rows of one transaction, with the texts before and after. Its numbers follow each other. A text that was moved
/// ends with the number after its removal.
const CHANGE: &str = "SELECT c.seq, (extract(epoch FROM c.at) * 1000000)::bigint * 1000, c.place, c.name, c.op, \
     c.undoes, before.bytes, after.bytes, CASE WHEN before.bytes IS NULL THEN \
     (SELECT op = 'put' FROM change p WHERE p.workspace = $1 AND p.place = c.place AND p.name = c.name \
     AND p.seq < c.seq ORDER BY p.seq DESC LIMIT 1) END, c.author, c.tool \
     FROM (SELECT * FROM change WHERE workspace = $1 AND place <> 'beside' AND seq BETWEEN $2 - 20000 AND $2 + 20000 \
     AND token = (SELECT token FROM change WHERE workspace = $1 AND seq = $2)) c \
     LEFT JOIN LATERAL (SELECT bytes FROM version WHERE workspace = $1 AND place = c.place AND name = c.name \
     AND seq < c.seq AND until >= c.seq LIMIT 1) before ON true \
     LEFT JOIN LATERAL (SELECT bytes FROM memory WHERE workspace = $1 AND place = c.place AND name = c.name \
     AND seq = c.seq UNION ALL SELECT bytes FROM version WHERE workspace = $1 AND place = c.place \
     AND name = c.name AND seq = c.seq LIMIT 1) after ON true ORDER BY c.seq";

/// Number of the last change of a workspace, and its time of creation in microseconds since 1970.
const STATE: &str =
    "SELECT head, (extract(epoch FROM created) * 1000000)::bigint FROM workspace WHERE name = $1";

/// Number of the last change of a file until a time in nanoseconds.
const LAST: &str = concat!(
    "SELECT max(seq) FROM change WHERE workspace = $1 AND place <> 'beside' AND ",
    is_one!(),
    " AND at <= to_timestamp(0) + ($3::bigint / 1000) * interval '1 microsecond'"
);

/// Places and texts of a file after a change; a live one is first.
const TEXTS: &str = concat!(
    "SELECT f.place, f.name, t.bytes FROM (SELECT DISTINCT place, name FROM change WHERE workspace = $1 \
     AND place <> 'beside' AND seq <= $3 AND ",
    is_one!(),
    ") f CROSS JOIN LATERAL (SELECT bytes FROM memory WHERE workspace = $1 AND place = f.place AND name = f.name \
     AND seq <= $3 UNION ALL SELECT bytes FROM version WHERE workspace = $1 AND place = f.place AND name = f.name \
     AND seq <= $3 AND until > $3 OFFSET 0) t ORDER BY f.place DESC LIMIT 1"
);

/// Names of files of all changes.
const NAMES: &str = "SELECT DISTINCT name FROM (SELECT name, regexp_replace(name, '^.*/', '') AS file FROM change \
     WHERE workspace = $1 AND place <> 'beside') f \
     WHERE starts_with(lower(file), $2) OR starts_with(lower(substr(file, 17)), $2) LIMIT 10000";

/// Returns `files` as the statements have them: a name without folders, or one with all of them behind a `/`.
fn names(files: FilesOf<'_>) -> Value {
    match files {
        FilesOf::Name(name) => Value::Text(format!("/{name}")),
        FilesOf::Stem(_) => Value::Text(files.file().into_owned()),
    }
}

fn failed(error: RowsError) -> FilesError {
    error.at("read the history of", "the workspace")
}

/// Returns the changes in the rows of [`CHANGES`] or [`UNDOS`].
fn recorded(rows: &[Row]) -> Vec<RecordedChange> {
    let change = |row: &Row| {
        let column = |at: usize| row.get::<_, Vec<String>>(at).into_iter();
        let files = column(2).zip(column(3)).zip(column(4));
        RecordedChange {
            number: row.get::<_, i64>(0) as u64,
            at: row.get(1),
            files: files
                .map(|((place, name), op)| (path_of(&place, &name), op == "remove"))
                .collect(),
            undoes: undone_in(row),
            author: row.get(6),
            tool: row.get(7),
        }
    };
    rows.iter().map(change).collect()
}

/// Returns the number of the undone change in a row.
fn undone_in(row: &Row) -> Option<u64> {
    row.get::<_, Option<i64>>(5).map(|number| number as u64)
}

/// Returns the file in a row of [`CHANGE`].
fn file_in(row: &Row) -> RecordedFile {
    let kept = |at: usize| row.get::<_, Option<Vec<u8>>>(at).map(RecordedText::Kept);
    let was_there = row.get::<_, Option<bool>>(8) == Some(true);
    let is_removed = row.get::<_, &str>(4) == "remove";
    let unless = |is_none: bool| match is_none {
        true => RecordedText::None,
        false => RecordedText::NotKept,
    };
    RecordedFile {
        path: path_of(row.get(2), row.get(3)),
        before: kept(6).unwrap_or_else(|| unless(!was_there)),
        after: kept(7).unwrap_or_else(|| unless(is_removed)),
    }
}

/// Returns an edit of the tables.
fn edit_of(edit: &FileEdit) -> Edit {
    let (place, name) = row_of(&edit.path);
    let text = edit.bytes.as_ref().map(|bytes| Text {
        modified: edit.modified,
        ..Text::new(bytes)
    });
    Edit {
        place,
        name,
        expected: edit.seen.map_or(Expected::Absent, Expected::Hash),
        text,
        keeps: true,
    }
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

    fn recorded(
        &self,
        files: Option<FilesOf<'_>>,
        most: usize,
    ) -> Result<Vec<RecordedChange>, FilesError> {
        let files = files.map_or_else(|| Value::Text(String::new()), names);
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.look(CHANGES, [files, Value::Number(most)]);
        Ok(recorded(&rows.map_err(failed)?))
    }

    fn undos(&self) -> Result<Vec<RecordedChange>, FilesError> {
        Ok(recorded(&self.look(UNDOS, []).map_err(failed)?))
    }

    fn change(
        &self,
        number: u64,
    ) -> Result<Option<(RecordedChange, Vec<RecordedFile>)>, FilesError> {
        let Ok(number) = i64::try_from(number) else {
            return Ok(None);
        };
        let rows = self.look(CHANGE, [Value::Number(number)]).map_err(failed)?;
        let Some(last) = rows.last() else {
            return Ok(None);
        };
        let file = |row: &Row| {
            let is_removed = row.get::<_, &str>(4) == "remove";
            (path_of(row.get(2), row.get(3)), is_removed)
        };
        let change = RecordedChange {
            number: last.get::<_, i64>(0) as u64,
            at: last.get(1),
            files: rows.iter().map(file).collect(),
            undoes: undone_in(last),
            author: last.get(9),
            tool: last.get(10),
        };
        Ok(Some((change, rows.iter().map(file_in).collect())))
    }

    fn undo(&self, number: u64, edits: &[FileEdit]) -> Result<Option<u64>, FilesError> {
        let edits = edits.iter().map(edit_of).collect();
        let (known, number) = (&self.known, number as i64);
        let undone = writing::undo(&self.database, &self.workspace, known, number, edits);
        let undone = note_lack(undone).map_err(|error| error.at("undo", "the change"))?;
        Ok(undone.map(|number| number as u64))
    }

    fn number_at(&self, files: FilesOf<'_>, at: i64) -> Result<Option<u64>, FilesError> {
        let values = [names(files), Value::Number(at)];
        let rows = self.look(LAST, values).map_err(failed)?;
        let number = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
        Ok(number.map(|number| number as u64))
    }

    fn text_after(
        &self,
        files: FilesOf<'_>,
        number: u64,
    ) -> Result<Option<(String, Vec<u8>)>, FilesError> {
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let values = [names(files), Value::Number(number)];
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
