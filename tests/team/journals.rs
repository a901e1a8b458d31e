//! The contract of journals, on a folder and on rows.

use std::sync::Arc;

use memdir::journal::{Journal, JournalFolder, LineJournal, Record};
use memdir::model::Stem;

use crate::postgres::TestDatabase;
use crate::support::at;

/// Tests `check` with two openings of the same journals, as two servers have.
fn on_both(check: impl Fn([Arc<dyn Journal>; 2])) {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join(".memdir");
    std::fs::create_dir_all(state.join("locks")).unwrap();
    let open = || Arc::new(JournalFolder::new(folder.path(), &state)) as Arc<dyn Journal>;
    check([open(), open()]);
    if let Some(test) = TestDatabase::new() {
        let rows = test.workspace("atlas");
        let open = || Arc::new(LineJournal::new(rows.clone())) as Arc<dyn Journal>;
        check([open(), open()]);
    }
}

fn stem(number: u32) -> Stem {
    Stem::from_file_name(&format!("20260101_000000_{number:08x}"))
}

fn count(journal: &dyn Journal, number: u32) -> u32 {
    let (uses, trouble) = journal.uses();
    assert!(trouble.is_none(), "{trouble:?}");
    uses.of(stem(number).as_str())
        .map_or(0, memdir::model::Usage::count)
}

#[test]
fn uses_are_counted_for_everybody() {
    on_both(|[one, other]| {
        one.used(at("2026-03-01T10:00:00Z"), &[stem(1), stem(2)])
            .unwrap();
        other.used(at("2026-03-02T10:00:00Z"), &[stem(1)]).unwrap();
        one.used(at("2026-03-02T10:00:00Z"), &[]).unwrap();
        for journal in [&one, &other] {
            assert_eq!(count(journal.as_ref(), 1), 2);
            assert_eq!(count(journal.as_ref(), 2), 1);
            assert_eq!(count(journal.as_ref(), 3), 0);
        }
        let each = [
            (at("2026-03-03T10:00:00Z"), stem(3)),
            (at("2026-03-04T10:00:00Z"), stem(3)),
        ];
        one.used_each(&each).unwrap();
        assert_eq!(count(other.as_ref(), 3), 2);
    });
}

#[test]
fn noted_uses_count_here_at_once_and_for_everybody_when_they_are_written() {
    on_both(|[one, other]| {
        let now = at("2026-03-01T10:00:00Z");
        assert!(!one.note_used(now, &[]));
        assert!(one.note_used(now, &[stem(1)]));
        assert!(!one.note_used(now, &[stem(1)]));
        assert_eq!(count(other.as_ref(), 1), 0);
        one.write_noted().unwrap();
        assert_eq!(count(other.as_ref(), 1), 2);
        assert_eq!(count(one.as_ref(), 1), 2);
        assert!(one.note_used(now, &[stem(1)]));
        assert_eq!(count(one.as_ref(), 1), 3);
    });
}

#[test]
fn records_come_in_the_order_of_their_times() {
    on_both(|[one, other]| {
        let record = |time: &str, did: &str| Record {
            at: at(time),
            did: did.to_owned(),
            of: vec![stem(1).as_str().to_owned()],
            client: "codex".to_owned(),
            why: Some("a \"reason\"\nof two lines".to_owned()),
        };
        let late = record("2026-03-02T10:00:00Z", "forget");
        let early = record("2026-03-01T10:00:00Z", "update");
        one.record(vec![late.clone()]).unwrap();
        other.record(vec![early.clone()]).unwrap();
        for journal in [&one, &other] {
            assert_eq!(
                journal.records(&|_| true).unwrap(),
                [early.clone(), late.clone()]
            );
            let wanted = journal.records(&|record| record.did == "forget").unwrap();
            assert_eq!(wanted, std::slice::from_ref(&late));
        }
        assert_eq!(one.sum_up().unwrap(), 0);
    });
}

#[test]
fn servers_that_write_at_once_lose_no_line() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let journal = LineJournal::new(rows.clone());
                for _ in 0..20 {
                    journal
                        .used(at("2026-03-01T10:00:00Z"), &[stem(1)])
                        .unwrap();
                    // Reads in between must miss none of the others' lines.
                    journal.uses();
                }
            });
        }
    });
    assert_eq!(count(&LineJournal::new(rows.clone()), 1), 160);
}
