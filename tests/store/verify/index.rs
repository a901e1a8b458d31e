//! Damage of the index.

use std::fs;
use std::path::Path;

use super::{NEW, ONE, new, one, sound_store, told};
use crate::support::{TestStore, at, holding, memory_text, regular_files, touch};
use memdir::engine::{live, ops};

/// Harms the one file of the index whose name ends with `ending`, and expects it to be named.
#[track_caller]
fn check_index(ending: &str, harm: impl Fn(&Path)) {
    let store = sound_store();
    let files = regular_files(&store.index());
    let path = files
        .iter()
        .find(|path| path.to_str().unwrap().ends_with(ending))
        .expect("the index has such a file");
    harm(path);
    let engine = store.engine();
    let proof = ops::verify(&engine).unwrap();
    assert!(!proof.is_sound());
    assert_eq!(told(&proof), []);
    let name = path.file_name().unwrap().to_str().unwrap();
    let is_named = proof.index_faults.iter().any(|fault| fault.contains(name));
    assert!(is_named, "{name}: {:?}", proof.index_faults);
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    assert!(ops::verify(&store.engine()).unwrap().is_sound());
}

fn flip(path: &Path, place: impl Fn(usize) -> usize) {
    let mut bytes = fs::read(path).unwrap();
    let place = place(bytes.len());
    bytes[place] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

#[test]
fn damage_of_the_index_is_found() {
    check_index(".term", |path| fs::remove_file(path).unwrap());
    check_index(".idx", |path| flip(path, |length| length / 2));
    check_index(".fast", |path| flip(path, |length| length / 3));
    check_index(".store", |path| fs::write(path, "").unwrap());
    check_index(".pos", |path| {
        let bytes = fs::read(path).unwrap();
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    });
    check_index("meta.json", |path| fs::write(path, "{").unwrap());
}

#[test]
fn an_index_of_another_text_is_found() {
    // Changed without a trace, while the clock said that this was long ago.
    let store = TestStore::new();
    store.put(ONE, one());
    let path = store.files().join(ONE);
    touch(&path, at("2026-05-01T00:00:00Z"));
    let engine = store.engine_at(at("2100-01-01T00:00:00Z"));
    assert_eq!(holding(&engine, "heron"), [ONE]);
    live::settle(&engine.live, true).unwrap();
    fs::write(&path, one().replace("heron", "eagle")).unwrap();
    touch(&path, at("2026-05-01T00:00:00Z"));
    let later = store.engine_at(at("2100-01-02T00:00:00Z"));
    let proof = ops::verify(&later).unwrap();
    assert_eq!(
        proof.index_faults,
        [format!("{ONE} is indexed with another text")]
    );
    assert!(!proof.is_sound());
}

#[test]
fn an_index_of_another_store_is_no_fault() {
    // Whatever it says differs from the files, so that it is no more than a slow start.
    let (one_store, other) = (sound_store(), TestStore::new());
    other.put(NEW, new());
    let engine = other.engine();
    assert_eq!(holding(&engine, "heron"), [NEW]);
    live::settle(&engine.live, true).unwrap();
    drop(engine);
    let folder = one_store.index();
    let foreign = other.index();
    fs::remove_dir_all(&folder).unwrap();
    fs::rename(foreign, folder).unwrap();
    let proof = ops::verify(&one_store.engine()).unwrap();
    assert_eq!(proof.index_faults, Vec::<String>::new());
    assert!(proof.is_sound());
    assert_eq!(holding(&one_store.engine(), "heron").len(), 2);
}

#[test]
fn what_others_write_while_it_looks_is_no_fault() {
    let store = sound_store();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let names: Vec<String> = (0..200)
                .map(|number| format!("20260201_000000_{number:08x}.md"))
                .collect();
            for round in 0..3 {
                for name in &names {
                    let content = format!("Round {round} of a busy writer.\n");
                    let text = memory_text(&name[16..24], "2026-02-01T00:00:00Z", &content);
                    store.put(name, text);
                }
            }
            names[..100]
                .iter()
                .for_each(|name| fs::remove_file(store.files().join(name)).unwrap());
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let engine = store.engine();
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            let proof = ops::verify(&engine).unwrap();
            assert_eq!(proof.index_faults, Vec::<String>::new());
        }
    });
    assert!(ops::verify(&store.engine()).unwrap().is_sound());
}
