//! Quotas of workspaces: memories, bytes, calls a minute.
//!
//! Guarantees: what a workspace holds is counted by each write within its transaction, under the lock of the workspace's
//! row, so that no two writes together exceed a limit. Calls are counted by the minute for all servers together: each one
//! leases some of them before it admits them. A change of a limit counts within seconds.

use std::sync::Arc;
use std::time::Duration;

use super::tokens::administer;
use crate::rows::database::{Database, Pace, Value, check_name};
use crate::rows::error::RowsError;

/// Limit of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Memories, live and archived.
    Memories,
    /// Bytes of all present files.
    Bytes,
    /// Calls a minute, at all servers together.
    Requests,
}

/// State and limits of a workspace; `None` is no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// Number of memories, live and archived.
    pub memories: i64,
    /// Bytes of all present files.
    pub bytes: i64,
    /// Limit of memories.
    pub max_memories: Option<i64>,
    /// Limit of bytes.
    pub max_bytes: Option<i64>,
    /// Limit of calls a minute.
    pub max_requests: Option<i64>,
}

/// Value of no limit in a statement.
const NONE: i64 = -1;

/// Sets limits of a workspace, and returns all of them with its state.
///
/// # Errors
///
/// Fails if there is no such workspace.
pub fn set_quotas(
    database: &Database,
    workspace: &str,
    limits: &[(Quota, Option<i64>)],
) -> Result<Quotas, RowsError> {
    check_name(workspace)?;
    let set = |(quota, limit): &(Quota, Option<i64>)| {
        let sql = match quota {
            Quota::Memories => "UPDATE workspace SET max_memories = nullif($2, -1) WHERE name = $1",
            Quota::Bytes => "UPDATE workspace SET max_bytes = nullif($2, -1) WHERE name = $1",
            Quota::Requests => "UPDATE workspace SET max_requests = nullif($2, -1) WHERE name = $1",
        };
        let limit = Value::Number(limit.unwrap_or(NONE));
        (sql, vec![Value::from(workspace), limit])
    };
    let mut statements: Vec<_> = limits.iter().map(set).collect();
    let read = "SELECT memories, bytes, max_memories, max_bytes, max_requests FROM workspace WHERE name = $1";
    statements.push((read, vec![Value::from(workspace)]));
    let rows = administer(database, statements)?;
    let row = rows.last().and_then(|rows| rows.first());
    let row = row.ok_or_else(|| RowsError::NoWorkspace(workspace.to_owned()))?;
    Ok(Quotas {
        memories: row.get(0),
        bytes: row.get(1),
        max_memories: row.get(2),
        max_bytes: row.get(3),
        max_requests: row.get(4),
    })
}

/// Calls of a workspace that were leased in this minute of the database, with further ones; and the seconds that are left
/// of it. A count that a crash loses does no harm, and no call waits for a disk or a standby.
const LEASE: &str = "INSERT INTO call_count AS c (workspace, minute, leased) \
     SELECT $1, floor(extract(epoch FROM clock_timestamp()) / 60)::bigint, $2 \
     ON CONFLICT (workspace) DO UPDATE SET minute = excluded.minute, \
     leased = excluded.leased + CASE WHEN c.minute = excluded.minute THEN c.leased ELSE 0 END \
     RETURNING leased, (minute + 1) * 60 - extract(epoch FROM clock_timestamp())::double precision, \
     set_config('synchronous_commit', 'off', true)";

/// Takes at most `wanted` further calls of `workspace`, which has `calls_a_minute` of them; returns their number, and the
/// time that is left of the minute. Together servers never get more.
///
/// # Errors
///
/// Fails if the database cannot be asked.
pub fn lease_calls(
    database: &Database,
    workspace: &str,
    calls_a_minute: u64,
    wanted: u64,
) -> Result<(u64, Duration), RowsError> {
    check_name(workspace)?;
    let workspace: Arc<str> = Arc::from(workspace);
    let values = vec![
        Value::from(&*workspace),
        Value::Number(i64::try_from(wanted).unwrap_or(i64::MAX)),
    ];
    let rows = database.read_primary(&workspace, LEASE, values, Pace::Quick)?;
    let row = rows
        .first()
        .ok_or_else(|| RowsError::NoWorkspace(workspace.to_string()))?;
    let before = row.get::<_, i64>(0).unsigned_abs().saturating_sub(wanted);
    let calls = calls_a_minute.saturating_sub(before).min(wanted);
    let left = row.get::<_, f64>(1).clamp(0.0, 60.0);
    Ok((calls, Duration::from_secs_f64(left)))
}
