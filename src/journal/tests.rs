use std::fs;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;

struct Scene {
    folder: tempfile::TempDir,
    journal: Journal,
}

fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let journal = opened(folder.path());
    Scene { folder, journal }
}

fn opened(root: &Path) -> Journal {
    let state = root.join(".memdir");
    fs::create_dir_all(state.join("locks")).unwrap();
    Journal::new(root, &state)
}

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn stem(number: u32) -> Stem {
    Stem::from_file_name(&format!("20260101_000000_{number:08x}"))
}

fn names(root: &Path) -> Vec<String> {
    let files = fs::read_dir(root.join("journal")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn uses_are_counted_by_whoever_reads_them() {
    let Scene { folder, journal } = scene();
    assert!(journal.uses().unwrap().is_empty());
    journal
        .used(at("2026-03-01T10:00:00Z"), &[stem(1), stem(2)])
        .unwrap();
    journal
        .used(at("2026-03-02T10:00:00Z"), &[stem(1)])
        .unwrap();
    journal.used(at("2026-03-02T10:00:00Z"), &[]).unwrap();
    for journal in [journal, opened(folder.path())] {
        let uses = journal.uses().unwrap();
        let usage = uses.of(stem(1).as_str()).unwrap();
        assert_eq!(
            (usage.count(), usage.last()),
            (2, Some(at("2026-03-02T10:00:00Z")))
        );
        assert_eq!(uses.of(stem(2).as_str()).unwrap().count(), 1);
        assert_eq!(uses.of(stem(3).as_str()), None);
    }
    assert_eq!(names(folder.path()).len(), 1);
}

#[test]
fn what_is_added_later_is_read_alone_and_once() {
    let Scene { folder, journal } = scene();
    let now = at("2026-03-01T10:00:00Z");
    let other = opened(folder.path());
    for count in 1..=3 {
        other.used(now, &[stem(1)]).unwrap();
        let uses = journal.uses().unwrap();
        assert_eq!(uses.of(stem(1).as_str()).unwrap().count(), count);
        assert!(
            Arc::ptr_eq(&uses, &journal.uses().unwrap()),
            "nothing is new"
        );
    }
}

#[test]
fn torn_and_foreign_lines_are_passed_over() {
    let Scene { folder, journal } = scene();
    let now = at("2026-03-01T10:00:00Z");
    journal.used(now, &[stem(1)]).unwrap();
    let path = folder.path().join("journal").join(&names(folder.path())[0]);
    let mut bytes = fs::read(&path).unwrap();
    let whole = bytes.clone();
    bytes.extend(b"\xff\xfe no line\n\n{\"t\":\"2026-03-01T10:00:00Z\",\"used\":[\"2026");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(
        opened(folder.path())
            .uses()
            .unwrap()
            .of(stem(1).as_str())
            .unwrap()
            .count(),
        1
    );
    journal.used(now, &[stem(1)]).unwrap();
    assert_eq!(
        opened(folder.path())
            .uses()
            .unwrap()
            .of(stem(1).as_str())
            .unwrap()
            .count(),
        2
    );
    // Of a journal that is cut anywhere, what is whole counts.
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(opened(folder.path()).uses().unwrap().is_empty());
    }
    // What is no journal is not looked at.
    fs::write(folder.path().join("journal/notes.txt"), &whole).unwrap();
    fs::create_dir(folder.path().join("journal/a.jsonl")).unwrap();
    assert!(opened(folder.path()).uses().unwrap().is_empty());
}

#[test]
fn a_copy_of_the_store_writes_a_journal_of_its_own() {
    let Scene { folder, journal } = scene();
    let now = at("2026-03-01T10:00:00Z");
    journal.used(now, &[stem(1)]).unwrap();
    let copy = tempfile::tempdir().unwrap();
    let other = opened(copy.path());
    fs::create_dir(copy.path().join("journal")).unwrap();
    for name in names(folder.path()) {
        let from = folder.path().join("journal").join(&name);
        fs::copy(from, copy.path().join("journal").join(&name)).unwrap();
    }
    let note = Path::new(".memdir/journal-id");
    fs::copy(folder.path().join(note), copy.path().join(note)).unwrap();
    other.used(now, &[stem(1)]).unwrap();
    assert_eq!(names(copy.path()).len(), 2);
    assert_eq!(
        other.uses().unwrap().of(stem(1).as_str()).unwrap().count(),
        2
    );
    // The same copy goes on with its own.
    other.used(now, &[stem(1)]).unwrap();
    assert_eq!(names(copy.path()).len(), 2);
}

#[test]
fn records_come_in_the_order_of_time() {
    let Scene { folder, journal } = scene();
    let record = |hour: u32, did: &str, number: u32| Record {
        at: at(&format!("2026-03-01T{hour:02}:00:00Z")),
        did: did.to_owned(),
        of: vec![stem(number).as_str().to_owned()],
        client: String::new(),
        why: None,
    };
    journal
        .record(vec![record(3, "forget", 1), record(1, "remember", 1)])
        .unwrap();
    fs::remove_file(folder.path().join(".memdir/journal-id")).unwrap();
    journal
        .record(vec![record(2, "update", 1), record(2, "update", 2)])
        .unwrap();
    let of_one = journal
        .records(|record| record.of == [stem(1).as_str()])
        .unwrap();
    let did: Vec<&str> = of_one.iter().map(|record| record.did.as_str()).collect();
    assert_eq!(did, ["remember", "update", "forget"]);
}

#[test]
fn a_journal_of_a_year_becomes_twelve_lines_of_uses() {
    let Scene { folder, journal } = scene();
    let start = at("2026-01-01T00:30:00Z");
    for day in 0..400 {
        journal
            .used(
                start + TimeDelta::days(day),
                &[stem(1), stem(day as u32 % 7)],
            )
            .unwrap();
    }
    let record = Record {
        at: start,
        did: "remember".to_owned(),
        of: vec![stem(1).as_str().to_owned()],
        client: "a client".to_owned(),
        why: Some("why not".to_owned()),
    };
    journal.record(vec![record.clone()]).unwrap();
    let before = journal.uses().unwrap();
    let now = start + TimeDelta::days(400);
    assert!(journal.compact(now).unwrap() > 350);
    assert_eq!(journal.compact(now).unwrap(), 0);
    assert_eq!(journal.uses().unwrap(), before);
    assert_eq!(opened(folder.path()).uses().unwrap(), before);
    assert_eq!(journal.records(|_| true).unwrap(), [record]);
    let path = folder.path().join("journal").join(&names(folder.path())[0]);
    let lines = fs::read_to_string(path).unwrap().lines().count();
    assert!((13..60).contains(&lines), "{lines}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// However uses fall on machines, and whenever months are summed up, they come to the same.
    #[test]
    fn uses_come_to_the_same_on_one_machine_and_on_two(
        uses in prop::collection::vec((0..200 * 86_400_i64, 0..5_u32, any::<bool>(), 0..20_u8), 0..40),
    ) {
        let (one, two) = (scene(), scene());
        let machines = [opened(two.folder.path()), opened(two.folder.path())];
        let start = at("2026-01-01T00:00:00Z");
        for (seconds, number, machine, compacts) in uses {
            let moment = start + TimeDelta::seconds(seconds);
            one.journal.used(moment, &[stem(number)]).unwrap();
            // Another id is another copy's file.
            let note = two.folder.path().join(".memdir/journal-id");
            let aside = two.folder.path().join(format!("id-{machine}"));
            let _ = fs::rename(&aside, &note);
            machines[usize::from(machine)].used(moment, &[stem(number)]).unwrap();
            if compacts == 0 {
                machines[usize::from(machine)].compact(start + TimeDelta::days(150)).unwrap();
            }
            fs::rename(&note, &aside).unwrap();
        }
        let wanted = one.journal.uses().unwrap();
        prop_assert_eq!(&machines[0].uses().unwrap(), &wanted);
        prop_assert_eq!(&opened(two.folder.path()).uses().unwrap(), &wanted);
    }
}
