//! Connections to the database, and the way from synchronous code to them.
//!
//! Guarantees: every statement has a time limit; a statement about memories runs in a transaction that sees one
//! workspace; a connection in an unknown state is closed, never used again. Statements have no names, so that
//! poolers between the program and the database may change the connection after each transaction.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row};

use super::encryption::{Address, Encryption};
use super::error::RowsError;
use super::notices::{Notices, Signal};
use super::schema;

/// Threads that speak to the database; they wait most of the time.
const THREADS: usize = 2;

/// Default maximum number of connections of a program, beside the one for notifications.
const CONNECTIONS: usize = 16;

/// Maximum time until a connection is made, or one of the pool is free.
const CONNECT: Duration = Duration::from_secs(5);

/// Settings of every transaction. A session that stops in the middle of a transaction loses it, and its locks.
/// A stronger setting of the operator for commits stays.
const LIMITS: &str = "SET LOCAL statement_timeout = '30s'; SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '10s'; \
    SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') \
    THEN 'on' ELSE current_setting('synchronous_commit') END, true)";

/// A PostgreSQL database with the memories of workspaces. A clone is the same.
#[derive(Clone)]
pub struct Database {
    pool: Pool,
    config: Arc<Config>,
    encryption: Encryption,
    notices: Arc<Notices>,
    threads: Arc<Threads>,
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
        let Address {
            mut config,
            encryption,
        } = Address::parse(address)?;
        config.connect_timeout(CONNECT);
        config.keepalives_idle(Duration::from_secs(30));
        if config.get_application_name().is_none() {
            config.application_name("memdir");
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("rows")
            .enable_all()
            .build()
            .map_err(RowsError::NotStarted)?;
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), encryption.clone(), manager);
        let pool = Pool::builder(manager)
            .max_size(connections.max(1))
            .wait_timeout(Some(CONNECT))
            .create_timeout(Some(CONNECT))
            .recycle_timeout(Some(CONNECT))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .build()
            .map_err(|error| RowsError::Unreachable(Box::new(error)))?;
        Ok(Database {
            pool,
            config: Arc::new(config),
            encryption,
            notices: Arc::default(),
            threads: Arc::new(Threads(Some(runtime))),
        })
    }

    /// Checks that the database can be reached and has the schema of this program.
    ///
    /// # Errors
    ///
    /// Fails with the reason.
    pub fn check(&self) -> Result<(), RowsError> {
        self.run(|database| async move {
            let connection = database.connection().await?;
            schema::check(&connection).await
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
            let (config, notices) = (Arc::clone(&self.config), Arc::clone(&self.notices));
            let encryption = self.encryption.clone();
            self.spawn(async move { notices.listen(&config, encryption).await });
        }
    }

    /// Returns a connection of the pool.
    pub(super) async fn connection(&self) -> Result<Object, RowsError> {
        let connection = self.pool.get().await;
        connection.map_err(|error| RowsError::Unreachable(Box::new(error)))
    }

    /// Returns the rows that `sql` finds in `workspace`. Asks once more if the connection was broken.
    pub(super) fn read(
        &self,
        workspace: &Arc<str>,
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, RowsError> {
        let begin = begin(workspace);
        self.run(|database| async move { database.ask(&begin, sql, &values).await })
    }

    async fn ask(&self, begin: &str, sql: &str, values: &[Value]) -> Result<Vec<Row>, RowsError> {
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let values: Vec<_> = values.iter().map(Value::typed).collect();
            // Sent together: one way to the database and back.
            let (begun, rows, ended) = tokio::join!(
                biased;
                connection.batch_execute(begin),
                connection.query_typed(sql, &values),
                connection.batch_execute("COMMIT"),
            );
            match begun.and(rows).and_then(|rows| ended.map(|()| rows)) {
                Ok(rows) => return Ok(rows),
                Err(error) => {
                    discard(connection);
                    let error = RowsError::from(error);
                    if !is_first || !error.is_disconnected() {
                        return Err(error);
                    }
                    is_first = false;
                }
            }
        }
    }
}

/// A value of a statement.
pub(super) enum Value {
    Text(String),
    Texts(Vec<String>),
    Number(i64),
    Numbers(Vec<i64>),
    ManyBytes(Vec<Vec<u8>>),
    MaybeBytes(Vec<Option<Vec<u8>>>),
}

impl Value {
    /// Returns the value with its type in the database.
    pub(super) fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Value::Text(text) => (text, Type::TEXT),
            Value::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Value::Number(number) => (number, Type::INT8),
            Value::Numbers(numbers) => (numbers, Type::INT8_ARRAY),
            Value::ManyBytes(bytes) => (bytes, Type::BYTEA_ARRAY),
            Value::MaybeBytes(bytes) => (bytes, Type::BYTEA_ARRAY),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// Closes a connection whose transaction is in an unknown state.
pub(super) fn discard(connection: Object) {
    drop(Object::take(connection));
}

/// Returns the statements that begin a transaction which sees only `workspace`, a valid name.
pub(super) fn begin(workspace: &str) -> String {
    format!(
        "BEGIN; {LIMITS}; SET LOCAL memdir.workspace = '{workspace}'; SET LOCAL ROLE memdir_server"
    )
}

/// Returns the statements that begin a transaction about the workspaces themselves.
pub(super) fn begin_for_all() -> String {
    format!("BEGIN; {LIMITS}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_no_password() {
        let error = Database::new("postgres://me:secret@host:no-port/db").err();
        let shown = error.expect("the port is no number").to_string();
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("host"), "{shown}");
    }
}
