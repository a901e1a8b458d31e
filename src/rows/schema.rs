//! The schema of the database: migrations with numbers, each applied once.
//!
//! Guarantees: a migration is applied whole or not at all, by one program at a time; a database with a
//! migration that this program does not know is refused.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::RowsError;

/// A migration of the schema.
struct Migration {
    number: i32,
    name: &'static str,
    sql: &'static str,
}

/// All migrations, in the order of their numbers. A released one is never changed.
const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "workspaces",
        sql: include_str!("migrations/0001_workspaces.sql"),
    },
    Migration {
        number: 10,
        name: "access",
        sql: include_str!("migrations/0010_access.sql"),
    },
    Migration {
        number: 11,
        name: "audit",
        sql: include_str!("migrations/0011_audit.sql"),
    },
    Migration {
        number: 12,
        name: "quotas",
        sql: include_str!("migrations/0012_quotas.sql"),
    },
    Migration {
        number: 13,
        name: "index copies",
        sql: include_str!("migrations/0013_index_copies.sql"),
    },
    Migration {
        number: 20,
        name: "issuers",
        sql: include_str!("migrations/0020_issuers.sql"),
    },
    Migration {
        number: 21,
        name: "undo",
        sql: include_str!("migrations/0021_undo.sql"),
    },
    Migration {
        number: 22,
        name: "authors",
        sql: include_str!("migrations/0022_authors.sql"),
    },
    Migration {
        number: 23,
        name: "vectors",
        sql: include_str!("migrations/0023_vectors.sql"),
    },
    Migration {
        number: 24,
        name: "servers",
        sql: include_str!("migrations/0024_servers.sql"),
    },
    Migration {
        number: 25,
        name: "files",
        sql: include_str!("migrations/0025_files.sql"),
    },
];

/// Key of the advisory lock that a migrating program holds: `memdir` in ASCII.
const LOCK: i64 = 0x6d65_6d64_6972;

/// Table of the applied migrations.
const APPLIED: &str = "CREATE TABLE IF NOT EXISTS migration (
    number integer PRIMARY KEY,
    name text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
)";

/// Maximum duration of a statement of a migration.
const PATIENCE: &str = "10min";

/// Returns the number of the newest schema that this program knows.
pub(super) fn known() -> i32 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Returns the number of the schema in the database; 0 of an empty one.
async fn there(client: &Client) -> Result<i32, RowsError> {
    let has_table = "SELECT to_regclass('migration') IS NOT NULL";
    let row = client.query_typed_one(has_table, &[]).await?;
    if !row.get::<_, bool>(0) {
        return Ok(0);
    }
    let newest = "SELECT coalesce(max(number), 0) FROM migration";
    Ok(client.query_typed_one(newest, &[]).await?.get(0))
}

/// Checks that the database has the schema of this program.
pub(super) async fn check(client: &Client) -> Result<(), RowsError> {
    let (there, known) = (there(client).await?, known());
    match there {
        _ if there > known => Err(RowsError::NewerSchema { there, known }),
        _ if there < known => Err(RowsError::OlderSchema { there, known }),
        _ => Ok(()),
    }
}

/// Applies the migrations that the database lacks; returns their names.
pub(super) async fn migrate(client: &Client) -> Result<Vec<&'static str>, RowsError> {
    let mut applied = Vec::new();
    for migration in MIGRATIONS {
        if apply(client, migration).await? {
            applied.push(migration.name);
        }
    }
    // Also where nothing was to be done.
    check(client).await?;
    Ok(applied)
}

/// Applies a migration in one transaction, unless the database has it.
async fn apply(client: &Client, migration: &Migration) -> Result<bool, RowsError> {
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = '{PATIENCE}'; SET LOCAL client_min_messages = warning; \
         SELECT pg_advisory_xact_lock({LOCK}); {APPLIED}"
    );
    let applied = async {
        client.batch_execute(&begin).await?;
        let there = there(client).await?;
        if there > known() {
            return Err(RowsError::NewerSchema {
                there,
                known: known(),
            });
        }
        if there >= migration.number {
            return Ok(false);
        }
        client.batch_execute(migration.sql).await?;
        let note = "INSERT INTO migration (number, name) VALUES ($1, $2)";
        let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] = [
            (&migration.number, Type::INT4),
            (&migration.name, Type::TEXT),
        ];
        client.query_typed(note, &values).await?;
        Ok(true)
    };
    match applied.await {
        Ok(done) => {
            client.batch_execute("COMMIT").await?;
            Ok(done)
        }
        Err(error) => {
            // A broken connection has rolled it back.
            let _ = client.batch_execute("ROLLBACK").await;
            Err(error)
        }
    }
}
