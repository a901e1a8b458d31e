//! Writes of a workspace, each call in one transaction.
//!
//! Guarantees: a call's changes are committed together or not at all, with their numbers, the replaced texts and
//! the changes of the feed; numbers have no gaps; a text is replaced only if it is the one that the caller read. If
//! the connection breaks during the commit, the feed tells whether it was committed.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::access::audit::{self, Actor, NewLine};
use super::database::{Database, Value, begin, discard};
use super::error::RowsError;
use super::known::Known;
use super::notices::CHANNEL;

/// A change of one file.
#[derive(Clone)]
pub(super) struct Edit {
    pub(super) place: &'static str,
    pub(super) name: String,
    pub(super) expected: Expected,
    /// New text; `None` removes the file.
    pub(super) text: Option<Text>,
    /// Whether the former text is kept.
    pub(super) keeps: bool,
}

/// Present state of a file for which an edit is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Absent,
    /// A text with this hash.
    Hash(u128),
}

/// A text to be written.
#[derive(Clone)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    pub(super) hash: u128,
    /// Time of the text in nanoseconds since 1970; `None` is the present.
    pub(super) modified: Option<i64>,
}

impl Text {
    /// Returns the text of `bytes`, as of now.
    pub(super) fn new(bytes: &[u8]) -> Text {
        Text {
            bytes: bytes.to_owned(),
            hash: crate::files::digest(bytes),
            modified: None,
        }
    }
}

/// Result of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    /// The file has another text than the expected one.
    Stale,
    /// The file exists, and none was expected.
    Taken,
    /// The file does not exist.
    Missing,
}

/// Maximum number of attempts of one transaction whose connection breaks.
const MAX_TRIES: usize = 3;

/// Attempts to find out whether a transaction was committed, with growing pauses: six seconds in all.
const QUESTIONS: u32 = 6;

/// Error of an attempt.
enum Failed {
    /// Failed before the commit: no change was written.
    Before(RowsError),
    /// It may have been written.
    InDoubt(RowsError),
    /// Undone, since it is not permitted. The connection is well.
    Refused(RowsError),
}

impl From<tokio_postgres::Error> for Failed {
    fn from(error: tokio_postgres::Error) -> Failed {
        Failed::Before(error.into())
    }
}

/// Makes `edits`; results are in the same order. Those that cannot be made change nothing.
pub(super) fn write(
    database: &Database,
    workspace: &Arc<str>,
    known: &Arc<Known>,
    edits: Vec<Edit>,
) -> Result<Vec<Outcome>, RowsError> {
    let (workspace, known) = (Arc::clone(workspace), Arc::clone(known));
    let actor = audit::present();
    let outcomes = database.run(|database| async move {
        let mut outcomes = Vec::with_capacity(edits.len());
        // Of several edits of one file each needs a transaction of its own.
        for edits in edits_of_different_files(edits) {
            let token = draw()?;
            let attempt = Attempt {
                workspace: &workspace,
                known: &known,
                actor: actor.as_ref(),
                token,
                work: Work::Edits(&edits),
            };
            outcomes.extend(attempt.commit(&database).await?);
        }
        Ok(outcomes)
    });
    noted(outcomes)
}

/// Notes for the audit of the present call that it has changed something.
fn noted(outcomes: Result<Vec<Outcome>, RowsError>) -> Result<Vec<Outcome>, RowsError> {
    if outcomes
        .as_ref()
        .is_ok_and(|outcomes| outcomes.contains(&Outcome::Done))
    {
        audit::note_written();
    }
    outcomes
}

/// Moves a file to another place or name.
pub(super) fn rename(
    database: &Database,
    workspace: &Arc<str>,
    known: &Arc<Known>,
    from: (&'static str, String),
    to: (&'static str, String),
) -> Result<Outcome, RowsError> {
    let (workspace, known) = (Arc::clone(workspace), Arc::clone(known));
    let actor = audit::present();
    let outcomes = database.run(|database| async move {
        let attempt = Attempt {
            workspace: &workspace,
            known: &known,
            actor: actor.as_ref(),
            token: draw()?,
            work: Work::Rename(&from, &to),
        };
        attempt.commit(&database).await
    });
    let outcomes = noted(outcomes)?;
    Ok(outcomes.into_iter().next().unwrap_or(Outcome::Missing))
}

/// Returns a random number for a transaction.
fn draw() -> Result<i64, RowsError> {
    let number = getrandom::u64().map_err(|error| RowsError::NotStarted(error.into()))?;
    Ok((number >> 1) as i64)
}

/// Splits `edits` into runs in which each file occurs once.
fn edits_of_different_files(edits: Vec<Edit>) -> Vec<Vec<Edit>> {
    let mut runs = vec![Vec::new()];
    let mut known = HashSet::new();
    for edit in edits {
        if !known.insert((edit.place, edit.name.clone())) {
            known.clear();
            known.insert((edit.place, edit.name.clone()));
            runs.push(Vec::new());
        }
        runs.last_mut().expect("there is a run").push(edit);
    }
    runs
}

/// Changes of one transaction.
#[derive(Clone, Copy)]
enum Work<'a> {
    Edits(&'a [Edit]),
    Rename(&'a (&'static str, String), &'a (&'static str, String)),
}

/// A transaction that is tried again while its connection breaks.
struct Attempt<'a> {
    workspace: &'a str,
    /// Takes in the numbers of changes, so that what is read next holds them.
    known: &'a Known,
    /// Identity that makes the changes.
    actor: Option<&'a Actor>,
    token: i64,
    work: Work<'a>,
}

/// Decided changes of a transaction, in columns.
#[derive(Default)]
struct Columns {
    outcomes: Vec<Outcome>,
    replaced: (Vec<String>, Vec<String>, Vec<i64>),
    removed: (Vec<String>, Vec<String>),
    put: (Vec<String>, Vec<String>, Vec<i64>),
    bytes: Vec<Vec<u8>>,
    hashes: Vec<Vec<u8>>,
    modified: Vec<i64>,
    ops: Vec<String>,
    places: Vec<String>,
    names: Vec<String>,
    changed: Vec<Option<Vec<u8>>>,
    /// Number of memories, and of bytes, that come to those of the workspace.
    memories: i64,
    size: i64,
}

/// Contents of a workspace before a write, and their limits.
struct Held {
    memories: i64,
    bytes: i64,
    max_memories: Option<i64>,
    max_bytes: Option<i64>,
}

impl Held {
    /// Reads the columns that follow the number of the last change.
    fn of(row: &tokio_postgres::Row) -> Held {
        Held {
            memories: row.get(1),
            bytes: row.get(2),
            max_memories: row.get(3),
            max_bytes: row.get(4),
        }
    }

    /// Refuses changes that exceed a limit. What makes a workspace smaller is permitted above it, too.
    fn check(&self, columns: &Columns) -> Result<(), RowsError> {
        let is_over = |what, more: i64, would: i64, limit: Option<i64>| match limit {
            Some(limit) if more > 0 && would > limit => {
                Err(RowsError::OverQuota { what, would, limit })
            }
            _ => Ok(()),
        };
        let (memories, bytes) = (self.memories + columns.memories, self.bytes + columns.size);
        is_over("memories", columns.memories, memories, self.max_memories)?;
        is_over("bytes", columns.size, bytes, self.max_bytes)
    }
}

/// Returns 1 if a file at a place is a memory, else 0.
fn memories_at(place: &str) -> i64 {
    i64::from(place != super::workspace::BESIDE)
}

/// Present time in nanoseconds since 1970, by the clock of the database.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000";

impl Attempt<'_> {
    async fn commit(&self, database: &Database) -> Result<Vec<Outcome>, RowsError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = database.connection().await?;
            let failed = match self.once(&connection).await {
                Ok(outcomes) => return Ok(outcomes),
                Err(Failed::Refused(error)) => return Err(error),
                Err(failed) => failed,
            };
            discard(connection);
            if matches!(&failed, Failed::Before(error) | Failed::InDoubt(error) if error.is_disconnected())
            {
                database.forget_idle();
            }
            let error = match failed {
                Failed::Before(error) | Failed::Refused(error) => error,
                Failed::InDoubt(error) => match self.was_committed(database).await {
                    Ok(Some(outcomes)) => return Ok(outcomes),
                    Ok(None) => error,
                    Err(_) => return Err(RowsError::UnknownOutcome(Box::new(error))),
                },
            };
            if tries >= MAX_TRIES || !error.is_disconnected() {
                return Err(error);
            }
        }
    }

    /// Makes the changes in one transaction, in two round trips.
    async fn once(&self, client: &Client) -> Result<Vec<Outcome>, Failed> {
        let (places, names) = self.files();
        let wanted = match self.work {
            Work::Edits(edits) => edits.len() as i64,
            Work::Rename(..) => 2,
        };
        let begin = begin(self.workspace);
        let head = "UPDATE workspace SET head = head + $2 WHERE name = $1 \
             RETURNING head, memories, bytes, max_memories, max_bytes";
        let there = "SELECT place, name, hash, octet_length(bytes)::bigint FROM memory WHERE workspace = $1 \
             AND (place, name) IN (SELECT * FROM unnest($2::text[], $3::text[]))";
        let head_values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.workspace, Type::TEXT), (&wanted, Type::INT8)];
        let there_values: [(&(dyn ToSql + Sync), Type); 3] = [
            (&self.workspace, Type::TEXT),
            (&places, Type::TEXT_ARRAY),
            (&names, Type::TEXT_ARRAY),
        ];
        let (begun, head, there) = tokio::join!(
            biased;
            client.batch_execute(&begin),
            client.query_typed(head, &head_values),
            client.query_typed(there, &there_values),
        );
        begun?;
        let (head, there) = (head?, there?);
        let held = head.first().map(Held::of);
        let (Some(head), Some(held)) = (head.first().map(|row| row.get::<_, i64>(0)), held) else {
            return Err(Failed::Before(RowsError::NoWorkspace(
                self.workspace.to_owned(),
            )));
        };
        let state_of = |place: &str, name: &str| {
            there
                .iter()
                .find(|row| row.get::<_, &str>(0) == place && row.get::<_, &str>(1) == name)
                .and_then(|row| Some((hash_in(row.get(2))?, row.get(3))))
        };
        let before = head - wanted;
        let columns = match self.work {
            Work::Edits(edits) => Columns::of_edits(edits, before, state_of),
            Work::Rename(from, to) => Columns::of_rename(from, to, before, state_of),
        };
        if columns.ops.is_empty() {
            client.batch_execute("ROLLBACK").await?;
            // Whatever the edits were not meant for is read next.
            self.known.raise(before);
            return Ok(columns.outcomes);
        }
        if let Err(over) = held.check(&columns) {
            client.batch_execute("ROLLBACK").await?;
            return Err(Failed::Refused(over));
        }
        self.finish(client, (before, wanted), columns).await
    }

    /// Returns the places and names of all files of the changes.
    fn files(&self) -> (Vec<String>, Vec<String>) {
        match self.work {
            Work::Edits(edits) => edits
                .iter()
                .map(|edit| (edit.place.to_owned(), edit.name.clone()))
                .unzip(),
            Work::Rename(from, to) => [from, to]
                .into_iter()
                .map(|(place, name)| ((*place).to_owned(), name.clone()))
                .unzip(),
        }
    }

    /// Writes `columns` and commits.
    async fn finish(
        &self,
        client: &Client,
        (before, wanted): (i64, i64),
        columns: Columns,
    ) -> Result<Vec<Outcome>, Failed> {
        let workspace = || Value::from(self.workspace);
        let count = columns.ops.len() as i64;
        let numbers: Vec<i64> = (before + 1..=before + count).collect();
        let statement = |is_needed: bool, sql: &str, values: Vec<Value>| {
            is_needed.then(|| (sql.to_owned(), values))
        };
        let replaces = !columns.replaced.0.is_empty();
        let removes = !columns.removed.0.is_empty();
        let puts = !columns.put.0.is_empty();
        let head = statement(
            count != wanted || columns.memories != 0 || columns.size != 0,
            "UPDATE workspace SET head = $2, memories = memories + $3, bytes = bytes + $4 WHERE name = $1",
            vec![
                workspace(),
                Value::Number(before + count),
                Value::Number(columns.memories),
                Value::Number(columns.size),
            ],
        );
        let version = statement(
            replaces,
            "INSERT INTO version (workspace, place, name, seq, bytes, hash, modified, until) \
             SELECT m.workspace, m.place, m.name, m.seq, m.bytes, m.hash, m.modified, r.until \
             FROM unnest($2::text[], $3::text[], $4::bigint[]) AS r(place, name, until) \
             JOIN memory m ON m.workspace = $1 AND m.place = r.place AND m.name = r.name",
            vec![
                workspace(),
                Value::Texts(columns.replaced.0),
                Value::Texts(columns.replaced.1),
                Value::Numbers(columns.replaced.2),
            ],
        );
        let memory = match self.work {
            Work::Rename(from, to) => statement(
                true,
                &format!(
                    "UPDATE memory SET place = $4, name = $5, seq = $6, changed = {NOW} \
                     WHERE workspace = $1 AND place = $2 AND name = $3"
                ),
                vec![
                    workspace(),
                    Value::from(from.0),
                    Value::Text(from.1.clone()),
                    Value::from(to.0),
                    Value::Text(to.1.clone()),
                    Value::Number(before + count),
                ],
            ),
            Work::Edits(_) => statement(
                puts,
                &format!(
                    "INSERT INTO memory (workspace, place, name, seq, bytes, hash, modified, changed) \
                     SELECT $1, place, name, seq, bytes, hash, coalesce(nullif(modified, 0), {NOW}), {NOW} \
                     FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[]) \
                     AS put(place, name, seq, bytes, hash, modified) \
                     ON CONFLICT (workspace, place, name) DO UPDATE SET seq = excluded.seq, \
                     bytes = excluded.bytes, hash = excluded.hash, modified = excluded.modified, \
                     changed = excluded.changed"
                ),
                vec![
                    workspace(),
                    Value::Texts(columns.put.0),
                    Value::Texts(columns.put.1),
                    Value::Numbers(columns.put.2),
                    Value::ManyBytes(columns.bytes),
                    Value::ManyBytes(columns.hashes),
                    Value::Numbers(columns.modified),
                ],
            ),
        };
        let removal = statement(
            removes,
            "DELETE FROM memory WHERE workspace = $1 \
             AND (place, name) IN (SELECT * FROM unnest($2::text[], $3::text[]))",
            vec![
                workspace(),
                Value::Texts(columns.removed.0),
                Value::Texts(columns.removed.1),
            ],
        );
        let ids = columns.names.iter().map(|name| id_of(name)).collect();
        let line = NewLine::of_change(self.actor.cloned(), ids, (before + 1, before + count));
        let line = statement(true, audit::ADD, audit::values(self.workspace, &[line]));
        let change = statement(
            true,
            "INSERT INTO change (workspace, seq, op, place, name, hash, token) \
             SELECT $1, seq, op, place, name, hash, $7 \
             FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bytea[]) \
             AS c(seq, op, place, name, hash)",
            vec![
                workspace(),
                Value::Numbers(numbers),
                Value::Texts(columns.ops),
                Value::Texts(columns.places),
                Value::Texts(columns.names),
                Value::MaybeBytes(columns.changed),
                Value::Number(self.token),
            ],
        );
        let execute = async |statement: &Option<(String, Vec<Value>)>| {
            let Some((sql, values)) = statement else {
                return Ok(());
            };
            let values: Vec<_> = values.iter().map(Value::typed).collect();
            client.query_typed(sql, &values).await.map(drop)
        };
        let end = format!(
            "SELECT pg_notify('{CHANNEL}', '{}'); COMMIT",
            self.workspace
        );
        let done = tokio::join!(
            biased;
            execute(&head),
            execute(&version),
            execute(&memory),
            execute(&removal),
            execute(&change),
            execute(&line),
            client.batch_execute(&end),
        );
        let done = [done.0, done.1, done.2, done.3, done.4, done.5, done.6];
        match done.into_iter().collect::<Result<Vec<()>, _>>() {
            Ok(_) => {
                self.known.raise(before + count);
                Ok(columns.outcomes)
            }
            Err(error) => {
                let error = RowsError::from(error);
                // A refused statement undoes the transaction; of a broken connection nobody knows.
                Err(match error.is_disconnected() {
                    true => Failed::InDoubt(error),
                    false => Failed::Before(error),
                })
            }
        }
    }

    /// Returns the outcomes if the transaction was committed. Waits until the database has ended it.
    async fn was_committed(&self, database: &Database) -> Result<Option<Vec<Outcome>>, RowsError> {
        let mut pause = Duration::from_millis(100);
        for question in 1.. {
            match self.ask_whether_committed(database).await {
                Err(error) if question < QUESTIONS && error.is_disconnected() => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
                Ok(names) if names.is_empty() => return Ok(None),
                Ok(names) => return Ok(Some(self.outcomes(&names))),
            }
        }
        Ok(None)
    }

    /// Returns the names of the files that the transaction changed.
    async fn ask_whether_committed(&self, database: &Database) -> Result<Vec<String>, RowsError> {
        let connection = database.connection().await?;
        let begin = begin(self.workspace);
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&self.workspace, Type::TEXT)];
        // The lock is free once the transaction has ended.
        let head = "SELECT head FROM workspace WHERE name = $1 FOR UPDATE";
        let token_values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&self.workspace, Type::TEXT), (&self.token, Type::INT8)];
        let changes = "SELECT name FROM change WHERE workspace = $1 AND token = $2";
        let (begun, head, changes, ended) = tokio::join!(
            biased;
            connection.batch_execute(&begin),
            connection.query_typed(head, &values),
            connection.query_typed(changes, &token_values),
            connection.batch_execute("ROLLBACK"),
        );
        let asked = begun.and(head).and_then(|head| Ok((head, changes?)));
        match asked.and_then(|asked| ended.map(|()| asked)) {
            Ok((head, rows)) => {
                if let Some(head) = head.first() {
                    self.known.raise(head.get(0));
                }
                Ok(rows.iter().map(|row| row.get(0)).collect())
            }
            Err(error) => {
                discard(connection);
                Err(error.into())
            }
        }
    }

    /// Returns the outcomes of a transaction that changed the files `names`.
    fn outcomes(&self, names: &[String]) -> Vec<Outcome> {
        let Work::Edits(edits) = self.work else {
            return vec![Outcome::Done];
        };
        let outcome = |edit: &Edit| match (names.contains(&edit.name), edit.expected) {
            (true, _) => Outcome::Done,
            (false, Expected::Absent) => Outcome::Taken,
            (false, Expected::Hash(_)) => Outcome::Stale,
        };
        edits.iter().map(outcome).collect()
    }
}

/// Returns the id of the memory in a file; the path of another file.
fn id_of(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    match crate::format::is_memory_name(last) {
        true => last.trim_end_matches(".md").to_owned(),
        false => name.to_owned(),
    }
}

impl Columns {
    /// Decides on `edits`; their numbers follow `before`.
    fn of_edits(
        edits: &[Edit],
        before: i64,
        state_of: impl Fn(&str, &str) -> Option<(u128, i64)>,
    ) -> Columns {
        let mut columns = Columns::default();
        for edit in edits {
            let state = state_of(edit.place, &edit.name);
            let there = state.map(|(hash, _)| hash);
            let outcome = match (edit.expected, there) {
                (Expected::Absent, Some(_)) => Outcome::Taken,
                (Expected::Hash(_), None) => Outcome::Missing,
                (Expected::Hash(seen), Some(there)) if seen != there => Outcome::Stale,
                _ => Outcome::Done,
            };
            columns.outcomes.push(outcome);
            if outcome != Outcome::Done || (there.is_none() && edit.text.is_none()) {
                continue;
            }
            let number = before + columns.ops.len() as i64 + 1;
            let (place, name) = (edit.place.to_owned(), edit.name.clone());
            if edit.keeps && there.is_some() {
                columns.replaced.0.push(place.clone());
                columns.replaced.1.push(name.clone());
                columns.replaced.2.push(number);
            }
            columns.places.push(place.clone());
            columns.names.push(name.clone());
            let length = edit.text.as_ref().map(|text| text.bytes.len() as i64);
            let former = state.map(|(_, length)| length);
            columns.size += length.unwrap_or(0) - former.unwrap_or(0);
            let more = i64::from(length.is_some()) - i64::from(former.is_some());
            columns.memories += more * memories_at(edit.place);
            match &edit.text {
                None => {
                    columns.ops.push("remove".to_owned());
                    columns.changed.push(None);
                    columns.removed.0.push(place);
                    columns.removed.1.push(name);
                }
                Some(text) => {
                    let hash = text.hash.to_le_bytes().to_vec();
                    columns.ops.push("put".to_owned());
                    columns.changed.push(Some(hash.clone()));
                    columns.put.0.push(place);
                    columns.put.1.push(name);
                    columns.put.2.push(number);
                    columns.bytes.push(text.bytes.clone());
                    columns.hashes.push(hash);
                    columns.modified.push(text.modified.unwrap_or(0));
                }
            }
        }
        columns
    }

    /// Decides on a move: a removal and a text in its new place.
    fn of_rename(
        from: &(&'static str, String),
        to: &(&'static str, String),
        before: i64,
        state_of: impl Fn(&str, &str) -> Option<(u128, i64)>,
    ) -> Columns {
        let mut columns = Columns::default();
        let there = state_of(from.0, &from.1);
        let outcome = match (there, state_of(to.0, &to.1)) {
            (None, _) => Outcome::Missing,
            (Some(_), Some(_)) => Outcome::Taken,
            (Some(_), None) => Outcome::Done,
        };
        columns.outcomes.push(outcome);
        if let (Outcome::Done, Some((hash, _))) = (outcome, there) {
            columns.memories = memories_at(to.0) - memories_at(from.0);
            // The text stays, and where it was is history.
            columns.replaced = (
                vec![from.0.to_owned()],
                vec![from.1.clone()],
                // Both changes of a move are one.
                vec![before + 2],
            );
            columns.ops = vec!["remove".to_owned(), "put".to_owned()];
            columns.places = vec![from.0.to_owned(), to.0.to_owned()];
            columns.names = vec![from.1.clone(), to.1.clone()];
            columns.changed = vec![None, Some(hash.to_le_bytes().to_vec())];
        }
        columns
    }
}

/// Returns the hash in a column.
pub(super) fn hash_in(bytes: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(bytes.try_into().ok()?))
}
