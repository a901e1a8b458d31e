//! The tool sets of other memory servers, each over its pipes as its clients call it.

mod ai_memory;
mod ai_memory_many;
mod ai_memory_model;
mod i_am;
mod i_am_entries;

use std::path::Path;

use serde_json::json;

use crate::session::Session;

/// Compares the line that lists the tools, byte for byte, with the file `name` beside this one, and
/// prints its size. `MEMDIR_RENEW=1` writes the file.
#[track_caller]
pub fn check_tools(sessions: [&mut Session; 2], name: &str) {
    let [one, other] = sessions.map(|session| {
        session.request("list", "tools/list", json!({}));
        session.line()
    });
    assert_eq!(one, other, "the list is the same in every session");
    eprintln!("{name}: {} bytes", one.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/dialects");
    let path = path.join(name);
    if std::env::var_os("MEMDIR_RENEW").is_some() {
        std::fs::write(&path, format!("{one}\n")).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known.trim_end() == one,
        "the tools differ from {}: if that is meant, run this test with MEMDIR_RENEW=1",
        path.display()
    );
}
