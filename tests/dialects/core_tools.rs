//! The usual tool set's list; what its tools do is tried in `core_dialect`.

use crate::support::dialect::{check_tools, listed, open};
use crate::support::program::Home;

#[test]
fn the_list_of_tools_is_always_the_same() {
    let home = Home::in_folder("the command line works on a folder");
    let tools = listed(&mut open(&home, "core", &[]));
    home.run(&["remember", "--topics", "a", "A memory."]).done();
    assert_eq!(listed(&mut open(&home, "core", &[])), tools);
    check_tools("core", &tools);
    let more = listed(&mut open(&home, "core", &["--tools", "all"]));
    check_tools("core-all", &more);
}
