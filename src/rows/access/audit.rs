//! The audit of a workspace: who called what, when, with which outcome.
//!
//! Guarantees: the line of a change is committed with the change, by the same transaction; the line of any other call is
//! written within two seconds, in the background, and at the end of the program; numbers of lines have no gaps and are
//! in the order of the commits. The identity is that of the token, whatever the arguments of a call say. Lines of reads
//! are lost if the program is killed before they are written, or if the database is away for so long that
//! [`MAX_WAITING`] lines wait; they are there twice if the connection broke while they were committed.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::tokens::administer;
use crate::rows::database::{Database, Value, begin, check_name};
use crate::rows::error::RowsError;
use crate::rows::workspace::Rows;

/// Maximum time for which the line of a read waits for others, to be written with them.
const GATHER: Duration = Duration::from_secs(1);

/// Pause before lines are written again that could not be written.
const AGAIN: Duration = Duration::from_secs(5);

/// Maximum number of lines that wait; 20 MB or so.
const MAX_WAITING: usize = 65_536;

/// Maximum number of ids of a line.
const MAX_IDS: usize = 32;

/// Time between two removals of expired lines of a workspace by one server.
const EXPIRE: Duration = Duration::from_secs(3600);

/// Adds lines with the next numbers; none if the workspace is gone.
pub(in crate::rows) const ADD: &str = "WITH drawn AS (\
         INSERT INTO audit_head AS h (workspace, head) SELECT name, $2 FROM workspace WHERE name = $1 \
         ON CONFLICT (workspace) DO UPDATE SET head = h.head + $2 RETURNING head) \
     INSERT INTO audit (workspace, number, at, identity, action, request, outcome, memories, count, \
         first_change, last_change) \
     SELECT $1, drawn.head - $2 + n, clock_timestamp() - age * interval '1 millisecond', nullif(identity, ''), \
         action, request, outcome, memories, count, nullif(first, 0), nullif(last, 0) \
     FROM drawn, unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], \
         $9::bigint[], $10::bigint[], $11::bigint[]) WITH ORDINALITY \
         AS l(age, identity, action, request, outcome, memories, count, first, last, n)";

/// Removes lines whose time is over among the `$2` oldest ones, so that a long audit is not read whole; returns their
/// number. Which those are, the database says.
const REMOVE_EXPIRED: &str = "WITH removed AS (DELETE FROM audit WHERE workspace = $1 \
     AND number < (SELECT min(number) FROM audit WHERE workspace = $1) + $2 \
     AND at < now() - (SELECT audit_days FROM workspace WHERE name = $1) * interval '1 day' RETURNING 1) \
     SELECT count(*) FROM removed";

/// Number of the oldest lines that are looked at together.
const OLDEST: i64 = 10_000;

/// Identity that does something, and its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Holder of the token.
    pub identity: String,
    /// Tool or operation.
    pub action: String,
    /// Id of the request.
    pub request: String,
}

/// The call that runs on this thread.
struct Present {
    actor: Actor,
    /// Whether it has changed anything, so that it has a line.
    has_written: bool,
}

thread_local! {
    static PRESENT: RefCell<Option<Present>> = const { RefCell::new(None) };
}

/// Returns who runs on this thread; `None` if no call does.
pub(in crate::rows) fn present() -> Option<Actor> {
    PRESENT.with_borrow(|present| present.as_ref().map(|present| present.actor.clone()))
}

/// Notes that the present call has a line, written with its change.
pub(in crate::rows) fn note_written() {
    PRESENT.with_borrow_mut(|present| {
        if let Some(present) = present {
            present.has_written = true;
        }
    });
}

/// A line that is not written yet.
pub(in crate::rows) struct NewLine {
    at: Instant,
    actor: Option<Actor>,
    outcome: &'static str,
    /// The first ids.
    ids: Vec<String>,
    /// Number of all ids.
    count: usize,
    changes: (i64, i64),
}

impl NewLine {
    fn new(
        actor: Option<Actor>,
        outcome: &'static str,
        mut ids: Vec<String>,
        changes: (i64, i64),
    ) -> NewLine {
        let count = ids.len();
        ids.truncate(MAX_IDS);
        NewLine {
            at: Instant::now(),
            actor,
            outcome,
            ids,
            count,
            changes,
        }
    }

    /// Returns the line of a transaction that makes the changes from the first number to the last one.
    pub(in crate::rows) fn of_change(
        actor: Option<Actor>,
        ids: Vec<String>,
        changes: (i64, i64),
    ) -> NewLine {
        let mut known = HashSet::new();
        let ids = ids.into_iter().filter(|id| known.insert(id.clone()));
        NewLine::new(actor, "done", ids.collect(), changes)
    }
}

/// Returns the values of [`ADD`].
pub(in crate::rows) fn values(workspace: &str, lines: &[NewLine]) -> Vec<Value> {
    let texts = |text: &dyn Fn(&NewLine) -> String| Value::Texts(lines.iter().map(text).collect());
    let numbers =
        |number: &dyn Fn(&NewLine) -> i64| Value::Numbers(lines.iter().map(number).collect());
    let of_actor = |line: &NewLine, text: fn(&Actor) -> &str, none: &str| {
        line.actor.as_ref().map_or(none, text).to_owned()
    };
    vec![
        Value::from(workspace),
        Value::Number(lines.len() as i64),
        numbers(&|line| line.at.elapsed().as_millis() as i64),
        texts(&|line| of_actor(line, |actor| &actor.identity, "")),
        texts(&|line| of_actor(line, |actor| &actor.action, "program")),
        texts(&|line| of_actor(line, |actor| &actor.request, "")),
        texts(&|line| line.outcome.to_owned()),
        texts(&|line| line.ids.join("\n")),
        numbers(&|line| line.count as i64),
        numbers(&|line| line.changes.0),
        numbers(&|line| line.changes.1),
    ]
}

/// The audit as a server writes it, of all workspaces. A clone is the same.
#[derive(Clone)]
pub struct AuditLog {
    database: Database,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<(Arc<str>, NewLine)>,
    /// Whether lines are about to be written.
    is_awaited: bool,
    expired: HashMap<Arc<str>, Instant>,
}

impl AuditLog {
    /// Returns the audit in `database`.
    pub fn new(database: &Database) -> AuditLog {
        AuditLog {
            database: database.clone(),
            waiting: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `call` of `actor` on this thread, and keeps its outcome: whether it succeeded, and the ids in its reply.
    pub fn run(
        &self,
        workspace: &Arc<str>,
        actor: Actor,
        call: &mut dyn FnMut() -> (bool, Vec<String>),
    ) {
        /// Also keeps a call that panics.
        struct End<'a> {
            audit: &'a AuditLog,
            workspace: &'a Arc<str>,
            outcome: (bool, Vec<String>),
        }
        impl Drop for End<'_> {
            fn drop(&mut self) {
                let Some(present) = PRESENT.take() else {
                    return;
                };
                let (is_done, ids) = std::mem::take(&mut self.outcome);
                // A change has a line of its own; one that failed thereafter gets another.
                if !present.has_written || !is_done {
                    let outcome = if is_done { "done" } else { "failed" };
                    self.audit.add(self.workspace, present.actor, outcome, ids);
                }
            }
        }
        PRESENT.set(Some(Present {
            actor,
            has_written: false,
        }));
        let mut end = End {
            audit: self,
            workspace,
            outcome: (false, Vec::new()),
        };
        end.outcome = call();
    }

    /// Keeps that a call of `actor` was refused.
    pub fn refuse(&self, workspace: &Arc<str>, actor: Actor) {
        self.add(workspace, actor, "refused", Vec::new());
    }

    fn add(&self, workspace: &Arc<str>, actor: Actor, outcome: &'static str, ids: Vec<String>) {
        let line = NewLine::new(Some(actor), outcome, ids, (0, 0));
        let mut waiting = self.lock();
        if waiting.lines.len() >= MAX_WAITING {
            tracing::error!(
                "a line of the audit is lost: {MAX_WAITING} lines wait for the database"
            );
            return;
        }
        waiting.lines.push((Arc::clone(workspace), line));
        if !std::mem::replace(&mut waiting.is_awaited, true) {
            drop(waiting);
            self.write_after(GATHER);
        }
    }

    fn write_after(&self, pause: Duration) {
        let audit = self.clone();
        self.database.spawn(async move {
            let mut pause = pause;
            loop {
                // What comes meanwhile is written together.
                tokio::time::sleep(pause).await;
                audit.lock().is_awaited = false;
                let Err(error) = audit.write().await else {
                    return;
                };
                tracing::warn!("the audit is not written: {error}");
                if std::mem::replace(&mut audit.lock().is_awaited, true) {
                    return;
                }
                pause = AGAIN;
            }
        });
    }

    /// Writes the lines that wait.
    ///
    /// # Errors
    ///
    /// Fails if the database fails; the lines wait again then.
    pub fn flush(&self) -> Result<(), RowsError> {
        let audit = self.clone();
        self.database.run(|_| async move { audit.write().await })
    }

    async fn write(&self) -> Result<(), RowsError> {
        let mut of: HashMap<Arc<str>, Vec<NewLine>> = HashMap::new();
        for (workspace, line) in std::mem::take(&mut self.lock().lines) {
            of.entry(workspace).or_default().push(line);
        }
        let mut failed = Ok(());
        let workspaces: Vec<Arc<str>> = of.keys().cloned().collect();
        let mut of = of.into_iter();
        while let Some((workspace, lines)) = of.next() {
            let values = values(&workspace, &lines);
            let Err(error) = self.execute(&workspace, ADD, &values).await else {
                continue;
            };
            if error.is_of_values() {
                let count = lines.len();
                tracing::error!("{count} lines of the audit of {workspace} are lost: {error}");
                continue;
            }
            let mut left = vec![(workspace, lines)];
            if error.is_unanswered() {
                // The others would wait as long in vain.
                left.extend(of.by_ref());
            }
            for (workspace, lines) in left {
                let lines = lines.into_iter().map(|line| (Arc::clone(&workspace), line));
                self.lock().lines.extend(lines);
            }
            failed = Err(error);
        }
        for workspace in workspaces.iter().filter(|_| failed.is_ok()) {
            if self.is_to_expire(workspace)
                && let Err(error) = self.remove_expired(workspace).await
            {
                tracing::warn!("old lines of the audit of {workspace} stay: {error}");
            }
        }
        failed
    }

    async fn remove_expired(&self, workspace: &str) -> Result<(), RowsError> {
        let values = [Value::from(workspace), Value::Number(OLDEST)];
        loop {
            let rows = self.execute(workspace, REMOVE_EXPIRED, &values).await?;
            let removed = rows.first().map_or(0, |row| row.get::<_, i64>(0));
            if removed < OLDEST {
                return Ok(());
            }
        }
    }

    async fn execute(
        &self,
        workspace: &str,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, RowsError> {
        self.database
            .ask_primary(&begin(workspace), sql, values)
            .await
    }

    /// Returns whether expired lines of a workspace were not removed for a while, and notes that they are now.
    fn is_to_expire(&self, workspace: &Arc<str>) -> bool {
        let mut waiting = self.lock();
        let now = Instant::now();
        let last = waiting.expired.get(workspace);
        let is_due = last.is_none_or(|last| now.duration_since(*last) >= EXPIRE);
        if is_due {
            waiting.expired.insert(Arc::clone(workspace), now);
        }
        is_due
    }
}

/// A line of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditLine {
    /// Number of the line.
    pub number: i64,
    /// Time in milliseconds since 1970.
    pub at: i64,
    /// Holder of the token; `None` of what no call did.
    pub identity: Option<String>,
    /// Tool or operation.
    pub action: String,
    /// Id of the request.
    pub request: String,
    /// Outcome: `done`, `failed` or `refused`.
    pub outcome: String,
    /// Ids of the first memories that were shown or changed.
    pub memories: Vec<String>,
    /// Number of all of them.
    pub count: i64,
    /// Numbers of the first and the last change; `None` if it changed nothing.
    pub changes: Option<(i64, i64)>,
}

/// Returns the lines of a workspace after the number `after` and not before `since`, in seconds since 1970: at most
/// `limit`, in their order.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn audit(rows: &Rows, after: i64, since: i64, limit: i64) -> Result<Vec<AuditLine>, RowsError> {
    let sql = "SELECT number, (extract(epoch FROM at) * 1000)::bigint, identity, action, request, outcome, memories, \
         count, first_change, last_change FROM audit WHERE workspace = $1 AND number > $2 \
         AND at >= to_timestamp($3::bigint) ORDER BY number LIMIT $4";
    let found = rows.ask(sql, [after, since, limit].map(Value::Number))?;
    let line = |row: &tokio_postgres::Row| {
        let memories: &str = row.get(6);
        let first: Option<i64> = row.get(8);
        AuditLine {
            number: row.get(0),
            at: row.get(1),
            identity: row.get(2),
            action: row.get(3),
            request: row.get(4),
            outcome: row.get(5),
            memories: memories.lines().map(str::to_owned).collect(),
            count: row.get(7),
            changes: first.zip(row.get(9)),
        }
    };
    Ok(found.iter().map(line).collect())
}

/// Sets for how many days lines of a workspace are kept.
///
/// # Errors
///
/// Fails if there is no such workspace.
pub fn keep_audit(database: &Database, workspace: &str, days: i64) -> Result<(), RowsError> {
    check_name(workspace)?;
    let set = "UPDATE workspace SET audit_days = $2::bigint WHERE name = $1 RETURNING 1";
    let values = vec![Value::from(workspace), Value::Number(days)];
    let rows = administer(database, vec![(set, values)])?;
    match rows.first().is_some_and(|rows| !rows.is_empty()) {
        true => Ok(()),
        false => Err(RowsError::NoWorkspace(workspace.to_owned())),
    }
}
