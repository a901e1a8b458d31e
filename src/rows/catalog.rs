//! The workspaces of a database: making, listing and dropping them.

use tokio_postgres::types::{ToSql, Type};

use super::database::{Database, answered, begin_for_all, check_name, discard};
use super::error::RowsError;
use super::schema;

/// A workspace of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Name of the workspace.
    pub name: String,
    /// Number of its live memories.
    pub memories: i64,
    /// Number of its last change.
    pub head: i64,
}

impl Database {
    /// Makes an empty workspace.
    ///
    /// # Errors
    ///
    /// Fails if the name is no name of a workspace, or taken.
    pub fn create_workspace(&self, name: &str) -> Result<(), RowsError> {
        check_name(name)?;
        let sql = "INSERT INTO workspace (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING name";
        let made = self.change_workspaces(vec![sql], name)?;
        match made {
            0 => Err(RowsError::WorkspaceExists(name.to_owned())),
            _ => Ok(()),
        }
    }

    /// Removes a workspace with all its memories, versions and journals.
    ///
    /// # Errors
    ///
    /// Fails if there is none of that name.
    pub fn drop_workspace(&self, name: &str) -> Result<(), RowsError> {
        check_name(name)?;
        // Its row first: that waits for writes.
        let statements = vec![
            "DELETE FROM workspace WHERE name = $1 RETURNING pg_notify('memdir', name)",
            "DELETE FROM memory WHERE workspace = $1",
            "DELETE FROM version WHERE workspace = $1",
            "DELETE FROM change WHERE workspace = $1",
            "DELETE FROM journal WHERE workspace = $1",
            "DELETE FROM journal_head WHERE workspace = $1",
            "DELETE FROM index_copy WHERE workspace = $1",
            "DELETE FROM vector WHERE workspace = $1",
            "DELETE FROM token WHERE workspace = $1",
            "DELETE FROM issuer_role WHERE workspace = $1",
            "DELETE FROM call_count WHERE workspace = $1",
            "DELETE FROM audit WHERE workspace = $1",
            "DELETE FROM audit_head WHERE workspace = $1",
        ];
        match self.change_workspaces(statements, name)? {
            0 => Err(RowsError::NoWorkspace(name.to_owned())),
            _ => Ok(()),
        }
    }

    /// Has the planner of the database look at the tables, after much was added to them. Where the user does not own them,
    /// the database does that by itself, a minute later.
    pub(super) fn analyze(&self) -> Result<(), RowsError> {
        self.run(|database| async move {
            let connection = database.connection().await?;
            let analyze = "BEGIN; SET LOCAL statement_timeout = '10min'; \
                 ANALYZE memory, version, change; COMMIT";
            let analyzed = connection.batch_execute(analyze).await;
            if analyzed.is_err() {
                discard(connection);
            }
            Ok(analyzed?)
        })
    }

    /// Executes `statements` about the workspace `name` in one transaction; returns the number of rows that they
    /// returned.
    fn change_workspaces(
        &self,
        statements: Vec<&'static str>,
        name: &str,
    ) -> Result<usize, RowsError> {
        let name = name.to_owned();
        self.run(|database| async move {
            let connection = database.connection().await?;
            let work = async {
                schema::check(&connection).await?;
                connection.batch_execute(&begin_for_all()).await?;
                let mut count = 0;
                for sql in statements {
                    let values: [(&(dyn ToSql + Sync), Type); 1] = [(&name, Type::TEXT)];
                    count += connection.query_typed(sql, &values).await?.len();
                }
                connection.batch_execute("COMMIT").await?;
                Ok(count)
            };
            let done = work.await;
            if done.is_err() {
                discard(connection);
            }
            done
        })
    }

    /// Returns the workspaces, by name.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be asked, or has another schema.
    pub fn workspaces(&self) -> Result<Vec<Workspace>, RowsError> {
        self.run(|database| async move {
            let connection = database.connection().await?;
            let listed = answered(async {
                schema::check(&connection).await?;
                connection.batch_execute(&begin_for_all()).await?;
                let sql = "SELECT name, head, (SELECT count(*) FROM memory \
                     WHERE workspace = w.name AND place = 'files') FROM workspace w ORDER BY name";
                let rows = connection.query_typed(sql, &[]).await?;
                connection.batch_execute("COMMIT").await?;
                Ok(rows)
            });
            let listed = listed.await;
            if listed.is_err() {
                discard(connection);
            }
            let rows = listed?;
            let workspace = |row: &tokio_postgres::Row| Workspace {
                name: row.get(0),
                head: row.get(1),
                memories: row.get(2),
            };
            Ok(rows.iter().map(workspace).collect())
        })
    }
}
