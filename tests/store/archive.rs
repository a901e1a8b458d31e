//! Forgotten memories: listed, brought back, taken away for good.

use std::fs;

use chrono::TimeDelta;

use crate::support::git::Git;
use crate::support::program::{Home, names};
use crate::support::{TestStore, memory_text, new_memory, noon};
use memdir::engine::ops;

#[test]
fn the_family_says_and_does_what_the_single_commands_do() {
    let home = Home::new();
    let id = home.remember(&["The heron stands still."]);
    home.run(&["forget", &id, "--reason", "moved"]).done();
    let listed = home.run(&["archive", "list", "--json"]).json();
    assert_eq!(listed, home.run(&["archived", "--json"]).json());
    assert_eq!(listed["archived"][0]["id"], id.as_str());
    assert_eq!(listed["archived"][0]["why"], "moved");
    assert_eq!(
        home.run(&["archive", "restore", &id]).done(),
        format!("restored {id}\n")
    );
    assert!(home.text_of(&id).contains("heron"));
}

#[test]
fn purging_takes_the_forgotten_away_for_good_and_lets_others_live() {
    let home = Home::new();
    let ids = ["a heron", "a stork", "an egret"].map(|text| home.remember(&[text]));
    home.run(&["forget", &ids[0], &ids[1]]).done();
    let said = home.run(&["archive", "purge", &ids[0], &ids[1], "--yes", "--json"]);
    let said = said.json();
    assert_eq!(said["purged"].as_array().unwrap().len(), 2, "{said}");
    assert_eq!(said["purged"][0]["in_history"], true);
    assert_eq!(names(&home.store().join("archive")).len(), 0);
    let stones = names(&home.store().join("tombstones"));
    assert_eq!(stones.len(), 2, "{stones:?}");
    assert!(home.text_of(&ids[2]).contains("egret"));
    let git = Git::of(&home);
    assert_eq!(git.subjects()[0], "Purge 2 memories");
    git.assert_sound();
    assert_eq!(home.run(&["verify"]).code, 0);
    // A live memory is none of its business.
    let ran = home.run(&["archive", "purge", &ids[2], "--yes"]);
    ran.complains(2, &["no memory is called"]);
    assert!(home.text_of(&ids[2]).contains("egret"));
}

#[test]
fn a_live_memory_of_the_same_id_stays_and_no_word_takes_it_away() {
    let home = Home::new();
    let name = "20260101_000000_aaaaaaaa.md";
    let text = |content: &str| memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", content);
    home.put(name, text("live"));
    home.write(&format!("store/archive/{name}"), text("forgotten"));
    home.run(&["archive", "purge", "aaaaaaaa", "--yes"]).done();
    assert_eq!(home.text_of("aaaaaaaa"), text("live"));
    assert!(!home.store().join("archive").join(name).exists());
    assert!(!home.store().join("tombstones").exists());
    assert_eq!(home.run(&["verify"]).code, 0);
    Git::of(&home).assert_sound();
}

#[test]
fn nothing_is_purged_unasked_or_undescribed() {
    let home = Home::new();
    let id = home.remember(&["a heron"]);
    home.run(&["forget", &id]).done();
    let file = names(&home.store().join("archive"));
    home.run(&["archive", "purge", &id])
        .complains(2, &["nobody can be asked", "--yes"]);
    home.run(&["archive", "purge", "--yes"])
        .complains(2, &["nothing says which", "--older-than"]);
    home.run(&["--read-only", "archive", "purge", &id, "--yes"])
        .complains(2, &["can only be read"]);
    let planned = home.run(&["archive", "purge", &id, "--dry-run", "--json"]);
    let planned = planned.json();
    assert_eq!(
        planned["would_purge"][0]["files"][0],
        format!("archive/{}", file[0])
    );
    let ran = home.run(&["archive", "purge", "--older-than", "1d", "--yes"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_eq!(names(&home.store().join("archive")), file);
    assert!(!home.store().join("tombstones").exists());
    // All of what is there, however young.
    let ran = home.run(&["archive", "purge", "--older-than", "0d", "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(names(&home.store().join("archive")).len(), 0);
}

#[test]
fn when_it_was_forgotten_counts_and_not_when_it_was_written() {
    let store = TestStore::new();
    let engine = store.engine();
    let stems = ["a heron", "a stork"].map(|text| {
        let remembered = ops::remember(&engine, new_memory(text), None).unwrap();
        remembered.stem
    });
    ops::forget(&engine, stems[0].as_str()).unwrap();
    let later = store.engine_at(noon() + TimeDelta::days(100));
    ops::forget(&later, stems[1].as_str()).unwrap();
    let at = |stem: &str| {
        let forgotten = ops::archived(&later).unwrap();
        let one = forgotten
            .into_iter()
            .find(|one| one.memory.stem.as_str() == stem);
        one.unwrap().at
    };
    assert_eq!(at(stems[0].as_str()), noon());
    assert_eq!(at(stems[1].as_str()), noon() + TimeDelta::days(100));
    // Brought back and forgotten again, it went the second time.
    ops::restore(&later, stems[0].as_str()).unwrap();
    let last = store.engine_at(noon() + TimeDelta::days(200));
    ops::forget(&last, stems[0].as_str()).unwrap();
    assert_eq!(at(stems[0].as_str()), noon() + TimeDelta::days(200));
    // Without a record, since when its file is as it is.
    fs::remove_dir_all(store.root().join("journal")).unwrap();
    assert_ne!(at(stems[0].as_str()), noon() + TimeDelta::days(200));
}

#[test]
fn a_record_of_its_writing_does_not_say_when_it_was_forgotten() {
    let store = TestStore::new();
    let engine = store.engine();
    let moved = ["a heron", "a stork"].map(|text| {
        let remembered = ops::remember(&engine, new_memory(text), None).unwrap();
        remembered.stem.as_str().to_owned()
    });
    ops::forget(&engine, &moved[1]).unwrap();
    let archive = store.root().join("archive");
    let name = format!("{}.md", moved[0]);
    let written = fs::metadata(store.root().join("files").join(&name)).unwrap();
    // By hand: no journal tells of it.
    fs::rename(store.root().join("files").join(&name), archive.join(&name)).unwrap();
    let forgotten = ops::archived(&engine).unwrap();
    let one = |stem: &str| {
        let mut all = forgotten.iter();
        all.find(|one| one.memory.stem.as_str() == stem).unwrap()
    };
    assert!(one(&moved[0]).record.is_none());
    let written: chrono::DateTime<chrono::Utc> = written.modified().unwrap().into();
    assert!(one(&moved[0]).at >= written);
    // What cannot be taken back counts from when the file came to lie there, if that is later.
    for stem in &moved {
        assert!(one(stem).settled >= written.max(one(stem).at));
    }
    assert_eq!(one(&moved[1]).at, noon());
}
