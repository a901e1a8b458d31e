//! Stores of tests in a database: with `MEMDIR_TEST_ON=rows`, a suite that knows nothing of it runs on workspaces.
//!
//! `tests/team/with_postgres.sh env MEMDIR_TEST_ON=rows cargo test --features team --test dialects` is such a run. A
//! test that needs a folder says why ([`needs_a_folder`]), and has one in either run.

use memdir::engine::Backend;
use memdir::files::{Place, Replaced};

/// A workspace of a database, empty.
pub struct Workspace {
    pub name: String,
}

/// Returns a new workspace, if the suite runs on them.
pub fn workspace() -> Option<Workspace> {
    is_on_rows().then(|| Workspace {
        name: database::create(),
    })
}

fn is_on_rows() -> bool {
    match std::env::var("MEMDIR_TEST_ON") {
        Ok(place) => {
            assert_eq!(place, "rows", "tests run on a folder, or on rows");
            true
        }
        Err(_) => false,
    }
}

/// Says why a test runs on a folder, whatever the others do.
pub fn needs_a_folder(why: &str) {
    if is_on_rows() {
        eprintln!("on a folder: {why}");
    }
}

/// Returns the address of the database.
pub fn address() -> String {
    std::env::var("MEMDIR_TEST_POSTGRES")
        .expect("a suite on rows has a server: tests/team/with_postgres.sh starts one")
}

impl Workspace {
    /// A backend as a new server has it: what others know, it does not.
    pub fn backend(&self) -> Backend {
        database::backend(&self.name)
    }

    /// Writes a live memory as another server does, whatever is there.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let storage = self.backend().storage;
        let done = match storage.version_at(&Place::Files.path_of(name)).unwrap() {
            Some(seen) => storage
                .replace_and_keep(Place::Files, name, &seen, bytes)
                .unwrap(),
            None => storage
                .add(Place::Files, name, bytes)
                .map(|()| Replaced::Done)
                .unwrap(),
        };
        assert_eq!(done, Replaced::Done);
    }

    pub fn remove(&self, name: &str) {
        let storage = self.backend().storage;
        let seen = storage.version_at(&Place::Files.path_of(name)).unwrap();
        let done = storage.remove(Place::Files, name, &seen.unwrap());
        assert_eq!(done.unwrap(), Replaced::Done);
    }

    pub fn rename(&self, from: &str, to: &str) {
        let storage = self.backend().storage;
        let (from, to) = ((Place::Files, from), (Place::Files, to));
        storage.rename(from, to).unwrap();
    }

    /// The names of the live memories, sorted.
    pub fn names(&self) -> Vec<String> {
        let listing = self.backend().storage.list(Place::Files).unwrap();
        listing.entries.into_iter().map(|one| one.name).collect()
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        let reader = self.backend().storage.reader(Place::Files);
        reader.read(name, u64::MAX).unwrap().bytes
    }
}

#[cfg(feature = "team")]
mod database {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, OnceLock};

    use memdir::engine::Backend;
    use memdir::rows::{Database, Rows, journal};

    static DATABASE: OnceLock<Database> = OnceLock::new();
    static NUMBER: AtomicU32 = AtomicU32::new(0);

    fn database() -> &'static Database {
        DATABASE.get_or_init(|| {
            let database = Database::new(&super::address()).unwrap();
            database.migrate().unwrap();
            database
        })
    }

    /// Makes a workspace; its name.
    pub fn create() -> String {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{number}", std::process::id());
        database().create_workspace(&name).unwrap();
        name
    }

    pub fn backend(name: &str) -> Backend {
        let rows = Rows::open(database(), name).unwrap();
        Backend {
            storage: Arc::new(rows.clone()),
            journal: journal(&rows),
            copies: Some(Arc::new(rows.clone())),
            vectors: Some(Arc::new(rows)),
            name: format!("the workspace {name} of a database"),
        }
    }
}

#[cfg(not(feature = "team"))]
mod database {
    use memdir::engine::Backend;

    const LACKS: &str = "the program has no workspaces: build it with `--features team`";

    pub fn create() -> String {
        panic!("{LACKS}")
    }

    pub fn backend(name: &str) -> Backend {
        panic!("{name}: {LACKS}")
    }
}
