//! Servers that run on a database, and which of them a workspace prefers.
//!
//! Guarantees: servers that see the same rows prefer the same server for a workspace; where one goes, its workspaces move
//! and no others. One that leaves is gone at once, and one that is killed six seconds later, by the clock of the
//! database. While the database is away the servers stay as they were. Nothing but the way of requests depends on it:
//! every server answers for every workspace.

mod rendezvous;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::database::{Database, Value, begin};
use super::error::RowsError;
use super::notices::{CHANNEL, Signal};

/// Interval at which a server says that it runs: three of them fit into the time after which it counts as gone.
const BEAT: Duration = Duration::from_secs(2);

/// Payload of the notification that servers came or went. It is no name of a workspace.
const CHANGED: &str = "*servers";

/// The condition of a row whose server counts as running.
macro_rules! runs {
    () => {
        "seen > clock_timestamp() - interval '6 seconds'"
    };
}

/// Says that the server `$1` runs; returns the names of all that do, each with whether it was known before.
const SAY: &str = concat!(
    "WITH known AS (SELECT FROM server WHERE name = $1 AND ",
    runs!(),
    "), said AS (INSERT INTO server (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()), \
     tidied AS (DELETE FROM server WHERE name <> $1 AND seen < clock_timestamp() - interval '1 day') \
     SELECT $1, EXISTS (SELECT FROM known) UNION ALL SELECT name, true FROM server WHERE name <> $1 AND ",
    runs!()
);

/// Returns the names of the servers that run but `$1`.
const OTHERS: &str = concat!(
    "SELECT name, true FROM server WHERE name <> $1 AND ",
    runs!()
);

const REMOVE: &str = "DELETE FROM server WHERE name = $1";

const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// A server among those that run on its database, until it is dropped or leaves. A clone is the same.
#[derive(Clone)]
pub struct Presence {
    state: Arc<State>,
    /// Given when servers come or go.
    _signal: Arc<Signal>,
}

struct State {
    database: Database,
    name: String,
    /// Names of the servers that run.
    servers: Mutex<Vec<String>>,
    /// Held while the row is written or removed, so that none is written after its removal.
    turn: tokio::sync::Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    has_left: bool,
    /// Whether the last question failed.
    has_failed: bool,
}

impl Presence {
    /// Announces the server `name`, and has that repeated in the background.
    ///
    /// # Errors
    ///
    /// Fails if that is no name of a server, or if the database cannot be asked.
    pub fn announce(database: &Database, name: &str) -> Result<Presence, RowsError> {
        let is_name = name.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name || !(1..=255).contains(&name.len()) {
            return Err(RowsError::ServerName(name.to_owned()));
        }
        let changed = Arc::new(tokio::sync::Notify::new());
        let wake = Arc::clone(&changed);
        let signal = Arc::new(Signal::new(Box::new(move || wake.notify_one())));
        database.subscribe(&Arc::from(CHANGED), &signal);
        let state = Arc::new(State {
            database: database.clone(),
            name: name.to_owned(),
            servers: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        });
        let first = Arc::clone(&state);
        database.run(|_| async move { first.say().await })?;
        let weak = Arc::downgrade(&state);
        database.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(BEAT) => {}
                    () = changed.notified() => {}
                }
                let Some(state) = weak.upgrade() else {
                    return;
                };
                if let Err(error) = state.say().await {
                    tracing::debug!("the servers of the database are not known: {error}");
                }
            }
        });
        Ok(Presence {
            state,
            _signal: signal,
        })
    }

    /// Returns the name of the server that a workspace prefers; `None` if no other runs, and this one has left.
    pub fn preferred(&self, workspace: &str) -> Option<String> {
        let servers = self.state.lock();
        let names = servers.iter().map(String::as_str);
        rendezvous::preferred(workspace, names).map(str::to_owned)
    }

    /// Has no workspace prefer this server any more. Done again, it does nothing.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked; the server counts as gone after six seconds then.
    pub fn leave(&self) -> Result<(), RowsError> {
        let state = Arc::clone(&self.state);
        self.state
            .database
            .run(|_| async move { state.leave().await })
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that this server runs, unless it has left, and takes in which ones do.
    async fn say(&self) -> Result<(), RowsError> {
        let mut turn = self.turn.lock().await;
        let sql = if turn.has_left { OTHERS } else { SAY };
        let rows = match self.ask(sql, &[Value::from(&*self.name)]).await {
            Ok(rows) => rows,
            Err(error) => {
                turn.has_failed = true;
                return Err(error);
            }
        };
        // Those who could not say so meanwhile do it within the next beat.
        if !std::mem::take(&mut turn.has_failed) {
            *self.lock() = rows.iter().map(|row| row.get(0)).collect();
        }
        let is_new = rows.iter().any(|row| !row.get::<_, bool>(1));
        match is_new {
            true => self.notify().await,
            false => Ok(()),
        }
    }

    async fn leave(&self) -> Result<(), RowsError> {
        let mut turn = self.turn.lock().await;
        if std::mem::replace(&mut turn.has_left, true) {
            return Ok(());
        }
        self.lock().retain(|name| *name != self.name);
        self.ask(REMOVE, &[Value::from(&*self.name)]).await?;
        self.notify().await
    }

    async fn notify(&self) -> Result<(), RowsError> {
        let values = [Value::from(CHANNEL), Value::from(CHANGED)];
        self.ask(NOTIFY, &values).await.map(drop)
    }

    /// Asks the primary, about no workspace.
    async fn ask(
        &self,
        sql: &str,
        values: &[Value],
    ) -> Result<Vec<tokio_postgres::Row>, RowsError> {
        self.database.ask_primary(&begin(""), sql, values).await
    }
}
