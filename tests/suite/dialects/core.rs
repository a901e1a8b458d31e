//! The usual tool set's list; what its tools do is tried in `core_dialect`.

use super::check_tools;
use super::listed;
use super::open;
use crate::program::Home;

#[test]
fn the_list_of_tools_is_always_the_same() {
    let home = Home::new();
    let tools = listed(&mut open(&home, "core", &[]));
    home.run(&["remember", "--topics", "a", "A memory."]).done();
    assert_eq!(listed(&mut open(&home, "core", &[])), tools);
    check_tools("core", &tools);
    let more = listed(&mut open(&home, "core", &["--tools", "all"]));
    check_tools("core-all", &more);
}
