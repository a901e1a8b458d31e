//! `memdir export --to FOLDER`: a store as a folder of notes.

use std::collections::BTreeMap;
use std::fs;

use super::{VAULT, texts, vault};
use crate::support::program::{Home, run};

#[test]
fn a_store_of_notes_is_given_back_as_they_were() {
    let home = Home::new();
    vault(&home.files());
    let said = home.run(&["export", "--to", "given"]).done();
    let folder = home.root().join("given");
    assert_eq!(
        said,
        format!("wrote 4 files to {}, 0 were there\n", folder.display())
    );
    let mut notes: Vec<(String, String)> = VAULT[..4]
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    notes.sort();
    assert_eq!(texts(&folder), notes);
    assert!(!folder.join(".trash").exists());
}

#[test]
fn what_was_adopted_is_given_back_by_its_titles_with_links_that_lead_there() {
    let home = Home::new();
    vault(&home.files());
    home.run(&["adopt", "--yes"]).done();
    home.run(&["export", "--to", "given"]).done();
    let given: BTreeMap<String, String> = texts(&home.root().join("given")).into_iter().collect();
    let names: Vec<&str> = given.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "Daily/2024-03-01.md",
            "Garden/Roses.md",
            "Garden/Tulips.md",
            "Home.md"
        ]
    );
    let tulips = &given["Garden/Tulips.md"];
    assert!(
        tulips.ends_with(
            "---\nRed ones, beside [[Roses#Care|roses#Care]]. Back [home](../Home.md).\n"
        ),
        "{tulips}"
    );
    assert!(given["Garden/Roses.md"].ends_with("Water [them](<Tulips.md>).\r\n"));
    assert!(given["Home.md"].contains("[[Tulips|Tulips]] and [[Roses|the roses]]"));
}

#[test]
fn memories_get_files_by_title_in_folders_of_their_namespaces() {
    let home = Home::new();
    let atlas = home.remember(&[
        "Atlas.",
        "--title",
        "How/we: deploy #1",
        "--namespace",
        "atlas/web",
        "--topics",
        "a",
    ]);
    let one = home.remember(&[
        &format!("Same. See [[{atlas}]] and `[[{atlas}]]`."),
        "--title",
        "Same",
        "--namespace",
        "global",
        "--topics",
        "a",
    ]);
    let two = home.remember(&[
        "same, too.",
        "--title",
        "same",
        "--namespace",
        "global",
        "--topics",
        "a",
    ]);
    home.remember(&["..", "--namespace", "../..", "--topics", "a"]);
    home.run(&["export", "--to", "given", "--topics", "a"])
        .done();
    let given = texts(&home.root().join("given"));
    let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"atlas/web/How we deploy 1.md"), "{names:?}");
    // Of two that some systems cannot tell apart one has its id, too; what says nothing has its stem.
    let is_same = |name: &&&str| name.to_lowercase().starts_with("same");
    let same: Vec<&&str> = names.iter().filter(is_same).collect();
    let with_id = [format!("same {two}.md"), format!("Same {one}.md")];
    assert_eq!(same.len(), 2, "{names:?}");
    assert!(
        same.iter()
            .any(|name| with_id.contains(&(**name).to_string())),
        "{names:?}"
    );
    assert!(names.iter().any(|name| name.starts_with("20")), "{names:?}");
    assert_eq!(names.len(), 4, "{names:?}");
    let text = &given
        .iter()
        .find(|(_, text)| text.contains("See"))
        .unwrap()
        .1;
    assert!(
        text.contains("See [[How we deploy 1|") && text.contains(&format!("`[[{atlas}]]`")),
        "{text}"
    );
}

#[test]
fn a_second_export_adds_what_is_new_and_replaces_nothing() {
    let home = Home::new();
    vault(&home.files());
    home.run(&["export", "--to", "given"]).done();
    let folder = home.root().join("given");
    fs::write(folder.join("Home.md"), "changed here\n").unwrap();
    home.remember(&[
        "A wren.",
        "--title",
        "Wren",
        "--namespace",
        "global",
        "--topics",
        "a",
    ]);
    let ran = home.run(&["export", "--to", "given"]);
    ran.complains(
        2,
        &["not written: Home.md: another text is there, and stays"],
    );
    assert_eq!(
        ran.text(),
        format!("wrote 1 files to {}, 3 were there\n", folder.display())
    );
    assert_eq!(
        fs::read_to_string(folder.join("Home.md")).unwrap(),
        "changed here\n"
    );
    assert!(folder.join("Wren.md").exists());
}

#[test]
fn a_folder_that_would_be_memories_again_or_a_format_is_refused() {
    let home = Home::new();
    home.remember(&["A wren.", "--topics", "a"]);
    let inside = home.files().join("given");
    home.run(&["export", "--to", inside.to_str().unwrap()])
        .complains(2, &["it lies in the store"]);
    home.run(&["export", "--to", "json"])
        .complains(2, &["none of jsonl, markdown"]);
    home.run(&["export", "--to", "no/such"])
        .complains(2, &["does not exist"]);
}

#[cfg(unix)]
#[test]
fn no_link_in_the_folder_is_followed() {
    let home = Home::new();
    home.write("store/files/Sub/a.md", "A wren.\n");
    let (folder, elsewhere) = (home.make("given"), home.make("elsewhere"));
    std::os::unix::fs::symlink(&elsewhere, folder.join("Sub")).unwrap();
    assert_eq!(home.run(&["export", "--to", "given"]).code, 2);
    assert_eq!(crate::support::program::names(&elsewhere), [""; 0]);
}

#[test]
fn a_vault_that_is_open_in_place_is_given_back() {
    let home = Home::new();
    vault(&home.make("vault"));
    let at = home.root().join("vault");
    run(home.bare().args(["init", "--notes", "vault"])).done();
    run(home
        .bare()
        .current_dir(&at)
        .args(["export", "--to", "../given"]))
    .done();
    assert_eq!(texts(&home.root().join("given")).len(), 4);
    let inside = run(home
        .bare()
        .current_dir(&at)
        .args(["export", "--to", "given"]));
    inside.complains(2, &["it lies in the store"]);
}
