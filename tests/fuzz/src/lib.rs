//! What must hold for every input, one function a fuzz target.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run --fuzz-dir tests/fuzz -s none frontmatter_edit -- -timeout=1 -rss_limit_mb=256
//! ```
//!
//! Targets: `frontmatter_edit`, `file`, `query`, `names`, `arguments`, `import`, `mcp_line`; the
//! last one needs the program's path in `MEMDIR_PROGRAM`. There is no `unsafe` code to watch, so
//! that the sanitizer can be left out; arithmetic is checked. A second is more than any input of
//! a few kilobytes may take. An input that breaks a promise becomes a test with a name.

mod arguments;
mod files;
mod mcp;
mod names;
mod queries;

pub use arguments::{Arguments, arguments};
pub use files::{File, FrontmatterEdit, Import, file, frontmatter_edit, import};
pub use mcp::{McpLine, mcp_line};
pub use names::{Names, names};
pub use queries::{Query, query};

use std::sync::{Arc, OnceLock};

use memdir::clock::FixedClock;
use memdir::engine::{Engine, Options};

/// A store of a few memories, made once a process; the folder stays until the process ends.
fn engine() -> &'static Arc<Engine> {
    static ENGINE: OnceLock<(Arc<Engine>, tempfile::TempDir)> = OnceLock::new();
    let (engine, _) = ENGINE.get_or_init(|| {
        // Memory is quicker than a disk, where there is such a folder.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.expect("a folder can be made");
        let files = folder.path().join("files");
        std::fs::create_dir(&files).expect("a folder can be made");
        for (name, text) in MEMORIES {
            std::fs::write(files.join(name), text).expect("a file can be written");
        }
        let options = Options::new(folder.path());
        let now = chrono::DateTime::from_timestamp_nanos(1_800_000_000_000_000_000);
        let engine = Engine::open(options, Box::new(FixedClock(now))).expect("it is a store");
        (Arc::new(engine), folder)
    });
    engine
}

const MEMORIES: [(&str, &str); 4] = [
    (
        "20260114_091500_1f3a9c02.md",
        "---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: claude\nuser: Caroline\ntopics: [garden]\n---\n\nThe heron came back on Tuesday.\n",
    ),
    (
        "20260115_091500_1f3a9c02.md",
        "---\nid: 1f3a9c02\ntimestamp: 2026-01-15T09:15:00Z\nagent: claude\nuser: Marco Polo\ntopics: [\"東京\"]\nsupersedes: [20260114_091500_1f3a9c02]\n---\n\nMüller moved to Kyoto; see std::path.\n",
    ),
    (
        "20260116_091500_2f3a9c02.md",
        "---\nid: 2f3a9c02\ntimestamp: 2026-01-16T09:15:00Z\nagent: claude\nuser: Caroline\ntopics: []\n---\n\nNothing of note, well-known as it is.\n",
    ),
    ("notes.md", "No frontmatter, and an egret."),
];
