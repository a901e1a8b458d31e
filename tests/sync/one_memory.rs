//! A store with one memory, whose file is changed by hand.

use crate::support::memory_text;
use crate::support::program::Home;

/// The file of the memory.
pub const NAME: &str = "20260101_000000_aaaaaaaa.md";

/// The file's text with this content.
pub fn text(content: &str) -> String {
    memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", content)
}

/// A store with the memory, committed.
pub fn home_with(content: &str) -> Home {
    let home = Home::new();
    write(&home, content);
    home
}

/// Changes the memory as an editor does, and commits it.
pub fn write(home: &Home, content: &str) {
    home.put(NAME, text(content));
    home.run(&["sync"]).done();
}
