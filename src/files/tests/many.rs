//! Files that are written many at once.

use std::fs;

use crate::files::storage::{Storage, WritableStorage};
use crate::files::{FilesError, Place, Replaced, Store};

const NAME: &str = "20260101_000000_aaaaaaaa.md";
const OTHER: &str = "20260101_000000_bbbbbbbb.md";

#[test]
fn many_files_are_added_and_replaced_as_each_would_be() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path(), &folder.path().join(".memdir"));
    store.create().unwrap();
    fs::write(store.path(Place::Files, NAME), "ours").unwrap();
    let file = |number: usize| {
        (
            format!("20260101_000000_{number:08x}.md"),
            vec![b'a'; number],
        )
    };
    let mut files: Vec<_> = (0..50).map(file).collect();
    files.push((NAME.to_owned(), b"taken".to_vec()));
    files.push((
        "2026-02/20260201_000000_00000000.md".to_owned(),
        b"month".to_vec(),
    ));
    let added = store.add_many(Place::Files, &files);
    assert!(matches!(added[50], Err(FilesError::Taken { .. })));
    assert_eq!(added.iter().filter(|added| added.is_ok()).count(), 51);
    let read = |name: &str| store.reader(Place::Files).read(name, 100).unwrap();
    assert_eq!(read(NAME).bytes, b"ours");
    assert!((0..50).all(|number| read(&file(number).0).bytes.len() == number));
    let mut changes: Vec<_> = (0..50)
        .map(|number| (file(number).0, read(&file(number).0), b"new".to_vec()))
        .collect();
    // Somebody was faster.
    fs::write(store.path(Place::Files, &changes[7].0), "theirs").unwrap();
    changes.push((OTHER.to_owned(), read(NAME), b"nobody".to_vec()));
    let replaced = store.replace_many(Place::Files, &changes);
    assert!(matches!(replaced[7], Ok(Replaced::Stale)));
    assert!(matches!(replaced[50], Err(FilesError::Missing { .. })));
    assert_eq!(read(&changes[7].0).bytes, b"theirs");
    assert_eq!(read(&changes[8].0).bytes, b"new");
    let done = replaced
        .iter()
        .filter(|one| matches!(one, Ok(Replaced::Done)));
    assert_eq!(done.count(), 49);
}
