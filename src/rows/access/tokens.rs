//! Tokens of workspaces: who may do what in which one.
//!
//! Guarantees: a secret has 256 random bits, is returned once by whoever makes it, and only its hash is kept; a token
//! opens the workspace that it was made for, and no other; a token that is revoked or has expired opens nothing
//! [`MAX_AGE`] later, and earlier where the notification of its end arrives. How a request shows a secret is left to
//! the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use crate::rows::database::{
    Database, Pace, Value, answered, begin, begin_for_all, check_name, discard,
};
use crate::rows::error::RowsError;
use crate::rows::notices::{CHANNEL, Signal};
use crate::rows::schema;

/// Maximum time for which a server relies on what it read of a token.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Time for which a token is relied on that the database had, while the database is away: nobody can revoke one then.
const MAX_AGE_AWAY: Duration = Duration::from_secs(3_600);

/// Maximum number of tokens that a server keeps; then all are read again.
const MAX_KEPT: usize = 4096;

/// Prefix of secrets, by which people and scanners recognize them.
const PREFIX: &str = "memdir_";

/// Payload of the notification that tokens were revoked. It is no name of a workspace.
const REVOKED: &str = "*tokens";

/// Condition of a token that opens its workspace.
macro_rules! valid {
    () => {
        "revoked IS NULL AND (expires IS NULL OR expires > now())"
    };
}

/// Locks the row of a workspace, so that its tokens are changed one after another.
pub(super) const LOCK: &str = "SELECT FROM workspace WHERE name = $1 FOR NO KEY UPDATE";

/// Rights within a workspace; each role has those of the former ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads memories.
    Reader,
    /// Writes memories.
    Writer,
    /// Sees who has access, too.
    Owner,
}

impl Role {
    /// Returns the name of the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Owner => "owner",
        }
    }

    /// Returns the role with that name.
    pub fn parse(name: &str) -> Option<Role> {
        let mut all = [Role::Reader, Role::Writer, Role::Owner].into_iter();
        all.find(|role| role.as_str() == name)
    }
}

/// Holder of a valid token, of the workspace or of the issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Name of the token, or of the holder at the issuer.
    pub name: Arc<str>,
    /// Its role in the workspace.
    pub role: Role,
    /// Limit of the workspace's calls a minute; `None` if it has none.
    pub calls_a_minute: Option<u64>,
}

/// A token that was just made.
pub struct Grant {
    /// The secret, which is kept nowhere.
    pub secret: String,
    /// Role of the token.
    pub role: Role,
    /// End of the token in seconds since 1970; `None` if it has none.
    pub expires: Option<i64>,
}

/// State of a token. Times are in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenState {
    /// Name of the token.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Time at which it was made.
    pub created: i64,
    /// Its end, which may have passed; `None` if it has none.
    pub expires: Option<i64>,
    /// Last use, with an error of up to a minute; `None` if it was never used.
    pub last_used: Option<i64>,
    /// Whether it opens the workspace now.
    pub is_valid: bool,
}

/// Returns whether `name` may name a token.
pub fn is_token_name(name: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(is_fine)
}

/// Returns a new random secret.
fn draw() -> Result<String, RowsError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| RowsError::NotStarted(error.into()))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{PREFIX}{digits}"))
}

fn hash_of(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}

fn check_names(workspace: &str, name: &str) -> Result<(), RowsError> {
    check_name(workspace)?;
    match is_token_name(name) {
        true => Ok(()),
        false => Err(RowsError::TokenName(name.to_owned())),
    }
}

/// Makes a token called `name` for a workspace, valid for `lifetime` or without end.
///
/// # Errors
///
/// Fails if there is no such workspace, if a valid token has that name, or if the name is none.
pub fn grant(
    database: &Database,
    workspace: &str,
    name: &str,
    role: Role,
    lifetime: Option<Duration>,
) -> Result<Grant, RowsError> {
    check_names(workspace, name)?;
    let secret = draw()?;
    let insert = concat!(
        "INSERT INTO token (workspace, hash, name, role, expires) \
         SELECT $1, $2, $3, $4, now() + nullif($5, 0) * interval '1 second' \
         WHERE NOT EXISTS (SELECT FROM token WHERE workspace = $1 AND name = $3 AND ",
        valid!(),
        ") RETURNING extract(epoch FROM expires)::bigint"
    );
    let values = vec![
        Value::from(workspace),
        Value::Bytes(hash_of(&secret).to_vec()),
        Value::from(name),
        Value::from(role.as_str()),
        Value::Number(seconds(lifetime)),
    ];
    let rows = administer(
        database,
        vec![(LOCK, vec![Value::from(workspace)]), (insert, values)],
    )?;
    let [found, made] = &rows[..] else {
        return Err(RowsError::NoWorkspace(workspace.to_owned()));
    };
    match (found.first(), made.first()) {
        (None, _) => Err(RowsError::NoWorkspace(workspace.to_owned())),
        (_, None) => Err(RowsError::TokenExists(name.to_owned())),
        (_, Some(row)) => Ok(Grant {
            secret,
            role,
            expires: row.get(0),
        }),
    }
}

/// Makes another secret for the valid token called `name`, with its role; the former one is valid for `overlap` still.
/// The new one is valid for `lifetime`, or as long as the former one was when it was made.
///
/// # Errors
///
/// Fails if no valid token has that name.
pub fn rotate(
    database: &Database,
    workspace: &str,
    name: &str,
    lifetime: Option<Duration>,
    overlap: Duration,
) -> Result<Grant, RowsError> {
    check_names(workspace, name)?;
    let secret = draw()?;
    let hash = || Value::Bytes(hash_of(&secret).to_vec());
    let insert = concat!(
        "INSERT INTO token (workspace, hash, name, role, expires) \
         SELECT workspace, $2, name, role, \
         now() + coalesce(nullif($4, 0) * interval '1 second', expires - created) \
         FROM token WHERE workspace = $1 AND name = $3 AND ",
        valid!(),
        " ORDER BY created DESC LIMIT 1 RETURNING role, extract(epoch FROM expires)::bigint"
    );
    let end = concat!(
        "UPDATE token SET expires = least(expires, now() + $4 * interval '1 second') \
         WHERE workspace = $1 AND name = $3 AND hash <> $2 AND ",
        valid!()
    );
    let values = |number: i64| {
        let (workspace, name) = (Value::from(workspace), Value::from(name));
        vec![workspace, hash(), name, Value::Number(number)]
    };
    let statements = vec![
        (LOCK, vec![Value::from(workspace)]),
        (insert, values(seconds(lifetime))),
        (end, values(overlap.as_secs() as i64)),
        (NOTIFY, notice()),
    ];
    let rows = administer(database, statements)?;
    let made = rows.get(1).and_then(|rows| rows.first());
    let made = made.ok_or_else(|| RowsError::NoToken(name.to_owned()))?;
    Ok(Grant {
        secret: secret.clone(),
        role: role_in(made, 0)?,
        expires: made.get(1),
    })
}

/// Ends all tokens called `name` of a workspace, and returns how many there were.
///
/// # Errors
///
/// Fails if there is none.
pub fn revoke(database: &Database, workspace: &str, name: &str) -> Result<usize, RowsError> {
    check_names(workspace, name)?;
    let end = "UPDATE token SET revoked = now() WHERE workspace = $1 AND name = $2 \
         AND revoked IS NULL RETURNING 1";
    let values = vec![Value::from(workspace), Value::from(name)];
    let statements = vec![
        (LOCK, vec![Value::from(workspace)]),
        (end, values),
        (NOTIFY, notice()),
    ];
    let rows = administer(database, statements)?;
    match rows.get(1).map_or(0, Vec::len) {
        0 => Err(RowsError::NoToken(name.to_owned())),
        ended => Ok(ended),
    }
}

/// Returns the tokens of a workspace that were not revoked, by name and age.
///
/// # Errors
///
/// Fails if there is no such workspace.
pub fn granted(database: &Database, workspace: &str) -> Result<Vec<TokenState>, RowsError> {
    let list = concat!(
        "SELECT name, role, extract(epoch FROM created)::bigint, extract(epoch FROM expires)::bigint, \
         extract(epoch FROM last_used)::bigint, ",
        valid!(),
        " FROM token WHERE workspace = $1 AND revoked IS NULL ORDER BY name, created"
    );
    let state = |row: &Row| {
        Ok(TokenState {
            name: row.get(0),
            role: role_in(row, 1)?,
            created: row.get(2),
            expires: row.get(3),
            last_used: row.get(4),
            is_valid: row.get(5),
        })
    };
    let rows = list_of(database, workspace, list)?;
    rows.iter().map(state).collect()
}

pub(super) fn role_in(row: &Row, column: usize) -> Result<Role, RowsError> {
    let name: &str = row.get(column);
    Role::parse(name).ok_or_else(|| RowsError::UnknownRole(name.to_owned()))
}

/// Returns whole seconds; 0 of `None`.
fn seconds(lifetime: Option<Duration>) -> i64 {
    lifetime.map_or(0, |lifetime| lifetime.as_secs().max(1) as i64)
}

/// Has servers ask again who holds a token.
pub(super) const NOTIFY: &str = "SELECT pg_notify($1, $2)";

/// Returns the values of [`NOTIFY`].
pub(super) fn notice() -> Vec<Value> {
    vec![Value::from(CHANNEL), Value::from(REVOKED)]
}

/// Executes statements in one transaction, with the rights of the program's own user; returns the rows of each.
pub(super) fn administer(
    database: &Database,
    statements: Vec<(&'static str, Vec<Value>)>,
) -> Result<Vec<Vec<Row>>, RowsError> {
    execute(database, begin_for_all(), statements)
}

/// Returns the rows that `sql` finds in a workspace, with the rights of a server.
pub(super) fn list_of(
    database: &Database,
    workspace: &str,
    sql: &'static str,
) -> Result<Vec<Row>, RowsError> {
    check_name(workspace)?;
    let there = "SELECT FROM workspace WHERE name = $1";
    let of = || vec![Value::from(workspace)];
    let statements = vec![(there, of()), (sql, of())];
    let mut found = execute(database, begin(workspace), statements)?.into_iter();
    match found.next() {
        Some(there) if !there.is_empty() => Ok(found.next().unwrap_or_default()),
        _ => Err(RowsError::NoWorkspace(workspace.to_owned())),
    }
}

/// Executes statements in the transaction that `begin` begins.
fn execute(
    database: &Database,
    begin: String,
    statements: Vec<(&'static str, Vec<Value>)>,
) -> Result<Vec<Vec<Row>>, RowsError> {
    database.run(|database| async move {
        let connection = database.connection().await?;
        let work = async {
            schema::check(&connection).await?;
            connection.batch_execute(&begin).await?;
            let mut found = Vec::with_capacity(statements.len());
            for (sql, values) in &statements {
                let values: Vec<_> = values.iter().map(Value::typed).collect();
                found.push(connection.query_typed(sql, &values).await?);
            }
            connection.batch_execute("COMMIT").await?;
            Ok(found)
        };
        let done = answered(work).await;
        if done.is_err() {
            discard(connection);
        }
        done
    })
}

/// Tokens of all workspaces as a server asks for them. A clone is the same.
#[derive(Clone)]
pub struct AccessTokens {
    database: Database,
    kept: Arc<Kept>,
    /// Given when tokens are revoked.
    _signal: Arc<Signal>,
}

#[derive(Default)]
struct Kept(Mutex<KeptTokens>);

/// Tokens that the database had, by workspace and hash.
type KeptTokens = HashMap<(String, [u8; 32]), KeptToken>;

/// A token as the database had it.
struct KeptToken {
    access: Access,
    /// Moment until which it is relied on.
    until: Instant,
    /// Moment until which it opens what can be read while the database is away.
    until_away: Instant,
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, KeptTokens> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessTokens {
    /// Returns the tokens of `database`.
    pub fn new(database: &Database) -> AccessTokens {
        let kept: Arc<Kept> = Arc::default();
        let doubted = Arc::clone(&kept);
        let signal = Arc::new(Signal::new(Box::new(move || {
            let now = Instant::now();
            doubted
                .lock()
                .values_mut()
                .for_each(|kept| kept.until = now);
        })));
        database.subscribe(&Arc::from(REVOKED), &signal);
        AccessTokens {
            database: database.clone(),
            kept,
            _signal: signal,
        }
    }

    /// Returns the holder of `secret` in a workspace as of the last [`MAX_AGE`], without asking the database; `None`
    /// if that is unknown.
    pub fn recent(&self, workspace: &str, secret: &str) -> Option<Access> {
        let kept = self.kept.lock();
        let kept = kept.get(&(workspace.to_owned(), hash_of(secret)))?;
        (Instant::now() < kept.until).then(|| kept.access.clone())
    }

    /// Returns the holder of `secret` in a workspace, as the database has it; `None` if it opens nothing there, be it
    /// that the workspace does not exist. While the database is away, a token that it had within the last
    /// [`MAX_AGE_AWAY`] is as it was.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked.
    pub fn holder(&self, workspace: &str, secret: &str) -> Result<Option<Access>, RowsError> {
        let sql = concat!(
            "SELECT name, role, (extract(epoch FROM expires - now()) * 1000)::bigint, \
             coalesce(last_used < now() - interval '1 minute', true), \
             (SELECT max_requests FROM workspace w WHERE w.name = $1) \
             FROM token WHERE workspace = $1 AND hash = $2 AND ",
            valid!()
        );
        let hash = hash_of(secret);
        let values = vec![Value::from(workspace), Value::Bytes(hash.to_vec())];
        let found = self.look_up(workspace, hash, sql, values)?;
        if let Some((_, true)) = found {
            self.note_use(Arc::from(workspace), hash);
        }
        Ok(found.map(|(access, _)| access))
    }

    /// Returns the holder of the token `secret` of an issuer, as [`AccessTokens::holder`]: the role is the highest that
    /// one of the holder's groups has in the workspace, and there is none without such a group. That the token is valid,
    /// and for the time `left`, is the caller's to know.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked.
    pub fn holder_by_groups(
        &self,
        workspace: &str,
        secret: &str,
        name: &str,
        groups: &[String],
        left: Duration,
    ) -> Result<Option<Access>, RowsError> {
        let sql = "SELECT $3, role, $4, false, (SELECT max_requests FROM workspace w WHERE w.name = $1) \
             FROM issuer_role WHERE workspace = $1 AND claim_group = ANY($2) \
             ORDER BY array_position(ARRAY['reader', 'writer', 'owner'], role) DESC LIMIT 1";
        let left = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
        let values = vec![
            Value::from(workspace),
            Value::Texts(groups.to_vec()),
            Value::from(name),
            Value::Number(left),
        ];
        let found = self.look_up(workspace, hash_of(secret), sql, values)?;
        Ok(found.map(|(access, _)| access))
    }

    /// Asks the database by `sql` for the holder of a secret, and keeps the answer: name, role, milliseconds until the
    /// end, whether the use is to be noted, and calls a minute. Also returns whether the use is to be noted.
    fn look_up(
        &self,
        workspace: &str,
        hash: [u8; 32],
        sql: &'static str,
        values: Vec<Value>,
    ) -> Result<Option<(Access, bool)>, RowsError> {
        if check_name(workspace).is_err() {
            return Ok(None);
        }
        let asked = Instant::now();
        let key = (workspace.to_owned(), hash);
        let rows = match self
            .database
            .read_primary(&Arc::from(workspace), sql, values, Pace::Quick)
        {
            Err(error) if error.is_away() => {
                let kept = self.kept.lock();
                let known = kept.get(&key).filter(|kept| asked < kept.until_away);
                return known
                    .map(|kept| Some((kept.access.clone(), false)))
                    .ok_or(error);
            }
            rows => rows?,
        };
        let Some(row) = rows.first() else {
            self.kept.lock().remove(&key);
            return Ok(None);
        };
        let access = Access {
            name: Arc::from(row.get::<_, &str>(0)),
            role: role_in(row, 1)?,
            calls_a_minute: row
                .get::<_, Option<i64>>(4)
                .map(|limit| limit.max(0) as u64),
        };
        let left = row.get::<_, Option<i64>>(2);
        let left = left.map(|left| Duration::from_millis(left.max(0) as u64));
        let within = |age: Duration| asked + left.map_or(age, |left| left.min(age));
        let mut kept = self.kept.lock();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        let token = KeptToken {
            access: access.clone(),
            until: within(MAX_AGE),
            until_away: within(MAX_AGE_AWAY),
        };
        kept.insert(key, token);
        Ok(Some((access, row.get(3))))
    }

    /// Writes the time of a use, in the background.
    fn note_use(&self, workspace: Arc<str>, hash: [u8; 32]) {
        let database = self.database.clone();
        self.database.spawn(async move {
            // Of several servers one writes it.
            let sql = "UPDATE token SET last_used = now() WHERE workspace = $1 AND hash = $2 \
                 AND coalesce(last_used < now() - interval '1 minute', true)";
            let values = [Value::from(&*workspace), Value::Bytes(hash.to_vec())];
            let begin = begin(&workspace);
            if let Err(error) = database.ask_primary(&begin, sql, &values).await {
                tracing::warn!("the last use of a token is not written: {error}");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_have_a_prefix() {
        let (one, other) = (draw().unwrap(), draw().unwrap());
        assert_ne!(one, other);
        assert!(one.starts_with(PREFIX));
        assert_eq!(one.len(), PREFIX.len() + 64);
    }

    #[test]
    fn names_of_tokens_have_letters_digits_dots_hyphens_and_underscores() {
        for name in ["ci", "Anna.B_2-x", &"x".repeat(64)] {
            assert!(is_token_name(name), "{name}");
        }
        for name in ["", "a b", "a/b", "é", "a'b", &"x".repeat(65)] {
            assert!(!is_token_name(name), "{name}");
        }
    }

    #[test]
    fn a_role_is_known_by_its_name_alone() {
        for role in [Role::Reader, Role::Writer, Role::Owner] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Owner"), None);
    }
}
