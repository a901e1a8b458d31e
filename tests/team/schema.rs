//! Migrations of the schema, and the fences around a workspace.

use memdir::files::{Place, WritableStorage};
use memdir::rows::{Database, Rows, RowsError};

use crate::postgres::{Session, TestDatabase, query};
use crate::serving::{server, token};
use crate::support::{skip, until};

/// Names of all migrations, in their order.
const MIGRATIONS: [&str; 14] = [
    "workspaces",
    "access",
    "audit",
    "quotas",
    "index copies",
    "issuers",
    "undo",
    "authors",
    "vectors",
    "servers",
    "files",
    "compatibility",
    "calls",
    "heads",
];

#[test]
fn an_empty_database_is_migrated_once() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let database = test.open();
    let error = database.check().unwrap_err();
    assert!(
        matches!(error, RowsError::OlderSchema { there: 0, .. }),
        "{error}"
    );
    assert_eq!(database.migrate().unwrap(), MIGRATIONS);
    assert!(database.migrate().unwrap().is_empty());
    database.check().unwrap();
    assert!(database.workspaces().unwrap().is_empty());
}

#[test]
fn programs_that_migrate_at_once_migrate_once() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let migrated: Vec<usize> = std::thread::scope(|scope| {
        let migrate = || scope.spawn(|| test.open().migrate().unwrap().len());
        let all = [migrate(), migrate(), migrate(), migrate()];
        all.map(|one| one.join().unwrap()).to_vec()
    });
    let sum = migrated.iter().sum::<usize>();
    assert_eq!(sum, MIGRATIONS.len(), "{migrated:?}");
}

#[test]
fn a_newer_schema_is_refused_with_a_clear_word() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    query(
        &test.address(),
        "INSERT INTO migration (number, name) VALUES (99, 'later')",
    );
    let database = test.open();
    let shown = |error: RowsError| format!("{error}; {}", error.hint().unwrap());
    let text = "the database has schema 99, and this program knows schemas up to 28; Use a newer memdir with this database.";
    assert_eq!(shown(database.check().unwrap_err()), text);
    assert_eq!(shown(database.migrate().unwrap_err()), text);
    assert_eq!(
        shown(Rows::open(&database, rows.name()).err().unwrap()),
        text
    );
    assert_eq!(shown(database.create_workspace("other").unwrap_err()), text);
}

#[test]
fn a_program_goes_on_after_a_migration_that_says_so() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let first = server(&test, &[]);
    let later = |least| {
        let sql = format!(
            "INSERT INTO migration (number, name, least) VALUES (99, 'later', {least}) \
             ON CONFLICT (number) DO UPDATE SET least = excluded.least"
        );
        query(&test.address(), &sql);
    };
    later("28");
    let database = test.open();
    database.check().unwrap();
    Rows::open(&database, rows.name()).unwrap();
    test.open().create_workspace("beta").unwrap();
    let second = server(&test, &[]);
    for server in [&first, &second] {
        // None was open before.
        let answered = server.get("/w/beta/api/v1/topics", &token(server));
        assert_eq!(answered.status, 200, "{answered:?}");
        let ready = server.ask("GET", "/ready", &[], b"");
        assert_eq!(ready.status, 200, "{ready:?}");
    }
    // It is the newer program that migrates.
    let error = database.migrate().unwrap_err();
    assert!(
        matches!(error, RowsError::NewerSchema { there: 99, .. }),
        "{error}"
    );
    later("29");
    let error = database.check().unwrap_err();
    assert!(
        matches!(error, RowsError::NewerSchema { there: 99, .. }),
        "{error}"
    );
    until("the server is not ready", || {
        first.ask("GET", "/ready", &[], b"").status == 503
    });
    let path = "/w/atlas/api/v1/topics";
    assert_eq!(first.get(path, &token(&first)).status, 503);
}

#[test]
fn a_migration_that_fails_leaves_nothing() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    // In the way of the third statement of the first migration.
    query(
        &test.address(),
        "CREATE TABLE version (of_another_program text)",
    );
    test.open().migrate().unwrap_err();
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    let tables = query(&test.address(), tables);
    let tables: Vec<&str> = tables.iter().map(|row| row.get(0)).collect();
    assert_eq!(tables, ["version"]);
    query(&test.address(), "DROP TABLE version");
    assert_eq!(test.open().migrate().unwrap(), MIGRATIONS);
}

#[test]
fn workspaces_are_made_listed_and_dropped() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let database = test.open();
    database.create_workspace("atlas").unwrap();
    let again = database.create_workspace("atlas").unwrap_err();
    assert!(matches!(again, RowsError::WorkspaceExists(_)), "{again}");
    let bad = database
        .create_workspace("a'; DROP TABLE memory; --")
        .unwrap_err();
    assert!(matches!(bad, RowsError::WorkspaceName(_)), "{bad}");
    database.create_workspace("beta").unwrap();
    let rows = Rows::open(&database, "atlas").unwrap();
    rows.add(Place::Files, "20260101_000000_aaaaaaaa.md", b"x")
        .unwrap();
    let names = |database: &Database| -> Vec<(String, i64)> {
        let all = database.workspaces().unwrap().into_iter();
        all.map(|one| (one.name, one.memories)).collect()
    };
    assert_eq!(
        names(&database),
        [("atlas".to_owned(), 1), ("beta".to_owned(), 0)]
    );
    database.drop_workspace("atlas").unwrap();
    assert_eq!(names(&database), [("beta".to_owned(), 0)]);
    let gone = database.drop_workspace("atlas").unwrap_err();
    assert!(matches!(gone, RowsError::NoWorkspace(_)), "{gone}");
    let gone = Rows::open(&database, "atlas").err().unwrap();
    assert!(matches!(gone, RowsError::NoWorkspace(_)), "{gone}");
    assert!(rows.head().is_err());
    let left = query(
        &test.address(),
        "SELECT FROM memory UNION ALL SELECT FROM change",
    );
    assert!(left.is_empty());
}

/// Returns the reason why the database refused a statement.
fn refused(result: Result<(), tokio_postgres::Error>) -> String {
    let error = result.unwrap_err();
    error.as_db_error().unwrap().message().to_owned()
}

#[test]
fn the_role_of_servers_sees_one_workspace_whatever_it_asks_for() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas")
        .add(Place::Files, "a.md", b"x")
        .unwrap();
    test.workspace("beta")
        .add(Place::Files, "b.md", b"x")
        .unwrap();
    let mut session = Session::new(&test.address());
    let tables = [
        "memory",
        "version",
        "change",
        "journal",
        "journal_head",
        "token",
        "issuer_role",
        "audit",
        "audit_head",
    ];
    let mut all: Vec<String> = tables.map(str::to_owned).to_vec();
    all.push("workspace".to_owned());
    session
        .execute("BEGIN; SET LOCAL ROLE memdir_server; SET LOCAL memdir.workspace = 'beta'")
        .unwrap();
    let names = session.query("SELECT name FROM memory");
    let names: Vec<&str> = names.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["b.md"]);
    assert!(
        session
            .query("SELECT FROM memory WHERE workspace = 'atlas'")
            .is_empty()
    );
    assert!(
        session
            .query("UPDATE memory SET name = 'c.md' WHERE workspace = 'atlas' RETURNING 1")
            .is_empty()
    );
    assert!(
        session
            .query("DELETE FROM change WHERE workspace = 'atlas' RETURNING 1")
            .is_empty()
    );
    let names = session.query("SELECT name FROM workspace");
    assert_eq!(names.len(), 1);
    let foreign =
        session.execute("INSERT INTO journal (workspace, number, line) VALUES ('atlas', 1, '')");
    assert!(refused(foreign).contains("row-level security"));
    session.execute("ROLLBACK").unwrap();
    // Without a workspace nothing is seen, and no partition by itself.
    session
        .execute("BEGIN; SET LOCAL ROLE memdir_server")
        .unwrap();
    for table in &all {
        assert!(
            session.query(&format!("SELECT FROM {table}")).is_empty(),
            "{table}"
        );
    }
    let partition = session.execute("SELECT FROM memory_00");
    assert!(refused(partition).contains("permission denied"));
}

#[test]
fn a_connection_over_tls_knows_to_whom_it_speaks() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let Ok(authority) = std::env::var("MEMDIR_TEST_POSTGRES_CA") else {
        skip("a test of TLS: MEMDIR_TEST_POSTGRES_CA is not set");
        return;
    };
    let encrypted = format!("{}?sslmode=require", test.address());
    let database = Database::new(&format!("{encrypted}&sslrootcert={authority}")).unwrap();
    database.create_workspace("atlas").unwrap();
    let rows = Rows::open(&database, "atlas").unwrap();
    rows.add(Place::Files, "20260101_000000_aaaaaaaa.md", b"x")
        .unwrap();
    let sessions = format!(
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
         WHERE datname = '{}' AND application_name = 'memdir'",
        test.name
    );
    let sessions = query(&test.address(), &sessions);
    assert!(!sessions.is_empty());
    assert!(sessions.iter().all(|row| row.get(0)));
    // Nobody in the system's list vouches for that server.
    let error = match Database::new(&encrypted) {
        Ok(stranger) => stranger.check().unwrap_err(),
        Err(none) => none,
    };
    assert!(
        matches!(error, RowsError::Away(_) | RowsError::Trust(_)),
        "{error}"
    );
}

#[test]
fn an_address_that_is_none_and_a_server_that_is_away_are_told_apart() {
    let error = Database::new("postgres://host:port/x").err().unwrap();
    assert!(matches!(error, RowsError::Address(_)), "{error}");
    // Port 1 of the loopback is nobody's.
    let away = Database::new("postgres://memdir@127.0.0.1:1/x").unwrap();
    let error = away.check().unwrap_err();
    assert!(matches!(error, RowsError::Away(_)), "{error}");
}
