//! Databases for tests: one for each test, copied from one that is migrated once.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use memdir::engine::{Backend, Engine, Options};
use memdir::rows::{Database, Rows};
use tokio_postgres::{NoTls, Row};

use crate::support;
use crate::support::until;

/// A database for one test.
pub struct TestDatabase {
    pub name: String,
    server: String,
}

/// Number of tests of this program that were skipped.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);
static NUMBER: AtomicU32 = AtomicU32::new(0);
static TEMPLATE: OnceLock<String> = OnceLock::new();

/// Returns the address of the server; `None`, loudly, where there is none.
pub fn server() -> Option<String> {
    let address = std::env::var("MEMDIR_TEST_POSTGRES").ok();
    if address.is_none() {
        let count = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
        support::skip(&format!(
            "a test of memories in PostgreSQL ({count} so far): MEMDIR_TEST_POSTGRES is not set"
        ));
    }
    address
}

/// Returns `address` with another database.
pub fn with_database(address: &str, database: &str) -> String {
    let (server, _) = address.rsplit_once('/').expect("an address has a database");
    format!("{server}/{database}")
}

/// Executes `sql` on the database at `address`, and returns its rows.
pub fn query(address: &str, sql: &str) -> Vec<Row> {
    let mut session = Session::new(address);
    session.query(sql)
}

/// A connection of a test.
pub struct Session {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Session {
    pub fn new(address: &str) -> Session {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let connected = runtime.block_on(tokio_postgres::connect(address, NoTls));
        let (client, connection) = connected.unwrap();
        runtime.spawn(async move { drop(connection.await) });
        Session { runtime, client }
    }

    /// Executes one statement.
    pub fn query(&mut self, sql: &str) -> Vec<Row> {
        let rows = self.runtime.block_on(self.client.query_typed(sql, &[]));
        rows.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Executes statements; returns the error of the first that fails.
    pub fn execute(&mut self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.runtime.block_on(self.client.batch_execute(sql))
    }

    /// Asks until `sql` returns a row: for what another session is about to do.
    pub fn until(&mut self, sql: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        until(sql, || {
            rows = self.query(sql);
            !rows.is_empty()
        });
        rows
    }
}

impl TestDatabase {
    /// Returns a migrated database without workspaces; `None` without a server.
    pub fn new() -> Option<TestDatabase> {
        let server = server()?;
        let template = TEMPLATE.get_or_init(|| {
            let template = format!("template_{}", std::process::id());
            query(&server, &format!("CREATE DATABASE {template}"));
            let address = with_database(&server, &template);
            Database::new(&address).unwrap().migrate().unwrap();
            // Nobody may be connected to what is copied.
            query(
                &server,
                &format!(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{template}'"
                ),
            );
            template
        });
        // Without its log, which the standby would repeat.
        TestDatabase::of(&server, &format!(" TEMPLATE {template} STRATEGY file_copy"))
    }

    /// Returns a database without tables.
    pub fn empty() -> Option<TestDatabase> {
        TestDatabase::of(&server()?, "")
    }

    fn of(server: &str, how: &str) -> Option<TestDatabase> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        // Copies of one template are made one after another.
        static ALONE: Mutex<()> = Mutex::new(());
        let _alone = ALONE
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        query(server, &format!("CREATE DATABASE {name}{how}"));
        Some(TestDatabase {
            name,
            server: server.to_owned(),
        })
    }

    pub fn address(&self) -> String {
        with_database(&self.server, &self.name)
    }

    pub fn open(&self) -> Database {
        Database::new(&self.address()).unwrap()
    }

    /// Returns the new workspace `name`.
    pub fn workspace(&self, name: &str) -> Rows {
        let database = self.open();
        database.create_workspace(name).unwrap();
        Rows::open(&database, name).unwrap()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        let _ = Session::new(&self.server).execute(&sql);
    }
}

/// Returns an engine over `rows`, at noon, with what is derived in `cache`.
pub fn engine(rows: &Rows, cache: &std::path::Path) -> Engine {
    let options = Options {
        backend: Some(backend(rows)),
        ..Options::new(cache)
    };
    let clock = memdir::clock::FixedClock(support::noon());
    Engine::open(options, Box::new(clock)).unwrap()
}

/// Returns `rows` as a backend of an engine.
pub fn backend(rows: &Rows) -> Backend {
    Backend {
        storage: Arc::new(rows.clone()),
        journal: memdir::rows::journal(rows),
        copies: Some(Arc::new(rows.clone())),
        vectors: Some(Arc::new(rows.clone())),
        name: format!("the workspace {} of a database", rows.name()),
    }
}

/// Moment at which a [`Cut`] ends a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CutAt {
    /// Before the first commit reaches the server.
    BeforeCommit,
    /// When the server has answered the first commit, before the client hears of it.
    AfterCommit,
}

/// Signs of a cut that reach the client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CutBy {
    /// The connection ends.
    Close,
    /// A pooler tells it with an error of the class 08 before.
    Error,
    /// No byte arrives over this connection, nor over any other.
    Silence,
}

/// A cable to the server that is cut once, at the first commit of a write.
pub struct Cut {
    pub port: u16,
}

/// Begins the commit of a write.
const COMMIT: &[u8] = b"pg_notify";

/// State of a cable.
struct Cable {
    /// Moment of the cut, until it is made.
    at: Mutex<Option<CutAt>>,
    by: CutBy,
    is_silent: AtomicBool,
}

impl Cable {
    /// Keeps this thread, with the connections that it holds, if nothing passes any more.
    fn hold_if_silent(&self) {
        while self.is_silent.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }

    /// Tells the client that the connection was cut.
    fn tell(&self, mut client: &TcpStream) {
        match self.by {
            CutBy::Close => {}
            CutBy::Error => client.write_all(&error_of_connections()).unwrap(),
            CutBy::Silence => {
                self.is_silent.store(true, Ordering::SeqCst);
                self.hold_if_silent();
            }
        }
    }
}

/// Returns the message of a server whose own connection failed.
fn error_of_connections() -> Vec<u8> {
    let fields = b"SFATAL\0VFATAL\0C08P01\0Mserver conn crashed?\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    [&b"E"[..], &length, fields].concat()
}

impl Cut {
    /// Lays a cable to the server at `address`.
    pub fn lay(address: &str, at: CutAt, by: CutBy) -> Cut {
        let rest = address.split_once('@').unwrap().1;
        let target = rest.split_once('/').unwrap().0.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cable = Arc::new(Cable {
            at: Mutex::new(Some(at)),
            by,
            is_silent: AtomicBool::new(false),
        });
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&target)) else {
                    continue;
                };
                let cable = Arc::clone(&cable);
                std::thread::spawn(move || carry(client, server, &cable));
            }
        });
        Cut { port }
    }

    /// Returns the address of the database `address` by way of this cable.
    pub fn address(&self, address: &str) -> String {
        let (user, rest) = address.split_once('@').unwrap();
        let (_, database) = rest.split_once('/').unwrap();
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }
}

/// Carries what both sides say, until one ends or the cable is cut.
fn carry(mut client: TcpStream, mut server: TcpStream, cable: &Arc<Cable>) {
    let is_cut = Arc::new(Mutex::new(false));
    let (mut from_server, mut to_client) =
        (server.try_clone().unwrap(), client.try_clone().unwrap());
    let (silent, shared) = (Arc::clone(&is_cut), Arc::clone(cable));
    let back = std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from_server.read(&mut bytes) {
            // The answer to a commit over a cut cable.
            if *silent.lock().unwrap() {
                shared.tell(&to_client);
                break;
            }
            shared.hold_if_silent();
            if to_client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let mut bytes = [0; 65_536];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        cable.hold_if_silent();
        let commits = bytes[..count]
            .windows(COMMIT.len())
            .any(|part| part == COMMIT);
        let at = commits.then(|| cable.at.lock().unwrap().take()).flatten();
        match at {
            Some(CutAt::BeforeCommit) => {
                cable.tell(&client);
                break;
            }
            Some(CutAt::AfterCommit) => {
                *is_cut.lock().unwrap() = true;
                let _ = server.write_all(&bytes[..count]);
                // The server answers once it has committed.
                let _ = back.join();
                return;
            }
            None if server.write_all(&bytes[..count]).is_err() => break,
            None => {}
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = back.join();
}
