//! Writes of a workspace, each call in one transaction.
//!
//! Guarantees: a call's changes are committed together or not at all, with their numbers, the replaced texts and
//! the changes of the feed; numbers have no gaps; a text is replaced only if it is the one that the caller read. If
//! the connection breaks during the commit, the feed tells whether it was committed.

mod columns;
mod edit;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::access::audit::{self, Actor, NewLine};
use super::calls;
use super::database::{Database, Value, answered, begin, discard};
use super::error::{ANSWER, RowsError};
use super::known::Known;
use super::notices::CHANNEL;
use super::workspace::draw;
pub(super) use columns::hash_in;
use columns::{Columns, EarlierTexts, Held};
pub(super) use edit::{Edit, Expected, NewMemory, Origin, Outcome, PastStep, Text};

/// Maximum number of attempts of one transaction whose connection breaks, or which a deadlock ends.
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
                since: known.floor(),
                work: Work::Edits(&edits),
                undoes: None,
            };
            match attempt.commit(&database).await {
                Ok(written) => outcomes.extend(written.outcomes),
                // Of a part it is known that it was written.
                Err(error) if error.is_unanswered() && outcomes.contains(&Outcome::Done) => {
                    return Err(RowsError::UnknownOutcome(Box::new(error)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(outcomes)
    });
    noted(outcomes)
}

/// Notes for the present call, and its audit, that it has changed something; for the call also that nobody knows.
fn noted(outcomes: Result<Vec<Outcome>, RowsError>) -> Result<Vec<Outcome>, RowsError> {
    match &outcomes {
        Ok(outcomes) if outcomes.contains(&Outcome::Done) => {
            audit::note_written();
            calls::note_written();
        }
        Err(RowsError::UnknownOutcome(_)) => calls::note_written(),
        _ => {}
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
            since: known.floor(),
            work: Work::Rename(&from, &to),
            undoes: None,
        };
        Ok(attempt.commit(&database).await?.outcomes)
    });
    let outcomes = noted(outcomes)?;
    Ok(outcomes.into_iter().next().unwrap_or(Outcome::Missing))
}

/// Makes `edits`, of different files, which undo the change `undone`: all of them, or none if one cannot be made. Returns
/// the number of the new change.
pub(super) fn undo(
    database: &Database,
    workspace: &Arc<str>,
    known: &Arc<Known>,
    undone: i64,
    edits: Vec<Edit>,
) -> Result<Option<i64>, RowsError> {
    let (workspace, known) = (Arc::clone(workspace), Arc::clone(known));
    let actor = audit::present();
    let written = database.run(|database| async move {
        let attempt = Attempt {
            workspace: &workspace,
            known: &known,
            actor: actor.as_ref(),
            token: draw()?,
            since: known.floor(),
            work: Work::Edits(&edits),
            undoes: Some(undone),
        };
        attempt.commit(&database).await
    });
    let number = written.as_ref().map_or(None, |written| written.number);
    noted(written.map(|written| written.outcomes))?;
    Ok(number)
}

/// Adds memories with their earlier changes, each whole or not at all; results are in the same order.
pub(super) fn add_new(
    database: &Database,
    workspace: &Arc<str>,
    known: &Arc<Known>,
    memories: Vec<NewMemory>,
) -> Result<Vec<Outcome>, RowsError> {
    let (workspace, known) = (Arc::clone(workspace), Arc::clone(known));
    let actor = audit::present();
    let outcomes = database.run(|database| async move {
        let attempt = Attempt {
            workspace: &workspace,
            known: &known,
            actor: actor.as_ref(),
            token: draw()?,
            since: known.floor(),
            work: Work::New(&memories),
            undoes: None,
        };
        Ok(attempt.commit(&database).await?.outcomes)
    });
    noted(outcomes)
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
    New(&'a [NewMemory]),
}

/// A transaction that is tried again while its connection breaks, or a deadlock ends it.
struct Attempt<'a> {
    workspace: &'a str,
    /// Takes in the numbers of changes, so that what is read next holds them.
    known: &'a Known,
    /// Identity that makes the changes.
    actor: Option<&'a Actor>,
    token: i64,
    /// Number of a change before the attempt.
    since: i64,
    work: Work<'a>,
    /// Number of the change that is undone: all edits are made then, or none.
    undoes: Option<i64>,
}

/// Result of a transaction.
struct Written {
    outcomes: Vec<Outcome>,
    /// Number of its last change; `None` if it made none.
    number: Option<i64>,
}

/// State of present files.
const FILES: &str = "SELECT m.* FROM unnest($2::text[], $3::text[]) AS wanted(place, name) CROSS JOIN LATERAL ( \
     SELECT place, name, hash, octet_length(bytes)::bigint FROM memory \
     WHERE workspace = $1 AND place = wanted.place AND name = wanted.name LIMIT 1) m";

/// Files that are there, or were.
const KNOWN_FILES: &str = "SELECT m.* FROM unnest($2::text[], $3::text[]) AS wanted(place, name) CROSS JOIN LATERAL ( \
     (SELECT place, name FROM memory WHERE workspace = $1 AND place = wanted.place AND name = wanted.name LIMIT 1) \
     UNION ALL \
     (SELECT place, name FROM version WHERE workspace = $1 AND place = wanted.place AND name = wanted.name LIMIT 1) \
     LIMIT 1) m";

/// Present time in nanoseconds since 1970, by the clock of the database.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000";

/// Returns the statements that notify of a change of `workspace`: a transaction of its own, after that of the change. Those
/// with notifications end one after another, in all workspaces, so that this one waits for no disk and no standby.
fn notice(workspace: &str) -> String {
    format!(
        "BEGIN; SET LOCAL statement_timeout = '5s'; SET LOCAL lock_timeout = '1s'; \
         SET LOCAL synchronous_commit = off; SELECT pg_notify('{CHANNEL}', '{workspace}'); COMMIT"
    )
}

impl Attempt<'_> {
    async fn commit(&self, database: &Database) -> Result<Written, RowsError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = database.connection().await?;
            let once = tokio::time::timeout(ANSWER, self.once(&connection)).await;
            // A commit may hang while a standby is awaited.
            let failed = match once.unwrap_or(Err(Failed::InDoubt(RowsError::Silent))) {
                Ok(written) => return Ok(written),
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
                    Ok(Some(written)) => {
                        self.notify(database).await;
                        return Ok(written);
                    }
                    Ok(None) => error,
                    Err(_) => return Err(RowsError::UnknownOutcome(Box::new(error))),
                },
            };
            if tries >= MAX_TRIES || !(error.is_disconnected() || error.is_deadlock()) {
                return Err(error);
            }
        }
    }

    /// Makes the changes in one transaction, in two round trips.
    async fn once(&self, client: &Client) -> Result<Written, Failed> {
        let (places, names) = self.files();
        let wanted = match self.work {
            Work::Edits(edits) => edits.len() as i64,
            Work::Rename(..) => 2,
            Work::New(memories) => memories.iter().map(|one| one.steps.len() as i64).sum(),
        };
        let begin = begin(self.workspace);
        let head = "UPDATE workspace SET head = head + $2 WHERE name = $1 \
             RETURNING head, memories, bytes, max_memories, max_bytes";
        let there = match self.work {
            Work::New(_) => KNOWN_FILES,
            Work::Edits(_) | Work::Rename(..) => FILES,
        };
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
            Work::New(memories) => {
                let known = there.iter().map(|row| (row.get(0), row.get(1)));
                let known: HashSet<(&str, &str)> = known.collect();
                Columns::of_new(memories, before, |place, name| {
                    known.contains(&(place, name))
                })
            }
        };
        let is_done = |outcome: &Outcome| *outcome == Outcome::Done;
        let is_whole = self.undoes.is_none() || columns.outcomes.iter().all(is_done);
        if columns.ops.is_empty() || !is_whole {
            client.batch_execute("ROLLBACK").await?;
            // Whatever the edits were not meant for is read next.
            self.known.raise(before);
            return Ok(Written {
                outcomes: columns.outcomes,
                number: None,
            });
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
            Work::New(memories) => memories
                .iter()
                .flat_map(|memory| &memory.steps)
                .map(|step| (step.place.to_owned(), step.name.clone()))
                .collect::<BTreeSet<_>>()
                .into_iter()
                .unzip(),
        }
    }

    /// Writes `columns` and commits.
    async fn finish(
        &self,
        client: &Client,
        (before, wanted): (i64, i64),
        columns: Columns,
    ) -> Result<Written, Failed> {
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
             FROM unnest($2::text[], $3::text[], $4::bigint[]) AS r(place, name, until) CROSS JOIN LATERAL ( \
             SELECT * FROM memory WHERE workspace = $1 AND place = r.place AND name = r.name LIMIT 1) m",
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
            Work::Edits(_) | Work::New(_) => statement(
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
        let EarlierTexts {
            places,
            names,
            numbers: since,
            bytes,
            hashes,
            modified,
            until,
        } = columns.earlier;
        let earlier = statement(
            !places.is_empty(),
            "INSERT INTO version (workspace, place, name, seq, bytes, hash, modified, until) \
             SELECT $1, place, name, seq, bytes, hash, modified, until \
             FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[], $8::bigint[]) \
             AS e(place, name, seq, bytes, hash, modified, until)",
            vec![
                workspace(),
                Value::Texts(places),
                Value::Texts(names),
                Value::Numbers(since),
                Value::ManyBytes(bytes),
                Value::ManyBytes(hashes),
                Value::Numbers(modified),
                Value::Numbers(until),
            ],
        );
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
        let origins = |number: &dyn Fn(Option<&Origin>) -> i64| {
            let of = |at: usize| number(columns.origins.get(at).and_then(Option::as_deref));
            Value::Numbers((0..columns.ops.len()).map(of).collect())
        };
        let tokens = origins(&|origin| origin.map_or(self.token, |origin| origin.token));
        let times = origins(&|origin| origin.map_or(0, |origin| origin.at));
        let origins = |text: &dyn Fn(&Origin) -> &str| {
            let of = |at: usize| {
                columns
                    .origins
                    .get(at)
                    .and_then(Option::as_deref)
                    .map_or("", text)
            };
            Value::Texts((0..columns.ops.len()).map(|at| of(at).to_owned()).collect())
        };
        let (authors, tools) = (origins(&|of| &of.author), origins(&|of| &of.tool));
        let change = statement(
            true,
            "INSERT INTO change (workspace, seq, op, place, name, hash, token, undoes, at, author, tool) \
             SELECT $1, seq, op, place, name, hash, token, nullif($8, 0), \
             CASE at WHEN 0 THEN clock_timestamp() \
             ELSE to_timestamp(0) + (at / 1000) * interval '1 microsecond' END, nullif(author, ''), nullif(tool, '') \
             FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::bigint[], $9::bigint[], \
             $10::text[], $11::text[]) AS c(seq, op, place, name, hash, token, at, author, tool)",
            vec![
                workspace(),
                Value::Numbers(numbers),
                Value::Texts(columns.ops),
                Value::Texts(columns.places),
                Value::Texts(columns.names),
                Value::MaybeBytes(columns.changed),
                tokens,
                Value::Number(self.undoes.unwrap_or(0)),
                times,
                authors,
                tools,
            ],
        );
        let execute = async |statement: &Option<(String, Vec<Value>)>| {
            let Some((sql, values)) = statement else {
                return Ok(());
            };
            let values: Vec<_> = values.iter().map(Value::typed).collect();
            client.query_typed(sql, &values).await.map(drop)
        };
        let notice = notice(self.workspace);
        let done = tokio::join!(
            biased;
            execute(&head),
            execute(&version),
            execute(&earlier),
            execute(&memory),
            execute(&removal),
            execute(&change),
            execute(&line),
            client.batch_execute("COMMIT"),
            client.batch_execute(&notice),
        );
        if let Err(error) = done.8 {
            // Others see the change a moment later.
            tracing::debug!("no notification of a change: {error}");
            if !error.is_closed() {
                client.batch_execute("ROLLBACK").await.ok();
            }
        }
        let done = [
            done.0, done.1, done.2, done.3, done.4, done.5, done.6, done.7,
        ];
        match done.into_iter().collect::<Result<Vec<()>, _>>() {
            Ok(_) => {
                self.known.raise(before + count);
                Ok(Written {
                    outcomes: columns.outcomes,
                    number: Some(before + count),
                })
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

    /// Returns the result if the transaction was committed. Waits until the database has ended it.
    async fn was_committed(&self, database: &Database) -> Result<Option<Written>, RowsError> {
        let mut pause = Duration::from_millis(100);
        for question in 1.. {
            match self.ask_whether_committed(database).await {
                Err(error) if question < QUESTIONS && error.is_disconnected() => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(error) => return Err(error),
                Ok((_, None)) => return Ok(None),
                Ok((names, number)) => {
                    return Ok(Some(Written {
                        outcomes: self.outcomes(&names),
                        number,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Notifies of a change of which nobody may have been told; without that others see it a moment later.
    async fn notify(&self, database: &Database) {
        let Ok(connection) = database.connection().await else {
            return;
        };
        let notice = notice(self.workspace);
        let told = async { Ok(connection.batch_execute(&notice).await?) };
        if answered(told).await.is_err() {
            discard(connection);
        }
    }

    /// Returns the names of the files that the transaction changed, and the number of its last change.
    async fn ask_whether_committed(
        &self,
        database: &Database,
    ) -> Result<(Vec<String>, Option<i64>), RowsError> {
        let connection = database.connection().await?;
        let begin = begin(self.workspace);
        let values: [(&(dyn ToSql + Sync), Type); 1] = [(&self.workspace, Type::TEXT)];
        // The lock is free once the transaction has ended.
        let head = "SELECT head FROM workspace WHERE name = $1 FOR UPDATE";
        let token_values: [(&(dyn ToSql + Sync), Type); 3] = [
            (&self.workspace, Type::TEXT),
            (&self.since, Type::INT8),
            (&self.token, Type::INT8),
        ];
        // After a failover that lost changes the numbers begin below those that are known here.
        let changes = "SELECT name, seq FROM change WHERE workspace = $1 AND token = $3 AND seq > \
             (SELECT least($2, head - 100000) FROM workspace WHERE name = $1)";
        let asked = answered(async {
            let (begun, head, changes, ended) = tokio::join!(
                biased;
                connection.batch_execute(&begin),
                connection.query_typed(head, &values),
                connection.query_typed(changes, &token_values),
                connection.batch_execute("ROLLBACK"),
            );
            let asked = begun.and(head).and_then(|head| Ok((head, changes?)));
            Ok(asked.and_then(|asked| ended.map(|()| asked))?)
        });
        match asked.await {
            Ok((head, rows)) => {
                if let Some(head) = head.first() {
                    self.known.raise(head.get(0));
                }
                let number = rows.iter().map(|row| row.get(1)).max();
                Ok((rows.iter().map(|row| row.get(0)).collect(), number))
            }
            Err(error) => {
                discard(connection);
                Err(error)
            }
        }
    }

    /// Returns the outcomes of a transaction that changed the files `names`.
    fn outcomes(&self, names: &[String]) -> Vec<Outcome> {
        let edits = match self.work {
            Work::Edits(edits) => edits,
            Work::Rename(..) => return vec![Outcome::Done],
            Work::New(memories) => {
                let is_there = |memory: &NewMemory| {
                    let mut steps = memory.steps.iter();
                    steps.any(|step| names.contains(&step.name))
                };
                let outcome = |memory| match is_there(memory) {
                    true => Outcome::Done,
                    false => Outcome::Taken,
                };
                return memories.iter().map(outcome).collect();
            }
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
