//! Groups of the issuer of tokens, and the roles that they have in a workspace.
//!
//! Guarantees: a change counts at every server within seconds, as for tokens. Who is of which group says the issuer's
//! token, which others verify.

use super::tokens::{LOCK, NOTIFY, Role, administer, list_of, notice, role_in};
use crate::rows::database::{Database, Value, check_name};
use crate::rows::error::RowsError;

/// Maximum number of characters of a group's name.
const MAX_NAME: usize = 256;

/// Role of a group in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRole {
    /// Name of the group, as the issuer writes it.
    pub group: String,
    /// Its role.
    pub role: Role,
    /// Time of the last change, in seconds since 1970.
    pub changed: i64,
}

fn check_names(workspace: &str, group: &str) -> Result<(), RowsError> {
    check_name(workspace)?;
    let fits = (1..=MAX_NAME).contains(&group.chars().count());
    match fits && !group.chars().any(char::is_control) {
        true => Ok(()),
        false => Err(RowsError::GroupName),
    }
}

/// Gives a group of the issuer a role in a workspace, in place of the one that it had.
///
/// # Errors
///
/// Fails if there is no such workspace, or if the name is none of a group.
pub fn map_group(
    database: &Database,
    workspace: &str,
    group: &str,
    role: Role,
) -> Result<(), RowsError> {
    check_names(workspace, group)?;
    let set = "INSERT INTO issuer_role (workspace, claim_group, role) \
         SELECT name, $2, $3 FROM workspace WHERE name = $1 \
         ON CONFLICT (workspace, claim_group) DO UPDATE SET role = excluded.role, changed = now()";
    let values = vec![
        Value::from(workspace),
        Value::from(group),
        Value::from(role.as_str()),
    ];
    let statements = vec![
        (LOCK, vec![Value::from(workspace)]),
        (set, values),
        (NOTIFY, notice()),
    ];
    let rows = administer(database, statements)?;
    match rows.first().is_some_and(|found| !found.is_empty()) {
        true => Ok(()),
        false => Err(RowsError::NoWorkspace(workspace.to_owned())),
    }
}

/// Takes the role of a group in a workspace away.
///
/// # Errors
///
/// Fails if it has none.
pub fn unmap_group(database: &Database, workspace: &str, group: &str) -> Result<(), RowsError> {
    check_names(workspace, group)?;
    let remove = "DELETE FROM issuer_role WHERE workspace = $1 AND claim_group = $2 RETURNING 1";
    let values = vec![Value::from(workspace), Value::from(group)];
    let rows = administer(database, vec![(remove, values), (NOTIFY, notice())])?;
    match rows.first().is_some_and(|removed| !removed.is_empty()) {
        true => Ok(()),
        false => Err(RowsError::NoGroup(group.to_owned())),
    }
}

/// Returns the groups that have a role in a workspace, by name.
///
/// # Errors
///
/// Fails if there is no such workspace.
pub fn groups(database: &Database, workspace: &str) -> Result<Vec<GroupRole>, RowsError> {
    let list = "SELECT claim_group, role, extract(epoch FROM changed)::bigint FROM issuer_role \
         WHERE workspace = $1 ORDER BY claim_group";
    let group = |row: &tokio_postgres::Row| {
        Ok(GroupRole {
            group: row.get(0),
            role: role_in(row, 1)?,
            changed: row.get(2),
        })
    };
    let rows = list_of(database, workspace, list)?;
    rows.iter().map(group).collect()
}
