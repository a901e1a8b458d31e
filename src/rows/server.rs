//! One server of a database: its connections, and whether it is away.
//!
//! Promises: after a failed connection, or a question without an answer, every further question fails at once, until an
//! attempt in the background succeeds. So no request waits for a server that is known to be away.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row};

use super::encryption::{Address, Encryption};
use super::error::{ANSWER, RowsError, is_disconnection};
use super::schema;

/// Pauses before another attempt to connect to a server that is away: the first one, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// Maximum time until sent data is confirmed: over a silent network a connection ends after that.
const UNCONFIRMED: Duration = Duration::from_secs(5);

/// A server of a database.
pub(super) struct Server {
    pool: Pool,
    config: Config,
    encryption: Encryption,
    /// Maximum time until a connection is made, or a quick question answered.
    patience: Duration,
    is_away: Mutex<bool>,
}

impl Server {
    /// Returns the server at `address`, without connecting; a connection is made within `patience`.
    pub(super) fn new(
        address: &str,
        connections: usize,
        patience: Duration,
    ) -> Result<Server, RowsError> {
        let Address {
            mut config,
            encryption,
        } = Address::parse(address)?;
        config.connect_timeout(patience);
        config.keepalives_idle(Duration::from_secs(30));
        config.tcp_user_timeout(UNCONFIRMED);
        if config.get_application_name().is_none() {
            config.application_name("memdir");
        }
        let manager = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config.clone(), encryption.clone(), manager);
        let pool = Pool::builder(manager)
            .max_size(connections.max(1))
            .wait_timeout(Some(patience))
            .create_timeout(Some(patience))
            .recycle_timeout(Some(patience))
            .runtime(deadpool_postgres::Runtime::Tokio1)
            .build()
            .map_err(|error| RowsError::Unreachable(Box::new(error)))?;
        Ok(Server {
            pool,
            config,
            encryption,
            patience,
            is_away: Mutex::default(),
        })
    }

    /// Returns how to connect without the pool.
    pub(super) fn config(&self) -> (&Config, Encryption) {
        (&self.config, self.encryption.clone())
    }

    fn away(&self) -> MutexGuard<'_, bool> {
        self.is_away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the server is known to be away.
    pub(super) fn is_away(&self) -> bool {
        *self.away()
    }

    /// Returns a connection of the pool.
    pub(super) async fn connection(self: &Arc<Server>) -> Result<Object, RowsError> {
        if self.is_away() {
            return Err(RowsError::Away("connecting failed just before".into()));
        }
        match self.pool.get().await {
            Ok(connection) => Ok(connection),
            Err(error) if is_outage(&error) => Err(self.begin_outage(error)),
            Err(error) if is_full(&error) => Err(RowsError::Busy(Box::new(error))),
            Err(error) => Err(RowsError::Unreachable(Box::new(error))),
        }
    }

    /// Checks that the server answers and has the schema of this program.
    pub(super) async fn check(self: &Arc<Server>) -> Result<(), RowsError> {
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let error = match answered_within(self.patience, schema::check(&connection)).await {
                Err(error) if error.is_unanswered() => error,
                checked => return checked,
            };
            discard(connection);
            if !is_first || matches!(error, RowsError::Silent) {
                return Err(self.begin_outage(error));
            }
            // The first one may have been idle when the server was started anew.
            self.forget_idle();
            is_first = false;
        }
    }

    /// Has all questions fail until a connection succeeds again. Returns the error for this one.
    pub(super) fn begin_outage(
        self: &Arc<Server>,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> RowsError {
        let error = error.into();
        if !std::mem::replace(&mut *self.away(), true) {
            tracing::warn!("a server of the database is away: {error}");
            let server = Arc::downgrade(self);
            // Ends with the last owner of the server.
            tokio::spawn(async move {
                let mut pause = PAUSES[0];
                loop {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES[1]);
                    let Some(server) = server.upgrade() else {
                        return;
                    };
                    if server.answers().await {
                        tracing::info!("a server of the database is back");
                        *server.away() = false;
                        return;
                    }
                }
            });
        }
        RowsError::Away(error)
    }

    /// Closes the idle connections.
    pub(super) fn forget_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// Returns the rows that a question finds. Asks once more, on a new connection, if the first was broken, or if the
    /// transaction was undone since it and another one waited for each other.
    pub(super) async fn ask(
        self: &Arc<Server>,
        question: &Question<'_>,
    ) -> Result<Vec<Row>, RowsError> {
        let mut is_first = true;
        loop {
            let connection = self.connection().await?;
            let values: Vec<_> = question.values.iter().map(Value::typed).collect();
            // Sent together: one way to the database and back.
            let rows = answered_within(self.limit(question), async {
                let (begun, rows, ended) = tokio::join!(
                    biased;
                    connection.batch_execute(question.begin),
                    connection.query_typed(question.sql, &values),
                    connection.batch_execute("COMMIT"),
                );
                let rows = begun.and(rows).and_then(|rows| ended.map(|()| rows));
                Ok(rows?)
            });
            let error = match rows.await {
                Ok(rows) => return Ok(rows),
                Err(error) => error,
            };
            discard(connection);
            match error {
                RowsError::Failed(error) if is_disconnection(&error) => match is_first {
                    true => self.forget_idle(),
                    false => return Err(self.begin_outage(error)),
                },
                RowsError::Silent => return Err(self.begin_outage(RowsError::Silent)),
                error if is_first && error.is_deadlock() => {}
                error => return Err(error),
            }
            is_first = false;
        }
    }

    /// Returns the answer to `question`; `None` if this server does not have the change `least` yet.
    pub(super) async fn ask_at(
        self: &Arc<Server>,
        question: &Question<'_>,
        least: i64,
    ) -> Result<Option<Vec<Row>>, RowsError> {
        let connection = self.connection().await?;
        let workspace: [(&(dyn ToSql + Sync), Type); 1] = [(&question.workspace, Type::TEXT)];
        let values: Vec<_> = question.values.iter().map(Value::typed).collect();
        // The number is read before, so that the rows are as of it or later. It is quick, whatever the rows are.
        let head = answered_within(self.patience, async {
            let (begun, head) = tokio::join!(
                biased;
                connection.batch_execute(question.begin),
                connection.query_typed("SELECT head FROM workspace WHERE name = $1", &workspace),
            );
            Ok(begun.and(head)?)
        });
        let rows = async {
            let (rows, ended) = tokio::join!(
                biased;
                connection.query_typed(question.sql, &values),
                connection.batch_execute("COMMIT"),
            );
            Ok(rows.and_then(|rows| ended.map(|()| rows))?)
        };
        let found = answered_within(self.limit(question), async {
            tokio::try_join!(biased; head, rows)
        });
        match found.await {
            Ok((head, rows)) => {
                let head = head.first().map(|row| row.get::<_, i64>(0));
                Ok(head.is_some_and(|head| head >= least).then_some(rows))
            }
            Err(error) => {
                discard(connection);
                match error {
                    RowsError::Failed(error) if is_disconnection(&error) => {
                        self.forget_idle();
                        Err(self.begin_outage(error))
                    }
                    RowsError::Silent => Err(self.begin_outage(RowsError::Silent)),
                    error => Err(error),
                }
            }
        }
    }

    fn limit(&self, question: &Question<'_>) -> Duration {
        match question.pace {
            Pace::Quick => self.patience,
            Pace::Any => ANSWER,
        }
    }

    /// Returns whether a new connection can be made and used.
    async fn answers(&self) -> bool {
        let attempt = async {
            let (client, connection) = self.config.connect(self.encryption.clone()).await?;
            let (answered, _) = tokio::join!(
                async {
                    let answered = client.simple_query("SELECT 1").await;
                    // The connection ends with its client.
                    drop(client);
                    answered
                },
                connection,
            );
            answered.map(drop)
        };
        let answered = tokio::time::timeout(self.patience, attempt).await;
        answered.is_ok_and(|answered: Result<(), tokio_postgres::Error>| answered.is_ok())
    }
}

/// A question.
pub(super) struct Question<'a> {
    /// Begins its transaction.
    pub(super) begin: &'a str,
    /// Workspace that it is about; empty if it is about none.
    pub(super) workspace: &'a str,
    pub(super) sql: &'a str,
    pub(super) values: &'a [Value],
    pub(super) pace: Pace,
}

/// Time that the answer of a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// A few rows by their keys: a server that does not answer in the time of a connection is away.
    Quick,
    /// An answer that may take as long as a statement.
    Any,
}

/// A value of a statement.
pub(super) enum Value {
    Text(String),
    Bytes(Vec<u8>),
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
            Value::Bytes(bytes) => (bytes, Type::BYTEA),
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

/// Returns the answer of the database, waiting at most [`ANSWER`]. The connection is to be discarded after an error.
pub(super) async fn answered<T>(
    answer: impl Future<Output = Result<T, RowsError>>,
) -> Result<T, RowsError> {
    answered_within(ANSWER, answer).await
}

async fn answered_within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, RowsError>>,
) -> Result<T, RowsError> {
    let answer = tokio::time::timeout(limit, answer).await;
    answer.unwrap_or(Err(RowsError::Silent))
}

/// Closes a connection whose transaction is in an unknown state.
pub(super) fn discard(connection: Object) {
    drop(Object::take(connection));
}

/// Returns whether an error of the pool says that all connections are in use: those of the pool, or of the server.
fn is_full(error: &PoolError) -> bool {
    match error {
        PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => true,
        PoolError::Backend(error) => error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS),
        _ => false,
    }
}

/// Returns whether an error of the pool says that the server is away, and not that it refuses or is busy.
fn is_outage(error: &PoolError) -> bool {
    match error {
        PoolError::Timeout(deadpool_postgres::TimeoutType::Wait) => false,
        PoolError::Timeout(_) => true,
        PoolError::Backend(error) => is_disconnection(error),
        _ => false,
    }
}
