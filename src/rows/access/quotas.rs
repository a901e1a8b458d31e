//! Quotas of workspaces: memories, bytes, calls a minute.
//!
//! Guarantees: what a workspace holds is counted by each write within its transaction, under the lock of the workspace's
//! row, so that no two writes together exceed a limit. Each server counts calls by itself, and follows a change of their
//! limit within seconds.

use super::tokens::administer;
use crate::rows::database::{Database, Value, check_name};
use crate::rows::error::RowsError;

/// Limit of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Memories, live and archived.
    Memories,
    /// Bytes of all present files.
    Bytes,
    /// Calls a minute at each server.
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
