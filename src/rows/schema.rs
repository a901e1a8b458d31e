//! The schema of the database: migrations with numbers, each applied once.
//!
//! Guarantees: a migration is applied whole or not at all, by one program at a time; a database with a migration that this
//! program does not know is refused, unless that migration names an earlier schema whose programs may go on.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use super::error::RowsError;

/// A migration of the schema.
struct Migration {
    number: i32,
    name: &'static str,
    /// Oldest schema whose programs may go on after it, so that servers can be replaced one after another: of a migration
    /// that only adds what they need not know. `None` if older programs would answer wrongly or do harm, and if it adds a
    /// table with texts or rights: they would not clear that where a workspace is dropped or a memory purged.
    least: Option<i32>,
    sql: &'static str,
}

/// All migrations, in the order of their numbers. A released one is never changed.
const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "workspaces",
        least: None,
        sql: include_str!("migrations/0001_workspaces.sql"),
    },
    Migration {
        number: 10,
        name: "access",
        least: None,
        sql: include_str!("migrations/0010_access.sql"),
    },
    Migration {
        number: 11,
        name: "audit",
        least: None,
        sql: include_str!("migrations/0011_audit.sql"),
    },
    Migration {
        number: 12,
        name: "quotas",
        least: None,
        sql: include_str!("migrations/0012_quotas.sql"),
    },
    Migration {
        number: 13,
        name: "index copies",
        least: None,
        sql: include_str!("migrations/0013_index_copies.sql"),
    },
    Migration {
        number: 20,
        name: "issuers",
        least: None,
        sql: include_str!("migrations/0020_issuers.sql"),
    },
    Migration {
        number: 21,
        name: "undo",
        least: None,
        sql: include_str!("migrations/0021_undo.sql"),
    },
    Migration {
        number: 22,
        name: "authors",
        least: None,
        sql: include_str!("migrations/0022_authors.sql"),
    },
    Migration {
        number: 23,
        name: "vectors",
        least: None,
        sql: include_str!("migrations/0023_vectors.sql"),
    },
    Migration {
        number: 24,
        name: "servers",
        least: None,
        sql: include_str!("migrations/0024_servers.sql"),
    },
    Migration {
        number: 25,
        name: "files",
        least: None,
        sql: include_str!("migrations/0025_files.sql"),
    },
    Migration {
        number: 26,
        name: "compatibility",
        least: None,
        sql: include_str!("migrations/0026_compatibility.sql"),
    },
    Migration {
        number: 27,
        name: "calls",
        least: Some(26),
        sql: include_str!("migrations/0027_calls.sql"),
    },
    Migration {
        number: 28,
        name: "heads",
        least: Some(26),
        sql: include_str!("migrations/0028_heads.sql"),
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

/// The schema in a database.
struct Present {
    /// Number of its newest migration; 0 of an empty database.
    number: i32,
    /// Oldest schema whose programs may use it.
    least: i32,
}

impl Present {
    async fn of(client: &Client) -> Result<Present, RowsError> {
        let has_table = "SELECT to_regclass('migration') IS NOT NULL";
        let row = client.query_typed_one(has_table, &[]).await?;
        if !row.get::<_, bool>(0) {
            return Ok(Present {
                number: 0,
                least: 0,
            });
        }
        // By JSON, since the column came with migration 26.
        let newest = "SELECT coalesce(max(number), 0), \
             coalesce(max(coalesce((to_jsonb(m)->>'least')::integer, number)), 0) FROM migration m";
        let row = client.query_typed_one(newest, &[]).await?;
        Ok(Present {
            number: row.get(0),
            least: row.get(1),
        })
    }

    /// Returns the error of a program for which it is too new.
    fn is_newer(&self) -> RowsError {
        RowsError::NewerSchema {
            there: self.number,
            known: known(),
        }
    }
}

/// Checks that the database has the schema of this program, or a newer one with which it may go on.
pub(super) async fn check(client: &Client) -> Result<(), RowsError> {
    let (present, known) = (Present::of(client).await?, known());
    match present.number {
        there if there < known => Err(RowsError::OlderSchema { there, known }),
        _ if present.least > known => Err(present.is_newer()),
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
        let present = Present::of(client).await?;
        if present.number > known() {
            return Err(present.is_newer());
        }
        if present.number >= migration.number {
            return Ok(false);
        }
        client.batch_execute(migration.sql).await?;
        let note = "INSERT INTO migration (number, name) VALUES ($1, $2)";
        let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] = [
            (&migration.number, Type::INT4),
            (&migration.name, Type::TEXT),
        ];
        client.query_typed(note, &values).await?;
        if let Some(least) = &migration.least {
            let note = "UPDATE migration SET least = $2 WHERE number = $1";
            let values: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 2] =
                [(&migration.number, Type::INT4), (least, Type::INT4)];
            client.query_typed(note, &values).await?;
        }
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
