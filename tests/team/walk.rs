//! A random walk: the same steps on a directory and on rows have the same results.

use std::collections::BTreeMap;

use memdir::files::{FilesError, Place, Store, Version, WritableStorage};
use proptest::prelude::*;

use crate::postgres::TestDatabase;
use crate::support::random;

/// One step, with numbers of files and texts.
#[derive(Debug, Clone)]
enum Step {
    Add(u8, u8, u8),
    AddMany(u8, Vec<(u8, u8)>),
    Read(u8, u8),
    Replace(u8, u8, u8),
    ReplaceMany(u8, Vec<(u8, u8)>),
    Remove(u8, u8),
    Relocate(u8, u8),
    Rename(u8, u8, u8),
    PutBeside(u8, Option<u8>),
    AddCopy(u8, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let file = 0..6_u8;
    let place = 0..2_u8;
    let text = 0..5_u8;
    let many = || prop::collection::vec((0..6_u8, 0..5_u8), 0..5);
    prop_oneof![
        (place.clone(), file.clone(), text.clone()).prop_map(|(p, f, t)| Step::Add(p, f, t)),
        (place.clone(), many()).prop_map(|(p, files)| Step::AddMany(p, files)),
        (place.clone(), file.clone()).prop_map(|(p, f)| Step::Read(p, f)),
        (place.clone(), file.clone()).prop_map(|(p, f)| Step::Read(p, f)),
        (place.clone(), file.clone(), text.clone()).prop_map(|(p, f, t)| Step::Replace(p, f, t)),
        (place.clone(), many()).prop_map(|(p, files)| Step::ReplaceMany(p, files)),
        (place.clone(), file.clone()).prop_map(|(p, f)| Step::Remove(p, f)),
        (place.clone(), file.clone()).prop_map(|(p, f)| Step::Relocate(p, f)),
        (place, file.clone(), file.clone()).prop_map(|(p, f, t)| Step::Rename(p, f, t)),
        (file.clone(), prop::option::of(text.clone())).prop_map(|(f, t)| Step::PutBeside(f, t)),
        (file, text).prop_map(|(f, t)| Step::AddCopy(f, t)),
    ]
}

fn place(number: u8) -> Place {
    match number {
        0 => Place::Files,
        _ => Place::Archive,
    }
}

fn name(number: u8) -> String {
    let folder = ["", "2026/", "2026/01/"][usize::from(number % 3)];
    format!("{folder}20260101_000000_0000000{number}.md")
}

/// A text; different for each number, and for some very long.
fn text(number: u8) -> Vec<u8> {
    vec![b'a' + number; [0, 3, 40, 5_000, 90_000][usize::from(number)]]
}

/// A walker over one storage, who remembers what was read.
struct Walker<'a> {
    storage: &'a dyn WritableStorage,
    seen: BTreeMap<(u8, u8), Version>,
    beside: BTreeMap<u8, Version>,
}

/// Returns what of a result is the same on every storage.
fn shown<T: std::fmt::Debug>(result: Result<T, FilesError>) -> String {
    match result {
        Ok(done) => format!("{done:?}"),
        Err(FilesError::Taken { .. }) => "taken".to_owned(),
        Err(FilesError::Missing { .. }) => "missing".to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

impl Walker<'_> {
    fn walk(&mut self, step: &Step) -> String {
        let storage = self.storage;
        match step {
            Step::Add(p, f, t) => shown(storage.add(place(*p), &name(*f), &text(*t))),
            Step::AddMany(p, files) => {
                // Of two texts for one name the first in order wins.
                let files: BTreeMap<u8, u8> = files.iter().rev().copied().collect();
                let files: Vec<_> = files.iter().map(|(f, t)| (name(*f), text(*t))).collect();
                let added = storage.add_many(place(*p), &files).into_iter();
                added.map(shown).collect::<Vec<_>>().join(" ")
            }
            Step::Read(p, f) => {
                let read = storage.reader(place(*p)).read(&name(*f), u64::MAX);
                if let Ok(version) = &read {
                    self.seen.insert((*p, *f), version.clone());
                }
                shown(read.map(|version| (version.hash, version.bytes.len())))
            }
            Step::Replace(p, f, t) => match self.seen.get(&(*p, *f)) {
                None => String::new(),
                Some(seen) => shown(storage.replace(place(*p), &name(*f), seen, &text(*t))),
            },
            Step::ReplaceMany(p, files) => {
                let files: BTreeMap<u8, u8> = files.iter().copied().collect();
                let known = |(f, t): (u8, u8)| {
                    let seen = self.seen.get(&(*p, f))?.clone();
                    Some((name(f), seen, text(t)))
                };
                let files: Vec<_> = files.into_iter().filter_map(known).collect();
                let replaced = storage.replace_many(place(*p), &files).into_iter();
                replaced.map(shown).collect::<Vec<_>>().join(" ")
            }
            Step::Remove(p, f) => match self.seen.get(&(*p, *f)) {
                None => String::new(),
                Some(seen) => shown(storage.remove(place(*p), &name(*f), seen)),
            },
            Step::Relocate(p, f) => shown(storage.relocate(&name(*f), place(*p), place(1 - *p))),
            Step::Rename(p, f, t) if f == t => format!("{p}"),
            Step::Rename(p, f, t) => {
                shown(storage.rename((place(*p), &name(*f)), (place(*p), &name(*t))))
            }
            Step::PutBeside(f, t) => {
                let path = format!("proposals/{f}.md");
                let bytes = t.map(text);
                let seen = self.beside.get(f).cloned();
                let put = shown(storage.put_beside(&path, seen.as_ref(), bytes.as_deref()));
                match storage.version_at(&path).unwrap() {
                    Some(version) => drop(self.beside.insert(*f, version)),
                    None => drop(self.beside.remove(f)),
                }
                put
            }
            Step::AddCopy(f, t) => shown(storage.add_copy(&name(*f), &text(*t))),
        }
    }

    /// Returns all files with the hashes of their texts.
    fn files(&self) -> Vec<(String, u64, u128)> {
        let mut files = Vec::new();
        for place in [Place::Files, Place::Archive] {
            let reader = self.storage.reader(place);
            for entry in self.storage.list(place).unwrap().entries {
                let hash = reader.read(&entry.name, 0).unwrap().hash;
                files.push((place.path_of(&entry.name), entry.stamp.size, hash));
            }
        }
        let mut beside = self.storage.names_beside("proposals").unwrap();
        beside.sort_unstable();
        for name in beside {
            let path = format!("proposals/{name}");
            let version = self.storage.version_at(&path).unwrap().unwrap();
            files.push((path, version.entry.stamp.size, version.hash));
        }
        files
    }
}

#[test]
fn the_same_steps_have_the_same_results() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let number = std::cell::Cell::new(0);
    proptest!(random(40), |(steps in prop::collection::vec(step(), 1..40))| {
        number.set(number.get() + 1);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".memdir/locks")).unwrap();
        let directory = Store::at(folder.path());
        directory.create().unwrap();
        let rows = test.workspace(&format!("walk-{}", number.get()));
        let walker = |storage| Walker { storage, seen: BTreeMap::new(), beside: BTreeMap::new() };
        let (mut one, mut other) = (walker(&directory), walker(&rows as &dyn WritableStorage));
        for step in &steps {
            prop_assert_eq!(one.walk(step), other.walk(step), "{:?}", step);
            prop_assert_eq!(one.files(), other.files(), "{:?}", step);
        }
    });
}
