//! `memdir adopt`: notes get ids and names, and the links to them follow.

use std::collections::BTreeMap;
use std::fs;

use super::{texts, vault};
use crate::support::program::Home;

/// A home whose store holds the vault's notes.
fn home() -> Home {
    let home = Home::new();
    vault(&home.files());
    home
}

/// The present texts of the four notes by what their titles are, and their names by the same.
fn adopted(home: &Home) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let (mut by_title, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (name, text) in texts(&home.files()) {
        let Some(title) = text.lines().find_map(|line| line.strip_prefix("title: ")) else {
            continue;
        };
        let title = title.trim_matches('"').to_owned();
        let stem = name
            .rsplit('/')
            .next()
            .unwrap()
            .strip_suffix(".md")
            .unwrap();
        names.insert(title.clone(), stem.to_owned());
        by_title.insert(title, text);
    }
    (by_title, names)
}

#[test]
fn adopting_is_shown_first_and_changes_nothing() {
    let home = home();
    let before = texts(&home.files());
    let ran = home.run(&["adopt"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (0, "nothing was done yet; --yes does it\n")
    );
    let said = ran.text();
    assert!(
        said.contains("files/Garden/Tulips.md -> files/Garden/20240305_060708_….md\n"),
        "{said}"
    );
    assert!(
        said.contains("files/Daily/2024-03-01.md -> files/Daily/20240301_080000_….md\n"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 4, "{said}");
    assert_eq!(texts(&home.files()), before);
}

#[test]
fn an_adoption_that_was_cut_short_is_told_until_it_is_finished() {
    let home = Home::new();
    for number in 0..400 {
        home.put(
            &format!("Note {number}.md"),
            format!("A magpie, {number}.\n"),
        );
    }
    let mut command = home.command(&["adopt", "--yes"]);
    command.stdout(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let has_begun = || {
        let texts = texts(&home.files());
        texts.iter().any(|(_, text)| text.starts_with("---"))
    };
    while !has_begun() {
        assert!(child.try_wait().unwrap().is_none(), "it ended at once");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for command in ["status", "verify"] {
        let said = home.run(&[command]).text();
        assert!(
            said.contains("an adoption of notes was cut short")
                && said.contains("memdir adopt --yes"),
            "{command}: {said}"
        );
    }
    // Of one note alone is not all.
    home.run(&["adopt", "--yes", "Note 399.md"]);
    assert!(home.run(&["status"]).text().contains("cut short"));
    home.run(&["adopt", "--yes"]).done();
    for command in ["status", "verify"] {
        let said = home.run(&[command]).text();
        assert!(!said.contains("cut short"), "{command}: {said}");
    }
    assert_eq!(texts(&home.files()).len(), 400);
}

#[test]
fn adopted_notes_have_ids_and_names_and_links_still_lead_to_them() {
    let home = home();
    let others = |home: &Home| {
        let mut texts = texts(&home.files());
        texts.retain(|(name, _)| !name.ends_with(".md"));
        texts
    };
    let before = others(&home);
    home.remember(&["Plant [[Tulips]] again.", "--topics", "plan"]);
    home.run(&["adopt", "--yes"]).done();
    assert_eq!(others(&home), before);
    assert!(home.files().join(".trash/Old.md").exists());
    let (texts, names) = adopted(&home);
    let (home_stem, tulips) = (&names["Home"], &names["Tulips"]);
    let (roses, daily) = (&names["Roses"], &names["2024-03-01"]);
    assert!(tulips.starts_with("20240305_060708_"), "{tulips}");
    assert!(daily.starts_with("20240301_080000_"), "{daily}");
    let head = |id: &str, time: &str| {
        format!(
            "---\nid: {}\ntimestamp: {time}\nagent: cli\nuser: ",
            &id[16..]
        )
    };
    let time = "2024-03-05T06:07:08.000000+00:00";
    assert!(
        texts["Tulips"].starts_with(&head(tulips, time)),
        "{}",
        texts["Tulips"]
    );
    let rest = format!(
        "title: Tulips\ntags:\n  - garden\naliases: [Tulipa]\n---\nRed ones, beside [[{roses}#Care|roses#Care]]. Back [home](../{home_stem}.md).\n"
    );
    assert!(texts["Tulips"].ends_with(&rest), "{}", texts["Tulips"]);
    let rest = format!(
        "title: Roses\r\n---\r\n\r\nRoses.\r\n\r\n## Care\r\nWater [them](<{tulips}.md>).\r\n"
    );
    assert!(texts["Roses"].ends_with(&rest), "{}", texts["Roses"]);
    let rest = format!(
        "---\n\n# Home\n\nSee [[{tulips}|Tulips]] and [[{roses}|the roses]].\n\n![[bed.png]]\n"
    );
    assert!(texts["Home"].ends_with(&rest), "{}", texts["Home"]);
    let rest = format!(
        "up: \"[[{home_stem}|Home]]\"\n---\n- [x] plant [[{tulips}|Tulips]]\n`[[Tulips]]`\n"
    );
    assert!(
        texts["2024-03-01"].ends_with(&rest),
        "{}",
        texts["2024-03-01"]
    );
    // Others that mention a note still do.
    let links = home.run(&["links", tulips]).done();
    assert!(links.contains("Plant"), "{links}");
    assert!(home.run(&["verify"]).done().ends_with(": sound\n"));
    assert_eq!(
        home.run(&["status", "--json"]).json()["problems"],
        serde_json::json!([])
    );
    // Nothing is left to be done; and it can be taken back.
    assert_eq!(home.run(&["adopt", "--yes"]).code, 1);
}

#[test]
fn adopting_is_one_deed_that_undo_takes_back() {
    let home = home();
    home.run(&["sync"]);
    let before = texts(&home.files());
    home.run(&["adopt", "--yes"]).done();
    assert_ne!(texts(&home.files()), before);
    home.run(&["undo"]).done();
    assert_eq!(texts(&home.files()), before);
}

#[test]
fn named_notes_are_adopted_alone_and_keys_that_name_them_follow() {
    let home = home();
    let id = home.remember(&["A plan.", "--topics", "plan"]);
    home.run(&["link", &id, "Roses", "--type", "needs"]).done();
    home.run(&["supersede", "Tulips", &id]).done();
    let path = home.files().join("Garden/Roses.md");
    let said = home
        .run(&["adopt", path.to_str().unwrap(), "Tulips", "--yes", "--json"])
        .json();
    assert_eq!(said["adopted"].as_array().unwrap().len(), 2, "{said}");
    let (_, names) = adopted(&home);
    assert_eq!(names.keys().collect::<Vec<_>>(), ["Roses", "Tulips"]);
    let text = home.text_of(&id);
    assert!(
        text.contains(&format!("{{to: {}, type: needs}}", names["Roses"])),
        "{text}"
    );
    assert!(
        text.contains(&format!("supersedes: [{}]", names["Tulips"])),
        "{text}"
    );
    assert!(home.files().join("Home.md").exists());
}

#[test]
fn a_run_that_was_cut_short_is_finished_with_the_same_names() {
    let home = home();
    home.run(&["adopt", "--yes"]).done();
    let (_, names) = adopted(&home);
    let done = texts(&home.files());
    // As before the files got their names.
    let roses = home.files().join(format!("Garden/{}.md", names["Roses"]));
    fs::rename(roses, home.files().join("Garden/Roses.md")).unwrap();
    home.run(&["adopt", "--yes"]).done();
    assert_eq!(texts(&home.files()), done);
}

#[test]
fn what_cannot_be_adopted_stays_and_says_why() {
    let home = Home::new();
    home.write("store/files/open.md", "---\ntitle: Open\ntext");
    home.write("store/files/wide.md", b"\xff\xfeT\0");
    home.write("store/files/empty.md", "");
    let before = fs::read(home.files().join("wide.md")).unwrap();
    let ran = home.run(&["adopt", "--yes"]);
    ran.complains(
        2,
        &[
            "files/open.md stays as it is: its frontmatter has no closing",
            "files/wide.md stays",
            "UTF-8",
        ],
    );
    assert_eq!(fs::read(home.files().join("wide.md")).unwrap(), before);
}

#[test]
fn plain_notes_are_sound_and_status_names_the_command_for_them() {
    let home = home();
    let said = home.run(&["verify"]).done();
    assert!(
        said.ends_with("4 files compared with the index: sound\n"),
        "{said}"
    );
    assert!(said.contains("`memdir adopt` gives it an id"), "{said}");
    assert!(
        !said.contains("no-frontmatter") && !said.contains("missing-key"),
        "{said}"
    );
}
