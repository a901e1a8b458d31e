//! History of a workspace: its changes, and the texts that stood there.

use tokio_postgres::Row;

use super::database::Value;
use super::error::RowsError;
use super::workspace::{Rows, note_lack, path_of, row_of};
use super::writing;
use super::writing::{Edit, Expected, Text, hash_in};
use crate::files::{
    ChangeLog, ChangeMark, FileEdit, FilesError, FilesOf, LoggedFile, LoggedFiles, LoggedText,
    RecordedChange, RecordedFile, RecordedText, TOMBSTONES,
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
macro_rules! state {
    () => {
        "SELECT w.head, (extract(epoch FROM w.created) * 1000000)::bigint"
    };
}

const STATE: &str = concat!(state!(), " FROM workspace w WHERE w.name = $1");

/// The state, and the random number of the last change.
macro_rules! mark {
    () => {
        concat!(
            state!(),
            ", coalesce((SELECT token FROM change WHERE workspace = $1 AND seq = w.head), 0)"
        )
    };
}

/// Mark, and path, hash, size and time of at most `$5` files in the order of their paths: after the name `$2` in the
/// archive, `$3` of the live ones, and `$4` beside them. Each part is read by its key.
const LISTED: &str = concat!(
    mark!(),
    ", f.* FROM workspace w LEFT JOIN LATERAL (SELECT * FROM ( \
     (SELECT 'archive/' || name AS path, hash, octet_length(bytes)::bigint, modified FROM memory \
     WHERE workspace = $1 AND place = 'archive' AND name > $2 ORDER BY name LIMIT $5) UNION ALL \
     (SELECT 'files/' || name, hash, octet_length(bytes)::bigint, modified FROM memory \
     WHERE workspace = $1 AND place = 'files' AND name > $3 ORDER BY name LIMIT $5) UNION ALL \
     (SELECT name, hash, octet_length(bytes)::bigint, modified FROM memory \
     WHERE workspace = $1 AND place = 'beside' AND name > $4 AND name < 'tombstones0' ORDER BY name LIMIT $5) \
     ) p ORDER BY path COLLATE \"C\" LIMIT $5) f ON true WHERE w.name = $1 ORDER BY f.path COLLATE \"C\""
);

/// The same of files that changed after the change `$2`, whose random number is `$3`, after the path `$4`; the last column
/// says whether there is that change, and not too many after it: then all files are listed sooner.
const LISTED_SINCE: &str = concat!(
    mark!(),
    ", f.*, w.head - $2 <= 200000 AND \
     ($2 = 0 OR EXISTS (SELECT FROM change WHERE workspace = $1 AND seq = $2 AND token = $3)) \
     FROM workspace w LEFT JOIN LATERAL ( \
     SELECT c.path, m.hash, octet_length(m.bytes)::bigint, m.modified FROM ( \
     SELECT DISTINCT place, name, \
     (CASE place WHEN 'beside' THEN name ELSE place || '/' || name END) COLLATE \"C\" AS path FROM change \
     WHERE workspace = $1 AND seq > $2 AND seq <= $2 + 200000 AND (place <> 'beside' OR name LIKE 'tombstones/%')) c \
     LEFT JOIN memory m ON m.workspace = $1 AND m.place = c.place AND m.name = c.name \
     WHERE c.path > $4 ORDER BY c.path LIMIT $5) f ON true WHERE w.name = $1 ORDER BY f.path COLLATE \"C\""
);

/// Text after which there is no name.
const END: &str = "\u{10ffff}";

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

/// Returns the name in the folder `prefix` after which names lie behind the path `after`.
fn name_after(prefix: &str, after: &str) -> String {
    match after.strip_prefix(prefix) {
        Some(name) => name.to_owned(),
        None if after < prefix => String::new(),
        None => END.to_owned(),
    }
}

/// Returns the first of rows of which there is one for the workspace.
fn first_of<'a>(workspace: &str, rows: &'a [Row]) -> Result<&'a Row, FilesError> {
    let missing = || failed(RowsError::NoWorkspace(workspace.to_owned()));
    rows.first().ok_or_else(missing)
}

/// Returns the identity of the workspace from a row that begins with its state.
fn identity(workspace: &str, row: &Row) -> String {
    let made: i64 = row.get(1);
    let name = format!("{workspace} {made}");
    format!("{:032x}", crate::files::digest(name.as_bytes()))
}

/// Returns the files in the rows of a listing.
fn listed_in(workspace: &str, rows: &[Row]) -> Result<LoggedFiles, FilesError> {
    let first = first_of(workspace, rows)?;
    let file = |row: &Row| {
        let hash: Option<&[u8]> = row.get(4);
        Some(LoggedFile {
            path: row.get::<_, Option<String>>(3)?,
            text: hash.and_then(hash_in).map(|hash| LoggedText {
                hash,
                bytes: row.get::<_, i64>(5) as u64,
                modified: row.get(6),
            }),
        })
    };
    Ok(LoggedFiles {
        identity: identity(workspace, first),
        mark: ChangeMark {
            number: first.get::<_, i64>(0) as u64,
            token: first.get(2),
        },
        files: rows.iter().filter_map(file).collect(),
    })
}

impl ChangeLog for Rows {
    fn state(&self) -> Result<(String, u64), FilesError> {
        let rows = self.ask(STATE, []).map_err(failed)?;
        let row = first_of(&self.workspace, &rows)?;
        Ok((identity(&self.workspace, row), row.get::<_, i64>(0) as u64))
    }

    fn listed(&self, after: &str, most: usize) -> Result<LoggedFiles, FilesError> {
        let values = [
            Value::Text(name_after("archive/", after)),
            Value::Text(name_after("files/", after)),
            Value::Text(match name_after("tombstones/", after).as_str() {
                END => END.to_owned(),
                name => format!("{TOMBSTONES}/{name}"),
            }),
            Value::Number(i64::try_from(most).unwrap_or(i64::MAX)),
        ];
        let rows = self.ask(LISTED, values).map_err(failed)?;
        listed_in(&self.workspace, &rows)
    }

    fn listed_since(
        &self,
        mark: ChangeMark,
        after: &str,
        most: usize,
    ) -> Result<Option<LoggedFiles>, FilesError> {
        let Ok(number) = i64::try_from(mark.number) else {
            return Ok(None);
        };
        let values = [
            Value::Number(number),
            Value::Number(mark.token),
            Value::from(after),
            Value::Number(i64::try_from(most).unwrap_or(i64::MAX)),
        ];
        let rows = self.ask(LISTED_SINCE, values).map_err(failed)?;
        let is_there: bool = first_of(&self.workspace, &rows)?.get(7);
        is_there
            .then(|| listed_in(&self.workspace, &rows))
            .transpose()
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
