//! What one change of git's index costs: by our editor of its bytes, and by libgit2.
//!
//! `cargo bench --bench git_index`. The index has 10,000 entries with stamps, one of which changes.
//! Both read it from a file and put the new one into a file beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use divan::Bencher;
use git2::{Index, IndexEntry, IndexTime, Oid};

#[allow(dead_code, reason = "the bench needs only a part of it")]
#[path = "../src/git/committing/index_file.rs"]
mod index_file;

use index_file::{Edit, Entry};

fn main() {
    divan::main();
}

const ENTRIES: u32 = 10_000;
const MODE: u32 = 0o100_644;

fn id(number: u32) -> Oid {
    let mut bytes = [7; 20];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    Oid::from_bytes(&bytes).expect("twenty bytes are an id")
}

fn path(number: u32) -> Vec<u8> {
    format!("files/20260114_091500_{number:08x}-a-title-of-usual-length.md").into_bytes()
}

fn entry(number: u32) -> Entry {
    Entry {
        changed: (1_768_000_000, number),
        modified: (1_768_000_000, number),
        device: 5,
        inode: number,
        user: 1000,
        group: 1000,
        size: 1900,
        ..Entry::unstamped(id(number), MODE)
    }
}

/// The bytes of an index as it stands beside 10,000 memories.
fn index() -> Vec<u8> {
    let edit = |number| {
        let after = Some(entry(number));
        (
            path(number),
            Edit {
                before: None,
                after,
            },
        )
    };
    let edits: BTreeMap<Vec<u8>, Edit> = (0..ENTRIES).map(edit).collect();
    index_file::edited(&index_file::empty(), &(0..0), &edits).expect("an empty index is understood")
}

fn in_folder(work: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a folder for the index");
    fs::write(folder.path().join("index"), index()).expect("the index is written");
    work(folder.path());
}

#[divan::bench]
fn bytes_edited(bencher: Bencher<'_, '_>) {
    in_folder(|folder| {
        bencher.bench_local(|| {
            let edit = Edit {
                before: Some(id(5_000)),
                after: Some(entry(20_000)),
            };
            let edits = BTreeMap::from([(path(5_000), edit)]);
            let bytes = fs::read(folder.join("index")).expect("the index is read");
            let bytes = index_file::edited(&bytes, &(0..0), &edits).expect("it is understood");
            fs::write(folder.join("new"), bytes).expect("the index is written");
        });
    });
}

#[divan::bench]
fn library(bencher: Bencher<'_, '_>) {
    in_folder(|folder| {
        bencher.bench_local(|| {
            // Its own reader looks at the file only once.
            fs::copy(folder.join("index"), folder.join("new")).expect("the index is copied");
            let mut index = Index::open(&folder.join("new")).expect("the index is read");
            let time = IndexTime::new(1_768_000_000, 0);
            let entry = IndexEntry {
                ctime: time,
                mtime: time,
                dev: 5,
                ino: 20_000,
                mode: MODE,
                uid: 1000,
                gid: 1000,
                file_size: 1900,
                id: id(20_000),
                flags: 0,
                flags_extended: 0,
                path: path(5_000),
            };
            index.add(&entry).expect("an entry is changed");
            index.write().expect("the index is written");
        });
    });
}
