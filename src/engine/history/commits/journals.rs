//! Commits the journals, in which each machine records its uses of memories.
//!
//! Promises: recording a use makes no commit of its own; two machines that wrote into one journal lose
//! no line, and never contradict each other. Journals are no memories: deletion checks, purges, undo and
//! the log ignore them. Their lines are interpreted elsewhere.
//!
//! Journals go with every commit. Alone they are committed an hour after this machine's last commit
//! at the earliest, or on request. A commit holds a file whole, so a journal of
//! more than 16 KiB waits until an eighth of it is new, or for an hour. Journals end at 256 KiB,
//! and the uses in closed ones become one sum (`journal/sums`). Two versions are merged by
//! lines, also with uncommitted lines; lines added while a journal is replaced are added
//! to the new one (`files/journals`).

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::engine::error::{EngineError, FoundSecret};
use crate::engine::history::History;
use crate::engine::history::commits::compare::{COMMITTED, Difference};
use crate::engine::write::screen::found_in;
use crate::files::{JOURNALS, is_journal, journal_lock};
use crate::git;
use crate::git::{Id, Repository, Trees};

/// Time after the last commit made here until journals alone are committed: otherwise each use
/// would make a commit.
pub(in crate::engine) const ALONE_AFTER: Duration = Duration::from_secs(60 * 60);

/// Share of a journal, as one in this number, that must be new before it is committed with other changes:
/// each commit holds a full copy. So all copies of a journal are a few times as large as its lines,
/// and smaller than them when compressed.
const COMMITTED_SHARE: u64 = 8;

/// Size in bytes below which a journal goes with every commit; compressed it is as small as the
/// other objects of a commit.
const SMALL: u64 = 16 << 10;

/// Makes the next commit compare the journals, whose changes are not recorded as pending.
pub(in crate::engine) fn note_journals_pending(history: &History) {
    history.live.note_pending(JOURNALS);
}

/// Compares the journals with the newest commit. Unless `is_thorough`, a journal of the same size
/// counts as unchanged, as journals only grow, and one with few new lines of less than an hour
/// waits.
pub(in crate::engine) fn compare_journals(
    history: &History,
    repository: &Repository,
    trees: &mut Trees<'_>,
    is_thorough: bool,
    differences: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    // A sum is written to two files, and goes into one commit. If the lock is not
    // free, they come together in the next one.
    let _lock = journal_lock(history.live.state()).ok();
    let Some(journals) = history.live.need_directory("a commit")?.journals()? else {
        return Ok(()); // No folder of ours; what was committed stays.
    };
    let committed = trees.files_below(JOURNALS)?.into_iter();
    let mut committed: BTreeMap<String, Id> =
        committed.filter(|(path, _)| is_journal(path)).collect();
    for (path, size) in journals.sizes {
        let before = committed.remove(&path);
        if let (Some(before), false) = (before, is_thorough)
            && repository.size_of(before)? == size
        {
            continue;
        }
        let Some(read) = history.live.store.version_at(&path)? else {
            continue; // Looked at another time.
        };
        if let (Some(before), false) = (before, is_thorough)
            && may_wait(history, &read.bytes, before, repository.size_of(before)?)
        {
            continue;
        }
        let after = Some(Id::of_text(&read.bytes));
        if before != after {
            differences.push(Difference {
                read: Some(read),
                ..Difference::of(path, before, after)
            });
        }
    }
    committed.retain(|path, _| !journals.others.contains(path));
    let gone = committed.into_iter();
    differences.extend(gone.map(|(path, before)| Difference::of(path, Some(before), None)));
    Ok(())
}

/// Whether a journal can wait for a later commit, if `size` bytes of it were committed as
/// `before`.
fn may_wait(history: &History, bytes: &[u8], before: Id, size: u64) -> bool {
    let all = bytes.len() as u64;
    let added = all.saturating_sub(size);
    let is_little = all > SMALL && added > 0 && added * COMMITTED_SHARE < all;
    // A changed beginning is no addition.
    is_little
        && Id::of_text(&bytes[..size as usize]) == before
        && moment_of(&bytes[size as usize..]).is_some_and(|since| {
            let now = history.live.clock.now();
            since <= now && (now - since).num_seconds() < ALONE_AFTER.as_secs() as i64
        })
}

/// Whether journals are to be committed alone.
pub(in crate::engine) fn are_journals_due(
    history: &History,
    repository: &Repository,
) -> Result<bool, EngineError> {
    let last = git::last_commit_time(repository, COMMITTED)?;
    Ok(is_due(last, history.live.clock.now().timestamp()))
}

/// Returns the first time in these lines of a journal.
fn moment_of(lines: &[u8]) -> Option<DateTime<Utc>> {
    lines.split(|byte| *byte == b'\n').find_map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).ok()?;
        line["t"].as_str()?.parse().ok()
    })
}

/// Whether journals alone are committed `now`, where `last` is the time of this machine's last commit;
/// both in seconds since 1970. A time in the future is ignored.
fn is_due(last: Option<i64>, now: i64) -> bool {
    let is_old = |at: i64| now - at >= ALONE_AFTER.as_secs() as i64;
    last.is_none_or(|at| is_old(at) || at > now)
}

/// Returns the credentials in the lines of a journal that are not in `before`, its earlier text.
pub(in crate::engine) fn credentials_since(before: &[u8], bytes: &[u8]) -> Vec<FoundSecret> {
    let pairs = before.iter().zip(bytes);
    let same = pairs.take_while(|(one, other)| one == other).count();
    // From the start of the first line that differs.
    let start = memchr::memrchr(b'\n', &bytes[..same]).map_or(0, |at| at + 1);
    let passed = memchr::memchr_iter(b'\n', &bytes[..start]).count();
    let new: Vec<&[u8]> = bytes[start..].split(|byte| *byte == b'\n').collect();
    let known: HashSet<&[u8]> = before.split(|byte| *byte == b'\n').collect();
    let mut found = found_in(&bytes[start..]);
    found.retain(|one| {
        let line = new.get(one.line.saturating_sub(1));
        line.is_none_or(|line| !known.contains(line))
    });
    found.iter_mut().for_each(|one| one.line += passed);
    found
}

#[cfg(test)]
mod tests {
    use crate::engine::Engine;
    use std::path::Path;

    use chrono::TimeDelta;

    use super::*;
    use crate::clock::FixedClock;
    use crate::engine::history::commits::commit;
    use crate::engine::history::commits::commit::Committed;
    use crate::engine::options::{GitOptions, Options};

    /// Opens an engine on the store at `root` as a process opens it so many minutes after the first one.
    fn engine(root: &Path, minutes: i64) -> Engine {
        let options = Options {
            git: Some(GitOptions {
                user: "mira".to_owned(),
                interval: Duration::from_secs(60),
                remote: None,
            }),
            ..Options::new(root)
        };
        let now = DateTime::from_timestamp(1_800_000_000 + minutes * 60, 0).unwrap();
        Engine::open(options, Box::new(FixedClock(now))).unwrap()
    }

    #[test]
    fn a_use_is_committed_with_something_else_or_after_an_hour_or_where_somebody_asks() {
        let root = tempfile::tempdir().unwrap();
        let memory = |name: &str| {
            let path = root.path().join("files").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        };
        let mut text = String::new();
        let mut note = || {
            let path = root.path().join(JOURNALS).join("0123456789abcdef.jsonl");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            text.push_str("{}\n");
            std::fs::write(path, &text).unwrap();
        };
        let looked = |minutes: i64| {
            let engine = engine(root.path(), minutes);
            note_journals_pending(&engine.history);
            match commit::commit(&engine.history).unwrap() {
                Committed::Nothing => 0,
                Committed::Done { files, .. } => files,
                other => panic!("{other:?}"),
            }
        };
        note();
        assert_eq!(looked(0), 0, "there is no memory yet");
        memory("20270115_080000_aaaaaaaa.md");
        let done = commit::commit_everything(&engine(root.path(), 0).history).unwrap();
        assert!(matches!(done, Committed::Done { files: 2, .. }), "{done:?}");
        note();
        assert_eq!([0, 1, 59].map(looked), [0, 0, 0]);
        assert_eq!([60, 61, 200].map(looked), [1, 0, 0]);
        note();
        assert_eq!(looked(119), 0);
        memory("20270115_080000_bbbbbbbb.md");
        let with_others = engine(root.path(), 119);
        with_others.live.note_pending("20270115_080000_bbbbbbbb.md");
        let done = commit::commit(&with_others.history).unwrap();
        assert!(matches!(done, Committed::Done { files: 2, .. }), "{done:?}");
        note();
        assert_eq!(looked(130), 0);
        let done = commit::commit_everything(&engine(root.path(), 130).history).unwrap();
        assert!(matches!(done, Committed::Done { files: 1, .. }), "{done:?}");
    }

    #[test]
    fn a_long_journal_waits_for_a_share_of_it_or_for_an_hour() {
        let root = tempfile::tempdir().unwrap();
        let engine = engine(root.path(), 0);
        let now = engine.live.now();
        let line = |minutes: i64| {
            let at = now - TimeDelta::minutes(minutes);
            format!("{{\"t\":\"{}\",\"used\":[\"a\"]}}\n", at.to_rfc3339())
        };
        let waits = |before: &str, added: &str| {
            let all = format!("{before}{added}");
            let id = Id::of_text(before.as_bytes());
            may_wait(&engine.history, all.as_bytes(), id, before.len() as u64)
        };
        let (short, long) = (line(90), line(90).repeat(1000));
        assert!(!waits(&short, &line(1)));
        assert!(waits(&long, &line(59)));
        assert!(waits(&long, &line(59).repeat(140)));
        assert!(!waits(&long, &line(59).repeat(150)), "it is an eighth");
        assert!(!waits(&long, &line(60)), "it waited for an hour");
        assert!(!waits(&long, &line(-1)), "the clock was set back");
        assert!(!waits(&long, "no moment\n"));
        // A summed-up journal is no longer the committed one with lines appended.
        let all = format!("{}{}", line(80), &long);
        let id = Id::of_text(long.as_bytes());
        assert!(!may_wait(
            &engine.history,
            all.as_bytes(),
            id,
            long.len() as u64
        ));
        assert!(!waits(&long, ""), "nothing was added");
    }

    #[test]
    fn journals_alone_are_committed_an_hour_after_the_last_commit() {
        let (now, hour) = (1_800_000_000, 60 * 60);
        for (last, expected) in [
            (None, true),
            (Some(now), false),
            (Some(now - hour + 1), false),
            (Some(now - hour), true),
            // By a clock that was set back since.
            (Some(now + 1), true),
        ] {
            assert_eq!(is_due(last, now), expected, "{last:?}");
        }
    }

    #[test]
    fn only_new_lines_are_screened_and_told_by_their_place() {
        let token = format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi");
        let line = format!("{{\"reason\":\"{token}\"}}\n");
        let found = |before: &str, after: &str| {
            let found = credentials_since(before.as_bytes(), after.as_bytes());
            found.iter().map(|one| one.line).collect::<Vec<_>>()
        };
        assert_eq!(found("", &line), [1]);
        assert_eq!(found("{}\n{}\n", &format!("{{}}\n{{}}\n{{}}\n{line}")), [4]);
        let none: [usize; 0] = [];
        assert_eq!(found(&line, &format!("{line}{{}}\n")), none);
        // Other lines were taken out before it.
        assert_eq!(
            found(&format!("{{}}\n{line}"), &format!("{line}{{}}\n")),
            none
        );
        assert_eq!(found("{}", &format!("{{}}{line}")), [1]);
    }
}
