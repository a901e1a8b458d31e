//! What `memdir verify` prints, and how it ends.

use std::fs;

use super::{NEW, ONE, new, one, with};
use crate::support::program::Home;
use crate::support::regular_files;

/// Runs `memdir verify` on a store with one damage: it ends with `code` and says `part`.
#[track_caller]
fn check_program(seed: impl Fn(&Home), code: i32, part: &str) {
    let home = Home::new();
    home.put(ONE, one());
    home.run(&["reindex"]).done();
    assert_eq!(home.run(&["verify"]).code, 0);
    seed(&home);
    let ran = home.run(&["verify"]);
    assert_eq!(ran.code, code, "{ran:?}");
    assert!(ran.text().contains(part), "{ran:?}");
    let proof = home.run(&["verify", "--json"]).json();
    assert_eq!(proof["sound"], code == 0, "{proof}");
}

#[test]
fn the_program_names_the_file_and_ends_with_1() {
    check_program(
        |home| home.put(NEW, ""),
        1,
        "files/20260104_000000_dddddddd.md: the file is empty\n",
    );
    check_program(
        |home| {
            home.make("store/files/old");
            home.put(&format!("old/{ONE}"), one());
        },
        1,
        "files/old/20260101_000000_aaaaaaaa.md: `20260101_000000_aaaaaaaa.md` has the same name\n",
    );
    check_program(
        |home| {
            home.put(
                NEW,
                new().replace(
                    "topics: [test]\n",
                    "topics: [test]\n<<<<<<< a\n=======\n>>>>>>> b\n",
                ),
            );
        },
        1,
        "files/20260104_000000_dddddddd.md: the text holds git conflict markers\n",
    );
}

#[test]
fn the_program_notes_what_is_sound_and_ends_with_0() {
    check_program(
        |home| home.put("copy.md", one()),
        0,
        "files/copy.md: the file name is not YYYYMMDD_HHMMSS_<8 hex>.md\n",
    );
    check_program(
        |home| home.put(NEW, with("superseded_by: 20250101_000000_abcdef01")),
        0,
        "files/20260104_000000_dddddddd.md: key `superseded_by` names `20250101_000000_abcdef01`, which is not in the store\n",
    );
}

#[test]
fn the_program_names_damage_of_the_index_once_and_then_has_mended_it() {
    let home = Home::new();
    home.put(ONE, one());
    home.run(&["reindex"]).done();
    let index = regular_files(&home.store().join(".memdir"));
    let term = index
        .iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "term"))
        .unwrap();
    fs::remove_file(term).unwrap();
    let ran = home.run(&["verify"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.text().contains("index: "), "{ran:?}");
    home.run(&["reindex", "--full"]).done();
    home.run(&["verify"]).done();
}
