//! Connections to the database, and the way from synchronous code to them.
//!
//! Guarantees: every statement has a time limit; a statement about memories runs in a transaction that sees one
//! workspace; a connection in an unknown state is closed, never used again; what is read from a replica holds every
//! change that is known, unless the primary is away. Statements have no names, so that
//! poolers between the program and the database may change the connection after each transaction.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;

use super::error::RowsError;
use super::heads::{HEADS, Head, HeadOf, Heads};
use super::notices::{Notices, Signal};
use super::schema;
pub(super) use super::server::{Pace, Value, answered, discard};
use super::server::{Question, Server};

/// Threads that speak to the database; they wait most of the time.
const THREADS: usize = 2;

/// Default maximum number of connections of a program, beside the one for notifications.
const CONNECTIONS: usize = 16;

/// Maximum time until a connection is made, or one of the pool is free.
const CONNECT: Duration = Duration::from_secs(5);

/// The same for a replica, which is passed over then.
const CONNECT_TO_REPLICA: Duration = Duration::from_secs(1);

/// Settings of every transaction. A session that stops in the middle of a transaction loses it, and its locks.
const LIMITS: &str = "SET LOCAL statement_timeout = '30s'; SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '10s'";

/// Setting of transactions that may write. A stronger one of the operator stays.
const DURABLE: &str = "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') \
    THEN 'on' ELSE current_setting('synchronous_commit') END, true)";

/// A PostgreSQL database with the memories of workspaces. A clone is the same.
#[derive(Clone)]
pub struct Database {
    primary: Arc<Server>,
    replicas: Arc<[Arc<Server>]>,
    /// Number of questions to replicas, so that each is asked first in its turn.
    turn: Arc<AtomicUsize>,
    notices: Arc<Notices>,
    heads: Arc<Heads>,
    threads: Arc<Threads>,
    begun: Instant,
}

/// Threads of the connections, which end with the last owner.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        // Waiting for them is not allowed on a thread of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Database {
    /// Returns the database at `address`, such as `postgres://memdir@db.example/memdir`, without connecting.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be parsed, or if threads cannot be started.
    pub fn new(address: &str) -> Result<Database, RowsError> {
        Database::with_connections(address, CONNECTIONS)
    }

    /// As [`Database::new`], with at most `connections` connections.
    ///
    /// # Errors
    ///
    /// As for [`Database::new`].
    pub fn with_connections(address: &str, connections: usize) -> Result<Database, RowsError> {
        let primary = Server::new(address, connections, CONNECT)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("rows")
            .enable_all()
            .build()
            .map_err(RowsError::NotStarted)?;
        Ok(Database {
            primary: Arc::new(primary),
            replicas: Arc::default(),
            turn: Arc::default(),
            notices: Arc::default(),
            heads: Arc::default(),
            threads: Arc::new(Threads(Some(runtime))),
            begun: Instant::now(),
        })
    }

    /// Returns the database with replicas at `addresses`, which are asked first for what they have.
    ///
    /// # Errors
    ///
    /// Fails if an address cannot be parsed.
    pub fn with_replicas(self, addresses: &[String]) -> Result<Database, RowsError> {
        let replica =
            |address: &String| Server::new(address, CONNECTIONS, CONNECT_TO_REPLICA).map(Arc::new);
        let replicas: Result<Vec<_>, _> = addresses.iter().map(replica).collect();
        Ok(Database {
            replicas: replicas?.into(),
            ..self
        })
    }

    /// Checks that the database can be reached and has the schema of this program.
    ///
    /// # Errors
    ///
    /// Fails with the reason.
    pub fn check(&self) -> Result<(), RowsError> {
        self.run(|database| async move { database.primary.check().await })
    }

    /// As [`Database::check`], or of a replica while the primary is away.
    pub(super) fn check_any(&self) -> Result<(), RowsError> {
        self.run(|database| async move {
            let error = match database.primary.check().await {
                Err(error) if error.is_away() => error,
                checked => return checked,
            };
            for replica in &*database.replicas {
                match replica.check().await {
                    Err(error) if error.is_away() => {}
                    checked => return checked,
                }
            }
            Err(error)
        })
    }

    /// Applies the migrations that the database lacks; returns their names.
    ///
    /// # Errors
    ///
    /// Fails if a migration fails, which changes nothing, or if the database has newer ones.
    pub fn migrate(&self) -> Result<Vec<&'static str>, RowsError> {
        self.run(|database| async move {
            let connection = database.connection().await?;
            schema::migrate(&connection).await
        })
    }

    /// Returns what `work` returns, on the threads of the connections. The calling thread waits.
    pub(super) fn run<T, F>(&self, work: impl FnOnce(Database) -> F) -> Result<T, RowsError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, RowsError>> + Send + 'static,
    {
        let (sender, receiver) = sync_channel(1);
        let work = work(self.clone());
        self.spawn(async move {
            // The caller waits for it.
            let _ = sender.send(work.await);
        });
        receiver.recv().unwrap_or_else(|_| {
            let reason = "its thread ended";
            Err(RowsError::Unreachable(reason.into()))
        })
    }

    /// Starts `work` on the threads of the connections.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.threads.0 {
            drop(runtime.spawn(work));
        }
    }

    /// Has `signal` given at each change of `workspace`, as long as somebody holds it.
    pub(super) fn subscribe(&self, workspace: &Arc<str>, signal: &Arc<Signal>) {
        if self.notices.add(workspace, signal) {
            let (primary, notices) = (Arc::clone(&self.primary), Arc::clone(&self.notices));
            self.spawn(async move {
                let (config, encryption) = primary.config();
                notices.listen(config, encryption).await;
            });
            let (primary, notices) = (Arc::clone(&self.primary), Arc::clone(&self.notices));
            self.spawn(async move {
                let ask = |names| ask_heads(Arc::clone(&primary), names);
                notices.compare_regularly(&ask).await;
            });
        }
    }

    /// Returns the numbers of `workspace` at the primary as of `moment` or later, and the time they are of; `None` if the
    /// primary does not answer, or has no such workspace.
    pub(super) fn head(&self, workspace: &Arc<str>, moment: Instant) -> Option<(Head, Instant)> {
        self.heads.newest(workspace, moment, |names| {
            self.run(|database| async move { ask_heads(database.primary, names).await })
                .inspect_err(|error| tracing::debug!("no numbers of workspaces: {error}"))
                .ok()
        })
    }

    /// Returns a connection to the primary.
    pub(super) async fn connection(&self) -> Result<Object, RowsError> {
        self.primary.connection().await
    }

    /// Closes the idle connections to the primary, which are likely to be broken if one is.
    pub(super) fn forget_idle(&self) {
        self.primary.forget_idle();
    }

    /// Returns the time since this program uses the database: what it knows is that old at least, if the database
    /// told nothing yet.
    pub(super) fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Returns whether the primary is known to be away.
    pub(super) fn is_away(&self) -> bool {
        self.primary.is_away()
    }

    /// Returns whether there are replicas.
    pub(super) fn has_replicas(&self) -> bool {
        !self.replicas.is_empty()
    }

    /// Returns whether changes are told at present.
    pub(super) fn is_listening(&self) -> bool {
        self.notices.is_listening()
    }

    /// Returns the rows that `sql` finds in `workspace` at the primary.
    pub(super) fn read_primary(
        &self,
        workspace: &Arc<str>,
        sql: &'static str,
        values: Vec<Value>,
        pace: Pace,
    ) -> Result<Vec<Row>, RowsError> {
        let begin = begin(workspace);
        let workspace = Arc::clone(workspace);
        self.run(|database| async move {
            let question = Question {
                begin: &begin,
                workspace: &workspace,
                sql,
                values: &values,
                pace,
            };
            database.primary.ask(&question).await
        })
    }

    /// Returns the rows that `sql` finds at the primary, in a transaction that begins with `begin`.
    pub(super) async fn ask_primary(
        &self,
        begin: &str,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<Row>, RowsError> {
        let question = Question {
            begin,
            workspace: "",
            sql,
            values,
            pace: Pace::Any,
        };
        self.primary.ask(&question).await
    }

    /// Returns the rows that `sql` finds in `workspace`, and where: at a replica that has the changes `wanted`, or at
    /// the primary.
    pub(super) fn read(
        &self,
        workspace: &Arc<str>,
        sql: &'static str,
        values: Vec<Value>,
        wanted: Wanted,
    ) -> Result<(Vec<Row>, Origin), RowsError> {
        let begin = begin_to_read(workspace);
        let workspace = Arc::clone(workspace);
        self.run(|database| async move {
            let question = Question {
                begin: &begin,
                workspace: &workspace,
                sql,
                values: &values,
                pace: wanted.pace,
            };
            database.ask(&question, wanted).await
        })
    }

    async fn ask(
        &self,
        question: &Question<'_>,
        wanted: Wanted,
    ) -> Result<(Vec<Row>, Origin), RowsError> {
        if !wanted.prefers_primary
            && let Some(rows) = self.ask_replicas(question, wanted.floor).await
        {
            let origin = match self.is_away() {
                true => Origin::Earlier,
                false => Origin::Known,
            };
            return Ok((rows, origin));
        }
        match self.primary.ask(question).await {
            Err(error) if error.is_away() => {
                let rows = self.ask_replicas(question, wanted.told).await;
                rows.map(|rows| (rows, Origin::Earlier)).ok_or(error)
            }
            answered => answered.map(|rows| (rows, Origin::Newest)),
        }
    }

    /// Asks the replicas, one after another, until one answers that has the change `least`.
    async fn ask_replicas(&self, question: &Question<'_>, least: i64) -> Option<Vec<Row>> {
        let first = match self.replicas.len() {
            0 => return None,
            count => self.turn.fetch_add(1, Ordering::Relaxed) % count,
        };
        let (before, after) = self.replicas.split_at(first);
        for replica in after.iter().chain(before) {
            match replica.ask_at(question, least).await {
                Ok(Some(rows)) => return Some(rows),
                Ok(None) => {}
                Err(error) => tracing::debug!("a replica is passed over: {error}"),
            }
        }
        None
    }

    /// Returns whether a replica has the change `least` of `workspace`.
    pub(super) async fn replica_has(&self, workspace: &Arc<str>, least: i64) -> bool {
        let question = Question {
            begin: &begin_to_read(workspace),
            workspace,
            sql: "SELECT WHERE $1 = ''",
            values: &[Value::from("")],
            pace: Pace::Quick,
        };
        self.ask_replicas(&question, least).await.is_some()
    }
}

/// Returns the numbers of `workspaces` at `primary`.
async fn ask_heads(primary: Arc<Server>, workspaces: Vec<Arc<str>>) -> Result<HeadOf, RowsError> {
    let names = workspaces.iter().map(|name| name.to_string()).collect();
    let question = Question {
        begin: &begin_to_read(""),
        workspace: "",
        sql: HEADS,
        values: &[Value::Texts(names)],
        pace: Pace::Quick,
    };
    let rows = primary.ask(&question).await?;
    let head = |row: &Row| {
        let head = Head {
            change: row.get(1),
            journal: row.get(2),
            erased: row.get(3),
        };
        (Arc::from(row.get::<_, &str>(0)), head)
    };
    Ok(rows.iter().map(head).collect())
}

/// Changes that what is read must hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The last change that is known to be there.
    pub(super) floor: i64,
    /// The last change that this process follows: enough if the primary is away.
    pub(super) told: i64,
    /// Whether there may be changes of which nothing is known yet.
    pub(super) prefers_primary: bool,
    pub(super) pace: Pace,
}

/// State of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Newest,
    /// The answer is that of a replica that has every change that is known here.
    Known,
    /// There may be later changes at the primary, which is away.
    Earlier,
}

/// Returns whether `name` may name a workspace.
pub fn is_workspace_name(name: &str) -> bool {
    check_name(name).is_ok()
}

/// Checks the name of a workspace. Valid names need no quotes in statements.
pub(super) fn check_name(name: &str) -> Result<(), RowsError> {
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=63).contains(&name.len()) && name.bytes().all(is_valid);
    match fits && !name.starts_with('-') {
        true => Ok(()),
        false => Err(RowsError::WorkspaceName(name.to_owned())),
    }
}

/// Returns the statements that begin a transaction which sees only `workspace`.
pub(super) fn begin(workspace: &str) -> String {
    format!("BEGIN; {LIMITS}; {DURABLE}; {}", within(workspace))
}

/// As [`begin`], of a transaction that writes nothing.
fn begin_to_read(workspace: &str) -> String {
    format!("BEGIN READ ONLY; {LIMITS}; {}", within(workspace))
}

/// Returns the statements that have a transaction see only `workspace`; nothing, if that is no name of one. A valid name
/// holds nothing that would end the quotes.
fn within(workspace: &str) -> String {
    let workspace = match is_workspace_name(workspace) {
        true => workspace,
        false => "",
    };
    format!("SET LOCAL memdir.workspace = '{workspace}'; SET LOCAL ROLE memdir_server")
}

/// Returns the statements that begin a transaction about the workspaces themselves.
pub(super) fn begin_for_all() -> String {
    format!("BEGIN; {LIMITS}; {DURABLE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_workspaces_are_small_letters_digits_and_hyphens() {
        for name in ["a", "atlas", "7-b", "a-", &"x".repeat(63)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "-a",
            "A",
            "a b",
            "a'b",
            "a_b",
            "é",
            "a\0",
            "a/b",
            "..",
            &"x".repeat(64),
        ] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_name_of_no_workspace_is_no_part_of_a_statement() {
        assert!(begin("atlas").contains("SET LOCAL memdir.workspace = 'atlas'; SET LOCAL ROLE"));
        let begun = begin("x'; TRUNCATE memory; --");
        assert!(begun.ends_with("SET LOCAL memdir.workspace = ''; SET LOCAL ROLE memdir_server"));
    }

    #[test]
    fn an_error_shows_no_password() {
        let error = Database::new("postgres://me:secret@host:no-port/db").err();
        let shown = error.expect("the port is no number").to_string();
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("host"), "{shown}");
    }
}
